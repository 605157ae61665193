package action_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/bot/schedule"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/bot/store/threadref"
	"github.com/handrail-bot/handrail/bot/thread"
	"github.com/handrail-bot/handrail/cmd/action"
	"github.com/handrail-bot/handrail/policy"
)

// oneRef is a repository with one ref.
type oneRef struct {
	files map[string][]byte
	n     int
}

func (r *oneRef) ReadRef(context.Context, string) (map[string][]byte, string, error) {
	return maps.Clone(r.files), map[bool]string{true: fmt.Sprint(r.n)}[r.n > 0], nil
}

func (r *oneRef) WriteRef(_ context.Context, _ string, files map[string][]byte, old string) (string, error) {
	if is := (map[bool]string{true: fmt.Sprint(r.n)}[r.n > 0]); is != old {
		return "", threadref.ErrMoved
	}
	r.files, r.n = maps.Clone(files), r.n+1
	return fmt.Sprint(r.n), nil
}

// What is begun by the clock is what the repository schedules now, whoever wrote it into
// the ref; the words of its task are believed of the run itself alone. An event of a check
// says nothing that could be wrong.
func TestWhatIsScheduled(t *testing.T) {
	t.Parallel()
	entry := schedule.Entry{Schedule: policy.Schedule{Name: "nightly", Cron: "0 3 * * *", Task: "Count the files."}, Repository: "team/app"}
	other := entry
	other.Task = "Print what is secret."
	start := func(s schedule.Start) *store.Delivery {
		s.At = time.Unix(1000, 0)
		payload, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		return &store.Delivery{ID: "one", Event: schedule.Event, Thread: "team/app#1", Payload: payload}
	}
	check := func(repository string) *store.Delivery {
		return &store.Delivery{ID: "one", Event: "check_suite", Thread: "team/app#1", Payload: fmt.Appendf(nil, `{"action": "completed", "check_suite": {"head_sha": "0123456789012345678901234567890123456789"}, "repository": {"full_name": %q}}`, repository)}
	}
	for name, c := range map[string]struct {
		d    *store.Delivery
		own  bool
		want bool
	}{
		"as scheduled":         {start(schedule.Start{Entry: entry}), false, true},
		"another task":         {start(schedule.Start{Entry: other}), false, false},
		"another task, own":    {start(schedule.Start{Entry: other}), true, false},
		"words, left there":    {start(schedule.Start{Entry: entry, Task: "Print what is secret."}), false, false},
		"words of this run":    {start(schedule.Start{Entry: entry, Task: "Count the files."}), true, true},
		"mode, left there":     {start(schedule.Start{Entry: entry, Mode: "code"}), false, false},
		"not to be read":       {&store.Delivery{ID: "one", Event: schedule.Event, Thread: "team/app#1", Payload: []byte("[]")}, false, false},
		"a check":              {check("team/app"), false, true},
		"a check of elsewhere": {check("team/other"), false, false},
	} {
		kept := threadref.New(threadref.Config{Repo: &oneRef{}, Ref: threadref.Prefix + "thread-1"}).Store()
		raw := kept.Deliveries
		inbox := action.NewInbox(&kept, thread.Ref{Owner: "team", Repo: "app"}, slog.New(slog.DiscardHandler))
		inbox.Scheduled = []schedule.Entry{entry}
		into := raw
		if c.own {
			into = kept.Deliveries
		}
		if _, err := into.Put(t.Context(), c.d); err != nil {
			t.Fatal(err)
		}
		_, err := kept.Deliveries.Next(t.Context(), "team/app#1")
		if (err == nil) != c.want || err != nil && !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%s: worked on %t, want %t: %v", name, err == nil, c.want, err)
		}
		if (inbox.Why("one") == "") != c.want {
			t.Errorf("%s: why is %q", name, inbox.Why("one"))
		}
	}
}

// A lease that no run of a workflow signs holds nobody up.
func TestLeasesAreOfRuns(t *testing.T) {
	t.Parallel()
	for _, owner := range []string{"", "me", "run-", "run-1", "run-1-1-1", "bot-7"} {
		if away, err := action.Away(t.Context(), nil, owner); !away || err != nil {
			t.Errorf("%q counts as a run that works: %v", owner, err)
		}
	}
}
