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

// look reads the checks of a pull request's head and of its base: the base branch or, if
// that has none, the commit that the work began from.
func look(ctx context.Context, c *ghapp.Client, p ghapp.Pull, began string) (f Facts, err error) {
	if f.Head, err = reads.OthersChecks(ctx, c, p.HeadSHA); err != nil {
		return f, err
	}
	for _, sha := range []string{p.Base, began} {
		if f.Base, err = reads.OthersChecks(ctx, c, sha); err != nil && !errors.Is(err, ghapp.ErrNotFound) ||
			len(f.Base) > 0 {
			return f, err
		}
	}
	return f, nil
}

const (
	maxLogs   = 3       // logs shown
	logBytes  = 6_000   // bytes shown of a log
	maxChecks = 30      // checks shown
	readLog   = 1 << 20 // bytes read of a log, from its end
)

// describeFailed describes failed checks to the model: their names, and the part of a log with the
// reason. The text is untrusted, and is not fenced yet.
func describeFailed(
	ctx context.Context,
	c *ghapp.Client,
	commit string,
	failed []reads.Check,
) (out []session.Item, err error) {
	for i, k := range failed[:min(len(failed), maxChecks)] {
		text := untrusted.EscapeLine(k.Name) + ": " + untrusted.EscapeLine(strings.TrimSpace(k.State+" "+k.Title))
		var log reads.Log
		if k.Job != 0 && i < maxLogs {
			if log, err = reads.JobLog(ctx, c, k.Job, reads.Tail{MaxBytes: readLog}); err != nil &&
				ghapp.KindOf(err) != ghapp.Permanent {
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

// roundKey begins the keys of messages with which checks continue a session.
const roundKey = "checks-"

// rounds counts the messages of checks since the last message of a user, and all those
// for the commit head.
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
