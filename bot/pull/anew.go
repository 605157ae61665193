package pull

import (
	"context"
	"fmt"
	"strings"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/approval"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/bot/thread"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

// ClosedPull returns the pull request with a session's work if it is merged or closed and the
// session has ended, so that a further request starts a new session. It returns nil
// while the session can continue. of is the pull request of the session's own thread,
// or nil for an issue.
func ClosedPull(
	ctx context.Context,
	c *ghapp.Client,
	row *store.Session,
	v *session.State,
	of *ghapp.Pull,
) (*ghapp.Pull, error) {
	if !v.Over() {
		return nil, nil
	}
	if row.Pull == 0 {
		if of != nil && of.State != "open" && len(v.Checkpoints) > 0 && v.Task.Branch == approval.OwnBranch(of) {
			return of, nil
		}
		return nil, nil
	}
	at, err := thread.Parse(row.Thread)
	if err != nil {
		return nil, err
	}
	at.Number = row.Pull
	p, err := c.GetPull(ctx, at)
	if err != nil || p.State == "open" {
		return nil, store.Unless(err, ghapp.ErrNotFound)
	}
	return &p, nil //control:merged-begins-anew
}

// maxQuoted is the maximum length of a quoted text of the previous session, in bytes.
const maxQuoted = 6000

// PreviousSession returns an account of the previous session, its requests and results, for a
// new session.
func PreviousSession(v *session.State, p *ghapp.Pull) session.Item {
	name := fmt.Sprintf("The session before this one in this thread; its pull request #%d was ", p.Ref.Number)
	switch {
	case p.Merged:
		name += "merged into " + p.Base + ", which this session starts from"
	default:
		name += "closed without being merged: its changes are not in the files"
	}
	var b strings.Builder
	part := func(title, text string) {
		text, _ = untrusted.CleanPlain(text)
		if text = strings.TrimSpace(text); text != "" {
			fmt.Fprintf(&b, "%s\n%s\n\n", title, cutText(text, maxQuoted))
		}
	}
	part("What was asked first:", session.Command(v.Task.Text))
	for _, m := range v.Timeline {
		if said, ok := m.(*session.Message); ok && said.TakeBack == nil {
			part("Then "+said.Author+" asked:", session.Command(said.Text))
		}
	}
	for _, end := range v.Ends {
		part("What came of it:", end.Summary)
	}
	if len(v.Files) > 0 {
		b.WriteString("Files that it changed:\n")
		for _, f := range v.Files[:min(len(v.Files), 60)] {
			fmt.Fprintf(&b, "- %s +%d -%d\n", f.Path, f.Added, f.Removed)
		}
	}
	return session.Item{Kind: session.ItemThread, Name: name, Text: cutText(strings.TrimSpace(b.String()), 3*maxQuoted)}
}

// cutText truncates a text to n bytes.
func cutText(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "\n[shortened]"
}

// FreeBranch returns name, or a variant of it, that no branch and no pull request has
// used.
func FreeBranch(ctx context.Context, c *ghapp.Client, name string) (string, error) {
	for i := 2; i < 10; i++ {
		_, taken, err := c.FindPull(ctx, name)
		if err != nil {
			return "", err
		}
		_, err = c.Head(ctx, name)
		if store.Unless(err, ghapp.ErrNotFound) != nil {
			return "", err
		}
		if !taken && err != nil { //control:branch-of-its-own
			return name, nil
		}
		if i > 2 {
			name = name[:strings.LastIndexByte(name, '-')]
		}
		name = fmt.Sprintf("%s-%d", name, i)
	}
	return name[:strings.LastIndexByte(name, '-')+1] + session.NewID(), nil
}
