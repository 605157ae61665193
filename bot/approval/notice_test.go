package approval_test

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/approval"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/ghapp/ghtest"
	"github.com/handrail-bot/handrail/bot/ghapp/ghtest/ghcheck"
	"github.com/handrail-bot/handrail/policy"
)

// program answers for one account that it is a program by a person's name, as some of
// GitHub's own are.
type program struct{ login string }

func (p program) RoundTrip(r *http.Request) (*http.Response, error) {
	if !strings.Contains(r.URL.Path, "/collaborators/"+p.login+"/") {
		return http.DefaultTransport.RoundTrip(r)
	}
	body := `{"permission":"write","role_name":"write","user":{"id":77,"login":"` + p.login + `","type":"Bot"}}`
	return &http.Response{StatusCode: 200, Status: "200 OK", Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body))}, nil
}

// Only a person whom GitHub knows is mentioned, by the name that it gives: a program
// might answer, and two would talk for ever.
func TestPerson(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	gh, err := ghcheck.New(ghtest.Config{Dir: t.TempDir()})
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check(err)
	check(gh.Start())
	t.Cleanup(func() { check(gh.Close()) })
	gh.AddUser("kim", "write")
	inst, err := gh.AddRepo("acme", "widget", ghtest.Source{Files: map[string]string{"README.md": "x\n"}})
	check(err)
	ref, err := gh.OpenIssue("acme/widget", "kim", "t", "b")
	check(err)
	app, err := ghapp.New(ghapp.Config{APIURL: gh.URL() + "/api/v3/", AppID: gh.App().ID, PrivateKey: gh.App().Key,
		Spacing: -1, Backoff: time.Microsecond, Transport: program{"copilot"}})
	check(err)
	client, err := app.For(ctx, ref, inst)
	check(err)
	for login, want := range map[string][]string{
		"kim": {"kim"}, "KIM": {"kim"}, "copilot": nil, "nobody-of-this-name": nil, "": nil, "kim lee": nil, "kim\n@sam": nil, "@kim": nil, "acme/ops": nil,
	} {
		if got, err := approval.Person(ctx, client, login); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %q, %v, want %q", login, got, err, want)
		}
	}
}

// The progress comment tells of an end. A comment of its own does only if there is none,
// or after a long run, if nothing else tells it.
func TestDue(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	state := func(status session.Status, took time.Duration, more ...*session.Event) *session.State {
		v := session.NewState()
		opened := session.NewEvent(session.TypeOpened, 0, session.Opened{Task: session.Task{Session: "s1", Text: "fix it", Requester: "kim"}})
		ended := session.NewEvent(session.TypeEnded, 1, session.Ended{Outcome: session.Outcome{Status: status}})
		for i, e := range append(append([]*session.Event{opened}, more...), ended) {
			if e.Seq, e.Time = int64(i+1), start; e == ended {
				e.Time = start.Add(took)
			}
			if err := v.Apply(*e); err != nil {
				t.Fatal(err)
			}
		}
		return v
	}
	asked := session.NewEvent(session.TypeAsked, 1, session.Asked{ID: "a", Call: "c", Kind: session.AskApproval, Display: "x"})
	at := "https://github.example/o/r/issues/1#issuecomment-1"
	after := policy.Comments{After: policy.Duration(3 * time.Minute)}
	quiet := after
	quiet.End = policy.Quiet
	for name, tt := range map[string]struct {
		end  approval.End
		want bool
	}{
		"done at once":      {approval.End{State: state(session.StatusDone, time.Minute), Progress: at, Comments: after}, false},
		"done":              {approval.End{State: state(session.StatusDone, time.Hour), Progress: at, Comments: after}, true},
		"failed":            {approval.End{State: state(session.StatusFailed, time.Hour), Progress: at, Comments: after}, true},
		"out of budget":     {approval.End{State: state(session.StatusOutOfBudget, time.Hour), Progress: at, Comments: after}, true},
		"stopped":           {approval.End{State: state(session.StatusStopped, time.Hour), Progress: at, Comments: after}, false},
		"asked for":         {approval.End{State: state(session.StatusAwaitingApproval, time.Hour, asked), Progress: at, Comments: after}, false},
		"runs":              {approval.End{State: session.NewState(), Progress: at, Comments: after}, false},
		"quiet":             {approval.End{State: state(session.StatusDone, time.Hour), Progress: at, Comments: quiet}, false},
		"without progress":  {approval.End{State: state(session.StatusDone, time.Minute), Comments: after}, true},
		"quiet without any": {approval.End{State: state(session.StatusDone, time.Minute), Comments: quiet}, true},
	} {
		if got := tt.end.Due(); got != tt.want {
			t.Errorf("%s: %t, want %t", name, got, tt.want)
		}
	}
	v := state(session.StatusDone, time.Minute)
	told := approval.EndNotice{End: v.EndedAt, Note: "a note", Posted: true}
	if told.NoteFor(v) != "a note" || !told.Done(v) {
		t.Errorf("the end has the note %q, told %t", told.NoteFor(v), told.Done(v))
	}
	later := state(session.StatusDone, time.Minute, session.NewEvent(session.TypeMessage, 1, session.Message{Author: "sam", Text: "more"}))
	if told.NoteFor(later) != "" || told.Done(later) || told.NoteFor(session.NewState()) != "" {
		t.Error("another end counts as told")
	}
}
