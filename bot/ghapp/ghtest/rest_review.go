package ghtest

import (
	"errors"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/bot/ghapp/ghtest/hub"
)

func listReviews(c *call) (int, any, error) {
	return 200, page(
		c,
		each(c.issue.Pull.Reviews, func(rv *hub.Review) object { return c.s.reviewShape(c.issue, rv) }),
	), nil
}

func getReview(c *call) (int, any, error) {
	is, rv := c.issue, c.review
	return 200, c.s.reviewShape(is, rv), nil
}

func createReview(c *call) (int, any, error) {
	is := c.issue
	var req hub.DraftReview
	if err := c.decode(&req); err != nil {
		return 0, nil, err
	}
	rv, err := c.s.AddReview(is, c.who.user, req)
	if err != nil {
		return 0, nil, err
	}
	if req.CommitID != "" {
		rv.Commit = req.CommitID
	}
	return 200, c.s.reviewShape(is, rv), nil
}

// listReviewComments lists the diff comments of a pull request or of one review.
func listReviewComments(c *call) (int, any, error) {
	list := slices.Clone(c.issue.Pull.Comments)
	if c.review != nil {
		list = slices.DeleteFunc(list, func(cm *hub.Comment) bool { return cm.Review != c.review.ID })
	}
	return 200, page(c, each(list, c.s.reviewCommentShape)), nil
}

func createReviewComment(c *call) (int, any, error) {
	is := c.issue
	var d hub.DraftComment
	if err := c.decode(&d); err != nil {
		return 0, nil, err
	}
	if d.InReplyTo != 0 {
		return reply(c, is, d.InReplyTo, d.Body)
	}
	cm, err := c.s.Inline(is, c.who.user, d)
	var refused *hub.Refused
	if errors.As(err, &refused) && len(refused.Errors) == 1 {
		if words, ok := refused.Errors[0].(string); ok {
			err = hub.Unresolved(
				object{"resource": "PullRequestReviewComment", "code": "custom", "field": "line", "message": words},
			)
		}
	}
	if err != nil {
		return 0, nil, err
	}
	rv := &hub.Review{
		ID:        c.s.NextID(),
		Author:    c.who.user,
		State:     "COMMENTED",
		Commit:    is.Pull.HeadSHA,
		Submitted: c.s.Now(),
	}
	cm.Review = rv.ID
	is.Pull.Reviews = append(is.Pull.Reviews, rv)
	is.Pull.Comments = append(is.Pull.Comments, cm)
	c.s.Tell(hub.AboutComment("created", cm, c.who.user))
	return 201, c.s.reviewCommentShape(cm), nil
}

func replyReviewComment(c *call) (int, any, error) {
	is := c.issue
	var req struct{ Body string }
	if err := c.decode(&req); err != nil {
		return 0, nil, err
	}
	return reply(c, is, c.number("comment_id"), req.Body)
}

func reply(c *call, is *hub.Issue, to int64, body string) (int, any, error) {
	parent := c.s.FindReviewComment(c.repo, to)
	if parent == nil || parent.Issue != is {
		return 0, nil, hub.NotFound()
	}
	if strings.TrimSpace(body) == "" {
		return 0, nil, hub.Invalid("PullRequestReviewComment", "body", "missing_field", "")
	}
	cm := c.s.NewComment(is, c.who.user, body)
	cm.Path, cm.Line, cm.Side, cm.Hunk, cm.Commit = parent.Path, parent.Line, parent.Side, parent.Hunk, parent.Commit
	cm.Review, cm.InReplyTo = parent.Review, parent.ID
	is.Pull.Comments = append(is.Pull.Comments, cm)
	c.s.Tell(hub.AboutComment("created", cm, c.who.user))
	return 201, c.s.reviewCommentShape(cm), nil
}
