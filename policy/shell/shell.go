// Package shell says what a command line can do. It reads the line as a POSIX
// or bash program, follows its variables, functions, substitutions and files
// as far as they can be known without running anything, and asks a rule for
// each program that would run. It is pure; what it cannot resolve counts up,
// never down.
//
// A walk goes through the syntax tree; word expands its words. Each command
// it meets goes to the rule of its program: the table in table.go names the
// rules, one file per family, and tables.txt holds what is data. What they
// find is a finding.
package shell

import (
	"fmt"

	"github.com/handrail-bot/handrail/policy/shell/mark"
)

// Severity is how much harm a command can do. The order is the order of harm.
type Severity int

// The tiers of severity.
const (
	None Severity = iota
	Medium
	High
	Critical
)

// String returns "none", "medium", "high" or "critical".
func (s Severity) String() string {
	switch s {
	case Medium:
		return "medium"
	case High:
		return "high"
	case Critical:
		return "critical"
	}
	return "none"
}

// Reason is one rule that matched, with words for a person.
type Reason struct {
	Rule string `json:"rule"`
	Text string `json:"text"`
}

// Analysis is what a command line can do, read from its syntax tree.
type Analysis struct {
	// Severity is the worst tier of any rule that matched.
	Severity Severity
	// Reasons are the rules that matched, worst first.
	Reasons []Reason
	// Writes are the paths that redirections and well-known commands would
	// write or delete, as written after expansion, relative to the working
	// directory.
	Writes []string
	// Network reports whether a command reaches the network.
	Network bool
	// Git lists the git sub-commands that are run.
	Git []string
	// Commands are the resolved commands: the program, then its arguments,
	// one space between words. Wrappers are listed too, before what they run.
	Commands []string
	// Unknown lists the programs whose name is plain and that no rule knows,
	// and the interpreters whose program text does nothing that a rule knows.
	// They are in no other part of the analysis: what they can do depends on
	// the wall around the workspace.
	Unknown []string
	// ReadOnly is true only if every command is known to only read.
	ReadOnly bool
}

// The limits of one analysis. Whoever exceeds one is critical.
const (
	maxLine    = 64 << 10 // bytes of one command line or nested program
	maxText    = 64 << 10 // bytes of one value
	maxSteps   = 20_000   // commands, words and expansions
	maxBytes   = 4 << 20  // bytes of all values together
	maxDepth   = 100      // nesting of programs, blocks and expansions
	maxLoop    = 256      // rounds of a loop that are followed
	maxReasons = 32       // reasons in an analysis
)

// Short names for what is said on every other line.
const (
	unknown = mark.Unknown
	secret  = mark.Secret
	remote  = mark.Remote
	ellipse = "\u2026" // stands for what is not known
)

// Analyze reads a command line as a POSIX or bash program and says what it
// can do. What it cannot resolve counts up, never down.
func Analyze(line string) (a Analysis) {
	f := &finding{}
	defer func() {
		if p := recover(); p != nil {
			if _, ok := p.(exhausted); !ok {
				f.hit("analysis-broken", fmt.Sprint(p))
			}
			a = f.analysis()
		}
	}()
	if len(line) > maxLine {
		f.commands = append(f.commands, line[:64]+ellipse)
		f.hit("too-large", "")
		return f.analysis()
	}
	w := newWalk(f)
	w.program(line)
	w.finish()
	return f.analysis()
}
