package render

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/phrase"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

// Request is a request for approval or an answer in a comment. NotReviewed is the reason
// why no pull request asks for it, empty if none should. From is the text that approved it.
// Brief leaves out explanations that the thread has already.
type Request struct {
	*session.Request
	NotReviewed string
	From        string
	Brief       bool
}

// Requests returns the comment with all requests of one turn, the most severe first.
// Settled ones are folded.
func Requests(list []Request, requester string) untrusted.Post {
	var folds []untrusted.Fold
	var b strings.Builder
	var open []session.Asked
	sorted := bySeverity(list, func(r Request) session.Asked { return r.Asked }) //control:severe-first
	for _, r := range sorted {
		if r.isOpen() {
			open = append(open, r.Asked)
		}
	}
	switch {
	case len(list) > 1 && len(open) == 0:
		fmt.Fprintf(&b, "**%s**, all settled.\n", phrase.Count(len(list), "request"))
	case len(open) == 0:
		b.WriteString("Settled: nothing waits here any more.\n")
	case len(list) > 1:
		fmt.Fprintf(
			&b,
			"**%s**, %d open, the most severe first. Each needs its own answer.\n\n",
			phrase.Count(len(list), "request"),
			len(open),
		)
	}
	first := true
	for _, r := range sorted {
		ways := explained
		switch {
		case !r.isOpen():
			ways = settled
		case r.Brief || !first:
			ways = brief
		}
		text := approval(r.Asked, requester, ways) + NotReviewed(r.NotReviewed)
		if r.isOpen() {
			first = false
			b.WriteString(text + "\n")
			continue
		}
		if r.From != "" {
			text = AnswerTaken(r.ID, r.Answer.By, r.From) + "\n\n" + text //control:taken-is-kept
		}
		text += "\n" + detail(r.Asked)
		folds = append(folds, untrusted.Fold{Title: settledTitle(r), Text: text})
	}
	return untrusted.Post{Text: strings.TrimRight(b.String(), "\n") + "\n", Folds: append(details(open), folds...)}
}

// isOpen reports whether a request is still open.
func (r Request) isOpen() bool { return r.Approval.IsPending() || r.Answer == nil }

// hasOwnComment reports whether a request of this kind gets a comment of its own.
func hasOwnComment(k session.AskKind) bool { return k == session.AskQuestion || k == session.AskPlan }

// verdictOf returns the word for the outcome of a request.
func verdictOf(r Request) string {
	if r.Kind == session.AskPlan && r.Answer.Verdict == policy.Withdrawn {
		return "replaced or dropped"
	}
	return strings.ToLower(answers[r.Answer.Verdict])
}

// Split groups simultaneous requests into as few comments as possible. A question or a
// plan gets its own.
func Split(list []session.Asked, requester string) [][]session.Asked {
	var out [][]session.Asked
	room, last := 0, session.AskApproval
	for _, a := range bySeverity(list, func(a session.Asked) session.Asked { return a }) {
		size := len([]rune(Approval(a, requester))) + utf8.RuneCountInString(detail(a)) + 600 // room for folding and a note
		if size > room || hasOwnComment(a.Kind) || hasOwnComment(last) {
			out, room = append(out, nil), maxBody-roomForRest/2
		}
		out[len(out)-1] = append(out[len(out)-1], a)
		room, last = room-size, a.Kind
	}
	return out
}

// waiting lists the open requests on a line, in the order of the asking comments.
func waiting(b *strings.Builder, open []session.Asked, l Links) {
	for _, a := range open {
		if a.Kind == session.AskCommit {
			fmt.Fprintf(b, "Waiting for your approval of the fork's commit: %s\n\n", okFor(a.Head))
		}
	}
	words := map[bool]string{true: "answer", false: "approval"}
	for _, question := range []bool{false, true} {
		var ids []string
		for _, a := range bySeverity(open, func(a session.Asked) session.Asked { return a }) {
			if a.Kind == session.AskCommit || (a.Kind == session.AskQuestion) != question {
				continue
			}
			id := "`" + a.ID + "`"
			if l.Asked != nil && l.Asked(a.ID) != "" {
				id += " (" + l.Asked(a.ID) + ")"
			}
			if l.Review != nil && l.Review(a.ID) > 0 {
				id += fmt.Sprintf(" by a review of #%d", l.Review(a.ID))
			}
			ids = append(ids, id)
		}
		if len(ids) > 0 {
			fmt.Fprintf(b, "Waiting for your %s: %s\n\n", words[question], strings.Join(ids, ", "))
		}
	}
}

// bySeverity orders requests, the most severe first. An edit that needs approval has no
// severity and counts as high: CI may run the file.
func bySeverity[T any](list []T, of func(T) session.Asked) []T {
	order := []string{"critical", "high", "medium", "low"}
	rank := func(t T) int {
		a := of(t)
		i := slices.Index(order, a.Severity)
		if i < 0 {
			i = len(order)
		}
		if len(a.Paths) > 0 {
			i = min(i, 1)
		}
		return i
	}
	out := slices.Clone(list)
	slices.SortStableFunc(out, func(a, b T) int { return cmp.Compare(rank(a), rank(b)) })
	return out
}
