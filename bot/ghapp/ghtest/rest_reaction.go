package ghtest

import (
	"slices"

	"github.com/handrail-bot/handrail/bot/ghapp/ghtest/hub"
)

// reactions returns the reactions of the comment or issue that the request names.
func (c *call) reactions() *[]*hub.Reaction {
	if c.comment != nil {
		return &c.comment.Reactions
	}
	return &c.issue.Reactions
}

// react is idempotent: it answers 200 with an existing reaction, or 201 with a new one.
func react(c *call) (int, any, error) {
	list := c.reactions()
	var req struct{ Content string }
	if err := c.decode(&req); err != nil {
		return 0, nil, err
	}
	if !slices.Contains(reactionNames(), req.Content) {
		return 0, nil, hub.Invalid("Reaction", "content", "invalid", "content is not a reaction")
	}
	for _, r := range *list {
		if r.Author == c.who.user && r.Content == req.Content {
			return 200, c.s.reactionShape(r), nil
		}
	}
	r := &hub.Reaction{ID: c.s.NextID(), Author: c.who.user, Content: req.Content, Created: c.s.Now()}
	*list = append(*list, r)
	return 201, c.s.reactionShape(r), nil
}

func listReactions(c *call) (int, any, error) {
	list := c.reactions()
	out := []object{}
	for _, r := range *list {
		if want := c.query("content"); want == "" || want == r.Content {
			out = append(out, c.s.reactionShape(r))
		}
	}
	return 200, page(c, out), nil
}

func unreact(c *call) (int, any, error) {
	list := c.reactions()
	for i, r := range *list {
		if r.ID != c.number("reaction_id") {
			continue
		}
		if r.Author != c.who.user {
			return 0, nil, mayEdit(c, r.Author)
		}
		*list = slices.Delete(*list, i, i+1)
		return 204, nil, nil
	}
	return 0, nil, hub.NotFound()
}
