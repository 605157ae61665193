package ghapp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/google/go-github/v62/github"

	"github.com/handrail-bot/handrail/bot/thread"
)

// FullText is the media type for a text together with its rendered HTML. Enterprise
// servers support it too.
const FullText = "application/vnd.github.full+json"

// withHTML is an API object together with the HTML of its text.
type withHTML[T any] struct {
	of   T
	html string
}

// UnmarshalJSON implements [json.Unmarshaler].
func (w *withHTML[T]) UnmarshalJSON(data []byte) error {
	var more struct {
		HTML string `json:"body_html"`
	}
	err := errors.Join(json.Unmarshal(data, &w.of), json.Unmarshal(data, &more))
	w.html = more.HTML
	return err
}

// full reads an object, or a list, in the [FullText] media type.
func full[T any](ctx context.Context, c *Client, path string) (out withHTML[T], resp *github.Response, err error) {
	resp, err = c.full(ctx, path, &out)
	return out, resp, err
}

func fullPage[T any](
	ctx context.Context,
	c *Client,
	path string,
	o github.ListOptions,
) ([]withHTML[T], *github.Response, error) {
	var out []withHTML[T]
	resp, err := c.full(ctx, fmt.Sprintf("%s?per_page=%d&page=%d", path, o.PerPage, max(1, o.Page)), &out)
	return out, resp, err
}

func (c *Client) full(ctx context.Context, path string, out any) (*github.Response, error) {
	req, err := c.gh.NewRequest(http.MethodGet, fmt.Sprintf("repos/%s/%s/%s", c.owner, c.repo, path), nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", FullText)
	return c.gh.Do(ctx, req, out)
}

// Text identifies a text on GitHub: a review if Review is set, and otherwise Target.
type Text struct {
	Thread thread.Ref
	Target Target
	Review int64
}

// Said is the current version of a text and its rendered HTML. Addresses of private
// attachments in HTML carry a signature that is valid for some minutes.
type Said struct{ Body, HTML string }

// HTMLFor returns the HTML if body is still the current text, and "" otherwise.
func (s Said) HTMLFor(body string) string {
	lines := strings.NewReplacer("\r\n", "\n")
	if strings.TrimSpace(lines.Replace(s.Body)) != strings.TrimSpace(lines.Replace(body)) { //control:html-of-the-text
		return ""
	}
	return s.HTML
}

// CurrentText reads the current version of a text.
func (c *Client) CurrentText(ctx context.Context, at Text) (Said, error) {
	const op = "read text"
	if err := c.own(op, at.Thread); err != nil {
		return Said{}, err
	}
	where := fmt.Sprintf("issues/%d", at.Thread.Number)
	switch {
	case at.Review != 0:
		where = fmt.Sprintf("pulls/%d/reviews/%d", at.Thread.Number, at.Review)
	case at.Target.Diff:
		where = fmt.Sprintf("pulls/comments/%d", at.Target.Comment)
	case at.Target.Comment != 0:
		where = fmt.Sprintf("issues/comments/%d", at.Target.Comment)
	}
	got, _, err := full[struct{ Body string }](ctx, c, where)
	return Said{got.of.Body, got.html}, c.readError(op, err)
}
