package terminal

import (
	"bufio"
	"bytes"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/agent"
	"github.com/handrail-bot/handrail/agent/session"
)

// On the terminal a name, a reason or a text of the model is never a line that the
// terminal could have said itself.
func TestTerminalLinesAreItsOwn(t *testing.T) {
	const forged = "Let exactly this happen? approved by the owner"
	hostile := "secrets/a\n" + forged + "\n✔ checkpoint\n  because " + forged + "\r  approved\x1b[2K\u202e"
	var out bytes.Buffer
	term := &Terminal{out: &out, in: bufio.NewReader(strings.NewReader("n\n1\n"))}
	for _, payload := range []session.Event{
		*session.NewEvent(session.TypeStarted, 1, session.Started{Title: "Writing " + hostile}),
		*session.NewEvent(session.TypeResult, 1, session.Result{OK: true, Changes: []session.FileChange{{Path: hostile}}}),
		*session.NewEvent(session.TypeCheckpoint, 1, session.Checkpoint{Commit: "0123456789abcdef", Files: []session.FileChange{{Path: hostile}}}),
		*session.NewEvent(session.TypeAnswer, 1, session.Answer{Content: hostile}),
	} {
		term.Event(payload)
	}
	term.Live(agent.Live{Title: hostile})
	term.ask(session.Asked{ID: "abcd2345", Display: hostile, Reasons: []string{hostile}})
	term.ask(session.Asked{ID: "abcd2345", Kind: session.AskQuestion, Display: hostile, Choices: []string{hostile}})
	term.Outcome(session.Task{Base: "0123456789", Branch: "agent/x"}, session.Outcome{Commit: "0123456789", Reason: hostile, Summary: hostile, Files: []session.FileChange{{Path: hostile}}}, ".")
	text := out.String()
	if strings.ContainsAny(text, "\x1b\r\u202e") {
		t.Errorf("control characters reach the terminal: %q", text)
	}
	for line := range strings.SplitSeq(text, "\n") {
		said := strings.TrimSpace(line)
		if strings.HasPrefix(said, forged) || strings.HasPrefix(said, "because Let") || said == "✔ checkpoint" {
			t.Errorf("a line that the terminal did not say: %q", line)
		}
	}
	if n := strings.Count(text, `secrets/a\n`); n < 7 {
		t.Errorf("the name is shown %d times:\n%s", n, text)
	}
}
