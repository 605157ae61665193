package hub

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/handrail-bot/handrail/policy/pattern"
)

// DraftComment is an inline comment of a review to submit.
type DraftComment struct {
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

// DraftReview is a review to submit. Event is APPROVE, REQUEST_CHANGES or COMMENT;
// empty leaves it pending.
type DraftReview struct {
	Body, Event string
	CommitID    string `json:"commit_id"`
	Comments    []DraftComment
}

// AddReview applies GitHub's rules for a review and sends its events.
func (h *Hub) AddReview(is *Issue, by *User, d DraftReview) (*Review, error) {
	event, body, comments := d.Event, d.Body, d.Comments
	state := map[string]string{"APPROVE": "APPROVED", "REQUEST_CHANGES": "CHANGES_REQUESTED", "COMMENT": "COMMENTED", "": "PENDING"}[event]
	switch {
	case state == "":
		return nil, Unresolved("Variable $event of type PullRequestReviewEvent was provided invalid value")
	case by == is.Author && (event == "APPROVE" || event == "REQUEST_CHANGES"):
		words := map[string]string{"APPROVE": "approve", "REQUEST_CHANGES": "request changes on"}[event]
		return nil, &Refused{Status: 422, Message: "Unprocessable Entity: Can not " + words + " your own pull request"}
	case (event == "COMMENT" && len(comments) == 0 || event == "REQUEST_CHANGES") && strings.TrimSpace(body) == "":
		return nil, Unresolved("Could not create a review without a body")
	}
	if CheckText("PullRequestReview", body) != nil {
		return nil, Unresolved("Body is too long (maximum is 65536 characters)")
	}
	rv := &Review{ID: h.NextID(), Author: by, Body: body, State: state, Commit: is.Pull.HeadSHA, Submitted: h.Now()}
	var made []*Comment
	for _, one := range comments {
		one.CommitID = d.CommitID
		cm, err := h.Inline(is, by, one)
		if err != nil {
			return nil, err
		}
		cm.Review = rv.ID
		made = append(made, cm)
	}
	is.Pull.Reviews = append(is.Pull.Reviews, rv)
	is.Pull.Comments = append(is.Pull.Comments, made...)
	is.Updated = h.Now()
	if state != "PENDING" {
		h.Tell(AboutReview("submitted", is, rv, by))
		for _, cm := range made {
			h.Tell(AboutComment("created", cm, by))
		}
	}
	return rv, nil
}

// Inline creates a comment on a line of the diff of d.CommitID, or of the newest commit
// if that is empty. The line must be in the diff.
func (h *Hub) Inline(is *Issue, by *User, d DraftComment) (*Comment, error) {
	if strings.TrimSpace(d.Body) == "" {
		return nil, Unresolved("Body can't be blank")
	}
	if CheckText("PullRequestReviewComment", d.Body) != nil {
		return nil, Unresolved("Body is too long (maximum is 65536 characters)")
	}
	side := cmp.Or(d.Side, "RIGHT")
	if side != "LEFT" && side != "RIGHT" || d.StartSide != "" && d.StartSide != "LEFT" && d.StartSide != "RIGHT" {
		return nil, Unresolved("Variable $threads of type [DraftPullRequestReviewThread] was provided invalid value")
	}
	commit := cmp.Or(d.CommitID, is.Pull.HeadSHA)
	if _, err := is.Repo.Dir.Run(nil, "merge-base", "--is-ancestor", commit, is.Pull.HeadSHA); err != nil {
		return nil, Unresolved("commitOID is not part of the pull request")
	}
	startSide := cmp.Or(d.StartSide, side)
	if d.StartLine > 0 && startSide == side && d.StartLine >= d.Line {
		return nil, Unresolved("pull_request_review_thread.start_line must precede the end line.")
	}
	files, err := is.Repo.Dir.DiffFiles(is.Pull.BaseSHA, commit)
	if err != nil {
		return nil, err
	}
	patch := ""
	for _, f := range files {
		if f.Name == d.Path {
			patch = f.Patch
		}
	}
	hunk := hunkAt(patch, d.Line, side == "LEFT")
	start := hunkAt(patch, d.StartLine, startSide == "LEFT")
	switch {
	case hunk == "":
		return nil, Unresolved("Line could not be resolved")
	case d.StartLine > 0 && start == "":
		return nil, Unresolved("Start line could not be resolved")
	case d.StartLine > 0 && head(start) != head(hunk):
		return nil, Unresolved("pull_request_review_thread.start_line must be part of the same hunk as the line.")
	}
	cm := h.NewComment(is, by, d.Body)
	cm.Path, cm.Line, cm.Side, cm.StartLine = d.Path, d.Line, side, d.StartLine
	cm.Hunk, cm.Commit = hunk, commit
	return cm, nil
}

func head(hunk string) string {
	first, _, _ := strings.Cut(hunk, "\n")
	return first
}

var hunkRE = pattern.Lazy(`^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@`)

// hunkAt returns the hunk up to a line, or "" if the line is not in the diff. GitHub
// accepts comments only on lines of the diff.
func hunkAt(patch string, line int, left bool) string {
	var hunk []string
	oldLine, newLine := 0, 0
	for _, l := range strings.Split(patch, "\n") {
		if m := hunkRE().FindStringSubmatch(l); m != nil {
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

// RequestReview requests a review from users and teams of the organization.
func (h *Hub) RequestReview(is *Issue, by *User, logins, slugs []string) error {
	outside := &Refused{
		Status:  http.StatusUnprocessableEntity,
		Message: "Reviews may only be requested from collaborators. One or more of the users or teams you specified is not a collaborator of the " + is.Repo.FullName() + " repository.",
	}
	for _, slug := range slugs {
		team := strings.ToLower(is.Repo.Owner.Login + "/" + slug)
		if h.Teams[team] == nil {
			return outside
		}
		if !slices.Contains(is.Pull.Teams, team) {
			is.Pull.Teams = append(is.Pull.Teams, team)
			ev := AboutIssue("review_requested", is, by)
			ev.Team = team
			h.Tell(ev)
		}
	}
	for _, login := range logins {
		u := h.Users[strings.ToLower(login)]
		switch {
		case u == nil, !is.Repo.Explicit(u) && is.Repo.Owner != u:
			return outside
		case u == is.Author:
			return &Refused{
				Status:  http.StatusUnprocessableEntity,
				Message: "Review cannot be requested from pull request author.",
			}
		}
		if !slices.Contains(is.Pull.Reviewers, u) {
			is.Pull.Reviewers = append(is.Pull.Reviewers, u)
			ev := AboutIssue("review_requested", is, by)
			ev.User = u
			h.Tell(ev)
		}
	}
	return nil
}
