package agent

import (
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/longtest"
)

// check.sh stands for a project's tests: it fails until a.txt is right.
var tested = map[string]string{"a.txt": "1\n", "verify": "true\n", "test.sh": "cat a.txt; for i in $(seq 20000); do echo line; done; grep -q good a.txt\n"}

// The last run of the tests counts, by its own exit status, wherever it stands in a
// line: when it failed or could not start, an end is refused once, with what it said.
func TestLastTestRunCounts(t *testing.T) {
	longtest.Leave(t)
	const hidden = "its own exit status is not known"
	for _, tt := range []struct{ command, told, seen string }{
		{"sh test.sh", "exit 1", "`sh test.sh`: exit 1, "},
		{"sh test.sh | tail -3", "exit 1", "`sh test.sh`: exit 1, "}, {"(sh test.sh) 2>&1 | tee log.txt | tail -1", "exit 1", "exit 1, "},
		{"sh test.sh || true", hidden, hidden}, {"sh test.sh; echo all good", hidden, hidden},
		{"bash -lc 'sh test.sh | tail -3'", hidden, hidden}, {"if sh test.sh; then echo ok; else echo bad; fi", hidden, hidden},
		{"no-such-runner test ./... 2>&1 | tail", "exit 127, it could not start", "tests did not run: `no-such-runner test ./... 2>&1`: exit 127"},
		{"f() { sh test.sh | tail -1; }; f", hidden, hidden},
		{"X=$(sh test.sh | tail -1); echo $X", hidden, hidden},
	} {
		b := newBench(t, head+`
- calls: [{name: write_file, arguments: {path: a.txt, content: "bad\n"}}]
- calls: [{name: run_terminal_command, arguments: {command: "`+strings.ReplaceAll(tt.command, `"`, `\"`)+`"}}]
- say: "Fixed, all tests pass. [TASK_COMPLETE]"
- when: {user_contains: ["the last run of the tests does not show it"]}
  say: "They still fail. [TASK_COMPLETE]"
`, tested)
		b.allowCommands()
		out := b.must(session.StatusDone)
		if told := b.notes(session.NoteTests); strings.Count(told, "You said that the task is complete") != 1 || !strings.Contains(told, tt.told) ||
			!strings.Contains(told, "[Exit code") || len(told) > 4500 {
			t.Errorf("%s: told %q, want it once with %q and the output", tt.command, told, tt.told)
		}
		if !strings.Contains(out.Tests, tt.seen) || strings.Contains(out.Tests, "exit 0") {
			t.Errorf("%s: %q, want %q", tt.command, out.Tests, tt.seen)
		}
	}
}

// Tests that pass, and a writer whose reader reads no further, are believed; so is a
// run that was mended. What people are told names the state that was tested.
func TestTestsThatPass(t *testing.T) {
	longtest.Leave(t)
	good, end := `- calls: [{name: write_file, arguments: {path: a.txt, content: "good\n"}}]`, "- say: \"Fixed. [TASK_COMPLETE]\"\n"
	run := func(command string) string {
		return "\n- calls: [{name: run_terminal_command, arguments: {command: \"" + command + "\"}}]\n"
	}
	for _, tt := range []struct{ script, seen, lacks string }{
		{good + run("sh test.sh | tail -2") + end, "`sh test.sh`: exit 0, ", "before"},
		{good + run("sh test.sh | head -1") + end, "so how it went is not known", "exit 0"},
		{run("sh test.sh") + good + run("sh test.sh > log.txt") + end, "exit 0, ", "before"},
		{good + run("sh test.sh") + run("echo more >> a.txt") + end, ", before the last changes", ""},
		{"- calls: [{name: write_file, arguments: {path: a.txt, content: good}}, {name: run_terminal_command, arguments: {command: sh test.sh}}, {name: write_file, arguments: {path: b.txt, content: b}}]\n" + end, ", before the last changes", "at checkpoint"},
		{good + run("cat test.sh; ls") + end, "no tests were run", "exit"},
		{good + run("echo x | cat; exit 3") + end, "no tests were run", "exit"},
		{good + run("sh ./verify") + run("cat a.txt") + end, "no run of tests that I know; last came `sh ./verify`", "no tests were run"},
	} {
		b := newBench(t, head+tt.script, tested)
		b.allowCommands()
		out := b.must(session.StatusDone)
		if b.notes(session.NoteTests) != "" || !strings.Contains(out.Tests, tt.seen) || tt.lacks != "" && strings.Contains(out.Tests, tt.lacks) {
			t.Errorf("%s: %q, told %q", tt.script, out.Tests, b.notes(session.NoteTests))
		}
		if at := ", at checkpoint "; strings.Contains(tt.seen, "exit 0") && !strings.Contains(out.Tests, at+out.Commit[:min(7, len(out.Commit))]) {
			t.Errorf("%s: %q does not name the checkpoint %s", tt.script, out.Tests, out.Commit)
		}
	}
}

// allowCommands has nobody asked about commands.
func (b *bench) allowCommands() {
	b.t.Helper()
	cfg := policy.DefaultConfig()
	yes := true
	cfg.AutoApproveCommands = &yes
	rules, err := policy.New(cfg)
	if err != nil {
		b.t.Fatal(err)
	}
	b.cfg.Policy = rules
}
