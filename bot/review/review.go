// Package review makes one review of what a session found: which findings stand on a
// line of the diff and which in the summary, what is not said twice, and in what words.
// It is pure: the same findings and the same diff give the same review.
//
//	review.go   which findings are said, and where
//	lines.go    the lines that a diff shows
//	same.go     when two findings are the same
//	text.go     the words
//	answer.go   what people answer to a finding, and whether its code is gone
//	rank.go     which files are read first
//	rules.go    what a repository wants of reviews, for which files
package review

import (
	"cmp"
	"slices"

	"github.com/handrail-bot/handrail/agent/session"
)

// File is a file that the pull request changes.
type File struct {
	Path  string
	Patch string // hunks; "" where GitHub shows none
}

// Input is what a review is made of.
type Input struct {
	Findings []session.Finding // of this look, in order
	Said     []session.Finding // in earlier looks, and not taken back since
	No       []session.Finding // of those: somebody who counts answered that it is no fault
	Marks    []string          // of comments that were answered so, see [Mark]
	Files    []File
	Link     func(f session.Finding) string // address of its lines
	Most     int                            // comments on lines
	Words    string                         // the reviewer's own, at the end
	Again    bool                           // it is not the first review
	Read     int                            // files that were read
	Unread   []string                       // and those that were not
	Moved    string                         // commit that was read, where it is not the newest any more
}

// Comment is a finding on lines of the diff. From is 0 for a single line.
type Comment struct {
	Path     string
	From, To int
	Old      bool
	Body     string
	Mark     string // names the finding in the hidden end of the comment, see [Mark]
	Finding  session.Finding
}

// Review is what is posted, in one piece.
type Review struct {
	Body      string
	Comments  []Comment
	Elsewhere []session.Finding // those that the summary tells
}

// Empty reports whether there is nothing to say.
func (r Review) Empty() bool { return len(r.Comments)+len(r.Elsewhere) == 0 }

// Compose makes the review.
func Compose(in Input) Review {
	fresh := in.fresh()
	slices.SortStableFunc(fresh, heavier)
	shown := map[string]shownLines{}
	for _, f := range in.Files {
		shown[f.Path] = linesOf(f.Patch)
	}
	var out Review
	for _, f := range fresh {
		c, ok := on(shown[f.Path], f)
		if !ok || len(out.Comments) == in.Most { //control:inline-maximum
			out.Elsewhere = append(out.Elsewhere, f)
			continue
		}
		out.Comments = append(out.Comments, c)
	}
	out.Body = in.summary(out)
	return out
}

// Without returns the review with some of its comments in the summary instead, because
// GitHub does not take them where they are.
func (in Input) Without(r Review, refused func(Comment) bool) Review {
	out := Review{Elsewhere: slices.Clone(r.Elsewhere)}
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

// fresh are the findings that are to be said: not refuted, and not said before.
func (in Input) fresh() (out []session.Finding) {
	for _, f := range in.Findings {
		if f.Refuted != "" { //control:refuted-is-dropped
			continue
		}
		if in.said(f) { //control:said-twice
			continue
		}
		if !slices.ContainsFunc(out, func(e session.Finding) bool { return twin(e, f) }) {
			out = append(out, f)
		}
	}
	return out
}

// said reports whether people were told of a finding before.
func (in Input) said(f session.Finding) bool {
	if slices.ContainsFunc(in.No, func(e session.Finding) bool { return e.Path == f.Path && alike(e, f) }) { //control:answered-no
		return true // wherever it went
	}
	return slices.Contains(in.Marks, Mark(f)) || slices.ContainsFunc(in.Said, func(e session.Finding) bool { return Same(e, f) })
}

// heavier orders findings by weight: what is sure before what is not, the worse first.
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

// on puts a finding on the lines of the diff, as many of its own as one hunk shows.
func on(shown shownLines, f session.Finding) (Comment, bool) {
	from, to, ok := shown.part(f.Old, f.Line, f.Last())
	if !ok { //control:only-lines-of-the-diff
		return Comment{}, false
	}
	if from != f.Line || to != f.Last() { //control:suggestion-for-all-its-lines
		f.Suggestion = nil
	}
	c := Comment{Path: f.Path, To: to, Old: f.Old, Body: body(f), Mark: Mark(f), Finding: f}
	if from < to {
		c.From = from
	}
	return c, true
}
