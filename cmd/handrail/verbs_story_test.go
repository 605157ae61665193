package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/handrail-bot/handrail/bot/command"
)

// threadBefore is how a thread stands before a verb: the comment that leads there, a
// pattern of its end, and the answers of the model until then.
type threadBefore struct {
	name, ask, until string
	turns            []string
	then             string // further commands
}

const (
	askedAside = `{calls: [{name: run_terminal_command, arguments: {command: rm -rf build}}]}`
	editedTo   = `{calls: [{name: edit_file, arguments: {path: greet.sh, old_string: Heloo, new_string: Hello}}]}`
)

func threadsBefore() []threadBefore {
	return []threadBefore{
		{name: "none"},
		{name: "running", ask: "measure the build", until: `\brunning\b.*1 turn`,
			turns: []string{`{calls: [{name: run_terminal_command, arguments: {command: sh build.sh}}]}`}},
		{name: "approval", ask: "clean up", until: "awaiting approval", turns: []string{askedAside}},
		{name: "question", ask: "translate it", until: "awaiting answer",
			turns: []string{`{calls: [{name: ask_followup_question, arguments: {question: "Which language?", choices: [English, German]}}]}`}},
		{name: "done", ask: "fix the typo", until: `\*\*done\*\*`, turns: []string{editedTo, `{say: "It was Heloo. [TASK_COMPLETE]"}`}},
		{name: "answered", ask: "ask why it says Heloo", until: `\*\*answered\*\*`, turns: []string{`{say: "It is a slip."}`}},
		{name: "reviewed", ask: "review it, please", until: `\*\*reviewed\*\*`, turns: []string{`{say: "One slip is in it. [TASK_COMPLETE]"}`}},
		{name: "failed", ask: "fix the typo", until: `\*\*failed\*\*`, turns: []string{`{misbehave: {status: 400, error: out of coffee}}`}},
		{name: "stopped", ask: "clean up", until: "awaiting approval", turns: []string{askedAside}, then: "comment kim 1 '/agent stop'\nuntil 1 '\\*\\*stopped\\*\\*'\n"},
		{name: "budget", ask: "--turns 1 fix the typo", until: "out of budget", turns: []string{editedTo}},
	}
}

// verbStory is a story of a verb without words in a thread that stands as before.
func verbStory(before threadBefore, verb, end string) string {
	var b strings.Builder
	b.WriteString("github repo\nmodel model.yaml\npush kim feature greet.sh\npull kim feature 'More greetings' 'adds'\nserve\n")
	if before.ask != "" {
		fmt.Fprintf(&b, "comment kim 1 '/agent %s'\nuntil 1 '%s'\n", before.ask, before.until)
	}
	b.WriteString(before.then)
	fmt.Fprintf(&b, "comment kim 1 '/agent %s'\nuntil 1 '(?s)/agent %s\\n.*What was asked for'\nuntil 1 '\\*\\*%s\\*\\* · %s mode'\n", verb, verb, end, verb)
	b.WriteString("-- repo/greet.sh --\necho Helo\n-- repo/build.sh --\nsleep 3\n-- repo/build/out --\n1\n-- greet.sh --\necho Helo\necho Heloo\n")
	b.WriteString("-- model.yaml --\nmodel: {name: scripted, tools: true, context: 32768}\nturns:\n")
	for _, turn := range before.turns {
		b.WriteString("- " + turn + "\n")
	}
	fmt.Fprintf(&b, "- {when: {last_contains: [%q]}, say: \"What was asked for. [TASK_COMPLETE]\"}\n", command.OwnTask(verb))
	return b.String()
}

// A verb without words is a request like any other, however the thread stands: the model
// is asked for the verb's own task, and the end is that of the verb.
func TestVerbsWithoutWords(t *testing.T) {
	ends := []struct{ verb, end string }{{"review", "reviewed"}, {"security", "reviewed"}, {"plan", "planned"}, {"explore", "answered"}}
	dir := t.TempDir()
	for i, before := range threadsBefore() {
		for j, e := range ends {
			if !long() && j != i%len(ends) {
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
