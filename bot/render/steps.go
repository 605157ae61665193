package render

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/phrase"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

// Running is the progress of a running tool: its last line of output, and the time from
// the tool's start to that line.
type Running struct {
	Line  string
	After time.Duration
}

// of describes the progress of a tool; it is empty if t is nil.
func (r Running) of(t *session.ToolRun) string {
	if t == nil || r.Line == "" {
		return ""
	}
	return fmt.Sprintf(
		"%s, after %s: %s\n\n",
		code(line(t.Title, 200)),
		r.After.Round(time.Second),
		code(line(r.Line, 200)),
	)
}

// step is one line of the timeline.
type step struct {
	text    string // the event in words
	detail  string // result: "+3 −1", "`abc123`"
	bad     bool
	running bool
	inside  bool // of a sub-task
	how     stepText
}

// stepText selects the escaping of a step's text.
type stepText int

const (
	asWords    stepText = iota // by a model or a user
	asCode                     // a tool's title
	asMarkdown                 // generated here, with names as code
)

// steps describes the events of a session.
func steps(timeline []session.Moment) []step {
	var out []step
	for _, m := range timeline {
		switch m := m.(type) {
		case *session.Message:
			if m.Why != "" {
				out = append(out, step{text: "Resumed because", detail: line(m.Why, 120)})
			} else if m.Text != "" {
				out = append(out, step{text: "@" + m.Author + " wrote", detail: line(session.Command(m.Text), 80)})
			}
		case *session.Answer:
			out = append(out, answerSteps(m)...)
		case *session.Request:
			if m.Kind == session.AskCommit {
				out = append(out, step{text: "Asked for approval of the fork's commit", detail: fmt.Sprintf("`%.7s`", m.Head)})
				continue
			}
			out = append(out, step{text: askedAs[cmp.Or(m.Kind, session.AskApproval)], detail: "`" + m.ID + "`"})
		case *session.Resolved:
			out = append(out, resolvedStep(m))
		case *session.ToolRun:
			goesOn := m.Name == taskTool && m.Anew                               // shown by a later step
			if !goesOn && m.Name != askTool || m.Result != nil && !m.Result.OK { // its question is a step of its own
				out = append(out, toolStep(m))
			}
		case *session.Note:
			out = append(out, noteSteps(m)...)
		case *session.Image:
			out = append(out, imageSteps(m)...)
		case *session.Push:
			out = append(out, pushSteps(m)...)
		}
	}
	return out
}

// imageSteps name the environment of commands, and the rejected parts of the image.
func imageSteps(i *session.Image) []step {
	in := "with the programs of my machine"
	if i.Name != "" {
		in = "in the image " + code(line(i.Name, 255))
	}
	out := []step{{text: "Commands run " + in + ": " + words(line(i.Why, 200)), how: asMarkdown}}
	for _, note := range i.Notes {
		out = append(out, step{text: "About the image: " + words(line(note, 700)), how: asMarkdown, bad: true})
	}
	return out
}

var askedAs = map[session.AskKind]string{
	session.AskApproval: "Asked for approval", session.AskQuestion: "Asked a question", session.AskPlan: "Wrote a plan",
}

func answerSteps(p *session.Answer) []step {
	var out []step
	if p.Thinking != "" {
		out = append(out, step{text: fmt.Sprintf("Thought for %ds", max(1, (p.ThinkingMillis+500)/1000))})
	}
	if p.Content != "" {
		out = append(out, step{text: p.Content})
	}
	if n := len(p.Errors); n > 0 {
		out = append(out, step{text: "Sent an unreadable tool call", bad: true})
	}
	return out
}

var answers = map[policy.ApprovalState]string{
	policy.Approved: "Approved", policy.Denied: "Denied", policy.Answered: "Answered", policy.Withdrawn: "Withdrawn",
	policy.Expired: "Not answered in time", policy.Stale: "Content changed; asked again",
}

// programName is the author of answers given by the program itself.
const programName = "handrail"

func resolvedStep(p *session.Resolved) step {
	text := answers[p.Verdict]
	if p.By != "" && (p.ByID != 0 || p.By != programName) {
		text += " by @" + p.By
	}
	return step{text: text, detail: "`" + p.ID + "`", bad: p.Verdict != policy.Approved && p.Verdict != policy.Answered}
}

// askTool is the tool with which the model asks the requester a question.
const askTool = "ask_followup_question"

// taskTool is the tool that begins a sub-task. A sub-task that was cut off resumes with
// the session.
const taskTool = "new_task"

// toolWords describes tools in words, for calls without a title.
var toolWords = map[string]string{
	askTool: "ask", "attempt_completion": "finish", "switch_mode": "change its mode", "update_todo_list": "change its list", "condense": "summarize", taskTool: "work on a sub-task",
	"write_file": "write the file", "edit_file": "edit the file", "apply_diff": "edit the file", "insert_content": "edit the file", "search_and_replace": "edit the file",
	"delete_file": "delete the file", "read_file": "read the file", "run_terminal_command": "run the command",
}

func toolStep(t *session.ToolRun) step {
	s := step{text: t.Title, how: asCode, inside: t.Inside}
	if what := toolWords[t.Title]; what != "" { // the title is only the tool's name
		s.text, s.how = strings.ToUpper(what[:1])+what[1:], asMarkdown
	}
	if t.Result == nil {
		s.running, s.bad = !t.CutOff, t.CutOff && t.Name != taskTool
		return s
	}
	s.bad = !t.Result.OK
	switch {
	case t.Result.Title != "":
		s.text = t.Result.Title
		if t.Name == taskTool { // the title is text of the model
			s.how = asWords
		}
	case t.Title == "":
		s.text = "Did not " + cmp.Or(toolWords[t.Name], "run "+code(t.Name)) //control:not-the-models-words
		s.how = asMarkdown
	}
	if n := counts(total(t.Result.Changes)); len(t.Result.Changes) > 0 && !strings.Contains(s.text, n) {
		s.detail = n
	}
	return s
}

var notes = map[session.NoteKind]string{
	session.NoteRefused: "Not done yet; continued", session.NoteReverted: "Reverted a change",
	session.NoteTodo:       "Open items on the list; continued",
	session.NoteTests:      "Failing tests; continued",
	session.NoteProblems:   "Errors in the code; continued",
	session.NoteFallback:   "The server takes no native tool calls; from here on they are text",
	session.NoteCompaction: "Summarized earlier steps",
}

func noteSteps(p *session.Note) []step {
	if text := notes[p.Kind]; text != "" {
		return []step{{text: text}}
	}
	var out []step
	if p.Kind == session.NoteTookBack || p.Kind == session.NoteConflicts {
		first, _, _ := strings.Cut(p.Text, "\n")
		out = append(out, step{text: first})
	}
	if slices.Contains([]session.NoteKind{session.NoteSetUp, session.NotePaths, session.NoteOthers}, p.Kind) {
		// The first line is for readers.
		first, _, _ := strings.Cut(p.Text, "\n")
		out = append(out, step{text: first, bad: p.Kind == session.NoteSetUp && p.Layer == ""})
	}
	if p.Kind == session.NoteServers {
		for _, l := range strings.Split(p.Text, "\n") {
			out = append(out, step{text: l, bad: true})
		}
	}
	if p.Kind == session.NoteContext {
		for _, label := range p.Labels() {
			out = append(out, step{text: "With the request: " + line(label, 100)})
		}
	}
	return out
}

func pushSteps(s *session.Push) []step {
	text := map[session.SentHow]string{
		session.SentRebased:  "Rebased the work onto new commits of " + code(s.Branch),
		session.SentRestored: "Restored the deleted branch " + code(s.Branch),
		session.SentFallback: "Pushed to the branch " + code(s.To) + " instead",
		session.SentPatch:    "Could not push",
	}[s.How]
	var out []step
	if text != "" {
		out = append(out, step{text: text, how: asMarkdown, bad: s.How == session.SentPatch})
	}
	if len(s.Held) > 0 {
		out = append(out, step{text: "Left " + phrase.Count(len(s.Held), "workflow file") + " out of the push", how: asMarkdown})
	}
	return out
}

func (s step) String() string {
	text := item(line(s.text, 300))
	switch s.how {
	case asMarkdown:
		text = s.text
	case asCode:
		text = code(line(s.text, 200))
	}
	out := "- " + text
	if s.inside {
		out = "- ↳ " + text
	}
	if s.detail != "" {
		out += " " + words(s.detail)
	}
	switch {
	case s.running:
		out += " …"
	case s.bad:
		out += " ✗"
	}
	return out
}

// timeline returns the steps in at most room bytes; the oldest lines are dropped first.
func timeline(moments []session.Moment, room int) []untrusted.Fold {
	list := steps(moments)
	if len(list) == 0 {
		return nil
	}
	lines := make([]string, 0, len(list))
	size := 0
	for i := len(list) - 1; i >= 0; i-- {
		s := list[i].String()
		if size += len(s) + 1; size > room {
			lines = append(lines, "- … "+phrase.Count(i+1, "earlier step"))
			break
		}
		lines = append(lines, s)
	}
	slices.Reverse(lines)
	return []untrusted.Fold{{Title: phrase.Count(len(list), "step"), Text: strings.Join(lines, "\n")}}
}

func total(files []session.FileChange) (added, removed int) {
	for _, f := range files {
		added, removed = added+f.Added, removed+f.Removed
	}
	return added, removed
}

// counts returns "+3 −1".
func counts(added, removed int) string { return fmt.Sprintf("+%d −%d", added, removed) }
