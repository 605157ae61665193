package schedule

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/live"
	"github.com/handrail-bot/handrail/bot/render"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/bot/watch"
)

// Watcher starts scheduled sessions and the triage of opened issues, and rereads schedules if
// the default branch changes.
func Watcher() watch.Watcher { return watch.Watcher{Where: where, Hear: hear, Report: report} }

// WatcherOfRun is [Watcher] without the triage of opened issues.
func WatcherOfRun() watch.Watcher {
	return watch.Watcher{Where: whereChanged, Hear: hear, Report: report}
}

// pushesDefaultBranch reports whether an event is a push to the default branch, which may have changed
// the schedules.
func pushesDefaultBranch(ev ghapp.Event) bool {
	return ev.Kind == "push" && !ev.Deleted && ev.DefaultBranch != "" && ev.Ref == "refs/heads/"+ev.DefaultBranch &&
		ev.Thread.Repo != ""
}

// where returns the repository of an event that changes its default branch, and the thread of
// an opened issue.
func where(ctx context.Context, c *live.Config, ev ghapp.Event) (store.Delivery, bool, error) {
	if opens(ev) {
		key := fmt.Sprintf("triage-%d-%d", ev.RepoID, ev.Thread.Number) //control:sorted-once
		d := store.Delivery{Thread: ev.Thread.Key(), Sender: ev.Sender.Login, Priority: store.PriorityIdle, Key: key}
		return d, !c.GitHub.Flooding(ev.Thread.Repository(), ev.Sender.Login), nil
	}
	return whereChanged(ctx, c, ev)
}

// whereChanged returns the repository of an event that changes its default branch.
func whereChanged(_ context.Context, _ *live.Config, ev ghapp.Event) (store.Delivery, bool, error) {
	return store.Delivery{Thread: ev.Thread.Key(), Priority: store.PriorityIdle, Key: "push-" + ev.Thread.Repository() + "-" + ev.After}, pushesDefaultBranch(ev), nil
}

// readEvent is the event type of deliveries that have schedules read, see [Event].
const readEvent = Event + "-read"

// Reads returns deliveries that have the schedules of repositories read, by the server
// that works on them. It skips owner/*, which names no repository.
func Reads(names []string, now time.Time) (out []*store.Delivery) {
	for _, name := range names {
		if strings.HasSuffix(name, "/*") {
			continue
		}
		name = strings.ToLower(name)
		id := fmt.Sprintf("read schedules of %s %d", name, now.UnixNano())
		out = append(
			out,
			&store.Delivery{ID: id, Event: readEvent, Thread: name + "#0", Priority: store.PriorityIdle, Payload: []byte("{}")},
		)
	}
	return out
}

// hear starts a due occurrence, or reads the schedules again.
func hear(ctx context.Context, h *watch.Heard) (*watch.Answer, error) {
	var s Start
	switch d := h.Delivery; {
	case d.Event == Event:
		if err := json.Unmarshal(d.Payload, &s); err != nil {
			return &watch.Answer{Note: err.Error()}, nil //nolint:nilerr // it never gets better
		}
		switch {
		case h.At.Ref.Number == 0:
			return begin(ctx, h, s)
		case s.Entry.Kind == kindTriage:
			return sortThread(ctx, h, s)
		}
		return inThread(ctx, h, s)
	case d.Event == readEvent:
		id, err := h.GitHub.Installed(ctx, h.At.Ref)
		if err != nil || id == 0 {
			return &watch.Answer{Note: "the repository is not reached"}, err
		}
		return learn(ctx, h, id, "")
	case pushesDefaultBranch(h.Event):
		return learn(ctx, h, h.Event.Installation, h.Event.After)
	case opens(h.Event):
		return sortOpened(ctx, h)
	}
	return nil, nil
}

// learn reads the schedules of a repository. A push also starts the schedules that run on
// pushes.
func learn(ctx context.Context, h *watch.Heard, installation int64, pushed string) (*watch.Answer, error) {
	place, err := h.Start(ctx, installation)
	if err != nil {
		return nil, err
	}
	name, book := h.At.Ref.Repository(), Book{Meta: h.Store.Meta}
	t := Table{Installation: installation, Entries: Of(name, h.Policy, place.Own)}
	if err := book.learn(ctx, name, t, h.Now()); err != nil {
		return nil, err
	}
	for _, e := range t.Entries {
		if e.On != "push" || e.Refused != "" || pushed == "" {
			continue
		}
		d, err := Start{Entry: e, At: h.Now(), Installation: installation}.Delivery()
		if err != nil {
			return nil, err
		}
		d.Key = fmt.Sprintf("schedule %s %s %s", h.At.Ref.Key(), e.Name, pushed)
		d.ID = d.Key
		if _, err := h.Store.Deliveries.Put(ctx, &d); err != nil {
			return nil, err
		}
	}
	return &watch.Answer{Note: fmt.Sprintf("%d schedules", len(t.Entries))}, nil
}

// begin hands one occurrence to the thread of its result, or notes why there is nothing
// to do. Cheap checks come first. The thread notes the beginning: it may be at work before
// this function returns.
func begin(ctx context.Context, h *watch.Heard, s Start) (*watch.Answer, error) {
	place, err := h.Start(ctx, s.Installation)
	if err != nil {
		return nil, err
	}
	look := subject{
		Book:   Book{Meta: h.Store.Meta},
		Client: h.At.Client,
		Now:    h.Now(),
		Branch: place.Target,
		Head:   place.Base,
		Ensure: h.Ensure,
	}
	note := func(what string, keep func(*State)) error {
		return look.note(ctx, s.Entry.Repository, s.Entry.Name, HistoryEntry{At: h.Now(), What: what}, keep)
	}
	was, err := look.State(ctx, s.Entry.Repository, s.Entry.Name)
	if err != nil {
		return nil, err
	}
	s.Range = live.Range{From: was.Commit, To: place.Base}
	what, why := "", refusal(s.Entry, Of(s.Entry.Repository, h.Policy, place.Own))
	if why == "" {
		if what, why, err = look.about(ctx, s.Entry, was.Commit); err != nil {
			return nil, err
		}
	}
	if why != "" {
		return &watch.Answer{Note: why}, note(why, nil)
	}
	if s.Entry.Kind == kindTriage {
		return handOut(ctx, h, look, s, was)
	}
	to := h.At.Ref
	if to.Number = s.Entry.Number; s.Entry.Result != "comment" {
		if to.Number, err = look.issue(ctx, h.At.Ref, s.Entry); err != nil {
			return nil, err
		}
	}
	s.Task, s.Mode = TaskOf(s.Entry.Schedule, what), ModeOf(s.Entry.Schedule)
	there := *h.Delivery
	there.ID, there.Key, there.Thread = "run "+there.ID, "run "+there.ID, to.Key()
	if there.Payload, err = json.Marshal(s); err != nil {
		return nil, err
	}
	if _, err := h.Store.Deliveries.Put(ctx, &there); err != nil {
		return nil, err
	}
	return &watch.Answer{Note: "handed to " + to.Key()}, nil
}

// inThread returns the scheduled session in the thread of its result. The session is
// unattended: it is read only unless its schedule asks for approvals.
func inThread(ctx context.Context, h *watch.Heard, s Start) (*watch.Answer, error) {
	note := func(what string, keep func(*State)) error {
		book := Book{Meta: h.Store.Meta}
		return book.note(ctx, s.Entry.Repository, s.Entry.Name, HistoryEntry{At: h.Now(), What: what}, keep)
	}
	if h.Session != nil && !h.Session.State.Over() { //control:runs-do-not-overlap
		const what = "the previous run has not ended"
		return &watch.Answer{Note: what}, note("left out: "+what, nil)
	}
	if err := h.At.Connect(ctx, h.GitHub, s.Installation); err != nil {
		return nil, err
	}
	begun := func(st *State) { st.Commit = s.To }
	if err := note(fmt.Sprintf("begun in #%d", h.At.Ref.Number), begun); err != nil {
		return nil, err
	}
	e := s.Entry
	return &watch.Answer{Job: &watch.Job{
		Installation: s.Installation, Mode: s.Mode, Text: s.Task, Why: render.BySchedule(e.Name),
		Scheduled: live.Scheduled{
			Repository: e.Repository,
			Name:       e.Name,
			Asks:       e.Unattended == "ask",
			InThread:   e.Result == "comment",
			Commits:    e.Kind == "review",
			Range:      s.Range,
		},
	}}, nil
}

// report posts the result of a scheduled session. Its issue shows the newest result; a
// changed result also gets a comment.
func report(ctx context.Context, c *live.Config, l *live.Session) error {
	if l.Data.Schedule.Triage {
		return tellTriage(ctx, l)
	}
	s, out, book := l.Data.Schedule, l.State.Outcome, Book{Meta: c.Store.Meta}
	said := strings.TrimSpace(cmp.Or(out.Summary, out.Reason))
	st, err := book.State(ctx, s.Repository, s.Name)
	if err != nil {
		return err
	}
	what, digest := "nothing to report", ghapp.Digest(said)
	switch {
	case l.Data.Told.Review && l.Data.Told.End == l.State.EndedAt: //control:review-is-told-once
		what = string(out.Status)
	case isEmptyResult(said) || s.Commits && l.FoundNothing(): //control:review-without-findings-is-no-news
	case st.Result == digest:
		what = "the same as before"
	default:
		what = string(out.Status)
		body := render.ScheduleResult(l.State, l.Row.Pull)
		_, err := l.Ensure(
			ctx,
			ghapp.Write{Key: fmt.Sprintf("final-%s-%d", l.Row.ID, l.State.EndedAt), Kind: ghapp.WriteComment, Body: body},
		)
		if ghapp.UnlessRefused(err) != nil {
			return err
		}
		if !s.InThread {
			err = l.Try(
				ctx,
				ghapp.Write{
					Key:  fmt.Sprintf("edit-%s-%d", l.Row.ID, l.State.EndedAt),
					Kind: ghapp.WriteEditIssue,
					Body: render.ScheduleBody(s.Name, body),
				},
			)
		}
		if err != nil {
			return err
		}
	}
	return book.note(ctx, s.Repository, s.Name, HistoryEntry{At: c.Now(), What: what}, func(st *State) {
		if !isEmptyResult(said) {
			st.Result = digest
		}
		if out.Status.Failed() {
			readAgain(s.Range)(st)
		}
	})
}

// readAgain returns to the previous commit, so that the next run reads the range again.
func readAgain(r live.Range) func(*State) {
	return func(st *State) {
		if st.Commit == r.To { //control:unread-is-read-again
			st.Commit = r.From
		}
	}
}
