package conversation

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

const maxChecks = 40

// readThreads reads the review threads, once.
func (g *gathering) readThreads(ctx context.Context) error {
	if g.threadsRead {
		return nil
	}
	g.threadsRead = true
	var err error
	if g.threads, err = g.from.ReviewThreads(ctx); err != nil {
		g.reviews, err = g.missing("the review threads of this pull request", err)
		return err
	}
	for i, t := range g.threads.List {
		hidden, err := g.hidden(t.Path)
		if err != nil {
			return err
		}
		if hidden {
			g.threads.List[i].Hunk = "(.agentignore hides it from you)"
		}
	}
	return nil
}

// readLine lays out the lines that a request is about, and their discussion.
func (g *gathering) readLine(ctx context.Context) error {
	if g.Line == nil {
		return nil
	}
	if err := g.readThreads(ctx); err != nil {
		return err
	}
	for _, t := range g.threads.List {
		if t.First == g.At.DiffThread {
			g.line = g.putThread(t, "What was said on these lines ("+t.Path+")", false, g.part(1, 4))
		}
	}
	hidden, err := g.hidden(g.Line.Path)
	if err != nil {
		return err
	}
	if hidden {
		g.line = append(g.line, g.put(note("The request is about %s; .agentignore hides the code from you", g.Line.Name))...)
		return nil
	}
	text, _ := untrusted.CleanPlain(g.Line.Hunk)
	it, ok := fit(session.ItemSelection, g.Line.Name, text, g.part(1, 3))
	if ok {
		g.line = append(g.line, g.put(it)...)
	}
	return nil
}

// readReviews lays out the unresolved review threads. If a session goes on, it takes only
// those with news.
func (g *gathering) readReviews(ctx context.Context) error {
	if !g.First.Pull {
		return nil
	}
	if err := g.readThreads(ctx); err != nil {
		return err
	}
	dropped, limit := g.threads.Unread, g.part(1, 3)
	if !g.Since.At.IsZero() {
		dropped = 0 // they may have no news
	}
	for i := len(g.threads.List) - 1; i >= 0; i-- {
		t := g.threads.List[i]
		if t.First != 0 && t.First == g.At.DiffThread || !slices.ContainsFunc(t.List, g.isNew) {
			continue
		}
		name := fmt.Sprintf("Review thread on %s:L%d, not resolved", t.Path, t.Line)
		if t.Line == 0 {
			name = fmt.Sprintf("Review thread on %s, not resolved", t.Path)
		}
		if t.Outdated {
			name += "; the code has changed since"
		}
		items := g.putThread(t, name, true, limit)
		if len(items) == 0 {
			dropped++
			continue
		}
		limit -= size(items[0])
		g.reviews = append(items, g.reviews...)
	}
	if dropped > 0 {
		g.reviews = append(
			g.put(note("%s left out here", count(dropped, "review thread is", "review threads are"))),
			g.reviews...)
	}
	return nil
}

// afterOnDiff is after for comments on the diff.
func afterOnDiff(p session.Place, c Comment) bool { return after(p, c, p.DiffThread != 0) }

// isNew reports whether the session was not told of a comment yet. At its beginning, all
// comments are new.
func (g *gathering) isNew(c Comment) bool {
	return c.ID != g.At.Comment && !afterOnDiff(g.At, c) &&
		(g.Since.At.IsZero() || !told(g.Since, c, g.Since.DiffThread != 0) && !c.Own)
}

// putThread lays out one review thread. Each line of a comment is indented, so that no
// comment can look like another author's.
func (g *gathering) putThread(t ReviewThread, name string, hunk bool, limit int) []session.Item {
	var b strings.Builder
	if text, _ := untrusted.CleanPlain(t.Hunk); hunk && text != "" {
		b.WriteString("The code:\n" + inset(tail(text, max(400, limit/3))) + "\n")
	}
	said := 0
	for i, c := range t.List {
		if c.ID == g.At.Comment || afterOnDiff(g.At, c) {
			continue
		}
		if i == 1 && t.Earlier > 0 {
			fmt.Fprintf(&b, "[%s left out]\n", count(t.Earlier, "comment is", "comments are"))
		}
		who := c.Author.String()
		if c.Own {
			who = "You"
		}
		fmt.Fprintf(&b, "%s wrote:\n%s\n", who, inset(g.Clean("review comment", c.Body, c.HTML)))
		said++
	}
	if said == 0 {
		return nil
	}
	it, ok := fit(session.ItemThread, name, strings.TrimSuffix(b.String(), "\n"), limit)
	if !ok {
		return nil
	}
	return g.put(it)
}

// tail returns the end of a hunk, since the comment is on its last line.
func tail(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	text = text[len(text)-limit:]
	if _, rest, ok := strings.Cut(text, "\n"); ok {
		text = rest
	}
	return "[shortened]\n" + text
}

func inset(text string) string { return "    " + strings.ReplaceAll(text, "\n", "\n    ") }

// readChecks lays out the failed checks of the head commit.
func (g *gathering) readChecks(ctx context.Context) error {
	if !g.First.Pull {
		return nil
	}
	list, err := g.from.FailedChecks(ctx)
	if err != nil {
		g.checks, err = g.missing("the checks of this pull request", err)
		return err
	}
	var failed []Check
	for _, c := range list {
		if c.Result == "" {
			g.checks = append(g.checks, g.put(refusedNote(c.Name))...)
			continue
		}
		failed = append(failed, c)
	}
	if len(failed) == 0 {
		return nil
	}
	var b strings.Builder
	for i, c := range failed {
		if i == maxChecks {
			fmt.Fprintf(&b, "and %d more\n", len(failed)-i)
			break
		}
		fmt.Fprintf(&b, "- %s: %s\n", title(c.Name), strings.ReplaceAll(c.Result, "_", " "))
	}
	name := fmt.Sprintf("Checks that failed on the newest commit (%d)", len(failed))
	if it, ok := fit(session.ItemThread, name, strings.TrimSuffix(b.String(), "\n"), g.part(1, 4)); ok {
		g.checks = append(g.checks, g.put(it)...)
	}
	return nil
}
