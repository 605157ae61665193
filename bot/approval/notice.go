// Notices of the end of a session: their recipients and place. GitHub does not notify of
// edits, so a notice is a new comment, short: the result is in the progress comment.

package approval

import (
	"context"
	"time"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/render"
	"github.com/handrail-bot/handrail/policy"
)

// EndNotice records the bot's words about the end of a session.
type EndNotice struct {
	End    int64  `json:"end,omitempty"`    // event that ended the run
	Note   string `json:"note,omitempty"`   // more about it, for the progress comment
	Posted bool   `json:"posted,omitempty"` // a comment told of it
	Review bool   `json:"review,omitempty"` // a review told of it, its schedule does not know yet
}

// NoteFor returns the note on the current end of a session, or "".
func (t EndNotice) NoteFor(v *session.State) string {
	if v.Outcome == nil || t.End != v.EndedAt {
		return ""
	}
	return t.Note
}

// Done reports whether a comment told of the current end of a session.
func (t EndNotice) Done(v *session.State) bool { return t.Posted && t.End == v.EndedAt }

// End is the end of a session's last run.
type End struct {
	State    *session.State
	Progress string // URL of the progress comment; may be empty
	Pull     int    // pull request with the work; 0 if there is none
	Comments policy.Comments
}

// Due reports whether a comment of its own tells of the end: nothing else does, or the
// session took so long that its requester does not watch the progress comment. Requests and
// plans announce themselves, and a stop was a user's own wish.
func (e End) Due() bool {
	v := e.State
	switch {
	case v.Outcome == nil, len(v.Open()) > 0 && !v.Over(), v.Outcome.Status == session.StatusStopped,
		v.Outcome.Status == session.StatusPlanned:
		return false
	}
	return e.Progress == "" || e.Mentions() && v.Took >= time.Duration(e.Comments.After) //control:end-of-a-long-run
}

// Mentions reports whether the comment mentions users.
func (e End) Mentions() bool { return e.Comments.End != policy.Quiet } //control:quiet-end

// Notice returns the text of the comment if there is a progress comment.
func (e End) Notice() string { return render.Ending(e.State, e.Progress, e.Pull) }

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
