package ghapp

import (
	"context"
	"strings"
	"time"

	"github.com/handrail-bot/handrail/bot/thread"
)

// clockSlack is how far the bot's clock and GitHub's may be apart when a
// look-up is limited by time.
const clockSlack = 10 * time.Minute

// since is from when on a look-up goes, the zero time for ever.
func (w Write) since() time.Time {
	if w.Since.IsZero() {
		return w.Since
	}
	return w.Since.Add(-clockSlack)
}

// post is something that somebody wrote.
type post struct {
	author, body string
	ref          Ref
}

// findOwn finds the post that the bot itself wrote with the marker of a key.
func (c *Client) findOwn(ctx context.Context, key string, list []post) (Ref, bool, error) {
	self, err := c.Self(ctx)
	if err != nil {
		return Ref{}, false, err
	}
	for _, p := range list {
		if strings.EqualFold(p.author, self) && marked(p.body, key) {
			return p.ref, true, nil
		}
	}
	return Ref{}, false, nil
}

// Posted returns the comments of a thread that are the bot's own writes with a key that
// begins like this, as they were written; with diff, those on the lines of a diff as well.
func (c *Client) Posted(ctx context.Context, ref thread.Ref, prefix string, diff bool) ([]Comment, error) {
	self, err := c.Self(ctx)
	if err != nil {
		return nil, err
	}
	var out []Comment
	list, err := c.listComments(ctx, ref, time.Time{})
	if diff && err == nil {
		var more []Comment
		more, err = c.ListDiffComments(ctx, ref)
		list = append(list, more...)
	}
	for _, cm := range list {
		ours, of := c.app.Written(cm.Body)
		asWritten := ours || strings.EqualFold(cm.Author, self) && cm.Created.Equal(cm.Updated) // by another server of the same App
		if strings.HasPrefix(of, prefix) && asWritten {
			out = append(out, cm)
		}
	}
	return out, err
}

func postsOf(list []Comment) []post {
	var out []post
	for _, cm := range list {
		out = append(out, post{cm.Author, cm.Body, Ref{ID: cm.ID, URL: cm.URL}})
	}
	return out
}
