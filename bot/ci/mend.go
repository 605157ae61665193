// This file continues a session with the checks that failed on its pull request.

package ci

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/ghapp/reads"
	"github.com/handrail-bot/handrail/bot/live"
	"github.com/handrail-bot/handrail/bot/render"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/bot/watch"
)

// Watcher returns the watcher of completed checks.
func Watcher() watch.Watcher {
	return watch.Watcher{Where: where, Hear: hear, Waits: waits, Over: over}
}

// where returns the thread of the session that a check belongs to by its pull request or
// branch, if the session waits for checks or fixes them. The event only triggers a look
// at GitHub: the current state there counts.
func where(ctx context.Context, c *live.Config, ev ghapp.Event) (store.Delivery, bool, error) {
	if !Ended(ev) {
		return store.Delivery{}, false, nil
	}
	of := store.Query{
		Repo:     strings.ToLower(ev.Thread.Repository()),
		Pulls:    ev.Check.Pulls,
		Branches: ev.Check.Branches,
		Limit:    maxSessions,
	}
	if len(of.Pulls)+len(of.Branches) == 0 {
		return store.Delivery{}, false, nil
	}
	list, err := c.Store.Sessions.List(ctx, of)
	if err != nil {
		return store.Delivery{}, false, err
	}
	for _, s := range list {
		off := s.Pull == 0 || Off(c.InForce(live.DataOf(s)).Triggers) != ""
		if off && s.State != session.PhaseWaitingChecks && !awaitsGreen(c, s) {
			continue
		}
		own, err := c.GitHub.Speaks(ctx, ghapp.User{}, ev.Check.AppID)
		return store.Delivery{Thread: s.Thread, Sender: s.Requester, Priority: store.PriorityWork}, err == nil && !own, err
	}
	return store.Delivery{}, false, nil
}

// maxSessions is the maximum number of sessions looked at per pull request or branch.
const maxSessions = 10

// hear handles a completed check. If checks of the session's pull request failed, the
// session goes on with their output, on behalf of its requester.
func hear(ctx context.Context, h *watch.Heard) (*watch.Answer, error) {
	if !Ended(h.Event) {
		return nil, nil
	}
	row := h.Session
	if why := ignoreReason(h.Config, row); why != "" {
		return &watch.Answer{Note: why}, keepMissed(ctx, h)
	}
	if err := h.At.Connect(ctx, h.GitHub, live.DataOf(row).Installation); err != nil {
		return nil, err
	}
	r := round{Heard: h}
	var err error
	if r.v, err = h.Fold(ctx, row); err != nil {
		return nil, err
	}
	at := h.At.Ref
	at.Number = row.Pull
	if r.pull, err = h.At.Client.GetPull(ctx, at); err != nil {
		return nil, err
	}
	if !r.v.Finished() || len(r.v.Open()) > 0 || r.pull.State != "open" || r.pull.Fork || !strings.EqualFold(r.pull.HeadSHA, h.Event.Check.SHA) { //control:checks-of-the-head
		return &watch.Answer{Note: "a check of nothing that the session has done last"}, nil
	}
	if why, err := h.MayGoOn(ctx); err != nil || why != "" { //control:checks-by-right
		return &watch.Answer{Note: "checks act for the session's requester: " + why}, err
	}
	return r.decide(ctx)
}

// keepMissed notes a check that ended while the session waits for an approval or for GitHub: at its end it looks
// at the checks again.
func keepMissed(ctx context.Context, h *watch.Heard) error {
	row, sha := h.Session, h.Event.Check.SHA
	if row == nil || row.Pull == 0 || row.State.Over() || row.State == session.PhaseWaitingChecks {
		return nil
	}
	if data := live.DataOf(row); Off(h.InForce(data).Triggers) != "" || data.Seen.Missed == sha {
		return nil
	}
	return h.Keep(ctx, func(d *live.Data) { d.Seen.Missed = sha }) //control:missed-checks
}

// over looks at a session that has ended: at the checks that it missed, and whether its draft ends.
func over(ctx context.Context, c *live.Config, l *live.Session) error {
	if sha := l.Data.Seen.Missed; sha != "" && l.State.Finished() && len(l.State.Open()) == 0 {
		if err := hearAgain(ctx, c, l, sha); err != nil {
			return err
		}
	}
	return endDraft(ctx, c, l)
}

// hearAgain stores a missed check of a commit once more, as GitHub's event of all its checks.
func hearAgain(ctx context.Context, c *live.Config, l *live.Session, sha string) error {
	at := l.Thread.Ref
	payload, err := json.Marshal(map[string]any{
		"action":       "completed",
		"installation": map[string]any{"id": l.Data.Installation},
		"repository":   map[string]any{"id": l.Data.Repository, "full_name": at.Owner + "/" + at.Repo},
		"sender":       map[string]any{"login": l.Row.Requester},
		"check_suite": map[string]any{
			"head_sha":      sha,
			"status":        "completed",
			"pull_requests": []any{map[string]any{"number": l.Row.Pull}},
		},
	})
	if err != nil {
		return fmt.Errorf("hear a check again: %w", err)
	}
	if _, err := c.Store.Deliveries.Put(ctx, &store.Delivery{
		ID:       fmt.Sprintf("missed-%s-%d", l.Row.ID, len(l.State.Ends)),
		Event:    "check_suite",
		Thread:   l.Row.Thread,
		Sender:   l.Row.Requester,
		Priority: store.PriorityWork,
		Payload:  payload,
	}); err != nil {
		return err
	}
	l.Data.Seen.Missed = ""
	return l.Save(ctx)
}

// ignoreReason returns the reason why checks do not concern a session, or "".
func ignoreReason(c *live.Config, row *store.Session) string {
	switch {
	case row == nil:
		return "a check of no session"
	case row.State == session.PhaseWaitingChecks:
		return "the session looks at the checks by itself"
	case row.Pull == 0 || !row.State.Over():
		return "the session is at work, or has no pull request"
	}
	why := Off(c.InForce(live.DataOf(row)).Triggers)
	if why != "" && awaitsGreen(c, row) {
		return "a check that can only end the draft of the pull request"
	}
	return why
}

// round is one look at the checks of a session's pull request.
type round struct {
	*watch.Heard

	v    *session.State
	pull ghapp.Pull
}

// decide returns the answer to the current state of the checks.
func (r round) decide(ctx context.Context) (*watch.Answer, error) {
	data := live.DataOf(r.Session)
	f, err := look(ctx, r.At.Client, r.pull, r.v.Base)
	if err != nil {
		return nil, err
	}
	f.Limits, f.Now = r.InForce(data).CIFix, r.Now()
	f.Attempts, f.OfHead = rounds(r.v, r.pull.HeadSHA)
	is := Decide(f)
	if len(is.Failed) > 0 && data.Seen.Head != "" { // the recorded success is out of date
		if err := r.recordSeen(ctx, live.Seen{}); err != nil {
			return nil, err
		}
	}
	switch {
	case is.Mend:
		return r.mend(ctx, is.Failed, f.OfHead+1)
	case is.UsedUp:
		return &watch.Answer{Tell: watch.Words{
			Key: fmt.Sprintf("checks-used-up-%s-%d", r.Session.ID, len(r.v.Ends)-f.Attempts), Text: render.ChecksUsedUp(f.Attempts, r.pull.HeadSHA, r.Session.Pull),
		}}, nil
	case len(is.Failed)+len(is.Running)+len(is.Stuck) == 0 && f.Attempts > 0:
		err := r.recordSeen(ctx, live.Seen{Head: r.pull.HeadSHA, Green: is.Green})
		return &watch.Answer{Note: "the checks are green"}, err
	}
	return &watch.Answer{
		Note: "no check to mend now: " + strings.Join(slices.Concat(is.Excused, is.Running, is.Stuck), "; "),
	}, nil
}

// mend continues the session with the output of its failed checks, for the n-th time for
// the same commit.
func (r round) mend(ctx context.Context, failed []mendCheck, n int) (*watch.Answer, error) {
	m := session.Message{
		Key: fmt.Sprintf("%s%s-%d", roundKey, r.pull.HeadSHA, n), Author: r.Session.Requester,
		Text: render.MendChecks(len(failed), r.pull.HeadSHA), Why: render.ChecksFailed(len(failed), r.pull.HeadSHA),
	}
	var err error
	m.Context, err = describeFailed(ctx, r.At.Client, r.pull.HeadSHA, failed)
	return &watch.Answer{More: &m}, err
}

// recordSeen records the checks that the session has seen.
func (r round) recordSeen(ctx context.Context, seen live.Seen) error {
	return r.Keep(ctx, func(d *live.Data) { d.Seen = seen })
}

// waits reports whether a session goes on waiting for checks. It handles messages that
// arrived meanwhile at once.
func waits(ctx context.Context, c *live.Config, l *live.Session) (bool, error) {
	commit, since := l.State.Published, l.State.Awaits(Tool)
	if l.Row.State != session.PhaseWaitingChecks || since.IsZero() || commit == "" {
		return false, nil
	}
	head, err := reads.OthersChecks(ctx, l.Thread.Client, commit)
	if err != nil || !Waits(Facts{Head: head, Now: c.Now(), Limits: c.InForce(l.Data).CIFix}, since) {
		return false, err
	}
	return true, l.Wait(
		ctx,
		&session.Away{For: session.PhaseWaitingChecks, Err: errors.New("the checks have not answered")},
		false,
	)
}
