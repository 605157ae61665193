package main

import (
	"strings"
	"testing"
	"unicode"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/handrail-bot/handrail/agent/session"
)

// window is how many words in a row tell that a text was taken from another.
const window = 6

// noModelsWords fails a story in which people read what was written for the model:
// whatever a call was refused with, and what the model was told between its turns. It
// takes the texts from the logs, so it knows those that are written tomorrow.
func (s *stage) noModelsWords(ts *testscript.TestScript) {
	var bot, others strings.Builder
	for _, t := range s.gh.Threads(scriptRepository) {
		write := func(author, text string) {
			if strings.HasSuffix(author, "[bot]") {
				bot.WriteString(text + "\n\n")
			} else {
				others.WriteString(text + "\n\n")
			}
		}
		write(t.Author, t.Title+"\n"+t.Body)
		for _, c := range t.Comments {
			write(c.Author, c.Body)
		}
		if t.Pull != nil {
			for _, c := range t.Pull.Comments {
				write(c.Author, c.Body)
			}
		}
	}
	for _, c := range s.gh.Checks(scriptRepository) {
		bot.WriteString(c.Title + "\n\n" + c.Summary + "\n\n")
	}
	for _, v := range loggedStates(s.t, ts.MkAbs(".handrail")) {
		for _, text := range leaked(v.Timeline, bot.String(), others.String()) {
			s.t.Errorf("%s: people read what was written for the model: %q", ts.Name(), text)
		}
	}
}

// leaked returns the words that stand in what people read and were written for the
// model. What people, the model or an answer to people have as well is not of that kind.
func leaked(timeline []session.Moment, read, others string) (out []string) {
	var told strings.Builder
	var names []string // of files, which both say
	for _, m := range timeline {
		switch m := m.(type) {
		case *session.Note:
			switch m.Kind {
			case session.NoteTookBack, session.NoteContext, session.NoteServers:
				others += "\n\n" + m.Text
			case session.NoteConflicts, session.NoteSetUp, session.NotePaths, session.NoteOthers:
				first, rest, _ := strings.Cut(m.Text, "\n")
				others += "\n\n" + first
				told.WriteString(rest + "\n\n")
			default:
				told.WriteString(m.Text + "\n\n")
			}
		case *session.ToolRun:
			if m.Result != nil && !m.Result.OK && (m.Title == "" || m.Result.Mistake) {
				told.WriteString(m.Result.Content + "\n\n")
			}
		case *session.Answer:
			others += "\n\n" + m.Content + "\n\n" + strings.Join(m.Errors, "\n\n")
			for _, c := range m.Calls {
				others += "\n\n" + string(c.Arguments)
			}
		case *session.Resolved:
			others += "\n\n" + m.Reason
		case *session.Request:
			for _, path := range m.Paths {
				names = append(names, path, "")
			}
			others += "\n\n" + m.Display + "\n\n" + strings.Join(m.Reasons, "\n\n")
		}
	}
	unnamed := strings.NewReplacer(names...)
	read, others = inLetters(unnamed.Replace(read)), inLetters(unnamed.Replace(others))
	words := strings.Fields(inLetters(unnamed.Replace(told.String())))
	for i := 0; i+window <= len(words); i++ {
		text := " " + strings.Join(words[i:i+window], " ") + " "
		if strings.Contains(read, text) && !strings.Contains(others, text) {
			out = append(out, text)
		}
	}
	return out
}

// inLetters is a text without anything but its words.
func inLetters(text string) string {
	return " " + strings.Join(strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) }), " ") + " "
}

// TestLeakedWords tries the guard itself.
func TestLeakedWords(t *testing.T) {
	t.Parallel()
	refused := &session.ToolRun{Name: "x", Result: &session.Result{Content: "You made this same call 8 times in a row, so it was not run again."}}
	for read, want := range map[string]bool{
		"- `You made this same call 8 times in a row, so it w…` ✗": true,
		"- Did not run x ✗": false,
	} {
		if got := leaked([]session.Moment{refused, &session.Note{Kind: session.NoteRefused, Text: "a"}}, read, ""); len(got) > 0 != want {
			t.Errorf("%q: leaked %q", read, got)
		}
		if got := leaked([]session.Moment{refused}, read, read); len(got) > 0 {
			t.Errorf("%q was said by others, too: %q", read, got)
		}
	}
}
