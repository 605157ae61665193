// Package conversation lays out what was said and done where somebody asks for
// something, so that the model knows what its request is about: the first post,
// comments, linked issues, and of a pull request its diff, reviews and failed
// checks. It decides what of it fits, shortens the rest, and says what is left
// out. All of it was written by anyone: it goes into a session as items, which
// the agent shows between marks that nothing in them can close.
//
//	conversation.go  what is gathered
//	thread.go        posts and comments
//	pull.go          what only pull requests have
//	diff.go          the diff
//	line.go          the line that a comment is on
//	space.go         how much of it fits
package conversation

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/policy/pattern"
)

// Post is the first post of an issue or a pull request.
type Post struct {
	Number      int
	Author      Person
	Title, Body string
	HTML        string // that GitHub makes of Body, "" if nobody knows
	State       string
	Pull        bool
}

// Person is who wrote something. Relation is GitHub's word for what the account is
// to the repository, such as MEMBER.
type Person struct {
	Login    string
	Relation string
	Bot      bool
}

// Comment is a comment, or the words of a review, whose State then says what it came to.
type Comment struct {
	ID      int64
	Author  Person
	Body    string
	HTML    string // that GitHub makes of it, "" if nobody knows
	Created time.Time
	State   string
	Own     bool // the bot wrote it
}

// Comments are the newest comments of a thread, oldest first. Earlier is how many
// there are before them.
type Comments struct {
	List    []Comment
	Earlier int
}

// ReviewThread is a talk about lines of a diff that nobody resolved. First is the number of the comment
// that it began with. Earlier is how many comments after the first are not in List.
type ReviewThread struct {
	First    int64
	Path     string
	Line     int
	Hunk     string
	Outdated bool
	List     []Comment
	Earlier  int
}

// File is a file that a pull request changes. Patch is its part of the diff, without a
// head; "" when GitHub gives none.
type File struct {
	Path, From     string
	Status         string // added, modified, removed, renamed
	Added, Removed int
	Patch          string
	Hidden         bool // from the agent, by .agentignore: its patch is left out
}

// Files are the files of a pull request. More is how many are not in List.
type Files struct {
	List []File
	More int
}

// Check is a check of the head commit that failed. Without a Result it is a kind of
// checks that GitHub does not let the App read.
type Check struct{ Name, Result string }

// ReviewThreads are the review threads of a pull request, oldest first. Unread is how
// many more there are.
type ReviewThreads struct {
	List   []ReviewThread
	Unread int
}

// Linked are issues that a thread is about. More is how many are not in List.
type Linked struct {
	List []Post
	More int
}

// Reader reads one thread. Comments are those of the thread and the words of reviews.
// Linked issues are those that text names, and those that a pull request closes. What
// has to do with a diff is asked of pull requests only.
type Reader interface {
	Comments(ctx context.Context) (Comments, error)
	ReviewThreads(ctx context.Context) (ReviewThreads, error)
	Linked(ctx context.Context, text string) (Linked, error)
	Files(ctx context.Context) (Files, error)
	FailedChecks(ctx context.Context) ([]Check, error)
}

// Request is what somebody asks for, and where.
type Request struct {
	First   Post                                 // of the thread
	IsFirst bool                                 // it is the first post that asks
	Text    string                               // what is asked, for the issues that it names
	At      session.Place                        // when it was said; what was said later is not gathered
	Since   session.Place                        // a session goes on: only what came after this is gathered
	Anew    bool                                 // the session goes on, and what it was told before is forgotten
	Line    *Line                                // what it is about, when it stands on a line of the diff
	Review  bool                                 // what the thread changes is to be reviewed
	Room    int                                  // bytes of text that all of it may take
	Clean   func(what, text, page string) string // what a reader sees of a text, whose HTML is page
	Command func(body string) bool               // reports whether a comment was a command
	Hides   Hides                                // which files the agent is not shown; nil for none
	Refused func(error) bool                     // reports whether an error stays however often one asks
}

// after reports whether a comment came after a request. Two of one second are told
// apart by their numbers, which count for comments of one kind only.
func after(p session.Place, c Comment, kind bool) bool {
	return c.Created.After(p.At) || c.Created.Equal(p.At) && kind && p.Comment != 0 && c.ID > p.Comment
}

// told reports whether a comment was there for a request that stands at a place. Of two
// kinds of comment in one second nobody knows the order: then it was not, since what is
// told twice does less harm than what is lost.
func told(p session.Place, c Comment, kind bool) bool {
	return c.Created.Before(p.At) || c.Created.Equal(p.At) && kind && c.ID <= p.Comment //control:same-second
}

// Hides finds out which files are hidden from the agent: their names are told, and not
// what is in them.
type Hides func() (func(path string) bool, error)

// Line is what a comment on a diff is about: the path, the path with the lines, and the code.
type Line struct{ Path, Name, Hunk string }

// Gather reads what a request is about, and lays it out. It fails only where
// trying later can help.
func Gather(ctx context.Context, from Reader, r Request) ([]session.Item, error) {
	g := &gathering{from: from, Request: r, space: space{left: r.Room}}
	steps := []func(context.Context) error{g.readLine, g.readReviews, g.readComments}
	if r.Since.At.IsZero() {
		steps = []func(context.Context) error{g.readFirst, g.readLine, g.readChecks, g.readReviews, g.readComments, g.readLinked, g.readFiles}
	}
	if r.Anew && !r.Since.At.IsZero() {
		steps = append(steps, g.readFirst, g.readLinked, g.readFiles)
	}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	items := g.items()
	for i := range items {
		items[i].Text = commandMark().ReplaceAllString(items[i].Text, "$1($2)") //control:others-command-mark
	}
	return items, nil
}

// commandMark is the mark of what is asked, which nobody else's line may bear.
var commandMark = pattern.Lazy(`(?mi)^([\s>*-]*)\[(\s*/agent\s*)\]`)

// gathering is what was gathered so far, in the order in which it is shown.
// What matters most is taken first, and what takes most room comes last.
type gathering struct {
	from Reader
	Request
	space

	hides       func(path string) bool
	threads     ReviewThreads
	threadsRead bool

	first, linked, stat, diff, checks, comments, reviews, line []session.Item
}

func (g *gathering) items() []session.Item {
	var out []session.Item
	for _, part := range [][]session.Item{g.first, g.stat, g.diff, g.linked, g.checks, g.comments, g.reviews, g.line} {
		out = append(out, part...)
	}
	return out
}

// hidden reports whether what is in a file is hidden from the agent.
func (g *gathering) hidden(path string) (bool, error) {
	if g.Hides == nil {
		return false, nil
	}
	if g.hides == nil {
		var err error
		if g.hides, err = g.Hides(); err != nil {
			return true, err
		}
	}
	return g.hides(path), nil //control:hidden-hunk
}

// missing is what is said of a part that GitHub did not give, and the error if
// it may give it later.
func (g *gathering) missing(what string, err error) ([]session.Item, error) {
	if g.Refused == nil || !g.Refused(err) || errors.Is(err, context.Canceled) { //control:thread-read-later
		return nil, fmt.Errorf("read %s: %w", what, err)
	}
	return []session.Item{refused(what)}, nil
}

func refused(what string) session.Item {
	return note("%s could not be read: GitHub refused it, so a permission may be missing", what)
}

// note is an item of our own words.
func note(format string, args ...any) session.Item {
	return session.Item{Kind: session.ItemThread, Name: fmt.Sprintf(format, args...)}
}
