package ghapp

import (
	"context"
	"strings"
	"time"

	"github.com/handrail-bot/handrail/bot/thread"
)

// clockSlack is the assumed maximum difference between the bot's clock and GitHub's,
// for look-ups limited by time.
const clockSlack = 10 * time.Minute

// since returns the start of the look-up; the zero time means no limit.
func (w Write) since() time.Time {
	if w.Since.IsZero() {
		return w.Since
	}
	return w.Since.Add(-clockSlack)
}

// post is a text on GitHub with its author.
type post struct {
	author, body string
	ref          Ref
}

// findOwn finds the bot's own post with the marker of key.
func (c *Client) findOwn(ctx context.Context, key string, list []post) (Ref, bool, error) {
	self, err := c.Self(ctx)
	if err != nil {
		return Ref{}, false, err
	}
	for _, p := range list {
		if strings.EqualFold(p.author, self) && hasMarkerOf(p.body, key) {
			return p.ref, true, nil
		}
	}
	return Ref{}, false, nil
}

// OwnComments returns the unedited comments of a thread that the bot wrote with a key that
// has this prefix. With diff, comments on the diff are included.
func (c *Client) OwnComments(ctx context.Context, ref thread.Ref, prefix string, diff bool) ([]Comment, error) {
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
		asWritten := ours ||
			strings.EqualFold(cm.Author, self) && cm.Created.Equal(cm.Updated) // from another server of the same App
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
