package ghtest

import (
	"errors"
	"net/http"
	"regexp"
	"strconv"
	"strings"
)

// draftComment is one inline comment of a review to be.
type draftComment struct {
	Path      string
	Body      string
	Line      int
	Side      string
	StartLine int    `json:"start_line"`
	StartSide string `json:"start_side"`
	Position  int
	CommitID  string `json:"commit_id"`
	InReplyTo int64  `json:"in_reply_to"`
}

type draftReview struct {
	Body, Event string
	CommitID    string `json:"commit_id"`
	Comments    []draftComment
}

func (c *call) review() (*issue, *review, error) {
	is, err := c.pull()
	if err != nil {
		return nil, nil, err
	}
	for _, rv := range is.pull.reviews {
		if rv.id == c.number("review_id") {
			return is, rv, nil
		}
	}
	return nil, nil, notFound()
}

func (s *Server) listReviews(c *call) (int, any, error) {
	is, err := c.pull()
	if err != nil {
		return 0, nil, err
	}
	list := []object{}
	for _, rv := range is.pull.reviews {
		list = append(list, s.reviewShape(is, rv))
	}
	return 200, page(c, list), nil
}

func (s *Server) getReview(c *call) (int, any, error) {
	is, rv, err := c.review()
	if err != nil {
		return 0, nil, err
	}
	return 200, s.withHTML(c, s.reviewShape(is, rv)), nil
}

func (s *Server) createReview(c *call) (int, any, error) {
	is, err := c.pull()
	if err != nil {
		return 0, nil, err
	}
	var req draftReview
	if err := c.decode(&req); err != nil {
		return 0, nil, err
	}
	rv, err := s.addReview(is, c.who.user, req)
	if err != nil {
		return 0, nil, err
	}
	if req.CommitID != "" {
		rv.commit = req.CommitID
	}
	return 200, s.reviewShape(is, rv), nil
}

// addReview applies GitHub's rules for a review and sends its events.
func (s *Server) addReview(is *issue, by *user, d draftReview) (*review, error) {
	event, body, comments := d.Event, d.Body, d.Comments
	state := map[string]string{"APPROVE": "APPROVED", "REQUEST_CHANGES": "CHANGES_REQUESTED", "COMMENT": "COMMENTED", "": "PENDING"}[event]
	switch {
	case state == "":
		return nil, unresolved("Variable $event of type PullRequestReviewEvent was provided invalid value")
	case by == is.author && (event == "APPROVE" || event == "REQUEST_CHANGES"):
		words := map[string]string{"APPROVE": "approve", "REQUEST_CHANGES": "request changes on"}[event]
		return nil, &apiError{status: 422, message: "Unprocessable Entity: Can not " + words + " your own pull request"}
	case (event == "COMMENT" && len(comments) == 0 || event == "REQUEST_CHANGES") && strings.TrimSpace(body) == "":
		return nil, unresolved("Could not create a review without a body")
	}
	if checkText("PullRequestReview", body) != nil {
		return nil, unresolved("Body is too long (maximum is 65536 characters)")
	}
	rv := &review{id: s.nextID(), author: by, body: body, state: state, commit: is.pull.headSHA, submitted: s.now()}
	var made []*comment
	for _, d := range comments {
		cm, err := s.inline(is, by, d)
		if err != nil {
			return nil, err
		}
		cm.review = rv.id
		made = append(made, cm)
	}
	is.pull.reviews = append(is.pull.reviews, rv)
	is.pull.comments = append(is.pull.comments, made...)
	is.updated = s.now()
	if state != "PENDING" {
		s.emitReview("submitted", is, rv, by)
		for _, cm := range made {
			s.emitReviewComment("created", cm, by, "")
		}
	}
	return rv, nil
}

var hunkRE = regexp.MustCompile(`^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@`)

// hunkAt returns the part of patch up to the line, or "" when the line is not
// in the diff: GitHub takes comments on lines of the diff only.
func hunkAt(patch string, line int, left bool) string {
	var hunk []string
	oldLine, newLine := 0, 0
	for _, l := range strings.Split(patch, "\n") {
		if m := hunkRE.FindStringSubmatch(l); m != nil {
			oldLine, _ = strconv.Atoi(m[1])
			newLine, _ = strconv.Atoi(m[3])
			hunk = []string{l}
			continue
		}
		if hunk == nil || strings.HasPrefix(l, `\`) {
			continue
		}
		hunk = append(hunk, l)
		inOld, inNew := !strings.HasPrefix(l, "+"), !strings.HasPrefix(l, "-")
		if (left && inOld && oldLine == line) || (!left && inNew && newLine == line) {
			return strings.Join(hunk, "\n")
		}
		if inOld {
			oldLine++
		}
		if inNew {
			newLine++
		}
	}
	return ""
}

// unresolved refuses a review, in words; a single comment on the diff is
// refused with an object.
func unresolved(what any) error {
	return &apiError{status: http.StatusUnprocessableEntity, message: "Unprocessable Entity", errors: []any{what}}
}

func (s *Server) inline(is *issue, by *user, d draftComment) (*comment, error) {
	if strings.TrimSpace(d.Body) == "" {
		return nil, unresolved("Body can't be blank")
	}
	if checkText("PullRequestReviewComment", d.Body) != nil {
		return nil, unresolved("Body is too long (maximum is 65536 characters)")
	}
	side := d.Side
	if side == "" {
		side = "RIGHT"
	}
	files, err := is.repo.dir.diffFiles(is.pull.baseSHA, is.pull.headSHA)
	if err != nil {
		return nil, err
	}
	hunk := ""
	for _, f := range files {
		if f.name == d.Path {
			hunk = hunkAt(f.patch, d.Line, side == "LEFT")
			if hunk != "" && d.StartLine > 0 && hunkAt(f.patch, d.StartLine, side == "LEFT") == "" {
				hunk = ""
			}
		}
	}
	if hunk == "" {
		return nil, unresolved("Line could not be resolved")
	}
	cm := s.newComment(is, by, d.Body)
	cm.path, cm.line, cm.side, cm.startLine = d.Path, d.Line, side, d.StartLine
	cm.hunk, cm.commit = hunk, is.pull.headSHA
	return cm, nil
}

func (s *Server) listCommentsOfReview(c *call) (int, any, error) {
	is, rv, err := c.review()
	if err != nil {
		return 0, nil, err
	}
	list := []object{}
	for _, cm := range is.pull.comments {
		if cm.review == rv.id {
			list = append(list, s.reviewCommentShape(cm))
		}
	}
	return 200, page(c, list), nil
}

func (s *Server) listReviewComments(c *call) (int, any, error) {
	is, err := c.pull()
	if err != nil {
		return 0, nil, err
	}
	list := []object{}
	for _, cm := range is.pull.comments {
		list = append(list, s.reviewCommentShape(cm))
	}
	return 200, page(c, list), nil
}

func (c *call) reviewComment(s *Server) (*comment, error) {
	if cm := s.findReviewComment(c.repo, c.number("comment_id")); cm != nil {
		return cm, nil
	}
	return nil, notFound()
}

func (s *Server) getReviewComment(c *call) (int, any, error) {
	cm, err := c.reviewComment(s)
	if err != nil {
		return 0, nil, err
	}
	return 200, s.withHTML(c, s.reviewCommentShape(cm)), nil
}

func (s *Server) updateReviewComment(c *call) (int, any, error) {
	cm, err := c.reviewComment(s)
	if err != nil {
		return 0, nil, err
	}
	if err := mayEdit(c, cm.author); err != nil {
		return 0, nil, err
	}
	body, err := c.commentBody()
	if err != nil {
		return 0, nil, err
	}
	s.edit(cm, body, c.who.user)
	return 200, s.reviewCommentShape(cm), nil
}

func (s *Server) createReviewComment(c *call) (int, any, error) {
	is, err := c.pull()
	if err != nil {
		return 0, nil, err
	}
	var d draftComment
	if err := c.decode(&d); err != nil {
		return 0, nil, err
	}
	if d.InReplyTo != 0 {
		return s.reply(c, is, d.InReplyTo, d.Body)
	}
	cm, err := s.inline(is, c.who.user, d)
	var refused *apiError
	if errors.As(err, &refused) && len(refused.errors) == 1 {
		if words, ok := refused.errors[0].(string); ok {
			err = unresolved(object{"resource": "PullRequestReviewComment", "code": "custom", "field": "line", "message": words})
		}
	}
	if err != nil {
		return 0, nil, err
	}
	rv := &review{id: s.nextID(), author: c.who.user, state: "COMMENTED", commit: is.pull.headSHA, submitted: s.now()}
	cm.review = rv.id
	is.pull.reviews = append(is.pull.reviews, rv)
	is.pull.comments = append(is.pull.comments, cm)
	s.emitReviewComment("created", cm, c.who.user, "")
	return 201, s.reviewCommentShape(cm), nil
}

func (s *Server) replyReviewComment(c *call) (int, any, error) {
	is, err := c.pull()
	if err != nil {
		return 0, nil, err
	}
	var req struct{ Body string }
	if err := c.decode(&req); err != nil {
		return 0, nil, err
	}
	return s.reply(c, is, c.number("comment_id"), req.Body)
}

func (s *Server) reply(c *call, is *issue, to int64, body string) (int, any, error) {
	parent := s.findReviewComment(c.repo, to)
	if parent == nil || parent.issue != is {
		return 0, nil, notFound()
	}
	if strings.TrimSpace(body) == "" {
		return 0, nil, invalid("PullRequestReviewComment", "body", "missing_field", "")
	}
	cm := s.newComment(is, c.who.user, body)
	cm.path, cm.line, cm.side, cm.hunk, cm.commit = parent.path, parent.line, parent.side, parent.hunk, parent.commit
	cm.review, cm.inReplyTo = parent.review, parent.id
	is.pull.comments = append(is.pull.comments, cm)
	s.emitReviewComment("created", cm, c.who.user, "")
	return 201, s.reviewCommentShape(cm), nil
}
