package doctor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/cmd/config"
)

func fileWith(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "file.yml")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestServerWarnings: values that can be read and will not work are told, with their place.
func TestServerWarnings(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ file, want string }{
		"nothing":           {"listen: :80\nmodel: {name: m, temperature: 0}\nsessions: {at_once: 4}\n", ""},
		"none at once":      {"sessions:\n  at_once: 0\n", "line 2, column 3: sessions.at_once: 0 counts as not set, which means 8"},
		"no value":          {"sessions:\nlisten: :80\n", "line 1, column 1: sessions: has no value and does nothing"},
		"more of a person":  {"sessions: {at_once: 2, per_user: 3}\n", "line 1, column 34: sessions.per_user: 3 is more than the 2"},
		"more of the rest":  {"sessions: {per_repo: 9}\n", "more than the 8 sessions"},
		"tiny context":      {"model: {context: 2048}\n", "line 1, column 18: model.context: the first prompt of a session takes about"},
		"short context":     {"model: {context: 8000}\n", "with fewer than 8192 tokens"},
		"no v3":             {"github: {api: \"https://git.example.com/\"}\n", "write https://git.example.com/api/v3/"},
		"v3":                {"github: {api: \"https://git.example.com/api/v3\"}\n", ""},
		"the site":          {"github: {api: \"https://github.com\"}\n", "this is the site, not the API"},
		"data residency":    {"github: {api: \"https://api.octo.ghe.com\"}\n", ""},
		"no v1":             {"model: {base_url: \"http://gpu:8000\"}\n", "http://gpu:8000/v1"},
		"no silence":        {"model: {silence: 1s}\n", "would count as cut off"},
		"quota of an hour":  {"quotas: {writes_per_minute: 90, writes_per_hour: 80}\n", "90 is more than the 80 of an hour"},
		"quota of none":     {"quotas: {sender: 0}\n", "quotas.sender: 0 counts as not set, which means 60"},
		"below policy":      {"policy:\n  budget: {session: {tokens: 500}}\n", "line 2, column 30: policy.budget.session.tokens: the first prompt"},
		"30 February":       {"policy: {schedules: [{name: a, task: x, cron: \"0 0 30 2 *\"}]}\n", `policy.schedules[0].cron: "0 0 30 2 *" never comes`},
		"a schedule of all": {"policy: {schedules: [{name: a, task: x, cron: \"@daily\", days: 0}]}\n", "days: 0 counts as not set, which means 14"},
	} {
		cfg, err := config.CheckFile(fileWith(t, c.file))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := Server(&cfg).Error(); c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestRepositoryWarnings is the same of a repository's file.
func TestRepositoryWarnings(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ file, want string }{
		"nothing":              {"mode: code\ncommands: {allow: [\"go test *\"], deny: []}\n", ""},
		"written by itself":    {"repositories: [acme/spec, {name: acme/lib, write: true}]\n", "line 1, column 27: repositories[1]: write counts only if the server's file allows it too, below policy"},
		"only read":            {"repositories: [acme/spec]\n", ""},
		"allowed by itself":    {"auto_approve_commands: true\n", "line 1, column 24: auto_approve_commands: counts only if the server's file allows it too"},
		"not allowed":          {"auto_approve_commands: false\n", ""},
		"opens the network":    {"workspace: {network: open}\n", "workspace.network: counts only"},
		"team in capitals":     {"approvals: {approvers: [write, \"team:acme/Security\"]}\n", "line 1, column 32: approvals.approvers[1]: no team can have this name"},
		"team":                 {"approvals: {approvers: [\"team:acme/security_2\"]}\n", ""},
		"commands joined":      {"commands: {allow: [\"go vet && go test\"]}\n", "commands.allow[0]: matches nothing"},
		"a word of a shell":    {"commands: {allow: [\"find . -exec cat {} ;\"]}\n", ""},
		"too often":            {"schedules: [{name: a, task: x, cron: \"*/5 * * * *\"}]\n", "schedules[0]: it may run every 1h0m0s at most, unless the server's file"},
		"paths that are there": {"workspace: {paths: [cmd/doctor, docs]}\n", ""},
		"no such path":         {"workspace: {paths: [docs, nowhere/at/all]}\n", "line 1, column 27: workspace.paths[1]: there is no directory nowhere/at/all here"},
		"path in a path":       {"workspace: {paths: [cmd/doctor, cmd]}\n", "workspace.paths[0]: cmd/doctor is there already"},
		"path twice":           {"workspace: {paths: [docs, docs]}\n", "workspace.paths[1]: docs is there already"},
		"little memory":        {"workspace: {memory: 1m}\n", "too little for most programs"},
		"short deadline":       {"approvals: {deadline: 2s}\n", "too short to read a request"},
		"no rounds":            {"ci_fix: {attempts: 0}\n", "0 counts as not set, which means 3"},
		"label without mode":   {"modes: [ask]\nmode: ask\ntriggers: {labels: {agent: code}}\n", "triggers.labels.agent: code is not among modes"},
	} {
		cfg, doc, err := config.CheckRepositoryFile("agent.yml", []byte(c.file))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := repository(cfg, doc, "../..").Error(); c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestFaultsOfARepository: what only the server may say, and a clock that cannot be read,
// are faults of a repository's file, told together.
func TestFaultsOfARepository(t *testing.T) {
	t.Parallel()
	_, _, err := config.CheckRepositoryFile("agent.yml", []byte("mod: code\nworkspace:\n  engine: local\n  unlimited: true\n  images: [a]\nschedule_limits: {most: 9, every: 1m, modes: [code]}\nschedules: [{name: a, task: x, cron: \"99 * * * *\"}]\n"))
	for _, want := range []string{"line 1, column 1: unknown key", "line 3, column 11: workspace.engine: only the server's", "line 4, column 14: workspace.unlimited", "line 5, column 11: workspace.images", "schedule_limits.most", "schedule_limits.every", "schedule_limits.modes", "line 7, column 38: schedules[0].cron: end of range (99) above maximum"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v\nwants %q", err, want)
		}
	}
}

// TestFirstPrompt: the prompt is some thousand tokens, as the model counts them.
func TestFirstPrompt(t *testing.T) {
	t.Parallel()
	if n := firstPrompt(); n < 2048 || n >= minContext {
		t.Errorf("the first prompt takes %d tokens", n)
	}
}
