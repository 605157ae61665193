// Package conversation lays out the context of a request for the model: the first post,
// comments, linked issues and, of a pull request, its diff, reviews and failed checks. It
// selects the parts that fit, shortens the rest, and notes omissions. All of it is
// untrusted: it goes into a session as items, which the agent shows between marks that
// nothing in them can close.
//
//	conversation.go  the parts of the context
//	thread.go        posts and comments
//	pull.go          parts that only pull requests have
//	diff.go          the diff
//	line.go          the line that a comment is on
//	space.go         the available room
//	picture.go       pictures of a request
//	github.go        the reader for GitHub
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
	HTML        string // GitHub's HTML of Body; "" if unknown
	State       string
	Pull        bool
}

// Person is the author of a text. Relation is GitHub's word for the account's association
// with the repository, such as MEMBER.
type Person struct {
	Login    string
	Relation string
	Bot      bool
}

// Comment is a comment, or the text of a review, with State as the outcome of the review.
type Comment struct {
	ID      int64
	Author  Person
	Body    string
	HTML    string // GitHub's HTML of Body; "" if unknown
	Created time.Time
	State   string
	Own     bool // written by the bot
}

// Comments are the newest comments of a thread, oldest first. Earlier is the number of
// comments before them.
type Comments struct {
	List    []Comment
	Earlier int
}

// ReviewThread is an unresolved review thread. First is the number of its first comment.
// Earlier is the number of comments after the first that are missing in List.
type ReviewThread struct {
	First    int64
	Path     string
	Line     int
	Hunk     string
	Outdated bool
	List     []Comment
	Earlier  int
}

// File is a file that a pull request changes. Patch is its diff without a header, "" if
// GitHub gives none.
type File struct {
	Path, From     string
	Status         string // added, modified, removed, renamed
	Added, Removed int
	Patch          string
	Hidden         bool // by .agentignore; its patch is left out
}

// Files are the files of a pull request. More is the number of files missing in List.
type Files struct {
	List []File
	More int
}

// Check is a failed check of the head commit. Without a Result it is a kind of checks
// that the App may not read.
type Check struct{ Name, Result string }

// ReviewThreads are the review threads of a pull request, oldest first. Unread is the
// number of further ones.
type ReviewThreads struct {
	List   []ReviewThread
	Unread int
}

// Linked are issues linked with a thread. More is the number of issues missing in List.
type Linked struct {
	List []Post
	More int
}

// Reader reads one thread. Comments returns the comments of the thread and the texts of
// reviews. Linked returns the issues that text names, and those that a pull request
// closes. The other methods are called for pull requests only.
type Reader interface {
	Comments(ctx context.Context) (Comments, error)
	ReviewThreads(ctx context.Context) (ReviewThreads, error)
	Linked(ctx context.Context, text string) (Linked, error)
	Files(ctx context.Context) (Files, error)
	FailedChecks(ctx context.Context) ([]Check, error)
}

// Request is a request and its place.
type Request struct {
	First   Post          // first post of the thread
	IsFirst bool          // the request is in the first post
	Text    string        // text of the request, for the issues that it names
	At      session.Place // place of the request; later texts are left out
	// place of the last request of a session that goes on; earlier texts are left out
	Since   session.Place
	Heard   []session.Place                      // later texts that the session was told of in another way
	Anew    bool                                 // the session goes on, and has forgotten its earlier context
	Line    *Line                                // subject of a request on a line of the diff
	Review  bool                                 // the request is a review of the changes
	Room    int                                  // maximum bytes of text
	Clean   func(what, text, page string) string // returns a text as a reader sees it; page is its HTML
	Command func(body string) bool               // reports whether a comment was a command
	Hides   Hides                                // files hidden from the agent; nil means none
	Refused func(error) bool                     // reports whether an error is permanent
}

// after reports whether a comment came after a request. Within one second their numbers
// decide, if both are of the same kind.
func after(p session.Place, c Comment, kind bool) bool {
	return c.Created.After(p.At) || c.Created.Equal(p.At) && kind && p.Comment != 0 && c.ID > p.Comment
}

// told reports whether a comment existed when a request was made. Within one second the
// order of different kinds of comments is unknown. They count as new then: telling the
// model twice does less harm than not at all.
func told(p session.Place, c Comment, kind bool) bool {
	return c.Created.Before(p.At) || c.Created.Equal(p.At) && kind && c.ID <= p.Comment //control:same-second
}

// Hides finds out which files are hidden from the agent: it is told their names, and not
// their content.
type Hides func() (func(path string) bool, error)

// Line is the subject of a comment on a diff: its path, that with the lines, the code.
type Line struct{ Path, Name, Hunk string }

// Gather reads the context of a request, and lays it out. It fails only if a retry can
// help.
func Gather(ctx context.Context, from Reader, r Request) ([]session.Item, error) {
	g := &gathering{from: from, Request: r, space: space{left: r.Room}}
	steps := []func(context.Context) error{g.readLine, g.readReviews, g.readComments}
	if r.Since.At.IsZero() {
		steps = []func(context.Context) error{
			g.readFirst,
			g.readLine,
			g.readChecks,
			g.readReviews,
			g.readComments,
			g.readLinked,
			g.readFiles,
		}
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

// commandMark matches the mark of the request, which no line of another text may have.
var commandMark = pattern.Lazy(`(?mi)^([\s>*-]*)\[(\s*/agent\s*)\]`)

// gathering holds the parts gathered so far, in the order of display. The most important
// parts are read first, and the largest ones last.
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

// hidden reports whether the content of a file is hidden from the agent.
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

// missing returns a note on a part that GitHub refused, or the error if a retry can help.
func (g *gathering) missing(what string, err error) ([]session.Item, error) {
	if g.Refused == nil || !g.Refused(err) || errors.Is(err, context.Canceled) { //control:thread-read-later
		return nil, fmt.Errorf("read %s: %w", what, err)
	}
	return []session.Item{refusedNote(what)}, nil
}

func refusedNote(what string) session.Item {
	return note("%s could not be read: GitHub refused it, so a permission may be missing", what)
}

// note returns an item with a text of the bot's own.
func note(format string, args ...any) session.Item {
	return session.Item{Kind: session.ItemThread, Name: fmt.Sprintf(format, args...)}
}
