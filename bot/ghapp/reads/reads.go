// Package reads reads the context of a thread from GitHub: its comments, the files and
// the diff of a pull request, its review threads, linked issues, and the checks of a
// commit. All returned text is untrusted and unfiltered; it must not be shown as it is.
//
// Every list has a limit and reports omissions.
package reads

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/thread"
)

const (
	pageSize = 100 // GitHub's maximum
	maxJSON  = 32 << 20
)

// page reads one page of a list, or one object, into out. It returns the number of the
// next page, or 0 on the last one.
func page(ctx context.Context, c *ghapp.Client, a ghapp.Ask, out any) (int, error) {
	a.MaxBytes = maxJSON
	got, err := c.Ask(ctx, a)
	if err != nil {
		return 0, err
	}
	if err := json.Unmarshal(got.Body, out); err != nil {
		return 0, &ghapp.Error{Op: a.Op, Kind: ghapp.Temporary, Err: fmt.Errorf("read answer: %w", err)}
	}
	return got.Next, nil
}

// user is an account in the REST API.
type user struct {
	ID    int64
	Login string
	Type  string
}

// Comment is a comment on a thread or in a review thread.
type Comment struct {
	Position int // position in its thread; 1 is the oldest
	ID       int64
	Author   string
	AuthorID int64  // 0 in review threads: GitHub does not return it
	Bot      bool   // the author is a bot
	App      string // slug of the App that wrote it; empty if none
	Relation string // author association, see [ghapp.Issue]
	Body     string
	HTML     string // see [ghapp.Issue]
	URL      string
	Created  time.Time
	Edited   time.Time // zero if it was never edited
}

// Window selects a part of a list: at most Most entries before position Before. 0 means
// the end of the list.
type Window struct{ Before, Max int }

// CommentList is a part of a thread's comments, newest first. Older comments precede
// position Older; 0 means that there are none.
type CommentList struct {
	List  []Comment
	Total int
	Older int
}

// Comments returns the newest comments of a thread in a window, at most 100.
func Comments(ctx context.Context, c *ghapp.Client, ref thread.Ref, w Window) (CommentList, error) {
	is, err := c.Issue(ctx, ref)
	if err != nil {
		return CommentList{}, err
	}
	last := is.Comments
	if w.Before > 0 {
		last = min(last, w.Before-1)
	}
	out := CommentList{Total: is.Comments}
	first := max(1, last-min(max(w.Max, 1), pageSize)+1)
	for n := (first-1)/pageSize + 1; n <= max(1, (last-1)/pageSize+1); n++ {
		list, err := commentPage(ctx, c, ref, n)
		if err != nil {
			return CommentList{}, err
		}
		for _, cm := range list {
			out.Total = max(out.Total, cm.Position) // posted since the count was read
			if cm.Position >= first && (w.Before == 0 || cm.Position < w.Before) {
				out.List = append([]Comment{cm}, out.List...)
			}
		}
	}
	out.List = out.List[:min(len(out.List), max(w.Max, 1), pageSize)]
	if n := len(out.List); n > 0 && out.List[n-1].Position > 1 {
		out.Older = out.List[n-1].Position
	}
	return out, nil
}

// commentPage reads a page of comments, oldest first.
func commentPage(ctx context.Context, c *ghapp.Client, ref thread.Ref, n int) (out []Comment, err error) {
	var list []struct {
		ID       int64
		User     user
		Body     string
		HTML     string    `json:"body_html"`
		HTMLURL  string    `json:"html_url"`
		Created  time.Time `json:"created_at"`
		Updated  time.Time `json:"updated_at"`
		Relation string    `json:"author_association"`
		App      *struct {
			Slug string
		} `json:"performed_via_github_app"`
	}
	_, err = page(ctx, c, ghapp.Ask{Op: "list comments", Thread: ref, Accept: ghapp.FullText,
		Path: fmt.Sprintf("issues/%d/comments?per_page=%d&page=%d", ref.Number, pageSize, n)}, &list)
	for i, v := range list {
		cm := Comment{
			Position: (n-1)*pageSize + i + 1,
			ID:       v.ID,
			Author:   v.User.Login,
			AuthorID: v.User.ID,
			Bot:      v.User.Type == "Bot",
			Relation: v.Relation,
			Body:     v.Body,
			HTML:     v.HTML,
			URL:      v.HTMLURL,
			Created:  v.Created,
		}
		if v.App != nil {
			cm.App = v.App.Slug
		}
		if v.Updated.After(v.Created) {
			cm.Edited = v.Updated
		}
		out = append(out, cm)
	}
	return out, err
}
