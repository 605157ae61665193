package action

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/handrail-bot/handrail/bot/ci"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/ghapp/reads"
	"github.com/handrail-bot/handrail/bot/schedule"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/bot/thread"
)

// Inbox is the inbox in the ref of a thread. Any account with push access can write to
// the ref, so deliveries that this process did not store itself are checked against
// GitHub. It is safe for concurrent use.
type Inbox struct {
	store.Deliveries
	store.Wakes

	Client *ghapp.Client
	At     thread.Ref
	Log    *slog.Logger

	Scheduled []schedule.Entry // schedules that may begin

	mu   sync.Mutex
	sure map[string]store.Delivery // trusted deliveries, by id
	why  map[string]string         // why a delivery had no effect, by id
}

// NewInbox wraps a store's inbox with the checks. Its Client must be set before use.
func NewInbox(kept *store.Store, at thread.Ref, log *slog.Logger) *Inbox {
	i := &Inbox{Deliveries: kept.Deliveries, Wakes: kept.Wakes, At: at, Log: log}
	kept.Deliveries, kept.Wakes = i, i
	return i
}

// Put implements [store.Deliveries].
func (i *Inbox) Put(ctx context.Context, all ...*store.Delivery) ([]bool, error) {
	for _, d := range all {
		i.trust(*d)
	}
	return i.Deliveries.Put(ctx, all...)
}

func (i *Inbox) trust(d store.Delivery) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.sure == nil {
		i.sure = map[string]store.Delivery{}
	}
	i.sure[d.ID] = d
}

func (i *Inbox) trusted(d *store.Delivery) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	known, ok := i.sure[d.ID]
	return ok && known.Event == d.Event && known.Thread == d.Thread && bytes.Equal(known.Payload, d.Payload)
}

// Done implements [store.Deliveries].
func (i *Inbox) Done(ctx context.Context, note string, ids ...string) error {
	i.mu.Lock()
	if i.why == nil {
		i.why = map[string]string{}
	}
	for _, id := range ids {
		if note != "done" { // visible in the thread
			i.why[id] = note
		}
	}
	i.mu.Unlock()
	return i.Deliveries.Done(ctx, note, ids...)
}

// Why returns why a delivery had no effect, or "".
func (i *Inbox) Why(id string) string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.why[id]
}

// Next implements [store.Deliveries]. It drops deliveries that fail the check.
func (i *Inbox) Next(ctx context.Context, key string) (*store.Delivery, error) {
	for {
		d, err := i.Deliveries.Next(ctx, key)
		if err != nil {
			return nil, err
		}
		why, err := i.check(ctx, d)
		if why == "" || err != nil {
			return d, err
		}
		i.Log.WarnContext(
			ctx, "a waiting event of the ref is not on GitHub, and is left out", "delivery", d.ID, "thread", key, "why",
			why,
		)
		if err := i.Done(ctx, "not on GitHub: "+why, d.ID); err != nil {
			return nil, err
		}
	}
}

// Urgent implements [store.Wakes]. It omits deliveries that fail the check.
func (i *Inbox) Urgent(ctx context.Context, key string, priority int, after int64) ([]*store.Delivery, error) {
	all, err := i.Wakes.Urgent(ctx, key, priority, after)
	for n := 0; n < len(all) && err == nil; n++ {
		var why string
		if why, err = i.check(ctx, all[n]); why != "" {
			all, n = slices.Delete(all, n, n+1), n-1
		}
	}
	return all, err
}

// check returns why a delivery is not trusted, or "".
func (i *Inbox) check(ctx context.Context, d *store.Delivery) (why string, err error) {
	if sure := i.trusted(d); sure || d.Event == schedule.Event {
		return i.scheduled(d, sure), nil
	}
	why, err = i.compare(ctx, d) //control:inbox-is-read-again
	if why == "" && err == nil {
		i.trust(*d)
	}
	return why, err
}

// scheduled returns why the start of a scheduled session is not trusted, or "". The entry
// must match the repository's current schedules; a task is trusted only from this
// process. Other deliveries pass.
func (i *Inbox) scheduled(d *store.Delivery, sure bool) (why string) {
	if d.Event != schedule.Event {
		return ""
	}
	var s schedule.Start
	if err := json.Unmarshal(d.Payload, &s); err != nil {
		return "it cannot be read"
	}
	if !sure && s.Task+s.Mode != "" {
		return "its run ended before it began"
	}
	as, err := json.Marshal(s.Entry)
	for _, e := range i.Scheduled {
		if is, err2 := json.Marshal(e); err == nil && err2 == nil && bytes.Equal(is, as) { //control:schedules-of-the-repository
			return ""
		}
	}
	return "nothing of this is scheduled"
}

// compare compares a delivery with GitHub.
func (i *Inbox) compare(ctx context.Context, d *store.Delivery) (why string, err error) {
	ev, err := ghapp.ParseEvent(d.Event, d.Payload)
	switch {
	case err != nil:
		return "it cannot be read", nil
	case !strings.EqualFold(ev.Thread.Repository(), i.At.Repository()):
		return "it is about something else", nil
	case ci.Ended(ev): // it only signals that checks ended
		return "", nil
	case ev.Thread.Number == 0:
		return "it is about something else", nil
	case ev.Comment.ID != 0:
		c, err := i.Client.GetComment(ctx, ghapp.Target{Comment: ev.Comment.ID, Diff: ev.Comment.Diff})
		is := statement{c.AuthorID, c.Body, strings.Contains(c.URL, fmt.Sprintf("/%d#", ev.Thread.Number))}
		return is.difference(ev, statement{ev.Comment.Author.ID, ev.Comment.Body, true}, err)
	case ev.Review.ID != 0:
		list, err := i.Client.ListReviews(ctx, ev.Thread)
		var is statement
		for _, r := range list {
			if r.ID == ev.Review.ID {
				is = statement{r.AuthorID, r.Body + r.Commit, strings.EqualFold(r.State, ev.Review.State)}
			}
		}
		return is.difference(ev, statement{ev.Review.Author.ID, ev.Review.Body + ev.Review.Commit, true}, err)
	}
	return i.wordless(ctx, d, ev)
}

// wordless compares an event without text with the run that it started.
func (i *Inbox) wordless(ctx context.Context, d *store.Delivery, ev ghapp.Event) (why string, err error) {
	by, err := reads.StartedBy(ctx, i.Client, runOf(d.ID))
	switch {
	case err != nil:
		return "", err
	case by.ID == 0 || by.ID != ev.Sender.ID:
		return "no run was started by " + ev.Sender.Login, nil
	case time.Since(by.Updated) > maxRunAge:
		return "its run is long over", nil
	}
	post, err := i.Client.Issue(ctx, ev.Thread)
	is := statement{by.ID, post.Body, ev.Author.ID == 0 || ev.Author.ID == post.AuthorID}
	if why, err = is.difference(ev, statement{ev.Sender.ID, ev.Body, true}, err); err != nil || why != "" ||
		!strings.HasPrefix(ev.Kind, "pull_request") {
		return why, err
	}
	p, err := i.Client.GetPull(ctx, ev.Thread)
	if err == nil && (p.Fork != ev.Pull.Fork || p.Head != ev.Pull.Head || p.Base != ev.Pull.Base) {
		why = "the pull request is another"
	}
	return why, err
}

// maxRunAge is the time after the end of a run for which its events are accepted.
const maxRunAge = 24 * time.Hour

// runOf returns the run in the id of a delivery, or 0.
func runOf(id string) (run int64) {
	_, _ = fmt.Sscanf(id, "actions-%d", &run)
	return run
}

// statement is an author with a text; here means that it is in its claimed place.
type statement struct {
	who  int64
	what string
	here bool
}

// difference returns the difference between GitHub's data and an event's, or "".
func (s statement) difference(ev ghapp.Event, as statement, err error) (why string, _ error) {
	var e *ghapp.Error
	switch {
	case errors.As(err, &e) && (e.Status == http.StatusNotFound || e.Status == http.StatusGone):
		return "it is not there", nil
	case err != nil:
		return "", err
	case s.who == 0 || s.who != as.who || s.who != ev.Sender.ID: //control:sender-is-the-author
		return "it is not by " + ev.Sender.Login, nil
	case s.what != as.what:
		return "it says something else", nil
	case s.here != as.here:
		return "it is elsewhere", nil
	}
	return "", nil
}
