package conversation

import (
	"context"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/ghapp/reads"
)

// Limits of one reading.
const (
	maxComments   = 60
	maxThreads    = 40
	maxLinked     = 3 // issues
	maxPatchBytes = 4 << 20
)

// GitHub is a [Reader] of a thread. Own reports whether the bot wrote a comment.
type GitHub struct {
	Client *ghapp.Client
	Issue  ghapp.Issue // its first post
	Pull   *ghapp.Pull // nil if the thread is an issue
	Hides  Hides       // see [Request]
	Own    func(ctx context.Context, c Comment) (bool, error)
}

// PostOf returns the first post of a thread.
func PostOf(is ghapp.Issue) Post {
	by := Person{Login: is.Author, Relation: is.Relation, Bot: strings.HasSuffix(is.Author, "[bot]")}
	return Post{
		Number: is.Ref.Number,
		Author: by,
		Title:  is.Title,
		Body:   is.Body,
		HTML:   is.HTML,
		State:  is.State,
		Pull:   is.IsPull,
	}
}

// Comments implements [Reader].
func (g GitHub) Comments(ctx context.Context) (Comments, error) {
	got, err := reads.Comments(ctx, g.Client, g.Issue.Ref, reads.Window{Max: maxComments})
	if err != nil {
		return Comments{}, err
	}
	slices.Reverse(got.List)
	out := Comments{Earlier: max(0, got.Older-1)}
	if out.List, err = g.comments(ctx, got.List); err != nil || g.Pull == nil {
		return out, err
	}
	reviews, err := g.Client.ListReviews(ctx, g.Issue.Ref)
	if err != nil {
		return Comments{}, err
	}
	for _, r := range reviews[max(0, len(reviews)-maxComments):] {
		c := Comment{
			ID:      r.ID,
			Author:  Person{Login: r.Author},
			Body:    r.Body,
			HTML:    r.HTML,
			Created: r.Submitted,
			State:   r.State,
		}
		if r.Body == "" || r.State == "PENDING" {
			continue
		}
		if c.Own, err = g.Own(ctx, c); err != nil {
			return Comments{}, err
		}
		out.List = append(out.List, c)
	}
	slices.SortStableFunc(out.List, func(a, b Comment) int { return a.Created.Compare(b.Created) })
	return out, nil
}

func (g GitHub) comments(ctx context.Context, list []reads.Comment) ([]Comment, error) {
	out := make([]Comment, 0, len(list))
	for _, cm := range list {
		c := Comment{
			ID:      cm.ID,
			Author:  Person{Login: cm.Author, Relation: cm.Relation, Bot: cm.Bot},
			Body:    cm.Body,
			HTML:    cm.HTML,
			Created: cm.Created,
		}
		var err error
		if c.Own, err = g.Own(ctx, c); err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	return out, nil
}

// ReviewThreads implements [Reader].
func (g GitHub) ReviewThreads(ctx context.Context) (ReviewThreads, error) {
	got, err := reads.ReviewThreads(ctx, g.Client, g.Issue.Ref, maxThreads)
	out := ReviewThreads{Unread: got.Unread}
	if err != nil {
		return out, err
	}
	for _, t := range got.List {
		one := ReviewThread{
			Path:     t.Path,
			Line:     t.Line,
			Hunk:     t.Hunk,
			Outdated: t.Outdated,
			Earlier:  t.Total - len(t.Comments),
		}
		if len(t.Comments) > 0 {
			one.First = t.Comments[0].ID
		}
		if one.List, err = g.comments(ctx, t.Comments); err != nil {
			return out, err
		}
		out.List = append(out.List, one)
	}
	return out, nil
}

// Linked implements [Reader].
func (g GitHub) Linked(ctx context.Context, text string) (Linked, error) {
	is := g.Issue
	is.Body = text
	list, more, err := reads.Linked(ctx, g.Client, is, maxLinked)
	out := Linked{More: more}
	for _, p := range list {
		out.List = append(out.List, PostOf(p))
	}
	return out, err
}

// Files implements [Reader].
func (g GitHub) Files(ctx context.Context) (Files, error) {
	var hides func(path string) bool
	if g.Hides != nil {
		var err error
		if hides, err = g.Hides(); err != nil {
			return Files{}, err
		}
	}
	got, err := reads.PullDiff(ctx, g.Client, g.Issue.Ref, maxPatchBytes, hides)
	var out Files
	for i, f := range slices.Concat(got.Files, got.Left, got.Hidden) {
		out.List = append(
			out.List,
			File{
				Path:    f.Path,
				From:    f.Previous,
				Status:  f.Change(),
				Added:   f.Additions,
				Removed: f.Deletions,
				Patch:   f.Patch,
				Hidden:  i >= len(got.Files)+len(got.Left),
			},
		)
	}
	return out, err
}

// FailedChecks implements [Reader].
func (g GitHub) FailedChecks(ctx context.Context) ([]Check, error) {
	list, err := reads.Checks(ctx, g.Client, g.Pull.HeadSHA)
	var out []Check
	for _, c := range list {
		switch {
		case c.Failed():
			out = append(out, Check{Name: c.Name, Result: c.State})
		case c.State == "unreadable":
			out = append(out, Check{Name: c.Name})
		}
	}
	return out, err
}
