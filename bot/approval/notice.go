// Notice decides who is told that a session ended, and where the words of its
// end stand. GitHub notifies nobody of an edit, so that takes a new comment; the words
// stand in it and not in the progress comment as well.

package approval

import (
	"context"
	"slices"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/render"
	"github.com/handrail-bot/handrail/policy"
)

// Told is what was told of an end, and where.
type Told struct {
	End int64  `json:"end,omitempty"` // the event that ended the run
	URL string `json:"url,omitempty"` // of the comment
}

// Of returns the address of the comment that tells the end at which a session stands, ""
// for none.
func (t Told) Of(v *session.State) string {
	if v.Outcome == nil || t.End == 0 || t.End != v.EndedAt {
		return ""
	}
	return t.URL
}

// End is the end of a session's last run.
type End struct {
	State    *session.State
	Progress string // address of the progress comment, "" for none
	Pull     int    // with the work; 0 for none
	Note     string // more to tell
	Comments policy.Comments
}

// Due reports whether a comment tells the end. Requests and plans tell their own, a stop was
// somebody's word, and with the setting quiet the progress comment tells it where the
// request stands above.
func (e End) Due() bool {
	v := e.State
	switch {
	case v.Outcome == nil, len(v.Open()) > 0, v.Outcome.Status == session.StatusStopped, v.Outcome.Status == session.StatusPlanned:
		return false
	case e.Comments.End == policy.Quiet:
		return e.Progress == "" || e.Note != "" || e.followUp()
	}
	return true
}

// followUp reports whether the last request is one that came below the progress comment,
// or stands elsewhere: it is answered there.
func (e End) followUp() bool {
	p := e.State.Place
	return p.Thread != 0 || p.DiffThread != 0 || slices.ContainsFunc(e.State.Timeline, func(m session.Moment) bool {
		said, ok := m.(*session.Message)
		return ok && said.Text != ""
	})
}

// Mentions reports whether somebody is mentioned.
func (e End) Mentions() bool { return e.Comments.End != policy.Quiet } //control:quiet-end

// Text is what the comment says.
func (e End) Text() string { return render.Ending(e.State, e.Progress, e.Pull, e.Note) }

// Person returns the account of a person, as GitHub spells its name, to be mentioned;
// nothing for a bot, or where GitHub knows nobody of the name.
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
