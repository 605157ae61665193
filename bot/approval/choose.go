package approval

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/render"
	"github.com/handrail-bot/handrail/policy"
)

// Yes is what a text says to a request.
type Yes int

// What a text can say to a request.
const (
	YesNot     Yes = iota
	YesNamed       // it approves the request by its id
	YesUnnamed     // it approves, and does not say what
)

// ReplyKey begins the keys of replies. One says which requests an answer was
// taken for that names none.
const ReplyKey = "reply-"

// Said is where an answer stands that names no request: when it was written,
// and the number of its comment, 0 for a review. Comments on a diff are counted apart.
type Said struct {
	At      time.Time
	Comment int64
	Diff    bool
}

// WhenSaid returns where the text of an event stands.
func WhenSaid(ev ghapp.Event, t ghapp.Target) Said {
	if t.Comment == 0 {
		return Said{At: ev.Review.Submitted}
	}
	return Said{At: ev.Comment.Created, Comment: t.Comment, Diff: t.Diff}
}

// where names the text of a source: "comment 12".
func where(source string) string {
	kind, rest, _ := strings.Cut(source, ":")
	number, _, _ := strings.Cut(rest, ":")
	number, _, _ = strings.Cut(number, "#")
	if kind == "diff" {
		kind = "comment"
	}
	return kind + " " + number
}

// Where is how people are told which text an answer came from.
func (a Answer) Where() string { return where(a.Source) }

// Unnamed returns the requests that somebody can have meant who named none: those
// that were open when the text was written, and whose comment is older. By the
// log alone that cannot be told, so GitHub's times of the comments count. Gone are those
// that are open, and that no comment shows any more.
func (s Session) Unnamed(ctx context.Context, v *session.State, said Said) (meant, gone []session.Asked, err error) {
	comments, err := s.posts(ctx, requestKey(s.ID, ""))
	if err != nil {
		return nil, nil, err
	}
	for _, r := range v.Requests {
		if !r.Kind.ByID() || r.Answer != nil && r.Settled.Before(said.At) {
			continue
		}
		shown := r.Digest == "" || !r.Approval.Waits()
		for _, cm := range comments {
			shown = shown || strings.Contains(cm.Body, r.Digest)
			older := cm.Created.Before(said.At) || cm.Created.Equal(said.At) && cm.ID < said.Comment && OnDiff(cm.URL) == said.Diff
			if older && r.Digest != "" && strings.Contains(cm.Body, r.Digest) { //control:older-than-the-answer
				meant = append(meant, r.Asked)
				break
			}
		}
		if !shown {
			gone = append(gone, r.Asked)
		}
	}
	return meant, gone, nil
}

// Open returns the requests for approval that are open.
func Open(v *session.State) []session.Asked {
	return slices.DeleteFunc(v.Open(), func(a session.Asked) bool { return !a.Kind.ByID() })
}

// Pick is an answer that names no request: its command, and whether it says "all"
// and approves.
type Pick struct {
	Verb     string
	All, Yes bool
}

// Choose returns the requests of those that are open, and that an answer can mean,
// which it is for. Why says that it is for none, or what it leaves out.
func Choose(open, meant []session.Asked, p Pick) (ids []string, why string) {
	switch {
	case len(open) == 0 && (len(meant) == 1 || p.All && len(meant) > 0): // somebody was faster
		for _, a := range meant {
			ids = append(ids, a.ID)
		}
		return ids, ""
	case len(open) == 0:
		return nil, render.NothingAsked
	case !p.All:
		if len(meant) == 1 && (!p.Yes || meant[0].Severity != "critical") { //control:only-one-open
			return []string{meant[0].ID}, ""
		}
		return nil, render.WhichRequest(p.Verb, open)
	}
	var left []session.Asked
	for _, a := range open {
		asked := slices.ContainsFunc(meant, func(m session.Asked) bool { return m.ID == a.ID })
		if !asked || p.Yes && a.Severity == "critical" { //control:all-but-critical
			left = append(left, a)
			continue
		}
		ids = append(ids, a.ID)
	}
	if len(left) > 0 {
		why = render.NotAll(p.Verb, left)
	}
	return ids, why
}

// LastSpeaker is who gave the last instruction.
func LastSpeaker(v *session.State) string {
	for _, m := range slices.Backward(v.Timeline) {
		switch m := m.(type) {
		case *session.Message:
			return m.Author
		case *session.Resolved: // a yes to a plan is what the work goes on from
			if r := v.Request(m.ID); r != nil && r.Kind == session.AskPlan && m.Verdict == policy.Approved && m.By != "" { //control:plan-approver-told
				return m.By
			}
		}
	}
	return v.Task.Requester
}
