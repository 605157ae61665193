package action_test

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/cmd/action"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

// commandsIn returns the lines that runners act on, read as their parsers do: the
// runner of GitHub trims a line and looks for "::name …::" at its start, and for
// "##[name …]" anywhere in it; the one of act looks for both at the start.
func commandsIn(text string) (out []string) {
	lines := regexp.MustCompile(`\r\n|\r|\n`).Split(text, -1)
	act := regexp.MustCompile(`^(?:::([^ ]+)( (.+))?::|##\[([^ ]+)( (.+))?\])`)
	for _, line := range lines {
		start := strings.TrimLeftFunc(line, func(r rune) bool { return unicode.IsSpace(r) || r == '\ufeff' || r == '\u200b' || r == '\u180e' })
		second := strings.HasPrefix(start, "::") && strings.Contains(start[2:], "::")
		i := strings.Index(line, "##[")
		first := i >= 0 && strings.Contains(line[i:], "]")
		if first || second || act.MatchString(line) {
			out = append(out, line)
		}
	}
	return out
}

func TestNoCommandsInTheLog(t *testing.T) {
	t.Parallel()
	evil := []string{
		"::error::x", "::set-output name=a::b", "a\n::stop-commands::x", "a\r::add-mask::x", "a\r\n \t::warning file=x::y", "##[error]x", "text ##[group]x", "#\n##[endgroup]",
		"\u2028::notice::x", "\u0085::notice::x", "\v::notice::x", "\f::notice::x", "\u00a0::notice::x", "\u3000::endgroup::", "\ufeff::endgroup::", "\u200b::endgroup::",
		"\x1b[0m::error::x", "\x1b]0;\a::error::x", "\x00::error::x", "::", "::::", ":\n:group::", "##\u200b[error]x", "#\x00#[error]x", "::group::Turn 99", "::endgroup::",
	}
	var events []session.Event
	add := func(kind session.Type, payload any) {
		data, err := json.Marshal(payload)
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, session.Event{Turn: 1 + len(events)/8, Type: kind, V: 1, Data: data})
	}
	for _, s := range evil {
		for _, e := range []*session.Event{
			session.NewEvent(session.TypeAnswer, 1, session.Answer{Content: s, Thinking: s, Errors: []string{s}}),
			session.NewEvent(session.TypeStarted, 1, session.Started{Title: s}),
			session.NewEvent(session.TypeAsked, 1, session.Asked{Display: s}),
			session.NewEvent(session.TypeResult, 1, session.Result{Content: s}),
			session.NewEvent(session.TypeResult, 1, session.Result{OK: true, Changes: []session.FileChange{{Path: s}}}),
			session.NewEvent(session.TypeCheckpoint, 1, session.Checkpoint{Commit: s, Files: []session.FileChange{{Path: s}}}),
			session.NewEvent(session.TypeNote, 1, session.Note{Kind: session.NoteContext, Text: s}),
			session.NewEvent(session.TypeNote, 1, session.Note{Text: s}),
		} {
			add(e.Type, e.Data)
		}
	}
	var out bytes.Buffer
	l := action.NewLog(&out, &untrusted.InertWriter{To: &out})
	turns := 0
	for i, e := range events {
		if i == 0 || e.Turn != events[i-1].Turn {
			turns++
		}
		l.Event(e)
	}
	l.End()
	l.End()
	open, groups := false, 0
	for _, line := range commandsIn(out.String()) {
		switch {
		case regexp.MustCompile(`^::group::Turn \d+$`).MatchString(line) && !open:
			open = true
			groups++
		case line == "::endgroup::" && open:
			open = false
		default:
			t.Errorf("a runner acts on %q", line)
		}
	}
	if open || groups != turns || out.Len() < 2000 {
		t.Errorf("%d groups for %d turns, open %v, %d bytes:\n%s", groups, turns, open, out.Len(), out.String())
	}
}
