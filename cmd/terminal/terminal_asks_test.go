package terminal

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/policy"
)

// A request at the terminal says what is wanted, and of how much harm only where
// that was judged. Where nobody is there, no person said no.
func TestTerminalAsks(t *testing.T) {
	for name, tt := range map[string]struct {
		asked session.Asked
		want  string
	}{
		"a command":    {session.Asked{ID: "a1", Tool: "run_terminal_command", Severity: "high", Display: "rm -rf x"}, "approval a1, severity high: the agent wants to run a command\n"},
		"files":        {session.Asked{ID: "a1", Tool: "write_file", Severity: "none", Paths: []string{"CODEOWNERS", ".env"}}, "approval a1: the agent wants to change CODEOWNERS, .env\n"},
		"a push":       {session.Asked{ID: "a1", Tool: session.PublishTool, Paths: []string{".env"}}, "approval a1: the agent wants to put on the branch a change to .env\n"},
		"with a token": {session.Asked{ID: "a1", Tool: session.PublishTool, Severity: "critical", Paths: []string{"a\x1b"}}, "approval a1, severity critical: the agent wants to put on the branch a change to a\\u001b\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			term := New(Config{Out: &out, In: Lines(strings.NewReader(""), &out)})
			got, err := term.ask(t.Context(), tt.asked)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(out.String(), tt.want) || strings.Contains(out.String(), "none") {
				t.Errorf("no %q in\n%s", tt.want, out.String())
			}
			if got.Verdict != policy.Denied || got.By != "" || got.Reason != "the terminal gave no answer" {
				t.Errorf("answered %+v", got)
			}
		})
	}
}

// Enter for a line that was begun before the request is no denial.
func TestBegunLineAnswersNothing(t *testing.T) {
	var out strings.Builder
	term := New(Config{Out: &out, In: Lines(strings.NewReader("\ny\n"), &out)})
	term.screen.typed = "and keep no"
	got, err := term.ask(t.Context(), session.Asked{ID: "a1", Tool: "run_terminal_command", Display: "rm -rf x"})
	if err != nil || got.Verdict != policy.Approved || !strings.Contains(out.String(), "is kept. Answer this first.") {
		t.Errorf("%+v, %v:\n%s", got, err, out.String())
	}
}

// No line of a request is broken by a terminal of 80 columns, the question included.
func TestRequestsFitTheTerminal(t *testing.T) {
	var out strings.Builder
	term := New(Config{Out: &out, Look: Look{Width: 80}, In: Lines(strings.NewReader("n\n"), &out)})
	_, err := term.ask(t.Context(), session.Asked{
		ID: "djbowgh4", Tool: session.SetUpTool, Severity: "medium", Display: "npm ci",
		Reasons: []string{"installs or changes packages, and runs their scripts: npm ci --no-audit --no-fund --ignore-scripts"},
	})
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(out.String()) {
		if n := ansi.StringWidth(strings.TrimRight(line, "\n")); n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	if !strings.Contains(out.String(), "for all sessions") || !strings.Contains(out.String(), "or why not]") {
		t.Errorf("shown:\n%s", out.String())
	}
}

// A prompt ends when the run does, though nobody has typed anything.
func TestPromptEndsWithTheRun(t *testing.T) {
	r, w := io.Pipe()
	t.Cleanup(func() { _ = w.Close() })
	ctx, cancel := context.WithCancel(t.Context())
	term := New(Config{Out: io.Discard, In: Lines(r, io.Discard)})
	got := make(chan error, 1)
	go func() {
		_, err := term.Approve(ctx, []session.Asked{{ID: "abcd2345", Display: "rm -rf x"}})
		got <- err
	}()
	cancel()
	if err := <-got; !errors.Is(err, context.Canceled) {
		t.Errorf("Approve = %v, want the end of the run", err)
	}
}

// "a" allows the same text again in this session, without a question; another text, and a
// critical one, are asked about. "d" shows the digest and asks again.
func TestAgain(t *testing.T) {
	var out strings.Builder
	term := New(Config{Out: &out, In: Lines(strings.NewReader("d\na\nno\na\n"), &out)})
	ask := func(display, severity string) policy.ApprovalState {
		t.Helper()
		got, err := term.ask(t.Context(), session.Asked{ID: "a1", Tool: "run_terminal_command", Severity: severity, Display: display, Digest: "abc123"})
		if err != nil {
			t.Fatal(err)
		}
		return got.Verdict
	}
	for i, tt := range []struct {
		display, severity string
		want              policy.ApprovalState
	}{
		{"make deploy", "medium", policy.Approved}, {"make deploy", "medium", policy.Approved},
		{"make deploy PROD=1", "medium", policy.Denied}, {"rm -rf /", "critical", policy.Denied},
	} {
		if got := ask(tt.display, tt.severity); got != tt.want {
			t.Errorf("%d, %s: %s, want %s", i, tt.display, got, tt.want)
		}
	}
	if n := strings.Count(out.String(), "sha256 abc123"); n != 1 {
		t.Errorf("the digest is shown %d times in\n%s", n, out.String())
	}
}

// A checkpoint is followed by its change, without git's headers and folded; in a pipe it
// is not.
func TestPatchIsFolded(t *testing.T) {
	change := "diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n@@ -1,30 +1,30 @@\n" + strings.Repeat("+new\n", 30)
	e := session.NewEvent(session.TypeCheckpoint, 1, session.Checkpoint{Commit: "c", Parent: "p"})
	for name, look := range map[string]Look{"a terminal": {Width: 60}, "a pipe": {}} {
		var out strings.Builder
		term := New(Config{Out: &out, Look: look})
		term.Patches(func(commit, parent string) string {
			if commit != "c" || parent != "p" {
				t.Errorf("asked for %s of %s", commit, parent)
			}
			return change
		})
		term.Event(*e)
		got := strings.Count(out.String(), "│ +new")
		if want := map[string]int{"a terminal": 18, "a pipe": 0}[name]; got != want || strings.Contains(out.String(), "index 1") {
			t.Errorf("%s: %d lines, want %d\n%s", name, got, want, out.String())
		}
		if name == "a terminal" && !strings.Contains(out.String(), "… 12 more lines: `handrail diff` shows all") {
			t.Errorf("not folded:\n%s", out.String())
		}
	}
}
