package ghtest

import (
	"slices"
)

func (s *Server) reactable(c *call) (*[]*reaction, error) {
	if _, ok := c.params["comment_id"]; !ok {
		is, err := c.issue()
		if err != nil {
			return nil, err
		}
		return &is.reactions, nil
	}
	id := c.number("comment_id")
	if cm := s.findComment(c.repo, id); cm != nil {
		return &cm.reactions, nil
	}
	if cm := s.findReviewComment(c.repo, id); cm != nil {
		return &cm.reactions, nil
	}
	return nil, notFound()
}

// react is idempotent: 200 with the reaction there is, 201 with a new one.
func (s *Server) react(c *call) (int, any, error) {
	list, err := s.reactable(c)
	if err != nil {
		return 0, nil, err
	}
	var req struct{ Content string }
	if err := c.decode(&req); err != nil {
		return 0, nil, err
	}
	if !slices.Contains(reactionNames(), req.Content) {
		return 0, nil, invalid("Reaction", "content", "invalid", "content is not a reaction")
	}
	for _, r := range *list {
		if r.author == c.who.user && r.content == req.Content {
			return 200, s.reactionShape(r), nil
		}
	}
	r := &reaction{id: s.nextID(), author: c.who.user, content: req.Content, created: s.now()}
	*list = append(*list, r)
	return 201, s.reactionShape(r), nil
}

func (s *Server) reactComment(c *call) (int, any, error) { return s.react(c) }

func (s *Server) listReactions(c *call) (int, any, error) {
	list, err := s.reactable(c)
	if err != nil {
		return 0, nil, err
	}
	out := []object{}
	for _, r := range *list {
		if want := c.query("content"); want == "" || want == r.content {
			out = append(out, s.reactionShape(r))
		}
	}
	return 200, page(c, out), nil
}

func (s *Server) listCommentReactions(c *call) (int, any, error) { return s.listReactions(c) }

func (s *Server) unreact(c *call) (int, any, error) {
	list, err := s.reactable(c)
	if err != nil {
		return 0, nil, err
	}
	for i, r := range *list {
		if r.id != c.number("reaction_id") {
			continue
		}
		if r.author != c.who.user {
			return 0, nil, mayEdit(c, r.author)
		}
		*list = slices.Delete(*list, i, i+1)
		return 204, nil, nil
	}
	return 0, nil, notFound()
}

func (s *Server) unreactComment(c *call) (int, any, error) { return s.unreact(c) }
