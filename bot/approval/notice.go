// Notices of the end of a session: their recipients and place. GitHub does not notify of
// edits, so a notice is a new comment. The text is in that comment, and not in the
// progress comment as well.

package approval

import (
	"context"
	"slices"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/render"
	"github.com/handrail-bot/handrail/policy"
)

// EndNotice records the comment about the end of a session.
type EndNotice struct {
	End int64  `json:"end,omitempty"` // event that ended the run
	URL string `json:"url,omitempty"` // URL of the comment
}

// URLFor returns the URL of the comment about the current end of a session, or "".
func (t EndNotice) URLFor(v *session.State) string {
	if v.Outcome == nil || t.End == 0 || t.End != v.EndedAt {
		return ""
	}
	return t.URL
}

// End is the end of a session's last run.
type End struct {
	State    *session.State
	Progress string // URL of the progress comment; may be empty
	Pull     int    // pull request with the work; 0 if there is none
	Note     string // additional text
	Comments policy.Comments
}

// Due reports whether a comment announces the end. Requests and plans announce
// themselves, and a stop was a user's own wish. With the setting quiet, the progress
// comment is enough for a request above it.
func (e End) Due() bool {
	v := e.State
	switch {
	case v.Outcome == nil,
		len(v.Open()) > 0,
		v.Outcome.Status == session.StatusStopped,
		v.Outcome.Status == session.StatusPlanned:
		return false
	case e.Comments.End == policy.Quiet:
		return e.Progress == "" || e.Note != "" || e.followUp()
	}
	return true
}

// followUp reports whether the last request was made below the progress comment, or
// elsewhere, so that it is answered there.
func (e End) followUp() bool {
	p := e.State.Place
	return p.Thread != 0 || p.DiffThread != 0 || slices.ContainsFunc(e.State.Timeline, func(m session.Moment) bool {
		said, ok := m.(*session.Message)
		return ok && said.Text != ""
	})
}

// Mentions reports whether the comment mentions users.
func (e End) Mentions() bool { return e.Comments.End != policy.Quiet } //control:quiet-end

// Text returns the text of the comment.
func (e End) Text() string { return render.Ending(e.State, e.Progress, e.Pull, e.Note) }

// Person returns the login of a user in GitHub's spelling, for a mention. It is empty for
// a bot or an unknown login.
func Person(ctx context.Context, c *ghapp.Client, login string) ([]string, error) {
	if policy.ValidateLogin(login) != nil {
		return nil, nil
	}
	who, err := c.Actor(ctx, login)
	if err != nil || who.Lookup != policy.Found || who.Bot { //control:mention-people
		return nil, err
	}
	return []string{who.Login}, nil
}
