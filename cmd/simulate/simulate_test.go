package simulate_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/handrail-bot/handrail/bot/render"
	"github.com/handrail-bot/handrail/cmd/simulate"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/longtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func run(t *testing.T, in simulate.Input) simulate.Result {
	t.Helper()
	in.Server = policy.DefaultConfig()
	if in.Permission == "" {
		in.Permission = "write"
	}
	res, err := simulate.Run(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// with is one of GitHub's own examples with other values, by their paths.
func with(t *testing.T, file string, values map[string]any) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("../../testdata/webhook", file))
	if err != nil {
		t.Fatal(err)
	}
	var p map[string]any
	if err := json.Unmarshal(data, &p); err != nil {
		t.Fatal(err)
	}
	for path, v := range values {
		at, parts := p, strings.Split(path, ".")
		for _, part := range parts[:len(parts)-1] {
			next, ok := at[part].(map[string]any)
			if !ok {
				t.Fatalf("%s has no %s", file, path)
			}
			at = next
		}
		at[parts[len(parts)-1]] = v
	}
	if data, err = json.Marshal(p); err != nil {
		t.Fatal(err)
	}
	return data
}

// TestOfficialExamples: GitHub's own examples call nobody, so nothing would happen,
// and the event of each is known from its fields.
func TestOfficialExamples(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../testdata/webhook/*/*.json")
	if err != nil || len(files) < 100 {
		t.Fatalf("%d examples: %v", len(files), err)
	}
	last := ""
	for _, file := range files {
		event := filepath.Base(filepath.Dir(file))
		if longtest.Plain() && event == last {
			continue // one of each event
		}
		last = event
		t.Run(event+"/"+filepath.Base(file), func(t *testing.T) {
			t.Parallel() // each waits for the disk
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			res := run(t, simulate.Input{Payload: data})
			if res.Event != event {
				t.Errorf("it is taken for %s", res.Event)
			}
			if len(res.Would) != 1 || res.Would[0].Kind != "none" || len(res.Because) == 0 {
				t.Errorf("it would %v because %v", res.Would, res.Because)
			}
		})
	}
}

func TestWould(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	comment := func(body string) []byte {
		return with(t, "issue_comment/00-created.json", map[string]any{"comment.body": body})
	}
	inline := func(body string) []byte {
		return with(t, "pull_request_review_comment/00-created.json", map[string]any{"comment.body": body})
	}
	fork := func(body string) []byte {
		return with(t, "pull_request/12-opened.json", map[string]any{
			"pull_request.title": "Fork", "pull_request.body": body, "pull_request.head.repo.id": 1, "pull_request.head.repo.full_name": "fork/Hello-World",
		})
	}
	on := true
	triggers := policy.Config{Watch: policy.Watch{Triggers: policy.Triggers{Labels: map[string]string{"agent": "code"}, Assignee: "machine", Review: []string{"opened"}, Dispatch: &on}}}
	label := func(name string) []byte {
		return with(t, "issues/09-labeled.json", map[string]any{"label.name": name})
	}
	asked := func(login string) []byte {
		return with(t, "pull_request/21-review_requested.json", map[string]any{"requested_reviewer": map[string]any{"login": login, "id": 77}})
	}
	dispatch := func(task string) []byte {
		return with(t, "repository_dispatch/00-on-demand-test.json", map[string]any{"client_payload": map[string]any{"task": task, "mode": "ask"}})
	}
	tests := []struct {
		name string
		in   simulate.Input
		want string // the effects, answers by their kind alone
	}{
		{"a task", simulate.Input{Payload: comment("/agent fix the test")}, "session code fix the test, reaction eyes"},
		{"a task in a mode", simulate.Input{Payload: comment("/agent ask why is it so")}, "session ask why is it so, reaction eyes"},
		{"a question about the thread", simulate.Input{Payload: comment("/agent status")}, "command status, answer"},
		{"both", simulate.Input{Payload: comment("/agent status\n\n/agent fix it")}, "command status, session code fix it, answer, reaction eyes"},
		{"an approval of nothing", simulate.Input{Payload: comment("/agent approve 3fa9c1")}, "command approve, answer"},
		{"no command", simulate.Input{Payload: comment("thank you")}, "none"},
		{"a command in code", simulate.Input{Payload: comment("```\n/agent fix it\n```")}, "none"},
		{"without rights", simulate.Input{Payload: comment("/agent fix the test"), Permission: "read"}, "reaction confused"},
		{"a mode that is not let", simulate.Input{Payload: comment("/agent fix the test"), Repository: policy.Config{Modes: []string{"ask"}}}, "answer, reaction eyes"},
		{"a repository that is not served", simulate.Input{Payload: comment("/agent fix it"), Repositories: []string{"acme/other"}}, "none"},
		{"an issue without a command", simulate.Input{Payload: with(t, "issues/15-opened.json", map[string]any{"issue.body": "It fails."})}, "none"},
		{"an issue that is sorted", simulate.Input{Payload: with(t, "issues/15-opened.json", map[string]any{"issue.body": "It fails."}), Permission: "read", Repository: policy.Config{Watch: policy.Watch{Triage: policy.Triage{On: "opened"}}}}, "session triage " + render.SortIssue},
		{"an issue", simulate.Input{Payload: with(t, "issues/15-opened.json", map[string]any{"issue.title": "Crash", "issue.body": "It fails.\n\n/agent fix it"})}, "session code Crash …, reaction eyes"},
		{"a line of a pull request", simulate.Input{Payload: inline("/agent why?")}, "session code why?, reaction eyes"},
		{"a change of a fork", simulate.Input{Payload: fork("/agent fix it")}, "session code, answer, reaction eyes"},
		{"a review of a fork", simulate.Input{Payload: fork("/agent review")}, "session review Fork …, reaction eyes"},
		{"a label", simulate.Input{Payload: label("agent"), Repository: triggers}, "session code Do what this issue asks for., reaction eyes"},
		{"a label in other letters", simulate.Input{Payload: label("AGENT"), Repository: triggers}, "session code Do what this issue asks for., reaction eyes"},
		{"a label that means nothing", simulate.Input{Payload: label("bug"), Repository: triggers}, "none"},
		{"a label that is not configured", simulate.Input{Payload: label("agent")}, "none"},
		{"a label by somebody without rights", simulate.Input{Payload: label("agent"), Repository: triggers, Permission: "read"}, "none"},
		{"a label by somebody who may only triage", simulate.Input{Payload: label("agent"), Repository: triggers, Permission: "triage"}, "answer"},
		{"a label by a bot", simulate.Input{Payload: with(t, "issues/09-labeled.json", map[string]any{"label.name": "agent", "sender.type": "Bot", "sender.login": "x[bot]"}), Repository: triggers}, "none"},
		{"an assignment", simulate.Input{Payload: with(t, "issues/01-assigned.json", map[string]any{"assignee.login": "machine"}), Repository: triggers}, "session code Do what this issue asks for., reaction eyes"},
		{"an assignment to another", simulate.Input{Payload: with(t, "issues/01-assigned.json", map[string]any{"assignee.login": "kim"}), Repository: triggers}, "none"},
		{"a review that is asked for", simulate.Input{Payload: asked("machine"), Repository: triggers}, "session review Review this pull request., reaction eyes"},
		{"a review that another is asked for", simulate.Input{Payload: asked("kim"), Repository: triggers}, "none"},
		{"a pull request", simulate.Input{Payload: with(t, "pull_request/12-opened.json", map[string]any{"pull_request.body": ""}), Repository: triggers}, "session review Review this pull request., reaction eyes"},
		{"a command in a pull request", simulate.Input{Payload: with(t, "pull_request/12-opened.json", map[string]any{"pull_request.body": "/agent ask why?"}), Repository: triggers}, "session ask Update the README with new information. …, reaction eyes"},
		{"a pull request of a stranger", simulate.Input{Payload: with(t, "pull_request/12-opened.json", map[string]any{"pull_request.body": ""}), Repository: triggers, Permission: "read"}, "none"},
		{"a dispatch", simulate.Input{Payload: dispatch("say hello"), Event: "repository_dispatch", Repository: triggers}, "session ask say hello, reaction eyes"},
		{"a dispatch that is not configured", simulate.Input{Payload: dispatch("say hello"), Event: "repository_dispatch"}, "none"},
		{"a dispatch by somebody without rights", simulate.Input{Payload: dispatch("say hello"), Event: "repository_dispatch", Repository: triggers, Permission: "read"}, "none"},
		{"a check", simulate.Input{Payload: with(t, "check_run/01-completed.json", nil), Repository: policy.Config{Watch: policy.Watch{Triggers: policy.Triggers{Checks: &on}}}}, "wake the session that pushed ec26c3e57ca3"},
		{"a check that is not configured", simulate.Input{Payload: with(t, "check_run/01-completed.json", nil), Repository: triggers}, "none"},
		{"a kind that nobody hears", simulate.Input{Payload: []byte(`{"action":"created","starred_at":"x"}`), Event: "star"}, "none"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			res := run(t, test.in)
			var got []string
			for _, e := range res.Would {
				if e.Kind == "answer" {
					e.Text = ""
				}
				got = append(got, e.String())
			}
			if s := strings.Join(got, ", "); s != test.want {
				t.Errorf("would %q, not %q, because %v", s, test.want, res.Because)
			}
			if slices.ContainsFunc(res.Because, func(b simulate.Reason) bool { return b.Rule == "" || b.Text == "" }) || len(res.Because) == 0 {
				t.Errorf("because %v", res.Because)
			}
		})
	}
}

// TestOddPayloads: what no GitHub sends is told, and nothing outside the
// directory of the trial is touched by the names in it.
func TestOddPayloads(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	for _, data := range []string{"", "x", "[]", "null", `{"action":"started","repository":{}}`} {
		if _, err := simulate.Run(t.Context(), simulate.Input{Payload: []byte(data), Permission: "write", Server: policy.DefaultConfig()}); err == nil {
			t.Errorf("%q is taken for a payload", data)
		}
	}
	res := run(t, simulate.Input{Payload: with(t, "pull_request_review_comment/00-created.json", map[string]any{
		"comment.body": "/agent fix it", "pull_request.title": "", "pull_request.head.ref": "--upload-pack=x\nfrom y",
		"pull_request.head.repo.full_name": "../../../../outside", "pull_request.head.repo.id": 1, "pull_request.base.ref": "a..b",
		"repository.default_branch": "-x",
	})})
	if !slices.ContainsFunc(res.Would, func(e simulate.Effect) bool { return e.Kind == "session" || e.Kind == "answer" }) {
		t.Errorf("would %v because %v", res.Would, res.Because)
	}
}
