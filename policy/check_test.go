package policy

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/handrail-bot/handrail/policy/shell"
)

// withShell returns a policy that believes a table about commands.
func withShell(t testing.TB, c Config, table map[string]shell.Analysis) *Policy {
	t.Helper()
	p, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	p.analyze = func(line string) shell.Analysis {
		v, ok := table[line]
		if !ok {
			v = shell.Analysis{Severity: Critical}
		}
		if v.Commands == nil {
			v.Commands = []string{line}
		}
		return v
	}
	return p
}

func mode(t testing.TB, name string) Mode {
	t.Helper()
	m, err := ParseMode(name)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func yes() *bool { b := true; return &b }

func no() *bool { b := false; return &b }

var shellTable = map[string]shell.Analysis{
	"ls":                          {ReadOnly: true},
	"git log":                     {ReadOnly: true, Git: []string{"log"}},
	"git log | sh":                {Git: []string{"log"}, Commands: []string{"git log", "sh"}},
	"git log | head":              {ReadOnly: true, Git: []string{"log"}, Commands: []string{"git log", "head"}},
	"git fetch":                   {Git: []string{"fetch"}, Network: true},
	"go test ./...":               {},
	"npm install":                 {Severity: Medium, Network: true},
	"sudo make install":           {Severity: High, Commands: []string{"sudo make install", "make install"}},
	"rm -rf /":                    {Severity: Critical, Reasons: []Reason{{Rule: "rm.root", Text: "removes everything"}}},
	"go test; rm -rf x":           {Severity: Medium, Commands: []string{"go test", "rm -rf x"}},
	"echo > .env":                 {Writes: []string{".env"}, Commands: []string{"echo"}},
	"echo > a.txt":                {Writes: []string{"a.txt"}, Commands: []string{"echo"}},
	"echo > ci.yml":               {Writes: []string{"ci.yml"}, Commands: []string{"echo"}},
	"rm -r .github":               {Writes: []string{".github"}, Severity: Medium},
	"cp a /w/.github/workflows/x": {Writes: []string{"/w/.github/workflows/x"}, Commands: []string{"cp a"}},
	"rm .github/w*":               {Writes: []string{".github/w*"}, Commands: []string{"rm"}},
}

// checkCase is one row of the table: what is decided, and by which rule.
type checkCase struct {
	name   string
	config Config
	mode   string
	action Action
	want   Verdict
	rule   string
	auto   bool
}

func runs(cmd string) Action { return Action{Kind: Execute, Command: cmd, Cwd: "."} }

func writes(paths ...string) Action { return Action{Kind: Write, Paths: paths} }

func allowing(list ...string) Config { return Config{Commands: Commands{Allow: list}} }

func commandCases() []checkCase {
	return []checkCase{
		{"unknown kind", Config{}, "code", Action{}, Deny, "action.malformed", false},
		{"kind out of range", Config{}, "code", Action{Kind: 99}, Deny, "action.malformed", false},
		{"negative kind", Config{}, "code", Action{Kind: -1}, Deny, "action.malformed", false},
		{"empty command", Config{}, "code", runs("  "), Deny, "action.malformed", false},
		{"NUL in command", Config{}, "code", runs("ls\x00x"), Deny, "action.malformed", false},
		{"write without path", Config{}, "code", writes(), Deny, "action.malformed", false},
		{"write outside", Config{}, "code", writes("a/../../b"), Deny, "action.malformed", false},
		{"write absolute", Config{}, "code", writes("/etc/passwd"), Deny, "action.malformed", false},
		{"backslash outside", Config{}, "code", writes(`..\x`), Deny, "action.malformed", false},
		{"delete outside", Config{}, "code", Action{Kind: Delete, Paths: []string{"../x"}}, Deny, "action.malformed", false},
		{"cwd outside", Config{}, "code", Action{Kind: Execute, Command: "ls", Cwd: ".."}, Deny, "action.malformed", false},
		{"network without address", Config{}, "code", Action{Kind: Network}, Deny, "action.malformed", false},
		{"read", Config{}, "code", Action{Kind: Read, Paths: []string{"a"}}, Allow, "defaults.read", false},
		{"converse", Config{}, "plan", Action{Kind: Converse}, Allow, "defaults.converse", false},
		{"write", Config{}, "code", writes("a.go"), Allow, "defaults.write", false},
		{"delete", Config{}, "code", Action{Kind: Delete, Paths: []string{"a.go"}}, Allow, "defaults.delete", false},
		{"network", Config{}, "code", Action{Kind: Network, URL: "https://x"}, Ask, "defaults.network", false},
		{"network allowed", Config{Defaults: Defaults{Network: "allow"}}, "code", Action{Kind: Network, URL: "https://x"}, Allow, "defaults.network", false},
		{"read denied", Config{Defaults: Defaults{Read: "deny"}}, "code", Action{Kind: Read, Paths: []string{"a"}}, Deny, "defaults.read", false},
		{"harmless command", Config{}, "code", runs("ls"), Allow, "defaults.execute", false},
		{"medium command", Config{}, "code", runs("npm install"), Ask, "severity.medium", false},
		{"high command", Config{}, "code", runs("sudo make install"), Ask, "severity.high", false},
		{"high command approved", Config{AutoApproveCommands: yes()}, "code", runs("sudo make install"), Allow, "auto_approve_commands", true},
		{"critical command", Config{}, "code", runs("rm -rf /"), Ask, "severity.critical", false},
		{"critical whatever", Config{AutoApproveCommands: yes(), AutoApproveSensitiveEdits: yes(), Commands: Commands{Allow: []string{"rm *"}}}, "code", runs("rm -rf /"), Ask, "severity.critical", false},
		{"critical on the deny list", Config{Commands: Commands{Deny: []string{"rm"}}}, "code", runs("rm -rf /"), Deny, "commands.deny", false},
		{"deny list any command", Config{Commands: Commands{Deny: []string{"rm *"}, Allow: []string{"go test", "rm *"}}}, "code", runs("go test; rm -rf x"), Deny, "commands.deny", false},
		{"deny list behind a wrapper", Config{Commands: Commands{Deny: []string{"make install"}}, AutoApproveCommands: yes()}, "code", runs("sudo make install"), Deny, "commands.deny", false},
		{"allow list every command", allowing("go test"), "code", runs("go test; rm -rf x"), Ask, "severity.medium", false},
		{"allow list", allowing("npm install"), "code", runs("npm install"), Allow, "commands.allow", true},
		{"allow list program", allowing("npm"), "code", runs("npm install"), Allow, "commands.allow", true},
		{"ask list", Config{Commands: Commands{Ask: []string{"ls"}, Allow: []string{"ls"}}}, "code", runs("ls"), Ask, "commands.ask", false},
		{"always ask", Config{AlwaysAsk: []string{"execute"}, AutoApproveCommands: yes(), Commands: Commands{Allow: []string{"ls"}}}, "code", runs("ls"), Ask, "always_ask", false},
		{"always ask network of a command", Config{AlwaysAsk: []string{"network"}, AutoApproveCommands: yes()}, "code", runs("npm install"), Ask, "always_ask", false},
		{"network denied to commands", Config{Defaults: Defaults{Network: "deny"}, AutoApproveCommands: yes()}, "code", runs("npm install"), Deny, "defaults.network", false},
		{"network asked for commands", Config{Defaults: Defaults{Network: "ask"}, AutoApproveCommands: yes()}, "code", runs("npm install"), Ask, "defaults.network", false},
		{"execute denied", Config{Defaults: Defaults{Execute: "deny"}, AutoApproveCommands: yes()}, "code", runs("ls"), Deny, "defaults.execute", false},
		{"execute denied but listed", Config{Defaults: Defaults{Execute: "deny"}, Commands: Commands{Allow: []string{"ls"}}}, "code", runs("ls"), Allow, "commands.allow", true},
		{"execute asked", Config{Defaults: Defaults{Execute: "ask"}, AutoApproveCommands: yes()}, "code", runs("sudo make install"), Ask, "defaults.execute", false},
	}
}

func fileAndModeCases() []checkCase {
	return []checkCase{
		{"sensitive write", Config{}, "code", writes("a.go", ".env"), Ask, "sensitive_files", false},
		{"sensitive write approved", Config{AutoApproveSensitiveEdits: yes()}, "code", writes(".env"), Allow, "auto_approve_sensitive_edits", true},
		{"sensitive delete", Config{}, "code", Action{Kind: Delete, Paths: []string{".github/workflows/ci.yml"}}, Ask, "sensitive_files", false},
		{"delete above sensitive files", Config{}, "code", Action{Kind: Delete, Paths: []string{".github"}}, Ask, "sensitive_files", false},
		{"delete everything", Config{}, "code", Action{Kind: Delete, Paths: []string{"."}}, Ask, "sensitive_files", false},
		{"sensitive read", Config{}, "code", Action{Kind: Read, Paths: []string{"go.sum", ".github/workflows/ci.yml"}}, Allow, "defaults.read", false},
		{"secret read", Config{}, "code", Action{Kind: Read, Paths: []string{"a.go", "app/.env"}}, Ask, "severity.high", false},
		{"secret read in ask", Config{}, "ask", Action{Kind: Read, Paths: []string{"./deploy/../server.pem"}}, Ask, "severity.high", false},
		{"secret directory", Config{}, "code", Action{Kind: Read, Paths: []string{".ssh"}}, Ask, "severity.high", false},
		{"secret of a test", Config{}, "code", Action{Kind: Read, Paths: []string{"testdata/server.pem", ".env.example"}}, Allow, "defaults.read", false},
		{"secret read approved", Config{AutoApproveCommands: yes()}, "code", Action{Kind: Read, Paths: []string{".env"}}, Allow, "auto_approve_commands", true},
		{"secret read denied", Config{Defaults: Defaults{Read: "deny"}, AutoApproveCommands: yes()}, "code", Action{Kind: Read, Paths: []string{".env"}}, Deny, "defaults.read", false},
		{"secret read asked", Config{Defaults: Defaults{Read: "ask"}, AutoApproveCommands: yes()}, "code", Action{Kind: Read, Paths: []string{".env"}}, Ask, "defaults.read", false},
		{"command writes sensitive", Config{AutoApproveCommands: yes(), Commands: Commands{Allow: []string{"echo"}}}, "code", runs("echo > .env"), Ask, "sensitive_files", false},
		{"command writes sensitive approved", Config{AutoApproveSensitiveEdits: yes()}, "code", runs("echo > .env"), Allow, "auto_approve_sensitive_edits", true},
		{"command in a sensitive directory", Config{}, "code", Action{Kind: Execute, Command: "echo > ci.yml", Cwd: ".github/workflows"}, Ask, "sensitive_files", false},
		{"command removes above sensitive", Config{AutoApproveCommands: yes()}, "code", runs("rm -r .github"), Ask, "sensitive_files", false},
		{"command writes absolute sensitive", Config{AutoApproveCommands: yes()}, "code", runs("cp a /w/.github/workflows/x"), Ask, "sensitive_files", false},
		{"command writes by glob", Config{AutoApproveCommands: yes()}, "code", runs("rm .github/w*"), Ask, "sensitive_files", false},
		{"command writes ordinary", Config{}, "code", runs("echo > a.txt"), Allow, "defaults.execute", false},
		{"ask mode does not write", Config{}, "ask", writes("a"), Deny, "mode.ask", false},
		{"ask mode reads by command", Config{}, "ask", runs("ls"), Allow, "defaults.execute", false},
		{"ask mode runs no build", Config{}, "ask", runs("go test ./..."), Deny, "mode.ask", false},
		{"plan mode runs nothing", Config{}, "plan", runs("ls"), Deny, "mode.plan", false},
		{"explore mode does not write", Config{}, "explore", writes("a"), Deny, "mode.explore", false},
		{"review runs git log", Config{}, "review", runs("git log"), Allow, "defaults.execute", false},
		{"review runs only git", Config{}, "review", runs("ls"), Deny, "mode.review", false},
		{"review and a pipe", Config{}, "review", runs("git log | head"), Deny, "mode.review", false},
		{"review and a shell", Config{}, "review", runs("git log | sh"), Deny, "mode.review", false},
		{"review does not fetch", Config{}, "security", runs("git fetch"), Deny, "mode.security", false},
		{"architect third edit", Config{}, "architect", Action{Kind: Write, Paths: []string{"a"}, Edits: 2}, Allow, "defaults.write", false},
		{"architect fourth edit", Config{}, "architect", Action{Kind: Write, Paths: []string{"a"}, Edits: 3}, Deny, "mode.architect", false},
		{"architect deletes nothing", Config{}, "architect", Action{Kind: Delete, Paths: []string{"a"}}, Deny, "mode.architect", false},
		{"debug fifth edit", Config{}, "debug", Action{Kind: Write, Paths: []string{"a"}, Edits: 4}, Allow, "defaults.write", false},
		{"debug sixth edit", Config{}, "debug", Action{Kind: Write, Paths: []string{"a"}, Edits: 5}, Deny, "mode.debug", false},
		{"debug sixth edit by command", Config{}, "debug", Action{Kind: Execute, Command: "echo > a.txt", Edits: 5}, Deny, "mode.debug", false},
		{"code has no limit", Config{}, "code", Action{Kind: Write, Paths: []string{"a"}, Edits: 1 << 20}, Allow, "defaults.write", false},
	}
}

func TestCheckTable(t *testing.T) {
	for _, c := range append(commandCases(), fileAndModeCases()...) {
		t.Run(c.name, func(t *testing.T) {
			d := withShell(t, c.config, shellTable).Check(mode(t, c.mode), c.action)
			if d.Verdict != c.want || d.Rule != c.rule || d.Auto != c.auto {
				t.Errorf("got %s by %s (auto %v), want %s by %s (auto %v); reasons %v", d.Verdict, d.Rule, d.Auto, c.want, c.rule, c.auto, d.Reasons)
			}
			if d.Digest != c.action.Digest() || len(d.Reasons) == 0 || d.Reasons[0].Rule != d.Rule || d.Reasons[0].Text == "" {
				t.Errorf("decision is not complete: %+v", d)
			}
		})
	}
}

func TestZeroDenies(t *testing.T) {
	ready := withShell(t, Config{AutoApproveCommands: yes(), AutoApproveSensitiveEdits: yes()}, shellTable)
	actions := []Action{
		{Kind: Read, Paths: []string{"a"}}, {Kind: Write, Paths: []string{"a"}}, {Kind: Delete, Paths: []string{"a"}},
		{Kind: Execute, Command: "ls"}, {Kind: Network, URL: "https://x"}, {Kind: Converse}, {},
	}
	var none *Policy
	for _, a := range actions {
		for name, d := range map[string]Decision{
			"zero policy": new(Policy).Check(mode(t, "code"), a),
			"nil policy":  none.Check(mode(t, "code"), a),
			"zero mode":   ready.Check(Mode{}, a),
			"named mode":  ready.Check(Mode{Name: "code", EditLimit: NoEditLimit}, a),
		} {
			if d.Verdict != Deny || d.Digest != a.Digest() {
				t.Errorf("%s: %s is %s", name, a.Kind, d.Verdict)
			}
		}
	}
	if v := new(Policy).Sensitive("a.go"); !v.Sensitive {
		t.Error("a zero policy calls a file harmless")
	}
	if f := new(Policy).ApprovalFacts(1); true {
		if v, _ := MayApprove(Actor{ID: 2, Permission: "admin", Lookup: Found}, f); v != Deny {
			t.Error("a zero policy lets somebody approve")
		}
	}
}

// anyConfig draws a configuration with every setting that decides.
func anyConfig(t *rapid.T, label string) Config {
	word := rapid.SampledFrom([]string{"", "allow", "ask", "deny"})
	patterns := rapid.SliceOfN(rapid.SampledFrom([]string{"ls", "go", "go test", "go *", "npm *", "git", "git log", "rm -rf *", "sudo", "make install", "echo"}), 0, 3)
	flag := rapid.SampledFrom([]*bool{nil, yes(), no()})
	files := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) SensitiveFile {
		return SensitiveFile{rapid.SampledFrom([]string{"**", "*.txt", ".env", "**/*.yml", "/a.txt", ".github/"}).Draw(t, "pattern"), rapid.SampledFrom([]string{"auto", "required"}).Draw(t, "approve")}
	}), 0, 3)
	return Config{
		AutoApproveCommands: flag.Draw(t, label+"auto"), AutoApproveSensitiveEdits: flag.Draw(t, label+"edits"),
		Commands:       Commands{Allow: patterns.Draw(t, label+"allow"), Deny: patterns.Draw(t, label+"deny"), Ask: patterns.Draw(t, label+"ask")},
		Defaults:       Defaults{Read: word.Draw(t, label+"r"), Write: word.Draw(t, label+"w"), Delete: word.Draw(t, label+"d"), Execute: word.Draw(t, label+"x"), Network: word.Draw(t, label+"n")},
		AlwaysAsk:      rapid.SliceOfN(rapid.SampledFrom(kindNames()), 0, 2).Draw(t, label+"always"),
		SensitiveFiles: files.Draw(t, label+"files"),
	}
}

func anyAction(t *rapid.T) Action {
	commands := make([]string, 0, len(shellTable))
	for c := range shellTable {
		commands = append(commands, c)
	}
	slices.Sort(commands)
	path := rapid.SampledFrom([]string{"a.txt", ".env", "x/ci.yml", ".github/workflows/ci.yml", "main.go", "."})
	return Action{
		Kind:    rapid.SampledFrom([]Kind{Unknown, Read, Write, Delete, Execute, Network, Converse, 42}).Draw(t, "kind"),
		Command: rapid.SampledFrom(append(commands, "never seen")).Draw(t, "command"),
		Paths:   rapid.SliceOfN(path, 0, 2).Draw(t, "paths"), URL: "https://x", Edits: rapid.IntRange(0, 6).Draw(t, "edits"),
	}
}

func TestCriticalIsNeverAllowed(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := withShell(t, anyConfig(rt, ""), shellTable)
		a := Action{Kind: Execute, Command: rapid.SampledFrom([]string{"rm -rf /", "never seen"}).Draw(rt, "command")}
		for _, m := range Modes() {
			if d := p.Check(m, a); d.Verdict == Allow || d.Severity != Critical {
				rt.Fatalf("mode %s: %+v", m.Name, d)
			}
		}
	})
}

func TestMergeNeverWidens(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		server, repo := anyConfig(rt, "server "), anyConfig(rt, "repo ")
		a := anyAction(rt)
		m := rapid.SampledFrom(Modes()).Draw(rt, "mode")
		above := withShell(t, server, shellTable).Check(m, a)
		merged := withShell(t, Merge(server, repo), shellTable).Check(m, a)
		if merged.Verdict > above.Verdict {
			rt.Fatalf("server says %s (%v), merged says %s (%v)", above.Verdict, above.Reasons, merged.Verdict, merged.Reasons)
		}
		twice := withShell(t, Merge(server, Merge(server, repo)), shellTable).Check(m, a)
		if twice.Verdict > above.Verdict {
			rt.Fatalf("server says %s, merged twice says %s", above.Verdict, twice.Verdict)
		}
	})
}

func TestNarrowerNeverWidens(t *testing.T) {
	p := withShell(t, Config{}, shellTable)
	rapid.Check(t, func(rt *rapid.T) {
		granted, wanted := rapid.SampledFrom(append(Modes(), Mode{})).Draw(rt, "granted"), rapid.SampledFrom(append(Modes(), Mode{})).Draw(rt, "wanted")
		a, n := anyAction(rt), narrower(granted, wanted)
		for _, m := range []Mode{granted, wanted} {
			if p.Check(n, a).Verdict > p.Check(m, a).Verdict {
				rt.Fatalf("%q switched to %q allows %v, %q does not", granted.Name, wanted.Name, a, m.Name)
			}
		}
		if !n.Within(granted) || !n.Within(wanted) || n.Name != wanted.Name {
			rt.Fatalf("%+v is not within %+v and %+v", n, granted, wanted)
		}
	})
}

func TestDigestTellsActionsApart(t *testing.T) {
	base := Action{Kind: Execute, Tool: "t", Command: "c", Cwd: "d", Paths: []string{"p", "q"}, URL: "u", Display: "x", Subject: "s"}
	seen := map[string]string{base.Digest(): "base"}
	for name, change := range map[string]func(*Action){
		"kind": func(a *Action) { a.Kind = Write }, "tool": func(a *Action) { a.Tool = "T" }, "command": func(a *Action) { a.Command = "c " },
		"cwd": func(a *Action) { a.Cwd = "" }, "paths": func(a *Action) { a.Paths = []string{"pq"} }, "order": func(a *Action) { a.Paths = []string{"q", "p"} },
		"url": func(a *Action) { a.URL = "U" }, "display": func(a *Action) { a.Display = "" }, "subject": func(a *Action) { a.Subject = "S" },
		"shifted": func(a *Action) { a.Command, a.Cwd = "cd", "" },
	} {
		a := base
		change(&a)
		if other, ok := seen[a.Digest()]; ok {
			t.Errorf("%s has the digest of %s", name, other)
		}
		seen[a.Digest()] = name
	}
}

func TestExplain(t *testing.T) {
	p := withShell(t, Config{}, shellTable)
	e := p.ExplainCommand(mode(t, "code"), "rm -rf /")
	if e.Severity != "critical" || e.Decision != "ask" || len(e.Digest) != 64 || !slices.ContainsFunc(e.Reasons, func(r Reason) bool { return r.Rule == "rm.root" }) {
		t.Errorf("got %+v", e)
	}
	if e := p.ExplainCommand(mode(t, "code"), "rm -rf /"); e.Open.Decision != "ask" || e.Walled.Severity != "none" && e.Walled.Decision != "ask" {
		t.Errorf("got %+v", e)
	}
	want := FileExplanation{Sensitive: true, Pattern: ".github/workflows/**", Decision: "ask"}
	if diff := cmp.Diff(want, p.ExplainFile(mode(t, "code"), ".github/workflows/ci.yml")); diff != "" {
		t.Error(diff)
	}
	if f := p.ExplainFile(mode(t, "code"), "main.go"); f.Sensitive || f.Decision != "allow" {
		t.Errorf("got %+v", f)
	}
}

func TestCommandPatterns(t *testing.T) {
	for _, c := range []struct {
		pattern, command string
		want             bool
	}{
		{"git", "git", true}, {"git", "git push origin", true}, {"git", "gitk", false}, {"git *", "git push", true}, {"git *", "git", true},
		{"git push", "git push", true}, {"git push", "git push --force", false}, {"git push *", "git push --force", true},
		{"curl", "/usr/bin/curl x", true}, {"/usr/bin/curl", "curl x", false}, {"/usr/bin/curl", "/usr/bin/curl x", true},
		{"npm run test*", "npm run test:unit", true}, {"*", "anything at all", true}, {"go test ./...", "go  test   ./...", true},
		{"* --force", "git push --force", true}, {"rm -rf *", "rm -r x", false}, {"a*b*c", "axxbyyc", true}, {"a*b*c", "acb", false},
	} {
		if got := commandPatterns([]string{c.pattern})[0].match(c.command); got != c.want {
			t.Errorf("%q matches %q: %v, want %v", c.pattern, c.command, got, c.want)
		}
	}
}

func ExampleParseMode() {
	_, err := ParseMode("reviw")
	fmt.Println(strings.SplitAfter(err.Error(), "?")[0])
	// Output: unknown mode "reviw", did you mean "review"?
}

// TestUnknownPrograms: what is not known to be harmless needs a person in the open, and behind
// a wall only what is critical does.
func TestUnknownPrograms(t *testing.T) {
	open, err := New(DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		command      string
		unknown      []string
		open, walled Verdict
	}{
		"known":           {"go test ./...", nil, Allow, Allow},
		"unknown":         {"frobnicate --all", []string{"frobnicate"}, Ask, Allow},
		"own script":      {"./tools/gen.sh a b", []string{"gen.sh"}, Ask, Allow},
		"two":             {"frob && timeout 5 nicate", []string{"frob", "nicate"}, Ask, Allow},
		"opaque":          {`"$TOOL" --all`, nil, Ask, Allow},
		"unknown and bad": {"frobnicate; rm -rf build", []string{"frobnicate"}, Ask, Allow},
		"harmless code":   {"python3 -c 'print(1)'", nil, Allow, Allow},
		"unknown code":    {"python3 -c 'import frob; frob.nicate(1)'", []string{"python frob.nicate"}, Ask, Allow},
		"harmful code":    {"python3 -c 'import os; os.system(\"rm -rf build\")'", nil, Ask, Allow},
		"critical":        {"rm -rf /", nil, Ask, Ask},
		"critical code":   {"python3 -c 'import shutil; shutil.rmtree(\"/\")'", nil, Ask, Ask},
	} {
		t.Run(name, func(t *testing.T) {
			for p, want := range map[*Policy]Verdict{open: c.open, open.Walled(): c.walled} {
				d := p.Check(mode(t, "code"), runs(c.command))
				if d.Verdict != want || !slices.Equal(d.Unknown, c.unknown) {
					t.Errorf("%q is %s with unknown %q, want %s with %q: %v", c.command, d.Verdict, d.Unknown, want, c.unknown, d.Reasons)
				}
			}
		})
	}
}

// TestReviewRunsTests: a review runs the project's tests behind a wall, each command
// alone, and nothing else that a code session may run there.
func TestReviewRunsTests(t *testing.T) {
	open, err := New(DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	walled := open.Walled("go test ./...", "sh check.sh")
	for command, want := range map[string]bool{
		"go test ./...": true, " go test ./... -run 'TestA|TestB' -count=1\n": true, "sh check.sh": true, "sh check.sh --fast": true,
		"git log -3": true, "go test ./...; rm -rf x": false, "go test ./... && sh check.sh": false, "go test ./... | tee out": false,
		"go test ./... > out": false, "go test ./...x": false, "go test ./... &": false, "go test ./... $(sh evil.sh)": false,
		"go test ./... `sh evil.sh`": false, "go test ./... <(sh evil.sh)": false, "(go test ./...)": false, "FOO=1 go test ./...": false,
		"cd sub && go test ./...": false, "sh check.sh\nsh evil.sh": false, "sh evil.sh": false, "sh": false, "go build ./...": false,
		"go test ./... \\\n; sh evil.sh": false, "eval go test ./...": false, "sh check.sh {a,b}": false, "bash -c 'go test ./...'": false, "": false,
	} {
		for _, m := range []string{"review", "security"} {
			if d := walled.Check(mode(t, m), runs(command)); (d.Verdict == Allow) != want || !want && d.Verdict != Deny {
				t.Errorf("%s: %q is %s: %v", m, command, d.Verdict, d.Reasons)
			}
		}
		git := strings.HasPrefix(command, "git ")
		for name, p := range map[string]*Policy{"no wall": open, "no tests": open.Walled()} {
			if d := p.Check(mode(t, "review"), runs(command)); (d.Verdict == Allow) != git {
				t.Errorf("%s: %q is %s", name, command, d.Verdict)
			}
		}
		for _, m := range []string{"explore", "plan", "ask", "architect"} {
			if d := walled.Check(mode(t, m), runs(command)); d.Verdict == Allow && !git {
				t.Errorf("%s: %q is allowed", m, command)
			}
		}
	}
}
