package simulate_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot"
	"github.com/handrail-bot/handrail/bot/command"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/ghapp/ghtest"
	"github.com/handrail-bot/handrail/bot/live"
	"github.com/handrail-bot/handrail/bot/store/sqlite"
	"github.com/handrail-bot/handrail/bot/webhook"
	"github.com/handrail-bot/handrail/cmd/simulate"
	"github.com/handrail-bot/handrail/cmd/watchers"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/longtest"
	"github.com/handrail-bot/handrail/policy/secret"
)

// server is a server that a payload is delivered to: its webhook, its database and its bot.
// Sessions end as soon as they begin.
type server struct {
	in    simulate.Input
	world *simulate.World
	modes []string // of the sessions that began
}

func (s *server) StartPoint(context.Context, live.Thread) (bot.StartPoint, error) {
	base, branch := s.world.Start()
	return bot.StartPoint{Base: base, Target: branch, Config: s.in.Repository}, nil
}

func (s *server) Run(ctx context.Context, w bot.Work) (session.Outcome, error) {
	s.modes = append(s.modes, w.Task.Mode)
	out := session.Outcome{Status: session.StatusDone, Summary: "Nothing to report."}
	return out, w.Log.Append(ctx, session.NewEvent(session.TypeEnded, 1, session.Ended{Outcome: out}))
}

// play delivers the payload, has the server work until nothing is left, and returns what
// came of it: modes of sessions, "wake", how many answers where no session began, and
// reactions.
func (s *server) play(t *testing.T, event string) (out []string) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	ev, err := ghapp.ParseEvent(event, s.in.Payload)
	must(err)
	if ev.Thread.Repo == "" {
		return nil
	}
	dir := t.TempDir()
	s.world, err = simulate.NewWorld(s.in, ev, filepath.Join(dir, "github"))
	must(err)
	defer func() { must(s.world.Close()) }()
	db, err := sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(dir, "bot.db")})
	must(err)
	defer func() { must(db.Close()) }()
	app := s.world.App()
	own, err := secret.DeriveKey(secret.Value(app.WebhookSecret), "own words")
	must(err)
	gh, err := ghapp.New(ghapp.Config{Own: own, APIURL: s.world.URL(), AppID: app.ID, PrivateKey: app.Key, Inert: command.Inert, Spacing: -1})
	must(err)
	b, err := bot.New(bot.Config{
		Store: db.Store, GitHub: gh, Runner: s, Watchers: watchers.All(), Policy: s.in.Server, Model: "m", Settle: time.Millisecond, TTL: 10 * time.Minute,
		Repositories: s.in.Repositories, Apps: s.in.Apps,
	})
	must(err)
	row := simulate.OfChecks(s.in, ev)
	if row != nil {
		must(db.Sessions.Create(t.Context(), row))
	}
	hook, err := webhook.New(webhook.Config{Secret: []byte("secret"), Intake: db.Deliveries, Parse: b.Source})
	must(err)
	payload, err := s.world.Installed(s.in.Payload)
	must(err)
	req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/webhook", bytes.NewReader(payload))
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-GitHub-Event", event)
	req.Header.Set("X-GitHub-Delivery", "72d3162e-cc78-11e3-81ab-4c9367dc0958")
	req.Header.Set("X-Hub-Signature-256", ghtest.Sign("secret", payload))
	got := httptest.NewRecorder()
	hook.ServeHTTP(got, req)
	if got.Code/100 != 2 {
		t.Fatalf("the webhook answers %d %s", got.Code, got.Body)
	}
	for n := 0; ; n++ {
		list, err := db.Wakes.Waiting(t.Context(), 10)
		must(err)
		if len(list) == 0 || n == 20 {
			break
		}
		if row != nil && list[0].Thread == row.Thread {
			return []string{"wake"}
		}
		must(b.Work(t.Context(), list[0].Thread))
	}
	for _, mode := range s.modes {
		out = append(out, "session "+mode)
	}
	answers, reactions := s.world.Said(gh, ev.Thread)
	if len(s.modes) == 0 {
		out = append(out, slices.Repeat([]string{"answer"}, answers)...)
	}
	for _, r := range reactions {
		out = append(out, "reaction "+r)
	}
	slices.Sort(out)
	return out
}

// TestAsTheServer: what simulate says of a payload is what a server does with it.
func TestAsTheServer(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	on := true
	all := policy.Config{Watch: policy.Watch{
		Triggers:  policy.Triggers{Labels: map[string]string{"agent": "code", "look": "ask"}, Assignee: "Codertocat", Review: []string{"opened", "synchronize", "ready_for_review"}, Dispatch: &on, Checks: &on},
		Schedules: []policy.Schedule{{Name: "tidy", On: "push", Task: "look"}, {Name: "nightly", Cron: "0 3 * * *", Task: "look"}},
	}}
	bots := map[string]any{"sender.type": "Bot"}
	comment := func(body string, more map[string]any) []byte {
		v := map[string]any{"comment.body": body}
		for k, x := range more {
			v[k] = x
		}
		return with(t, "issue_comment/00-created.json", v)
	}
	cases := map[string]simulate.Input{}
	for _, body := range []string{
		"/agent fix it", "/agent review", "/agent ask why", "/agent status", "/agent help", "/agent stop", "/agent approve A1", "/agent deny A1 no", "/agent resume", "/agent diff",
		"/agent undo", "/agent config", "/agent statsu", "/agent", "thank you", "> /agent fix it", "`/agent fix it`", "/agent plan it\n\n/agent status", "/AGENT fix it", "/agent budget +5", "/agent --mode nonsense x",
	} {
		cases["comment "+body] = simulate.Input{Payload: comment(body, nil)}
	}
	for _, role := range []string{"read", "none", "triage", "admin"} {
		cases["task by "+role] = simulate.Input{Payload: comment("/agent fix it", nil), Permission: role}
		cases["status by "+role] = simulate.Input{Payload: comment("/agent status", nil), Permission: role}
		cases["label by "+role] = simulate.Input{Payload: with(t, "issues/09-labeled.json", map[string]any{"label.name": "agent"}), Permission: role}
	}
	cases["not served"] = simulate.Input{Payload: comment("/agent fix it", nil), Repositories: []string{"acme/*"}}
	cases["by a bot"] = simulate.Input{Payload: comment("/agent fix it", map[string]any{"sender.type": "Bot", "comment.user.type": "Bot"})}
	cases["another's words"] = simulate.Input{Payload: comment("/agent fix it", map[string]any{"sender.id": 5})}
	cases["no installation"] = simulate.Input{Payload: without(t, comment("/agent fix it", nil), "installation")}
	cases["label look"] = simulate.Input{Payload: with(t, "issues/09-labeled.json", map[string]any{"label.name": "LOOK"})}
	cases["label of a bot"] = simulate.Input{Payload: with(t, "issues/09-labeled.json", map[string]any{"label.name": "agent", "sender.type": bots["sender.type"]})}
	cases["dispatch"] = simulate.Input{Payload: with(t, "repository_dispatch/00-on-demand-test.json", map[string]any{"client_payload": map[string]any{"task": "say hi", "mode": "ask"}})}
	cases["dispatch of odd words"] = simulate.Input{Payload: with(t, "repository_dispatch/00-on-demand-test.json", map[string]any{"client_payload": map[string]any{"task": []int{1}, "mode": 3}})}
	cases["dispatch to nowhere"] = simulate.Input{Payload: with(t, "repository_dispatch/00-on-demand-test.json", map[string]any{"client_payload": map[string]any{"task": "x", "issue": "-1"}})}
	cases["push"] = simulate.Input{Payload: with(t, "push/00-none.json", map[string]any{"ref": "refs/heads/master", "deleted": false, "repository.default_branch": "master"})}
	cases["push elsewhere"] = simulate.Input{Payload: with(t, "push/00-none.json", map[string]any{"ref": "refs/heads/x", "deleted": false})}
	cases["push not served"] = simulate.Input{Payload: with(t, "push/00-none.json", map[string]any{"ref": "refs/heads/master", "deleted": false, "repository.default_branch": "master"}), Repositories: []string{"acme/*"}}
	cases["check not served"] = simulate.Input{Payload: with(t, "check_run/01-completed.json", nil), Repositories: []string{"acme/*"}}
	cases["check of nothing"] = simulate.Input{Payload: with(t, "check_run/01-completed.json", map[string]any{"check_run.pull_requests": nil, "check_run.check_suite.head_branch": ""})}
	for state := range map[string]bool{"failure": true, "pending": false} {
		sha := strings.Repeat("a", 40)
		data, err := json.Marshal(map[string]any{
			"sha": sha, "state": state, "context": "jenkins", "branches": []any{map[string]any{"name": "agent/x", "commit": map[string]any{"sha": sha}}},
			"repository": map[string]any{"id": 1, "full_name": "octo/hello"}, "sender": map[string]any{"id": 3, "login": "ci"},
		})
		if err != nil {
			t.Fatal(err)
		}
		cases["status "+state] = simulate.Input{Payload: data}
	}
	files, err := filepath.Glob("../../testdata/webhook/*/*.json")
	if err != nil {
		t.Fatal(err)
	}
	if made := len(cases); made < 45 || len(files) < 100 {
		t.Errorf("%d cases, and %d of GitHub's", made, len(files))
	}
	for i, file := range files {
		if i%3 > 0 && !longtest.Long() { // each is a server of its own
			continue
		}
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		cases[file] = simulate.Input{Payload: data}
	}
	for name, in := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in.Repository = all
			res := run(t, in)
			in.Server, in.Permission = policy.DefaultConfig(), orWrite(in.Permission)
			var says []string
			began := slices.ContainsFunc(res.Would, func(e simulate.Effect) bool { return e.Kind == "session" })
			for _, e := range res.Would {
				switch {
				case e.Kind == "session":
					says = append(says, "session "+e.Mode)
				case e.Kind == "reaction" && !strings.HasSuffix(res.Event, "_dispatch"): // which is in a thread of its own
					says = append(says, "reaction "+e.Text)
				case e.Kind == "wake", e.Kind == "answer" && !began:
					says = append(says, e.Kind)
				}
			}
			slices.Sort(says)
			does := (&server{in: in}).play(t, res.Event)
			if began { // what its end says is not foretold
				does = slices.DeleteFunc(does, func(s string) bool { return strings.HasPrefix(s, "reaction ") && !slices.Contains(says, s) })
			}
			if fmt.Sprint(says) != fmt.Sprint(does) {
				t.Errorf("simulate says %q, the server does %q; because %v", says, does, res.Because)
			}
		})
	}
}

func orWrite(role string) string {
	if role == "" {
		return "write"
	}
	return role
}

// without is a payload that lacks a field.
func without(t *testing.T, payload []byte, field string) []byte {
	t.Helper()
	var p map[string]json.RawMessage
	if err := json.Unmarshal(payload, &p); err != nil {
		t.Fatal(err)
	}
	delete(p, field)
	out, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
