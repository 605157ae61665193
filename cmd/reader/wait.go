package reader

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/tools"
	"github.com/handrail-bot/handrail/agent/tools/github"
	"github.com/handrail-bot/handrail/bot/ci"
	"github.com/handrail-bot/handrail/bot/ghapp/reads"
	"github.com/handrail-bot/handrail/policy"
)

// Wait configures the wait of a session for its checks.
type Wait struct {
	Log   session.Log
	Now   func() time.Time
	Green func(commit string, checks []string) // called if all checks passed

	Limits policy.CIFix
}

// Waiting returns the tool that waits for the checks of a session's commit.
func (r Reader) Waiting(w Wait, nonce string) tools.Tool {
	return github.Wait(ci.Tool, func(ctx context.Context) (github.Page, error) { return r.checkResults(ctx, w) }, nonce)
}

// checkResults returns the results of the checks of the session's last commit. The error is a
// [session.Away] until they finish; a new message in the thread ends the wait.
func (r Reader) checkResults(ctx context.Context, w Wait) (github.Page, error) {
	events, err := w.Log.Events(ctx, 0)
	if err != nil {
		return github.Page{}, err
	}
	v, err := session.Fold(events)
	if err != nil {
		return github.Page{}, err
	}
	if v.Published == "" {
		return github.Page{}, errors.New("nothing of this session was pushed yet, so there are no checks to wait for")
	}
	all, err := reads.OthersChecks(ctx, r.client, v.Published)
	if err != nil {
		return github.Page{}, err
	}
	since := v.Awaits(ci.Tool)
	waits := ci.Waits(ci.Facts{Head: all, Now: w.Now(), Limits: w.Limits}, since)
	if waits && !since.IsZero() {
		return github.Page{}, &session.Away{For: session.PhaseWaitingChecks, Err: errors.New("the checks have not answered")}
	}
	return w.resultPage(v.Published, all, waits), nil
}

// resultPage describes the checks of a commit for the model at the end of a wait. waits means
// that checks are still unfinished.
func (w Wait) resultPage(commit string, all []reads.Check, waits bool) github.Page {
	is := ci.Decide(ci.Facts{Head: all})
	page := github.Page{Head: fmt.Sprintf("checks of %.12s: %d green, %d failed, %d still running", commit, len(is.Green), len(is.Failed), len(is.Running))}
	if len(all) == 0 {
		page.Head = fmt.Sprintf("checks of %.12s: none, after %s", commit, min(ci.NoneAfter, ci.Longest(w.Limits)))
	}
	switch {
	case waits:
		page.More = "a person said something meanwhile, so the wait ended"
	case len(is.Running) > 0: //control:the-end-of-a-wait-is-told
		page.More = fmt.Sprintf(
			"the wait ended after %s: what still runs may never end. Go on without it, and say so at the end",
			ci.Longest(w.Limits),
		)
	}
	var lines []string
	for _, k := range is.Failed {
		line := fmt.Sprintf("%s: %s", k.State, k.Name)
		if k.Job != 0 {
			line += fmt.Sprintf(", job %d", k.Job)
		}
		lines = append(lines, line)
	}
	for _, of := range []struct {
		what  string
		names []string
	}{{"green", is.Green}, {"failed, and not by this change", is.Excused}, {"still running", is.Running}} {
		if len(of.names) > 0 {
			lines = append(lines, of.what+": "+strings.Join(of.names, ", "))
		}
	}
	if len(lines) > 0 {
		page.Items = []github.Item{{Label: "checks", Plain: true, Text: strings.Join(lines, "\n")}}
	}
	if len(is.Green) > 0 && len(is.Failed)+len(is.Running) == 0 && w.Green != nil {
		w.Green(commit, is.Green)
	}
	return page
}
