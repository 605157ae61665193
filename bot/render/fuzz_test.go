package render

import (
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/handrail-bot/handrail/agent/session"
)

// texts are what begins, ends and cuts badly: letters of several bytes, signs
// made of several letters, fences, and bytes that are no text.
var texts = []string{
	"", "é", "修复登录", "ﬁx", "👩‍👩‍👧‍👦 family", "e\u0301", "`", "```go\nx", "~~~é\n", "a\x00b", "\u202eevil", "<!--", "| a |\n|--|\n|修|",
	strings.Repeat("é", 300), strings.Repeat("修", 7000), strings.Repeat("```\n", 500), strings.Repeat("👩‍👩‍👧", 100),
}

// FuzzRender puts a text into every place of a session that a model or a person
// writes, and renders it: nothing panics, what was text stays text, and no body
// is longer than GitHub takes.
func FuzzRender(f *testing.F) {
	for _, t := range texts {
		f.Add(t, 0)
		f.Add("x"+t, 71)
	}
	f.Fuzz(func(t *testing.T, text string, at int) {
		s := session.NewState()
		for _, e := range eventsOf(text, at) {
			if err := s.Apply(*e); err != nil {
				t.Fatal(err)
			}
		}
		for _, p := range session.Phases() {
			s.Phase = p
			now := time.Unix(1e9, 0)
			for name, out := range map[string]string{
				"Progress": posted(Progress(s, Links{})), "Status": posted(Status(now, Progress(s, Links{}))), "Ending": Ending(s, "", 0), "PullTitle": PullTitle(text),
				"PullBody": PullBody(s, text, Origin{Number: 1}), "CheckTitle": CheckTitle(s), "CheckSummary": CheckSummary(s, text),
				"Approval": Approval(s.Requests[0].Asked, text), "ReviewTitle": ReviewTitle(s.Requests[0].Asked),
				"ReviewBody": ReviewBody(s.Requests[0].Asked, text, 1), "ReviewNotice": posted(ReviewNotice(s.Requests[0].Asked, 1, text)),
				"Detail": Detail(text), "Fault": Fault(errors.New(text)), "Ended": Ended(p, errors.New(text)), "NoPull": NoPull(text, text),
			} {
				if utf8.ValidString(text) && !utf8.ValidString(out) {
					t.Errorf("%s makes invalid text of valid text %.100q", name, text)
				}
				if strings.ContainsRune(out, utf8.RuneError) && !strings.ContainsRune(text, utf8.RuneError) && utf8.ValidString(text) {
					t.Errorf("%s has a broken letter that %.100q has not", name, text)
				}
			}
			if n := utf8.RuneCountInString(posted(Progress(s, Links{}))); n > maxBody {
				t.Errorf("a progress comment of %d characters", n)
			}
			if len(text) > 1000 {
				break // one phase of a long text is enough
			}
		}
	})
}

// eventsOf is a session that says a text wherever somebody writes something.
func eventsOf(text string, at int) []*session.Event {
	path := strings.ReplaceAll(text, "\x00", "") + "/a.go"
	if at > 0 && at < len(text) && utf8.RuneStart(text[at]) {
		path = text[at:]
	}
	change := session.FileChange{Path: path, From: text, Kind: session.ChangeRename, Added: at, Removed: 1}
	asked := session.Asked{ID: "a1", Kind: session.AskApproval, Call: "c1", Severity: "high", Tool: text, Display: text, Reasons: []string{text}, Paths: []string{path}, Choices: []string{text}, Review: &session.Review{Commit: strings.Repeat("b", 40), Branch: "agent/1-review", Base: "agent/1"}}
	return []*session.Event{
		session.NewEvent(session.TypeOpened, 0, session.Opened{Task: session.Task{Session: "s", Text: text, Mode: "code", Model: text, Base: "b", Branch: "agent/1", Requester: text}}),
		session.NewEvent(session.TypeAnswer, 1, session.Answer{Content: text, Thinking: text, Calls: []session.Call{{ID: "c1", Name: text, Arguments: []byte(`{}`)}}}),
		session.NewEvent(session.TypeAsked, 1, asked),
		session.NewEvent(session.TypeResolved, 1, session.Resolved{ID: "a1", Verdict: "approved", By: text, Reason: text}),
		session.NewEvent(session.TypeStarted, 1, session.Started{Call: "c1", Title: text}),
		session.NewEvent(session.TypeResult, 1, session.Result{Call: "c1", Content: text, Title: text, LeftOut: []session.LeftOut{{Path: path, Why: text}}}),
		session.NewEvent(session.TypeState, 1, session.Update{Todo: []session.Todo{{Text: text, Status: session.TodoDone}}}),
		session.NewEvent(session.TypeCheckpoint, 1, session.Checkpoint{Commit: strings.Repeat("a", 40), Parent: "b", Files: []session.FileChange{change},
			Sent: &session.Sent{How: "patch", Branch: text, Said: []string{text}, Conflicts: []string{path}, Held: []session.FileChange{change}}}),
		session.NewEvent(session.TypeNote, 1, session.Note{Kind: session.NoteReverted, Text: text}),
		session.NewEvent(session.TypeEnded, 1, session.Ended{Outcome: session.Outcome{Status: session.StatusDone, Summary: text, Reason: text}}),
	}
}

func TestTitleOfAnyLetters(t *testing.T) {
	for in, want := range map[string]string{
		"éclair is wrong": "Éclair is wrong", "修复登录": "修复登录", "ǆ": "Ǆ", "fix it": "Fix it", "": "Changes by Handrail", "ß": "ß", "👩‍👧 broken": "👩‍👧 broken",
	} {
		if got := PullTitle(in); got != want {
			t.Errorf("PullTitle(%q) = %q, want %q", in, got, want)
		}
	}
}
