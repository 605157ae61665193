// Package review turns the findings of a session into one review: it places each finding
// on a line of the diff or in the summary, drops repeated ones, and writes the text. The
// text is pure: the same findings and the same diff give the same review. reviewer.go posts it.
//
//	review.go   selection and placement of findings
//	lines.go    the lines that a diff shows
//	same.go     equality of findings
//	text.go     the text of a review
//	answer.go   replies to findings, and code that is gone
//	rank.go     the reading order of files
//	rules.go    the repository's rules for reviews, by file
package review

import (
	"cmp"
	"slices"

	"github.com/handrail-bot/handrail/agent/session"
)

// file is a file that the pull request changes.
type file struct {
	Path  string
	Patch string // hunks; "" if GitHub shows none
}

// input holds the facts from which a review is composed.
type input struct {
	Findings    []session.Finding // of this look, in order
	Said        []session.Finding // of earlier looks, and not withdrawn, see [Follow]
	At          map[string]string // commit of each of them, by its mark
	No          []session.Finding // of those, rejected by an authorized reply
	Marks       []string          // of comments rejected that way, see [Mark]
	Files       []file
	Link        func(f session.Finding) string // address of its lines
	MaxComments int                            // maximum number of comments on lines
	Least       session.Severity               // findings of less severity are not told; "" tells all
	Words       string                         // the reviewer's own text, at the end
	Again       bool                           // the pull request was reviewed before
	Read        int                            // number of files that were read
	Unread      []string                       // files that were not read
	Moved       string                         // commit that was read, if it is no longer the newest
	Checks      []check                        // of the commit that was read
}

// check is the result of a check: passed, failed, running or neutral.
type check struct {
	Name, Result string
	ID           int64 // increases over time; 0 for a status
}

// comment is a finding on lines of the diff. From is 0 for a single line.
type comment struct {
	Path     string
	From, To int
	Old      bool
	Body     string
	Mark     string // hidden key of the finding in the comment, see [Mark]
	Finding  session.Finding
}

// review is posted as a single review on GitHub.
type review struct {
	Body      string
	Comments  []comment
	Elsewhere []session.Finding // findings in the summary
}

// Empty reports whether there are no findings to post.
func (r review) Empty() bool { return len(r.Comments)+len(r.Elsewhere) == 0 }

// All returns the findings that the review posts.
func (r review) All() (out []session.Finding) {
	for _, c := range r.Comments {
		out = append(out, c.Finding)
	}
	return append(out, r.Elsewhere...)
}

// compose composes the review.
func compose(in input) review {
	fresh := in.newFindings()
	slices.SortStableFunc(fresh, heavier)
	shown := map[string]shownLines{}
	for _, f := range in.Files {
		shown[f.Path] = linesOf(f.Patch)
	}
	var out review
	for _, f := range fresh {
		c, ok := place(shown[f.Path], f)
		if !ok || len(out.Comments) == in.MaxComments { //control:inline-maximum
			out.Elsewhere = append(out.Elsewhere, f)
			continue
		}
		taken := func(have comment) bool { return have.Path == c.Path && have.Old == c.Old && have.To == c.To }
		if slices.ContainsFunc(out.Comments, taken) { //control:one-comment-a-line
			out.Elsewhere = append(out.Elsewhere, f)
			continue
		}
		out.Comments = append(out.Comments, c)
	}
	out.Body = in.summary(out)
	return out
}

// Without moves comments to the summary that GitHub does not accept on their lines.
func (in input) Without(r review, refused func(comment) bool) review {
	out := review{Elsewhere: slices.Clone(r.Elsewhere)}
	for _, c := range r.Comments {
		if refused(c) {
			out.Elsewhere = append(out.Elsewhere, c.Finding)
			continue
		}
		out.Comments = append(out.Comments, c)
	}
	slices.SortStableFunc(out.Elsewhere, heavier)
	out.Body = in.summary(out)
	return out
}

// newFindings returns the findings to post: neither refuted nor reported before.
func (in input) newFindings() (out []session.Finding) {
	for _, f := range in.Findings {
		if f.Refuted != "" { //control:refuted-is-dropped
			continue
		}
		if in.Least != "" && weight(f) > weight(session.Finding{Severity: in.Least}) {
			continue
		}
		if in.reported(f) { //control:said-twice
			continue
		}
		if !slices.ContainsFunc(out, func(e session.Finding) bool { return sameInLook(e, f) }) {
			out = append(out, f)
		}
	}
	return out
}

// reported reports whether a finding was reported before.
func (in input) reported(f session.Finding) bool {
	if slices.ContainsFunc(in.No, func(e session.Finding) bool { return e.Path == f.Path && alike(e, f) }) { //control:answered-no
		return true // even if its lines have moved
	}
	return slices.Contains(in.Marks, findingMark(f)) ||
		slices.ContainsFunc(in.Said, func(e session.Finding) bool { return same(e, f) })
}

// heavier orders findings: certain ones before unsure ones, then by severity.
func heavier(a, b session.Finding) int {
	return cmp.Or(cmp.Compare(doubt(a), doubt(b)), cmp.Compare(weight(a), weight(b)))
}

func doubt(f session.Finding) int {
	if f.Unsure != "" {
		return 1
	}
	return 0
}

func weight(f session.Finding) int {
	return slices.Index([]session.Severity{session.High, session.Medium, session.Low}, f.Severity)
}

// place places a finding on its lines, as far as a single hunk shows them.
func place(shown shownLines, f session.Finding) (comment, bool) {
	from, to, ok := shown.part(f.Old, f.Line, f.Last())
	if !ok { //control:only-lines-of-the-diff
		return comment{}, false
	}
	if from != f.Line || to != f.Last() { //control:suggestion-for-all-its-lines
		f.Suggestion = nil
	}
	c := comment{Path: f.Path, To: to, Old: f.Old, Body: body(f), Mark: findingMark(f), Finding: f}
	if from < to {
		c.From = from
	}
	return c, true
}
