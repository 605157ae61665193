package conversation

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

const (
	wholeComments = 6   // number of comments that are not shortened if they fit
	shortComment  = 700 // maximum bytes of an older comment
)

func title(text string) string {
	text, _ = untrusted.CleanPlain(text) // no Markdown: a reader sees all of it
	return strings.TrimSpace(text)
}

// String returns the author as shown in a label.
func (p Person) String() string {
	name := "@" + cmp.Or(p.Login, "ghost")
	if p.Bot {
		return name + " (a bot)"
	}
	if is := relations[p.Relation]; is != "" {
		return name + " (" + is + ")"
	}
	return name
}

// relations names GitHub's associations of accounts with a repository. They say nothing
// of an account's permissions.
var relations = map[string]string{
	"OWNER": "owner", "MEMBER": "member of the organization", "COLLABORATOR": "collaborator", "CONTRIBUTOR": "contributed before",
	"NONE": "no role in the repository", "MANNEQUIN": "no role in the repository", "FIRST_TIME_CONTRIBUTOR": "first contribution here", "FIRST_TIMER": "first contribution on GitHub",
}

// readFirst lays out the first post, unless it is the request itself.
func (g *gathering) readFirst(context.Context) error {
	if g.IsFirst {
		return nil
	}
	what := "issue"
	if g.First.Pull {
		what = "pull request"
	}
	text := strings.TrimSpace(title(g.First.Title) + "\n\n" + g.Clean("first post", g.First.Body, g.First.HTML))
	if text == "" {
		return nil
	}
	name := fmt.Sprintf("Title and description of %s #%d by %s", what, g.First.Number, g.First.Author)
	if it, ok := fit(session.ItemPost, name, text, g.part(1, 3)); ok {
		g.first = g.put(it)
		return nil
	}
	g.first = g.put(note("The title and description of this %s are left out: there is no room", what))
	return nil
}

// readComments lays out the comments of the thread.
func (g *gathering) readComments(ctx context.Context) error {
	got, err := g.from.Comments(ctx)
	if err != nil {
		g.comments, err = g.missing("the comments of this thread", err)
		return err
	}
	list := slices.DeleteFunc(got.List, func(c Comment) bool { return !g.counts(c) })
	if !g.Since.At.IsZero() {
		got.Earlier = 0 // they came with an earlier request
	}
	limit := g.part(4, 5)
	if g.First.Pull {
		limit = g.part(2, 5)
	}
	g.comments = g.putComments(list, got.Earlier, limit)
	return nil
}

// afterInThread is after for comments and reviews of the thread itself.
func afterInThread(p session.Place, c Comment) bool { return after(p, c, inThread(p, c)) }

// inThread reports whether the ids of a place and a comment are in order of time.
func inThread(p session.Place, c Comment) bool { return p.DiffThread == 0 && c.State == "" }

// counts reports whether the model is told of a comment.
func (g *gathering) counts(c Comment) bool {
	if c.Own || c.ID == g.At.Comment || afterInThread(g.At, c) { //control:own-words-left-out
		return false
	}
	if g.Since.At.IsZero() {
		return true
	}
	is := func(p session.Place) bool { return p.Comment == c.ID && p.At.Equal(c.Created) }
	if slices.ContainsFunc(g.Heard, is) { //control:told-once
		return false
	}
	return !told(g.Since, c, inThread(g.Since, c)) && !c.Author.Bot && (g.Command == nil || !g.Command(c.Body))
}

// putComments lays out as many comments as fit, the newest first. earlier is the number
// of comments that were not read.
func (g *gathering) putComments(list []Comment, earlier, limit int) []session.Item {
	var out []session.Item
	left := limit
	for i := len(list) - 1; i >= 0; i-- { // cleaning takes time, so only shown comments are cleaned
		text := g.Clean("comment", list[i].Body, list[i].HTML) //control:hidden-comment
		if text == "" {
			continue
		}
		most := left
		if len(out) >= wholeComments {
			most = min(left, shortComment+perItem)
		} else if i > 0 {
			most = left * 2 / 3 // so that one long comment does not displace all others
		}
		it, ok := fit(session.ItemThread, g.nameOf(list[i]), text, most)
		if !ok {
			earlier += i + 1
			break
		}
		left -= size(it)
		out = append(out, it)
	}
	if earlier > 0 {
		out = append(out, note("%s left out here", count(earlier, "older comment is", "older comments are")))
	}
	slices.Reverse(out)
	return g.put(out...)
}

func (g *gathering) nameOf(c Comment) string {
	what := "Comment by"
	if c.State != "" {
		what = "Review (" + strings.ReplaceAll(strings.ToLower(c.State), "_", " ") + ") by"
	}
	name := fmt.Sprintf("%s %s, %s", what, c.Author, c.Created.UTC().Format("2006-01-02 15:04"))
	if !g.Since.At.IsZero() {
		name += ", since the last request"
	}
	return name
}

// readLinked lays out the issues linked with the thread.
func (g *gathering) readLinked(ctx context.Context) error {
	// Text that a reader does not see must not name issues.
	got, err := g.from.Linked(ctx, g.Text+"\n"+title(g.First.Title)+"\n"+g.Clean("first post", g.First.Body, g.First.HTML))
	if err != nil {
		g.linked, err = g.missing("the linked issues", err)
		return err
	}
	for i, p := range got.List {
		what := "issue"
		if p.Pull {
			what = "pull request"
		}
		name := fmt.Sprintf("Linked %s #%d (%s) by %s", what, p.Number, p.State, p.Author)
		it, ok := fit(
			session.ItemThread,
			name,
			title(p.Title)+"\n\n"+g.Clean("linked issue", p.Body, p.HTML),
			min(4000, g.part(1, 4)),
		)
		if !ok {
			got.More += len(got.List) - i
			break
		}
		g.linked = append(g.linked, g.put(it)...)
	}
	if got.More > 0 {
		g.linked = append(
			g.linked,
			g.put(note("%s left out here", count(got.More, "linked issue is", "linked issues are")))...)
	}
	return nil
}
