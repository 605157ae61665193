package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/handrail-bot/handrail/bot/command"
	"github.com/handrail-bot/handrail/policy/longtest"
)

// threadBefore is how a thread stands before a verb: the comment that leads there, a
// pattern of its end, and the answers of the model until then.
type threadBefore struct {
	name, ask, until string
	joins            bool // a further request goes on in the comment of the one before
	turns            []string
	then             string // further commands
}

// Calls of the model before a verb.
const (
	oneCall      = "{calls: [{name: "
	cleaningCall = oneCall + `run_terminal_command, arguments: {command: rm -rf build}}]}`
	buildingCall = oneCall + `run_terminal_command, arguments: {command: sh build.sh}}]}`
	editingCall  = oneCall + `edit_file, arguments: {path: greet.sh, old_string: Heloo, new_string: Hello}}]}`
	askingCall   = oneCall + `ask_followup_question, arguments: {question: "Which language?", choices: [English, German]}}]}`
)

func threadsBefore() []threadBefore {
	stop := "comment kim 1 '/agent stop'\nuntil 1 '\\*\\*stopped\\*\\*'\n"
	said := func(text string) string { return fmt.Sprintf("{say: %q}", text) }
	return []threadBefore{
		{name: "none"},
		{name: "running", joins: true, ask: "measure the build", until: `\brunning\b.*1 turn`, turns: []string{buildingCall}},
		{name: "approval", joins: true, ask: "clean up", until: "awaiting approval", turns: []string{cleaningCall}},
		{name: "question", joins: true, ask: "translate it", until: "awaiting answer", turns: []string{askingCall}},
		{name: "done", ask: "fix the typo", until: `\*\*done\*\*`, turns: []string{editingCall, said("It was Heloo.")}},
		{name: "answered", ask: "ask why it says Heloo", until: `\*\*answered\*\*`, turns: []string{said("It is a slip.")}},
		{name: "reviewed", ask: "review it, please", until: `\*\*reviewed\*\*`, turns: []string{said("One slip is in it.")}},
		{name: "failed", ask: "fix the typo", until: `\*\*failed\*\*`, turns: []string{`{misbehave: {status: 400, error: no}}`}},
		{name: "stopped", ask: "clean up", until: "awaiting approval", turns: []string{cleaningCall}, then: stop},
		{name: "budget", ask: "--turns 1 fix the typo", until: "out of budget", turns: []string{editingCall}},
	}
}

// verbStory is a story of a verb without words in a thread that stands as before.
func verbStory(before threadBefore, verb, end string) string {
	var b strings.Builder
	b.WriteString("github repo\nmodel model.yaml\npush kim feature greet.sh\n")
	b.WriteString("pull kim feature 'More greetings' 'adds'\nserve\n")
	if before.ask != "" {
		fmt.Fprintf(&b, "comment kim 1 '/agent %s'\nuntil 1 '%s'\n", before.ask, before.until)
	}
	b.WriteString(before.then)
	where := `(?s)/agent ` + verb + `\n.*What was asked for`
	if before.joins && verb != "plan" { // a plan is posted below in any case
		where = `(?s)What was asked for.*/agent ` + verb + `\n`
	}
	fmt.Fprintf(&b, "comment kim 1 '/agent %s'\nuntil 1 '%s'\n", verb, where)
	mode, how := verb, fmt.Sprintf(" · %s mode", verb)
	if verb == "fix" {
		mode, how = "code", ""
	}
	fmt.Fprintf(&b, "until 1 '\\*\\*%s\\*\\*%s'\n", end, how)
	b.WriteString("-- repo/greet.sh --\necho Helo\n-- repo/build.sh --\nsleep 3\n-- repo/build/out --\n1\n")
	b.WriteString("-- greet.sh --\necho Helo\necho Heloo\n")
	b.WriteString("-- model.yaml --\nmodel: {name: scripted, tools: true, context: 32768}\nturns:\n")
	for _, turn := range before.turns {
		b.WriteString("- " + turn + "\n")
	}
	const said = "- {when: {last_contains: [%q]}, say: \"What was asked for. [TASK_COMPLETE]\"}\n"
	if verb == "fix" {
		const made = "- {when: {last_contains: [%q]}, calls: [{name: write_file, arguments: {path: new.txt, content: x}}]}\n"
		fmt.Fprintf(&b, made+"- say: \"What was asked for. [TASK_COMPLETE]\"\n", command.OwnTask(mode))
		return b.String()
	}
	fmt.Fprintf(&b, said, command.OwnTask(mode))
	return b.String()
}

// A verb without words is a request like any other, however the thread stands: the model
// is asked for the verb's own task, and the end is that of the verb.
func TestVerbsWithoutWords(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	ends := []struct{ verb, end string }{
		{"review", "reviewed"}, {"security", "reviewed"}, {"debug", "answered"}, {"explore", "answered"},
		{"ask", "answered"}, {"plan", "planned"}, {"architect", "answered"}, {"fix", "done"},
	}
	dir := t.TempDir()
	for i, before := range threadsBefore() {
		for j, e := range ends {
			if !longtest.Long() && j != i%len(ends) {
				continue
			}
			if e.verb == "fix" && before.name == "budget" { // more of the same mode needs turns first
				continue
			}
			name := fmt.Sprintf("%s_after_%s.txtar", e.verb, before.name)
			must(t, os.WriteFile(filepath.Join(dir, name), []byte(verbStory(before, e.verb, e.end)), 0o600))
		}
	}
	stories := scriptParams(t, nil)
	stories.Dir = dir
	testscript.Run(t, stories)
}
