package ci

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/ghapp/reads"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

// Look reads the checks of a pull request's head, and of what it goes onto: the base
// branch, or, where that has none, the commit that the work began from.
func look(ctx context.Context, c *ghapp.Client, p ghapp.Pull, began string) (f Facts, err error) {
	if f.Head, err = reads.OthersChecks(ctx, c, p.HeadSHA); err != nil {
		return f, err
	}
	for _, sha := range []string{p.Base, began} {
		if f.Base, err = reads.OthersChecks(ctx, c, sha); err != nil && !errors.Is(err, ghapp.ErrNotFound) || len(f.Base) > 0 {
			return f, err
		}
	}
	return f, nil
}

const (
	mostLogs  = 3       // that are given
	logBytes  = 6_000   // of one
	mostNames = 30      // of checks
	readLog   = 1 << 20 // bytes of a log, from its end
)

// Told is what a model is told of failed checks: their names, and the part of a log that
// says why. It was written by strangers, and is not yet fenced.
func told(ctx context.Context, c *ghapp.Client, commit string, failed []reads.Check) (out []session.Item, err error) {
	for i, k := range failed[:min(len(failed), mostNames)] {
		text := untrusted.EscapeLine(k.Name) + ": " + untrusted.EscapeLine(strings.TrimSpace(k.State+" "+k.Title))
		var log reads.Log
		if k.Job != 0 && i < mostLogs {
			if log, err = reads.JobLog(ctx, c, k.Job, reads.Tail{Most: readLog}); err != nil && ghapp.KindOf(err) != ghapp.Permanent {
				return nil, err
			}
			if err != nil { //control:a-log-that-is-gone
				text += " (its log cannot be read)"
			}
		}
		if said := cmp.Or(log.Text, k.Summary); said != "" {
			text += "\n\n" + excerpt(said, logBytes)
		}
		text, _ = untrusted.CleanPlain(text)
		name := fmt.Sprintf("Check %d of %d that failed on %.12s", i+1, len(failed), commit)
		out = append(out, session.Item{Kind: session.ItemThread, Name: name, Text: strings.TrimSpace(text)})
	}
	return out, nil
}

// RoundKey begins the key of the message with which checks bring a session back.
const roundKey = "checks-"

// Rounds counts how often checks brought the session back since a person spoke, and for
// a commit.
func rounds(v *session.State, head string) (all, ofHead int) {
	for _, m := range v.Timeline {
		said, ok := m.(*session.Message)
		switch {
		case !ok || said.Text == "":
		case !strings.HasPrefix(said.Key, roundKey):
			all = 0
		default:
			all++
			if strings.HasPrefix(said.Key, roundKey+head) {
				ofHead++
			}
		}
	}
	return all, ofHead
}
