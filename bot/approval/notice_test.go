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

// An end is told once, in a new comment, where nothing else tells it.
func TestDue(t *testing.T) {
	t.Parallel()
	state := func(status session.Status, more ...*session.Event) *session.State {
		v := session.NewState()
		opened := session.NewEvent(session.TypeOpened, 0, session.Opened{Task: session.Task{Session: "s1", Text: "fix it", Requester: "kim"}})
		ended := session.NewEvent(session.TypeEnded, 1, session.Ended{Outcome: session.Outcome{Status: status}})
		for i, e := range append(append([]*session.Event{opened}, more...), ended) {
			e.Seq = int64(i + 1)
			if err := v.Apply(*e); err != nil {
				t.Fatal(err)
			}
		}
		return v
	}
	wish := session.NewEvent(session.TypeMessage, 1, session.Message{Author: "sam", Text: "more"})
	retry := session.NewEvent(session.TypeMessage, 1, session.Message{Author: "sam"})
	asked := session.NewEvent(session.TypeAsked, 1, session.Asked{ID: "a", Call: "c", Kind: session.AskApproval, Display: "x"})
	at := "https://github.example/o/r/issues/1#issuecomment-1"
	quiet := policy.Comments{End: policy.Quiet}
	for name, tt := range map[string]struct {
		end  approval.End
		want bool
	}{
		"done":                     {approval.End{State: state(session.StatusDone), Progress: at}, true},
		"failed":                   {approval.End{State: state(session.StatusFailed), Progress: at}, true},
		"crashed":                  {approval.End{State: state(session.StatusCrashed), Progress: at}, true},
		"out of budget":            {approval.End{State: state(session.StatusOutOfBudget), Progress: at}, true},
		"stopped":                  {approval.End{State: state(session.StatusStopped), Progress: at}, false},
		"asked for":                {approval.End{State: state(session.StatusAwaitingApproval, asked), Progress: at}, false},
		"runs":                     {approval.End{State: session.NewState(), Progress: at}, false},
		"quiet":                    {approval.End{State: state(session.StatusDone), Progress: at, Comments: quiet}, false},
		"quiet, a second wish":     {approval.End{State: state(session.StatusDone, wish), Progress: at, Comments: quiet}, true},
		"quiet, tried again":       {approval.End{State: state(session.StatusDone, retry), Progress: at, Comments: quiet}, false},
		"quiet without a progress": {approval.End{State: state(session.StatusDone), Comments: quiet}, true},
	} {
		if got := tt.end.Due(); got != tt.want {
			t.Errorf("%s: %t, want %t", name, got, tt.want)
		}
	}
	v := state(session.StatusDone)
	told := approval.EndNotice{End: v.EndedAt, URL: at}
	if got := told.URLFor(v); got != at {
		t.Errorf("the end is told at %q", got)
	}
	if got := told.URLFor(state(session.StatusDone, wish)) + (approval.EndNotice{}).URLFor(v) + told.URLFor(session.NewState()); got != "" {
		t.Errorf("another end is told at %q", got)
	}
}
