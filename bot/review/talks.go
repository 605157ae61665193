package review

import (
	"context"
	"errors"
	"strings"

	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/ghapp/reads"
	"github.com/handrail-bot/handrail/policy"
)

// talk is a review thread on GitHub that began with a comment of the bot.
type talk struct {
	reads.ReviewThread
	mark  string // of the finding
	look  string // the posting that made it
	root  int64  // id of the first comment
	isNo  bool   // rejected or resolved by an authorized account
	ended bool   // resolved by the bot because the code is gone
	gone  bool   // the pull request no longer contains the code
}

// talks returns the bot's review threads about findings, in their state at the commit
// head. keyed returns the key that a text claims to have.
func (p Place) talks(
	ctx context.Context,
	c *ghapp.Client,
	keyed func(body string) string,
	head string,
) ([]talk, error) {
	list, err := reads.AllThreads(ctx, c, p.Thread)
	if ghapp.KindOf(err) == ghapp.Permanent && err != nil {
		return nil, nil // without the permission there are no threads to read
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
	counts := p.rejectionCounts(c)
	var out []talk
	for _, t := range list {
		if len(t.Comments) == 0 || !strings.EqualFold(t.Comments[0].Author, self) { //control:only-own-threads
			continue
		}
		one := talk{ReviewThread: t, root: t.Comments[0].ID}
		one.mark, one.look, _ = strings.Cut(keyed(t.Comments[0].Body), ".")
		if !isMark(one.mark) {
			continue
		}
		if err := one.readReplies(ctx, self, counts); err != nil {
			return nil, err
		}
		out = append(out, one)
	}
	return out, p.markGone(ctx, c, out, head)
}

// readReplies reads the replies. The newest one that rejects or accepts the finding counts.
func (t *talk) readReplies(
	ctx context.Context,
	self string,
	counts func(context.Context, string) (bool, error),
) error {
	bot := strings.TrimSuffix(self, "[bot]")
	for _, cm := range t.Comments[1:] {
		if strings.EqualFold(cm.Author, self) {
			continue
		}
		isNo, said := answersNo(cm.Body)
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
	// GitHub names users only, not Apps.
	own := by == "" || strings.EqualFold(by, bot) || strings.EqualFold(by, self)
	if t.Resolved && !own { //control:resolved-by-a-person
		t.isNo = true // GitHub lets only authorized accounts resolve a thread
	}
	t.ended = t.Resolved && own
	return nil
}

// rejectionCounts returns a function that reports whether an account's rejection counts: that of
// the author, or of an account with push access. Each account is looked up once.
func (p Place) rejectionCounts(c *ghapp.Client) func(context.Context, string) (bool, error) {
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

// markGone marks the threads about code that is gone. Code that was moved to another file
// of the pull request is not gone.
func (p Place) markGone(ctx context.Context, c *ghapp.Client, list []talk, head string) error {
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
				continue // unknown: keep the thread open
			}
			text[t.Path] = []string{string(data)}
			if err != nil { // it was deleted or renamed
				var whole bool
				if text[t.Path], whole, err = p.added(ctx, c); err != nil {
					return err
				}
				if !whole {
					text[t.Path] = []string{t.Hunk} // the rest of the diff may contain it
				}
			}
		}
		lines := 1
		if t.StartLine > 0 && t.StartLine < t.Line {
			lines = t.Line - t.StartLine + 1
		}
		list[i].gone = gone(t.Hunk, lines, text[t.Path]) //control:code-is-gone
	}
	return nil
}

// added returns the new side of the pull request's diff, one text for each file. whole is
// false if part of the diff is missing.
func (p Place) added(ctx context.Context, c *ghapp.Client) (out []string, whole bool, err error) {
	d, err := reads.PullDiff(ctx, c, p.Thread, maxDiff, nil)
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
