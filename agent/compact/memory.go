// The notes of a session are its goal, decisions, files, failures and test results. They
// are a fold over calls and results, so a restart yields the same notes. They are added
// to the summary when the conversation is compacted.

package compact

import (
	"fmt"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/policy/phrase"
)

// Maximum numbers of entries in the notes. The newest entries are kept.
const maxFiles, maxFailed, maxTests, maxDecisions = 40, 8, 4, 10

// Notes is the memory of a session. The zero value is empty.
type Notes struct {
	Goal                                    string
	Decisions, Seen, Changed, Failed, Tests []string
}

// Step is one call and its result.
type Step struct {
	Tool    string
	Paths   []string // files that the call named
	Command string
	Test    bool // the command ran tests
	OK      bool
	Changed []string // files that the call changed
	Result  string
}

// Observe adds one step.
func (n *Notes) Observe(s Step) {
	for _, p := range s.Changed {
		n.Changed = remember(n.Changed, p, maxFiles)
	}
	switch {
	case s.Test:
		n.Tests = append(n.Tests, fmt.Sprintf("%s → %s", s.Command, lastLine(s.Result)))
		n.Tests = n.Tests[max(0, len(n.Tests)-maxTests):]
	case !s.OK || failed(s):
		what := s.Tool
		if s.Command != "" {
			what += " " + s.Command
		} else if len(s.Paths) > 0 {
			what += " " + s.Paths[0]
		}
		why := phrase.FirstLine(s.Result)
		if s.OK {
			why = lastLine(s.Result)
		}
		n.Failed = remember(n.Failed, cut(what+": "+why, 160), maxFailed)
	case s.Tool == "read_file":
		for _, p := range s.Paths {
			n.Seen = remember(n.Seen, p, maxFiles)
		}
	}
}

// remember moves s to the end of list and drops the oldest entries beyond most.
func remember(list []string, s string, most int) []string {
	list = slices.DeleteFunc(list, func(have string) bool { return have == s })
	list = append(list, s)
	return list[max(0, len(list)-most):]
}

// failed reports whether a command ended with a nonzero exit code.
func failed(s Step) bool {
	return s.Command != "" && strings.Contains(s.Result, "[Exit code ") && !strings.Contains(s.Result, "[Exit code 0,")
}

// Decide adds a decision. It ignores an empty one.
func (n *Notes) Decide(what string) {
	if what = strings.TrimSpace(what); what != "" {
		n.Decisions = remember(n.Decisions, cut(what, 240), maxDecisions)
	}
}

// Hear extracts decisions from an answer: lines that begin with "Decision:", as the
// prompt requests.
func (n *Notes) Hear(content string) {
	for line := range strings.Lines(content) {
		line = strings.Trim(line, " \t\r\n*_->#")
		if head, rest, ok := strings.Cut(line, ":"); ok && strings.EqualFold(strings.Trim(head, "*_ "), "decision") {
			n.Decide(strings.Trim(rest, "*_ "))
		}
	}
}

// String formats the notes for the prompt; it returns "" if they are empty.
func (n *Notes) String() string {
	var b strings.Builder
	if n.Goal != "" {
		fmt.Fprintf(&b, "- Goal: %s\n", n.Goal)
	}
	for _, part := range []struct {
		title string
		list  []string
		sep   string
	}{
		{"Decisions", n.Decisions, "; "},
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
