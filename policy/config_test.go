package policy

import (
	"encoding/json"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v4"
	"pgregory.net/rapid"

	"github.com/handrail-bot/handrail/policy/strict"
)

const fullConfig = `
model: qwen3:32b
models: [qwen3:32b, llama3]
mode: debug
modes: [debug, review]
turns: 12
auto_approve_commands: true
auto_approve_sensitive_edits: false
commands:
  allow: [go test *]
  deny: [curl]
  ask: ["git push *"]
defaults: {read: allow, write: ask, delete: deny, execute: allow, network: deny}
always_ask: [delete]
sensitive_files:
  - {pattern: "auth/**", approve: required}
  - {pattern: "auth/README.md", approve: auto}
approvals:
  deadline: 24h
  not_requester: true
  approvers: ["user:42", "team:acme/security", codeowners]
  bots: [49699333]
branch: bot/{number}/{slug}
workspace: {engine: bwrap, image: "ghcr.io/acme/dev:1", images: ["ghcr.io/acme/*"], network: allowlist, hosts: ["proxy.golang.org", "*.example.org"], memory: 2g, pids: 256, cpus: 1.5, disk: 3g}
budget:
  session: {turns: 50, tokens: 100000, time: 30m, edits: 40, lines: 900}
  thread: {tokens: 200000}
  user_day: {tokens: 300000}
pull_request: {draft: false, title: "{slug}", branch: stacked}
undo: reset
push: {hold: builds}
commits: {sign: ssh, co_author: false, sign_off: true}
comments: {progress: none, end: quiet}
triggers: {labels: {agent: code}, assignee: machine, review: [opened], checks: true, dispatch: true}
schedule_limits: {most: 3, every: 30m, modes: [ask]}
ci_fix: {attempts: 2, per_head: 1}
schedules:
  - {name: nightly, cron: "0 3 * * *", task: review the default branch, mode: review, result: issue}
long_running_commands: [make *]
setup: {commands: [npm ci], files: [package-lock.json], caches: [npm], network: open}
verify: auto
test: [make test-all]
repositories: [acme/lib, acme/spec@v2]
triage: {on: opened, labels: [bug, needs info], hourly: 5}
tools: {new_task: {off: true}, ask_followup_question: {off_in: [ask]}, run_terminal_command: {timeout: 5m}}
language_servers: [{name: elixir-ls, command: [elixir-ls], extensions: [ex, exs]}]
mcp:
  hosts: [tools.example.org]
  servers:
    docs: {command: node, args: [server.js], env: {LEVEL: "3"}, cwd: tools, tools: {allow: ["*"], deny: [drop], approve: {look: auto}}, timeout: 30s}
    web: {url: "https://tools.example.org/mcp", headers: {Authorization: TOOLS_TOKEN}}
`

func TestParseConfig(t *testing.T) {
	got, err := ParseConfig("agent.yml", []byte(fullConfig))
	if err != nil {
		t.Fatal(err)
	}
	if got.Model != "qwen3:32b" || got.Turns != 12 || !got.autoCommands() || got.autoEdits() || got.AutoApproveSensitiveEdits == nil ||
		got.Approvals.Deadline != Duration(24*time.Hour) || got.Workspace.Memory != 2<<30 || got.Budget.Session.Time != Duration(30*time.Minute) {
		t.Errorf("got %+v", got)
	}
	if _, err := New(got); err != nil {
		t.Error(err)
	}
	// Every key of the struct is in the full example, so none is untested.
	var raw map[string]any
	if err := yaml.Load([]byte(fullConfig), &raw); err != nil {
		t.Fatal(err)
	}
	for _, k := range strict.Keys(reflect.TypeFor[Config]()) {
		if _, ok := raw[k.Name]; !ok {
			t.Errorf("key %s is not in the example", k.Name)
		}
	}
	out, err := yaml.Dump(got)
	if err != nil {
		t.Fatal(err)
	}
	again, err := ParseConfig("dump", out)
	if err != nil {
		t.Fatalf("%v in\n%s", err, out)
	}
	if diff := cmp.Diff(got, again); diff != "" {
		t.Error(diff)
	}
}

func TestParseConfigEmpty(t *testing.T) {
	for _, s := range []string{"", " \n", "# nothing yet\n", "---\n", "{}"} {
		if got, err := ParseConfig("x", []byte(s)); err != nil || !reflect.DeepEqual(got, Config{}) {
			t.Errorf("ParseConfig(%q) = %+v, %v", s, got, err)
		}
	}
	if _, err := New(DefaultConfig()); err != nil {
		t.Error(err)
	}
}

func TestParseConfigErrors(t *testing.T) {
	bomb := "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\n"
	listBomb := "commands:\n  allow: &a [x,x,x,x,x,x,x,x,x,x]\nalways_ask: [*a]\n"
	for name, c := range map[string]struct{ in, want string }{
		"unknown key":           {"model: x\nmdoel: y\n", `line 2: unknown key "mdoel", did you mean "model"?`},
		"unknown nested key":    {"commands:\n  alow: [x]\n", `line 2: unknown key "alow", did you mean "allow"?`},
		"unknown in a list":     {"sensitive_files:\n- {pattern: x, aprove: auto}\n", `did you mean "approve"?`},
		"wrong case":            {"Mode: ask\n", `line 1: unknown key "Mode", did you mean "mode"?`},
		"hyphens":               {"auto-approve-commands: true\n", `did you mean "auto_approve_commands"?`},
		"no idea":               {"zzzzzzzz: 1\n", "known keys here: model, models, mode"},
		"old name":              {"sensitiveFilePatterns: []\n", `did you mean "sensitive_files"?`},
		"float for whole":       {"turns: 1.5\n", "line 1: cannot use `1.5` as a whole number"},
		"text for bool":         {"mode: ask\nauto_approve_commands: \"true\"\n", "line 2: `true` stands in quotes, which makes a text of it"},
		"list for mapping":      {"commands: [a]\n", "line 1: cannot use a list"},
		"second document":       {"mode: ask\n---\nmode: code\n", "line 2: a second document begins"},
		"empty second document": {"mode: ask\n---\n", "a second document begins"},
		"duplicate key":         {"turns: 1\nturns: 2\n", `line 2: mapping key "turns" already defined`},
		"merge key":             {"<<: {mode: ask}\n", "line 1: merge keys (<<) are not supported"},
		"tag":                   {"mode: !!binary aGk=\n", "line 1: tag !!binary is not used here"},
		"alias bomb":            {bomb, "line 1: unknown key"},
		"nested list":           {listBomb, "line 2: cannot use a list as text"},
		"not yaml":              {"model: [\n", "line 2: did not find expected node content"},
		"too long":              {"# " + strings.Repeat("x", 128<<10), "at most 131072 are read"},
		"unknown mode":          {"mode: cod\n", `line 1: mode: "cod" is not one of code, architect, ask, debug, explore, plan, review, security, triage, did you mean "code"?`},
		"bad default":           {"defaults:\n  read: yes\n", `line 2: defaults.read: "yes" is not one of allow, ask, deny`},
		"bad kind":              {"always_ask: [read, excute]\n", `always_ask[1]: "excute" is not one of read, write, delete, execute, network, post, mcp, did you mean "execute"?`},
		"bad approve":           {"sensitive_files:\n- pattern: x\n  approve: \"true\"\n", `line 3: sensitive_files[0].approve: "true" is not one of auto, required`},
		"missing approve":       {"sensitive_files:\n- pattern: x\n", `sensitive_files[0].approve: a value is needed: auto, required`},
		"bad glob":              {"sensitive_files: [{pattern: \"a[\", approve: auto}]\n", `"a[" is not a valid glob`},
		"bad deadline":          {"approvals: {deadline: 30}\n", `"30" is not a length of time such as 90s, 30m, 72h or 90d`},
		"login as approver":     {"approvals: {approvers: [octocat]}\n", `"octocat" is not user:<numeric id>`},
		"bad memory":            {"workspace: {memory: lots}\n", `"lots" is not a number of bytes such as 512m or 4g`},
		"infinite cpus":         {"workspace: {cpus: .inf}\n", "workspace.cpus: must be a number from 0 up"},
		"negative budget":       {"budget: {thread: {tokens: -1}}\n", "budget.thread.tokens: must be a number from 0 up"},
		"bad engine":            {"workspace: {engine: dokcer}\n", `did you mean "docker"?`},
		"bad image":             {"workspace: {image: \"--privileged\"}\n", "is not an image name"},
		"bad host":              {"workspace: {hosts: [\"http://x/\"]}\n", "is not the name of a host"},
		"fixed branch":          {"branch: main\n", "{number} or {session} is needed"},
		"branch injection":      {"branch: \"x-{number}-$(id)\"\n", "is not used in branch names"},
		"unknown placeholder":   {"branch: \"a/{nubmer}\"\n", "did you mean {number}?"},
		"allow everything":      {"commands: {allow: [\"*\"]}\n", "use auto_approve_commands"},
		"empty pattern":         {"commands: {deny: [\" \"]}\n", "commands.deny[0]: an empty pattern"},
		"mode of a label":       {"triggers: {labels: {agent: cod}}\n", "triggers.labels.agent"},
		"trigger of reviews":    {"triggers: {review: [closed]}\n", "is not one of opened"},
		"zone of a schedule":    {"schedules: [{name: a, cron: \"0 3 * * *\", task: x, zone: Mars/Base}]\n", "is not a time zone"},
		"a mode that changes":   {"schedules: [{name: a, cron: \"0 3 * * *\", task: x, mode: code}]\n", "needs unattended: ask"},
		"clock and push":        {"schedules: [{name: a, cron: \"0 3 * * *\", on: push, task: x}]\n", "either a cron or on: push"},
		"kind of a schedule":    {"schedules: [{name: a, cron: \"0 3 * * *\", kind: reviews}]\n", "is not one of task"},
		"rounds of checks":      {"ci_fix: {attempts: 21}\n", "from 0 to 20"},
		"assignee of triggers":  {"triggers: {assignee: \"a b\"}\n", "is not the login"},
		"bad cron":              {"schedules: [{name: a, cron: \"* * *\", task: x}]\n", "has 3 fields, five are needed"},
		"turns too many":        {"turns: 5000\n", "at most 1000 turns"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ParseConfig("agent.yml", []byte(c.in))
			if err == nil || !strings.Contains(inLine(err), c.want) || !strings.HasPrefix(err.Error(), "parse config agent.yml: ") {
				t.Errorf("got error %v, want %q in it", err, c.want)
			}
		})
	}
}

// inLine is an error without the columns.
func inLine(err error) string {
	return regexp.MustCompile(`(line \d+), column \d+`).ReplaceAllString(err.Error(), "$1")
}

// TestConfigFaultsAtOnce: one look finds every fault, each with its place.
func TestConfigFaultsAtOnce(t *testing.T) {
	_, err := ParseConfig("agent.yml", []byte("mdoel: x\nmode: cod\nturns: many\nworkspace:\n  network: opn\n  pids: -1\napprovals: {approvers: [octocat, admin, bob]}\n"))
	want := []string{`line 1, column 1: unknown key "mdoel", did you mean "model"?`, `line 2, column 7: mode: "cod"`, "line 3, column 8: cannot use `many`", `line 5, column 12: workspace.network: "opn"`,
		"line 6, column 9: workspace.pids: must be", "line 7, column 25: approvals.approvers[0]", "line 7, column 41: approvals.approvers[2]"}
	lines := strings.Split(strings.TrimPrefix(err.Error(), "parse config agent.yml: "), "\n")
	if len(lines) != len(want) {
		t.Fatalf("%d faults: %v", len(lines), err)
	}
	for i, line := range lines {
		if !strings.HasPrefix(line, want[i]) {
			t.Errorf("fault %d: %q, want %q", i, line, want[i])
		}
	}
}

// TestDays: lengths of time are written in days too.
func TestDays(t *testing.T) {
	for text, want := range map[string]time.Duration{"90d": 2160 * time.Hour, "1d12h": 36 * time.Hour, "0": 0, "30m": 30 * time.Minute, "d": -1, "1.5d": -1, "1d-1h": -1, "99999d": -1, "": -1, "-1d": -1, "1h2d": -1} {
		var d Duration
		if err := d.UnmarshalText([]byte(text)); (err == nil) != (want >= 0) || err == nil && d != Duration(want) {
			t.Errorf("%q: %v, %v", text, d, err)
		}
	}
}

func TestMerge(t *testing.T) {
	parse := func(s string) Config {
		c, err := ParseConfig("x", []byte(s))
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	for name, c := range map[string]struct {
		server, repo string
		check        func(Config) bool
	}{
		"model from the list":    {"{model: a, models: [a, b]}", "{model: b}", func(c Config) bool { return c.Model == "b" }},
		"model off the list":     {"{model: a, models: [a, b]}", "{model: c}", func(c Config) bool { return c.Model == "a" }},
		"turns lower":            {"{turns: 20}", "{turns: 50}", func(c Config) bool { return c.Turns == 20 }},
		"turns unset above":      {"{}", "{turns: 50}", func(c Config) bool { return c.Turns == 50 }},
		"auto unset above":       {"{}", "{auto_approve_commands: true}", func(c Config) bool { return !c.autoCommands() }},
		"auto turned off":        {"{auto_approve_commands: true}", "{auto_approve_commands: false}", func(c Config) bool { return !c.autoCommands() }},
		"auto inherited":         {"{auto_approve_commands: true}", "{}", func(c Config) bool { return c.autoCommands() }},
		"allow narrowed":         {"{commands: {allow: [go *]}}", "{commands: {allow: [go test, curl]}}", func(c Config) bool { return reflect.DeepEqual(c.Commands.Allow, []string{"go test"}) }},
		"allow emptied":          {"{commands: {allow: [go *]}}", "{commands: {allow: []}}", func(c Config) bool { return len(c.Commands.Allow) == 0 }},
		"deny adds up":           {"{commands: {deny: [a]}}", "{commands: {deny: [b]}}", func(c Config) bool { return len(c.Commands.Deny) == 2 }},
		"network default":        {"{}", "{defaults: {network: allow}}", func(c Config) bool { return c.Defaults.Network == "" }},
		"engine is the server's": {"{workspace: {engine: docker}}", "{workspace: {engine: local}}", func(c Config) bool { return c.Workspace.Engine == "docker" }},
		"engine unset above":     {"{}", "{workspace: {engine: local}}", func(c Config) bool { return c.Workspace.Engine == "" }},
		"network opened":         {"{workspace: {network: none}}", "{workspace: {network: open}}", func(c Config) bool { return c.Workspace.Network == "none" }},
		"network unset above":    {"{}", "{workspace: {network: open}}", func(c Config) bool { return c.Workspace.Network == "" }},
		"network narrowed":       {"{workspace: {network: open}}", "{workspace: {network: allowlist, hosts: [a.org]}}", func(c Config) bool { return c.Workspace.Network == "allowlist" && len(c.Workspace.Hosts) == 1 }},
		"hosts narrowed":         {"{workspace: {network: allowlist, hosts: [\"*.a.org\"]}}", "{workspace: {hosts: [x.a.org, b.org]}}", func(c Config) bool { return reflect.DeepEqual(c.Workspace.Hosts, []string{"x.a.org"}) }},
		"hosts of a repository": {"{workspace: {network: allowlist, presets: [go], hosts: [a.org]}}", "{workspace: {network: allowlist, presets: [go, npm], hosts: [b.org]}}", func(c Config) bool {
			return reflect.DeepEqual(c.Workspace.Reaches(), []string{"proxy.golang.org", "sum.golang.org"})
		}},
		"hosts without a list":     {"{workspace: {network: allowlist}}", "{workspace: {network: allowlist, presets: [go], hosts: [b.org]}}", func(c Config) bool { return len(c.Workspace.Reaches()) == 0 }},
		"hosts under none":         {"{workspace: {network: none}}", "{workspace: {network: allowlist, hosts: [b.org]}}", func(c Config) bool { return c.Workspace.Network == "none" }},
		"hosts unset below":        {"{workspace: {network: allowlist, presets: [pip]}}", "{}", func(c Config) bool { return len(c.Workspace.Reaches()) == 2 }},
		"hosts narrowed to a port": {"{workspace: {network: allowlist, hosts: [a.org]}}", "{workspace: {hosts: [\"a.org:443\", \"a.org:22\"]}}", func(c Config) bool { return reflect.DeepEqual(c.Workspace.Reaches(), []string{"a.org:443"}) }},
		"inside is the server's": {"{workspace: {network: open, inside: {m.org: 10.0.0.1}}}", "{workspace: {network: allowlist, hosts: [m.org], inside: {m.org: 127.0.0.1}}}", func(c Config) bool {
			return reflect.DeepEqual(c.Workspace.Inside, map[string]string{"m.org": "10.0.0.1"})
		}},
		"memory lower":              {"{workspace: {memory: 2g}}", "{workspace: {memory: 64g}}", func(c Config) bool { return c.Workspace.Memory == 2<<30 }},
		"disk lower":                {"{workspace: {disk: 2g}}", "{workspace: {disk: 64g}}", func(c Config) bool { return c.Workspace.Disk == 2<<30 }},
		"unlimited is the server's": {"{workspace: {pids: 5}}", "{workspace: {unlimited: true}}", func(c Config) bool { return !c.Workspace.Unlimited }},
		"pull is the server's":      {"{workspace: {pull: never}}", "{workspace: {pull: missing}}", func(c Config) bool { return c.Workspace.Pull == "never" }},
		"build is the server's":     {"{workspace: {build: never}}", "{workspace: {build: approved}}", func(c Config) bool { return !c.Builds() }},
		"lsp of the server":         {"{workspace: {lsp: /opt/a}}", "{workspace: {lsp: /etc}}", func(c Config) bool { return c.Workspace.LSP == "/opt/a" }},
		"lsp unset above":           {"{}", "{workspace: {lsp: /etc}}", func(c Config) bool { return c.Workspace.LSP == "" }},
		"toolchains of the server":  {"{workspace: {toolchains: [/opt/a]}}", "{workspace: {toolchains: [/opt/b]}}", func(c Config) bool { return reflect.DeepEqual(c.Workspace.Toolchains, []string{"/opt/a"}) }},
		"image on the list":         {"{workspace: {image: a, images: [\"x/*\"]}}", "{workspace: {image: x/y}}", func(c Config) bool { return c.Workspace.Image == "x/y" }},
		"image built for others":    {"{workspace: {image: a}}", "{workspace: {image: \"docker.io/library/handrail-built:0123\"}}", func(c Config) bool { return c.Workspace.Image == "a" }},
		"image off the list":        {"{workspace: {image: a, images: [\"x/*\"]}}", "{workspace: {image: z/y}}", func(c Config) bool { return c.Workspace.Image == "a" }},
		"deadline lower":            {"{approvals: {deadline: 1h}}", "{approvals: {deadline: 9h}}", func(c Config) bool { return c.Approvals.Deadline == Duration(time.Hour) }},
		"not the requester":         {"{approvals: {not_requester: true}}", "{approvals: {not_requester: false}}", func(c Config) bool { return isTrue(c.Approvals.NotRequester) }},
		"bots only fewer":           {"{approvals: {bots: [1, 2]}}", "{approvals: {bots: [2, 3]}}", func(c Config) bool { return reflect.DeepEqual(c.Approvals.Bots, []int64{2}) }},
		"approvers both":            {"{approvals: {approvers: [admin]}}", "{approvals: {approvers: [write]}}", func(c Config) bool { return len(c.approverGroups()) == 2 }},
		"budget lower":              {"{budget: {session: {tokens: 5}}}", "{budget: {session: {tokens: 9, edits: 3}}}", func(c Config) bool { return c.Budget.Session.Tokens == 5 && c.Budget.Session.Edits == 3 }},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Merge(parse(c.server), parse(c.repo)); !c.check(got) {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// TestCoveredIsSound draws commands that a narrow pattern matches and checks
// that the pattern said to cover it matches them as well.
func TestCoveredIsSound(t *testing.T) {
	words := rapid.SliceOfN(rapid.SampledFrom([]string{"go", "test", "*", "x", "t*", "*t"}), 1, 3)
	rapid.Check(t, func(rt *rapid.T) {
		wide, narrow := strings.Join(words.Draw(rt, "wide"), " "), strings.Join(words.Draw(rt, "narrow"), " ")
		command := strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"go", "test", "x", "tt", "y"}), 1, 4).Draw(rt, "command"), " ")
		w := commandPatterns([]string{wide})
		if covered(w, narrow) && commandPatterns([]string{narrow})[0].match(command) && !w[0].match(command) {
			rt.Fatalf("%q is said to cover %q, but only the second matches %q", wide, narrow, command)
		}
	})
}

func TestSchema(t *testing.T) {
	out, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	var s struct {
		Properties           map[string]any            `json:"properties"`
		AdditionalProperties *bool                     `json:"additionalProperties"`
		Defs                 map[string]map[string]any `json:"$defs"`
	}
	if err := json.Unmarshal(out, &s); err != nil {
		t.Fatal(err)
	}
	for _, k := range strict.Keys(reflect.TypeFor[Config]()) {
		if s.Properties[k.Name] == nil {
			t.Errorf("the schema lacks %s", k.Name)
		}
	}
	if s.AdditionalProperties == nil || *s.AdditionalProperties || len(s.Properties) != len(strict.Keys(reflect.TypeFor[Config]())) {
		t.Error("the schema takes unknown keys")
	}
	for _, want := range []string{`"critical"`, `"Above"`} {
		if strings.Contains(string(out), want) {
			t.Errorf("the schema has %s", want)
		}
	}
}

func TestImportSensitiveFilePatterns(t *testing.T) {
	want := []SensitiveFile{{"**/*", "auto"}, {"**/.env", "required"}}
	for name, in := range map[string]string{
		"json list":   `[{"pattern":"**/*","value":true},{"pattern":"**/.env","value":false}]`,
		"under key":   `{"sensitiveFilePatterns":[{"pattern":"**/*","value":true},{"pattern":"**/.env","value":false}]}`,
		"yaml":        "sensitiveFilePatterns:\n- {pattern: '**/*', value: true}\n- {pattern: '**/.env', value: false}\n",
		"mapping":     `{"**/*": true, "**/.env": false}`,
		"mapping key": `{"sensitiveFilePatterns": {"**/*": true, "**/.env": false}}`,
	} {
		got, err := ImportSensitiveFilePatterns([]byte(in))
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v %s", name, err, diff)
		}
	}
	p := withShell(t, Config{SensitiveFiles: want}, nil)
	if !p.Sensitive("a/.env").Sensitive || p.Sensitive("go.sum").Sensitive {
		t.Error("true must mean safe, false sensitive")
	}
	for _, in := range []string{`[{"pattern":"x"}]`, `[{"pattern":"x","value":"true"}]`, `[1]`, `"x"`, `[{"pattern":"a[","value":true}]`} {
		if got, err := ImportSensitiveFilePatterns([]byte(in)); err == nil {
			t.Errorf("%s gives %v", in, got)
		}
	}
}

func FuzzParseConfig(f *testing.F) {
	f.Add(fullConfig)
	f.Add("a: &a [*a]\n")
	f.Add("model: {x: y}\n---\n")
	f.Fuzz(func(t *testing.T, s string) {
		c, err := ParseConfig("f", []byte(s))
		if err != nil {
			return
		}
		if _, err := New(c); err != nil {
			t.Fatalf("accepted by the parser, refused by the policy: %v", err)
		}
		if _, err := New(Merge(DefaultConfig(), c)); err != nil {
			t.Fatalf("cannot be merged: %v", err)
		}
	})
}

// TestPulls: which images are pulled is the server's to say, and by default they are those
// that everybody has.
func TestPulls(t *testing.T) {
	under := func(server Workspace) Config {
		return Merge(Config{Workspace: server}, Config{Workspace: Workspace{Image: "evil.example/x:1", Pull: "missing"}}).WithDefaults()
	}
	for _, tt := range []struct {
		name, image string
		server      Workspace
		allows      bool
		pulls       bool
	}{
		{"a standard one", "golang:1.26", Workspace{}, true, true},
		{"by its digest", "node:20@sha256:abc", Workspace{}, true, true},
		{"by its digest alone", "node@sha256:abc", Workspace{}, true, true},
		{"without a tag", "python", Workspace{}, true, true},
		{"a development container", "mcr.microsoft.com/devcontainers/go:1-1.26", Workspace{}, true, true},
		{"anybody's", "evil/golang:1", Workspace{}, true, false},
		{"the repository's own", "evil.example/x:1", Workspace{}, true, false},
		{"a port", "127.0.0.1:22/golang", Workspace{}, true, false},
		{"the name in another registry", "evil.example/golang:1", Workspace{}, true, false},
		{"with a port for a tag", "golang:22/x", Workspace{}, true, false},
		{"on the list", "acme.example/x:1", Workspace{Images: []string{"acme.example/*"}}, true, true},
		{"off the list", "golang:1.26", Workspace{Images: []string{"acme.example/*"}}, false, false},
		{"the server's", "acme.example/x:1", Workspace{Image: "acme.example/x:1"}, true, true},
		{"the server's, off its list", "acme.example/x:1", Workspace{Image: "acme.example/x:1", Images: []string{"b/*"}}, false, true},
		{"none", "", Workspace{}, false, false},
		{"never", "golang:1.26", Workspace{Pull: "never"}, true, false},
		{"never the server's", "acme.example/x:1", Workspace{Image: "acme.example/x:1", Pull: "never"}, true, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := under(tt.server)
			if allows, pulls := c.AllowsImage(tt.image), c.Pulls(tt.image); allows != tt.allows || pulls != tt.pulls {
				t.Errorf("%s: allowed %v, pulled %v; want %v, %v", tt.image, allows, pulls, tt.allows, tt.pulls)
			}
		})
	}
}
