// Package memory keeps structured notes of a session: which files were seen
// and changed, what failed, how the tests went. The notes are a fold over
// calls and results, so they are the same after a restart, and they stay in
// the prompt when the conversation itself is shortened.
package memory

import (
	"fmt"
	"slices"
	"strings"
)

// How much is kept. The newest stays.
const (
	mostFiles  = 40
	mostFailed = 8
	mostTests  = 4
)

// Notes are what a session remembers. The zero value is empty.
type Notes struct {
	Seen    []string `json:"seen,omitempty"`
	Changed []string `json:"changed,omitempty"`
	Failed  []string `json:"failed,omitempty"`
	Tests   []string `json:"tests,omitempty"`
}

// Step is one call and what came of it.
type Step struct {
	Tool    string
	Paths   []string // files that the call named
	Command string
	OK      bool
	Changed []string // files that the call changed
	Result  string
}

// Observe adds one step.
func (n *Notes) Observe(s Step) {
	for _, p := range s.Changed {
		n.Changed = remember(n.Changed, p, mostFiles)
	}
	switch {
	case s.Command != "" && isTest(s.Command):
		n.Tests = append(n.Tests, fmt.Sprintf("%s → %s", s.Command, lastLine(s.Result)))
		n.Tests = n.Tests[max(0, len(n.Tests)-mostTests):]
	case !s.OK:
		what := s.Tool
		if s.Command != "" {
			what += " " + s.Command
		} else if len(s.Paths) > 0 {
			what += " " + s.Paths[0]
		}
		n.Failed = remember(n.Failed, cut(what+": "+firstLine(s.Result), 160), mostFailed)
	case s.Tool == "read_file":
		for _, p := range s.Paths {
			n.Seen = remember(n.Seen, p, mostFiles)
		}
	}
}

// remember moves s to the end of list and drops the oldest beyond most.
func remember(list []string, s string, most int) []string {
	list = slices.DeleteFunc(list, func(have string) bool { return have == s })
	list = append(list, s)
	return list[max(0, len(list)-most):]
}

var testWords = [...]string{"test", "pytest", "jest", "vitest", "rspec", "tox", "ctest", "phpunit", "mvn verify"}

func isTest(command string) bool {
	for _, w := range testWords {
		if strings.Contains(command, w) {
			return true
		}
	}
	return false
}

// String writes the notes for the prompt; empty notes are the empty string.
func (n *Notes) String() string {
	var b strings.Builder
	for _, part := range []struct {
		title string
		list  []string
		sep   string
	}{
		{"Files read", n.Seen, ", "},
		{"Files changed", n.Changed, ", "},
		{"Tests run", n.Tests, "; "},
		{"Attempts that failed", n.Failed, "; "},
	} {
		if len(part.list) > 0 {
			fmt.Fprintf(&b, "- %s: %s\n", part.title, strings.Join(part.list, part.sep))
		}
	}
	return b.String()
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	return s
}

func lastLine(s string) string {
	s = strings.TrimSpace(s)
	return cut(s[strings.LastIndexByte(s, '\n')+1:], 120)
}

func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}
