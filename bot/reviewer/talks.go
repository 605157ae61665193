package reviewer

import (
	"context"
	"errors"
	"strings"

	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/ghapp/reads"
	"github.com/handrail-bot/handrail/bot/review"
	"github.com/handrail-bot/handrail/policy"
)

// talk is what became of a comment on lines that the bot made: a review thread of GitHub's.
type talk struct {
	reads.ReviewThread
	mark  string // of the finding
	look  string // that made it
	root  int64  // the comment
	isNo  bool   // somebody who counts said that it is no fault, or resolved it
	ended bool   // the bot resolved it, because its code is gone
	gone  bool   // the code is in the pull request no more
}

// goneKey is what the key of the last word in a thread begins with, whose code is gone.
const goneKey = "gone-"

// talks returns the bot's own review threads of the pull request that stand for a finding,
// as they are for the commit head. Keyed returns the key that a text claims to be written
// under.
func (p Place) talks(ctx context.Context, c *ghapp.Client, keyed func(body string) string, head string) ([]talk, error) {
	list, err := reads.AllThreads(ctx, c, p.Thread)
	if ghapp.KindOf(err) == ghapp.Permanent && err != nil {
		return nil, nil // without the permission there is nothing to go by
	}
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, nil
	}
	self, err := c.Self(ctx)
	if err != nil {
		return nil, err
	}
	counts := p.counting(c)
	var out []talk
	for _, t := range list {
		if len(t.Comments) == 0 || !strings.EqualFold(t.Comments[0].Author, self) { //control:only-own-threads
			continue
		}
		one := talk{ReviewThread: t, root: t.Comments[0].ID}
		one.mark, one.look, _ = strings.Cut(keyed(t.Comments[0].Body), ".")
		if !review.IsMark(one.mark) {
			continue
		}
		if err := one.hear(ctx, self, keyed, counts); err != nil {
			return nil, err
		}
		out = append(out, one)
	}
	return out, p.lookFor(ctx, c, out, head)
}

// hear finds out what was answered. The newest answer that says yes or no counts.
func (t *talk) hear(ctx context.Context, self string, keyed func(string) string, counts func(context.Context, string) (bool, error)) error {
	bot := strings.TrimSuffix(self, "[bot]")
	for _, cm := range t.Comments[1:] {
		if strings.EqualFold(cm.Author, self) {
			t.ended = t.ended || strings.HasPrefix(keyed(cm.Body), goneKey)
			continue
		}
		isNo, said := review.AnswersNo(cm.Body)
		if !said || isNo == t.isNo {
			continue
		}
		if ok, err := counts(ctx, cm.Author); err != nil {
			return err
		} else if ok { //control:no-by-right
			t.isNo = isNo
		}
	}
	for _, login := range t.Against {
		if t.isNo || strings.EqualFold(login, bot) || strings.EqualFold(login, self) {
			continue
		}
		ok, err := counts(ctx, login)
		if err != nil {
			return err
		}
		t.isNo = ok
	}
	by := t.ResolvedBy
	own := strings.EqualFold(by, bot) || strings.EqualFold(by, self) || by == "" && t.ended
	if t.Resolved && !own { //control:resolved-by-a-person
		t.isNo = true // GitHub lets nobody do so without the right
	}
	t.ended = t.ended && t.Resolved && own
	return nil
}

// counting reports whose no counts: of the author, and of who may push. Each is looked up
// once.
func (p Place) counting(c *ghapp.Client) func(context.Context, string) (bool, error) {
	known := map[string]bool{strings.ToLower(p.Pull.Author): true}
	return func(ctx context.Context, login string) (bool, error) {
		login = strings.ToLower(login)
		ok, have := known[login]
		if have {
			return ok, nil
		}
		who, err := c.Sender(ctx, login)
		if errors.Is(err, ghapp.ErrLookups) || err != nil && ghapp.KindOf(err) == ghapp.Permanent {
			return false, nil
		}
		known[login] = err == nil && policy.MayPush(who)
		return known[login], err
	}
}

// lookFor finds out which threads have lost their code. What was moved to another file of
// the pull request is not gone.
func (p Place) lookFor(ctx context.Context, c *ghapp.Client, list []talk, head string) error {
	text := map[string][]string{}
	for i, t := range list {
		if t.Left || !t.Outdated || t.Resolved {
			continue
		}
		if _, ok := text[t.Path]; !ok {
			data, err := c.FileAt(ctx, head, t.Path)
			if err != nil && !errors.Is(err, ghapp.ErrNotFound) {
				if ghapp.KindOf(err) != ghapp.Permanent {
					return err
				}
				continue // nobody can say
			}
			text[t.Path] = []string{string(data)}
			if err != nil { // it was deleted or renamed
				whole := true
				if text[t.Path], whole, err = p.added(ctx, c); err != nil {
					return err
				}
				if !whole {
					text[t.Path] = []string{t.Hunk} // it may be there
				}
			}
		}
		lines := 1
		if t.StartLine > 0 && t.StartLine < t.Line {
			lines = t.Line - t.StartLine + 1
		}
		list[i].gone = review.Gone(t.Hunk, lines, text[t.Path]) //control:code-is-gone
	}
	return nil
}

// added is the new side of what the pull request changes, a text for each file. Whole
// reports whether that is all of it.
func (p Place) added(ctx context.Context, c *ghapp.Client) (out []string, whole bool, err error) {
	d, err := reads.PullDiff(ctx, c, p.Thread, mostDiff, nil)
	for _, f := range d.Files {
		var b strings.Builder
		for l := range strings.SplitSeq(f.Patch, "\n") {
			if l != "" && (l[0] == '+' || l[0] == ' ') {
				b.WriteString(l[1:] + "\n")
			}
		}
		out = append(out, b.String())
	}
	return out, len(d.Left) == 0, err
}
