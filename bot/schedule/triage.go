package schedule

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/handrail-bot/handrail/bot/fault"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/ghapp/reads"
	"github.com/handrail-bot/handrail/bot/live"
	"github.com/handrail-bot/handrail/bot/render"
	"github.com/handrail-bot/handrail/bot/watch"
	"github.com/handrail-bot/handrail/policy"
)

// kindTriage is the kind of a schedule that sorts new issues. It is also the name of the mode.
const kindTriage = "triage"

const (
	maxSorted   = 20 // issues that one run of a schedule sorts
	maxHourly   = 20 // default maximum of issues of a repository that are sorted when they are opened, per hour
	maxUnsorted = 3  // pages of open issues that a run looks at, newest activity first
)

// opens reports whether an event opens an issue that a triage may sort: one of a user, not of
// a bot, even if that may ask for work.
func opens(ev ghapp.Event) bool {
	if ev.Sender.Bot || ev.Author.Bot { //control:issues-of-bots-are-not-sorted
		return false
	}
	return ev.Kind == "issues" && ev.Action == "opened" && ev.Thread.Number != 0 && !ev.IsPull && ev.State != "closed" &&
		ev.Author.ID != 0
}

// sortOpened returns the triage of an issue that was opened, if the configuration of the
// default branch wants it. Cheap checks come first.
func sortOpened(ctx context.Context, h *watch.Heard) (*watch.Answer, error) {
	ev := h.Event
	if ours, _ := h.GitHub.Written(ev.Body); ours {
		return &watch.Answer{Note: "the agent's own issue"}, nil
	}
	place, err := h.Start(ctx, ev.Installation)
	switch {
	case fault.Temporary(err):
		return nil, err
	case err != nil: // there is no request, and one that follows in the thread does not wait
		return &watch.Answer{Note: fault.InWords(err).Error()}, nil
	}
	if place.Config.Triage.On != ev.Action { //control:triage-is-off
		return &watch.Answer{Note: "an issue is not sorted when it is opened: triage.on does not say so"}, nil
	}
	if why := whyUnsorted(h, place.Config, ev.Labels); why != "" {
		return &watch.Answer{Note: why}, nil
	}
	most := cmp.Or(place.Config.Triage.Hourly, maxHourly)
	room, err := Book{Meta: h.Store.Meta}.takeOne(ctx, ev.Thread.Repository(), h.Now(), most)
	if err != nil {
		return nil, err
	}
	if !room { //control:triage-is-limited
		return &watch.Answer{Note: fmt.Sprintf("%d issues of this repository were sorted within an hour", most)}, nil
	}
	return triageOf(ev.Installation, "", ev.Thread.Repository(), "", ev.Labels), nil
}

// whyUnsorted returns why an issue is not sorted without a request, or "". had are the labels
// that its author gave it, by a template.
func whyUnsorted(h *watch.Heard, cfg policy.Config, had []string) string {
	is := h.At.Issue
	_, err := cfg.Choose(policy.Choice{Mode: kindTriage}, "")
	switch {
	case err != nil:
		return err.Error()
	case h.Session != nil:
		return "there is a session in its thread"
	case is.IsPull || is.State != "open":
		return "it is no open issue"
	case slices.ContainsFunc(is.Labels, notIn(had)): //control:labelled-is-not-sorted
		return "it is labelled already"
	}
	return ""
}

// notIn returns a filter for names that are not on a list.
func notIn(list []string) func(string) bool {
	return func(name string) bool { return !slices.Contains(list, name) }
}

// triageOf returns a triage without a request.
func triageOf(installation int64, task, repository, name string, had []string) *watch.Answer {
	return &watch.Answer{Job: &watch.Job{
		Installation: installation,
		Mode:         kindTriage,
		Text:         strings.TrimSpace(render.SortIssue + "\n\n" + task),
		Why:          render.SortedUnasked,
		Scheduled:    live.Scheduled{Repository: repository, Name: name, InThread: true, Triage: true, Had: had},
	}}
}

// taken are the times at which issues of a repository began to be sorted unasked.
type taken struct {
	At []time.Time `json:"at"`
}

func takenKey(repo string) string { return "triage " + strings.ToLower(repo) }

// takeOne counts the triage of an issue, and reports whether it is within the limit of an hour.
func (b Book) takeOne(ctx context.Context, repo string, now time.Time, most int) (room bool, err error) {
	err = change(ctx, b, takenKey(repo), func(t *taken) bool {
		t.At = slices.DeleteFunc(t.At, func(at time.Time) bool { return now.Sub(at) >= time.Hour })
		if room = len(t.At) < most; room {
			t.At = append(t.At, now)
		}
		return room
	})
	return room, err
}

// handOut hands the issues that a run sorts to their threads: those without a label that came
// since the last run, oldest first.
func handOut(ctx context.Context, h *watch.Heard, look subject, s Start, was State) (*watch.Answer, error) {
	list, err := unsorted(ctx, look, s.Entry, was.Upto)
	if err != nil {
		return nil, err
	}
	upto, what := was.Upto, "no new issue without a label"
	for _, is := range list {
		there, at := *h.Delivery, h.At.Ref
		at.Number, upto = is.Number, is.Number
		what = fmt.Sprintf("issues to sort: %d", len(list))
		there.Thread = at.Key()
		there.ID = fmt.Sprintf("triage %s %s", s.Entry.Name, there.Thread)
		there.Key = there.ID
		if there.Payload, err = json.Marshal(s); err != nil {
			return nil, err
		}
		if _, err := h.Store.Deliveries.Put(ctx, &there); err != nil {
			return nil, err
		}
	}
	return &watch.Answer{Note: what}, look.note(
		ctx, s.Entry.Repository, s.Entry.Name, HistoryEntry{At: h.Now(), What: what},
		func(st *State) { st.Upto = max(st.Upto, upto) },
	)
}

// unsorted returns the open issues of users without a label, above a number, oldest first.
func unsorted(ctx context.Context, look subject, e Entry, after int) ([]reads.Issue, error) {
	list, err := reads.Issues(ctx, look.Client, "open", maxUnsorted)
	since := look.Now.Add(-time.Duration(cmp.Or(e.Days, defaultDays)) * 24 * time.Hour)
	list = slices.DeleteFunc(list, func(is reads.Issue) bool {
		return is.Number <= after || len(is.Labels) > 0 || is.ByBot || is.Created.Before(since)
	})
	slices.SortFunc(list, func(a, b reads.Issue) int { return cmp.Compare(a.Number, b.Number) })
	return list[:min(len(list), maxSorted)], err
}

// sortThread returns the triage of an issue that a schedule handed to its thread.
func sortThread(ctx context.Context, h *watch.Heard, s Start) (*watch.Answer, error) {
	place, err := h.Start(ctx, s.Installation)
	if err != nil {
		return nil, err
	}
	if ours, _ := h.GitHub.Written(h.At.Issue.Body); ours {
		return &watch.Answer{Note: "the agent's own issue"}, nil
	}
	if why := whyUnsorted(h, place.Config, nil); why != "" {
		return &watch.Answer{Note: why}, nil
	}
	return triageOf(s.Installation, s.Entry.Task, s.Entry.Repository, s.Entry.Name, nil), nil
}

// tellTriage posts the words of a triage that was not asked for, if it has any: one comment of
// an issue, for ever.
func tellTriage(ctx context.Context, l *live.Session) error {
	said := l.State.Triaged //control:unread-triage-is-quiet
	if isEmptyResult(said) || !l.State.Finished() {
		return nil
	}
	key := "triage-" + ghapp.Digest(l.Row.Thread)
	return l.Try(ctx, ghapp.Write{Key: key, Kind: ghapp.WriteComment, Body: render.Triage(said)})
}
