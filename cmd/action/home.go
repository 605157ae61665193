package action

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/ghapp/reads"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/bot/thread"
	"github.com/handrail-bot/handrail/policy/pattern"
)

// Home finds the thread of the session that opened a pull request.
type Home struct {
	App    *ghapp.App
	Client *ghapp.Client
	Has    func(ctx context.Context, at thread.Ref, session string) (bool, error)
}

// numbers matches candidates for the thread's number, in the text of the pull request and
// in the name of its branch.
var numbers = pattern.Lazy(`#([1-9]\d{0,8})\b|/([1-9]\d{0,8})(?:-|$)`)

// maxHomes is the maximum number of candidates, maxPulls of a check's pull requests.
const (
	maxHomes = 8
	maxPulls = 3
)

// Of returns the thread of an event: that of the session that opened its pull request, or
// its own.
func (h Home) Of(ctx context.Context, ev ghapp.Event) (thread.Ref, error) {
	_, key := h.App.Written(ev.Body)
	rest, ok := strings.CutPrefix(key, "pull-")
	id, _, _ := strings.Cut(rest, "-")
	if !ok || !ev.IsPull && !strings.HasPrefix(ev.Kind, "pull_request") {
		return ev.Thread, nil
	}
	if ev.Pull.Head == "" { // missing in comment events
		p, err := h.Client.GetPull(ctx, ev.Thread)
		if err != nil {
			return ev.Thread, err
		}
		ev.Pull.Head = p.Head
	}
	tried := map[string]bool{}
	for _, m := range numbers().FindAllStringSubmatch("/"+ev.Pull.Head+" "+ev.Body, -1) {
		number := m[1] + m[2]
		if tried[number] || len(tried) == maxHomes {
			continue
		}
		tried[number] = true
		at := ev.Thread
		at.Number, _ = strconv.Atoi(number) // at most nine digits
		if has, err := h.Has(ctx, at, id); has || err != nil {
			return at, err
		}
	}
	return ev.Thread, nil
}

// OfCheck returns the threads that may hold the session behind a check: those named by
// its pull requests and branches, and the pull requests themselves.
func (h Home) OfCheck(ctx context.Context, ev ghapp.Event) (out []thread.Ref, err error) {
	named, here := "/"+strings.Join(ev.Check.Branches, " /"), []string{}
	for _, n := range ev.Check.Pulls[:min(len(ev.Check.Pulls), maxPulls)] {
		at := ev.Thread
		at.Number = n
		is, err := h.Client.Issue(ctx, at)
		if err != nil {
			return nil, err
		}
		named += " " + is.Body
		here = append(here, strconv.Itoa(n))
	}
	var known []string
	for _, m := range numbers().FindAllStringSubmatch(named, -1) {
		known = append(known, m[1]+m[2])
	}
	for _, number := range append(known[:min(len(known), maxHomes)], here...) {
		at := ev.Thread
		at.Number, _ = strconv.Atoi(number) // at most nine digits
		if !slices.Contains(out, at) {
			out = append(out, at)
		}
	}
	return out, nil
}

// savedWork names the work that a session has on its branch.
func savedWork(v *session.State) string {
	switch n := len(v.Files); n {
	case 0:
		return "No file was changed so far; the conversation is saved."
	case 1:
		return "Its work is saved: 1 changed file on the branch `" + v.Branch + "`."
	default:
		return fmt.Sprintf("Its work is saved: %d changed files on the branch `%s`.", n, v.Branch)
	}
}

// Follow returns a function that finds new posts in a thread and on the pull request of
// its session.
func (r Run) Follow(
	ctx context.Context,
	c *ghapp.Client,
	kept store.Sessions,
	at thread.Ref,
) func(context.Context, time.Time) ([]reads.Said, error) {
	all := []*reads.Follow{{Client: c, At: at, Since: r.since()}}
	if row, err := kept.ByThread(ctx, at.Key()); err == nil && row.Pull != 0 && row.Pull != at.Number {
		at.Number = row.Pull
		all = append(all, &reads.Follow{Client: c, At: at, Since: r.since()})
	}
	return func(ctx context.Context, _ time.Time) (found []reads.Said, err error) {
		for _, f := range all {
			said, err := f.Look(ctx)
			if found = append(found, said...); err != nil {
				return found, err
			}
		}
		return found, nil
	}
}

// Park comments why a run ended before its session, and how to continue. It returns the
// comment, "" if the session is over, waits for an answer, or is worked on by another
// run.
func (r Run) Park(
	ctx context.Context,
	c *ghapp.Client,
	kept store.Store,
	at thread.Ref,
	why error,
) (said string, err error) {
	row, err := kept.Sessions.ByThread(ctx, at.Key())
	if err != nil || row.State.Over() || row.State.Waits() {
		return "", store.Unless(err, store.ErrNotFound)
	}
	if l, err := kept.Leases.Lease(ctx, at.Key()); err == nil && l.Owner != "" && l.Owner != r.Owner() {
		return "", nil
	}
	events, err := kept.Logs.Log(store.Fence{Key: row.ID}).Events(ctx, 0)
	if err != nil {
		return "", err
	}
	v, err := session.Fold(events)
	if err != nil {
		return "", err
	}
	said = "The workflow run was cancelled, so I stopped here."
	var none *NoModel
	switch {
	case why == nil:
		said = "I wait for a server that does not answer, so the workflow run ended here."
	case errors.As(why, &none):
		said = fmt.Sprintf(
			"The model's server did not answer for %s, so the workflow run ended here.",
			none.For.Round(time.Second),
		)
	case errors.Is(why, ErrTime):
		said = "The time of the workflow's job is nearly over, so I stopped here."
	}
	said += " " + savedWork(v) +
		" The next run in this thread continues the session: comment `/agent status` to start one, or `/agent stop` to end it."
	_, err = c.Perform(
		ctx,
		ghapp.Write{Key: "parked-" + r.Owner(), Kind: ghapp.WriteComment, Thread: at, Body: said, First: true},
	)
	return said, err
}
