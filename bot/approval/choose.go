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

// Yes is the approval that a text gives to a request.
type Yes int

// The kinds of approval.
const (
	YesNot     Yes = iota
	YesNamed       // names the request by its id
	YesUnnamed     // names no request
)

// replyKey begins the keys of replies. If an answer has no ids, the reply names the
// requests that it was taken for.
const replyKey = "reply-"

// ReplyTo returns the key of the reply to a text.
func ReplyTo(text string) string { return replyKey + ghapp.Digest(text, "reply") }

// AskBack is a kind of reply that asks back about open requests.
type AskBack string

// The kinds of replies that ask back, each at most once per request.
const (
	AskedAside   AskBack = "open"   // about words without a command
	AskedTalk    AskBack = "talk"   // about words behind the command word
	AskedNear    AskBack = "mean"   // about a command close to an answer
	AskedGranted AskBack = "beside" // about words beside an approval
	AskedWhich   AskBack = "which"  // about an answer that is for no request, or not for all
	AskedUnknown AskBack = "id"     // about an answer with an unknown id
	AskedAgain   AskBack = "anew"   // about an answer to a deleted comment
	AskedCommit  AskBack = "commit" // about another commit of a fork
)

// AskBacks returns all kinds.
func AskBacks() []AskBack {
	return []AskBack{
		AskedAside, AskedTalk, AskedNear, AskedGranted, AskedWhich, AskedUnknown, AskedAgain, AskedCommit,
	}
}

// Newest returns the id of the newest of some requests, or "".
func Newest(v *session.State, of []session.Asked) string {
	for _, r := range slices.Backward(v.Requests) {
		if slices.ContainsFunc(of, func(a session.Asked) bool { return a.ID == r.ID }) {
			return r.ID
		}
	}
	return ""
}

// Text returns the key of the text that a reply about a request is for.
func (k AskBack) Text(request string) string { return string(k) + "-" + request }

// AnswerPlace is the place of an answer without ids: its time, and the number of its comment, 0
// for a review. Comments on a diff are numbered separately.
type AnswerPlace struct {
	At      time.Time
	Comment int64
	Diff    bool
}

// PlaceOfAnswer returns the place of an event's text.
func PlaceOfAnswer(ev ghapp.Event, t ghapp.Target) AnswerPlace {
	if t.Comment == 0 {
		return AnswerPlace{At: ev.Review.Submitted}
	}
	return AnswerPlace{At: ev.Comment.Created, Comment: t.Comment, Diff: t.Diff}
}

// where returns a name for the text of a source: "comment 12".
func where(source string) string {
	kind, rest, _ := strings.Cut(source, ":")
	number, _, _ := strings.Cut(rest, ":")
	number, _, _ = strings.Cut(number, "#")
	switch kind {
	case "diff":
		kind = "comment"
	case dashboardSource:
		return InDashboard
	}
	return kind + " " + number
}

// InDashboard is the place of an answer that was given in the dashboard.
const InDashboard = "the dashboard"

// dashboardSource is the kind of the source of such an answer.
const dashboardSource = "dashboard"

// DashboardSource identifies an answer of the dashboard by the number of its form.
func DashboardSource(id string) string { return dashboardSource + ":" + id }

// Where names the text with the answer for users.
func (a Answer) Where() string { return where(a.Source) }

// Unnamed returns the requests that an answer without ids can mean: those that were open
// when it was written, and that an older comment shows. The log alone cannot tell that,
// so GitHub's times count. gone are the open requests that no comment shows any more.
func (s Session) Unnamed(
	ctx context.Context,
	v *session.State,
	said AnswerPlace,
) (meant, gone []session.Asked, err error) {
	comments, err := s.posts(ctx, requestKey(s.ID, ""))
	if err != nil {
		return nil, nil, err
	}
	for _, r := range v.Requests {
		if !r.Kind.ByID() || r.Answer != nil && r.Settled.Before(said.At) {
			continue
		}
		shown := r.Digest == "" || !r.Approval.IsPending()
		for _, cm := range comments {
			shown = shown || strings.Contains(cm.Body, r.Digest)
			older := cm.Created.Before(said.At) ||
				cm.Created.Equal(said.At) && cm.ID < said.Comment && OnDiff(cm.URL) == said.Diff
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

// Pick is an answer without ids: its command, and whether it says "all" and approves.
type Pick struct {
	Verb     string
	All, Yes bool
}

// Choose returns the ids of the requests that an answer is for, given those that are open
// and those that it can mean. why tells that there is none, or lists omitted ones.
func Choose(open, meant []session.Asked, p Pick) (ids []string, why string) {
	switch {
	case len(open) == 0 && (len(meant) == 1 || p.All && len(meant) > 0): // another answer was faster
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

// LastSpeaker returns the author of the last instruction.
func LastSpeaker(v *session.State) string {
	for _, m := range slices.Backward(v.Timeline) {
		switch m := m.(type) {
		case *session.Message:
			return m.Author
		case *session.Resolved: // the work goes on from the approval of a plan
			if r := v.Request(m.ID); r != nil && r.Kind == session.AskPlan && m.Verdict == policy.Approved && m.By != "" { //control:plan-approver-told
				return m.By
			}
		}
	}
	return v.Task.Requester
}
