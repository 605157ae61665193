// Package shell says what a command line can do. It reads the line as a POSIX
// or bash program, follows its variables, functions, substitutions and files
// as far as they can be known without running anything, and asks a rule for
// each program that would run. It is pure; what it cannot resolve counts up,
// never down.
package shell

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
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
	maxBraces  = 1024     // words of one brace expansion
	maxReasons = 32       // reasons in a verdict
	hiddenText = "\u2026" // stands for what could not be resolved
)

// Analyze reads a command line as a POSIX or bash program and says
// what it can do. What it cannot resolve counts up, never down.
func Analyze(line string) (v Analysis) {
	r := &report{}
	defer func() {
		if p := recover(); p != nil {
			if _, ok := p.(exhausted); !ok {
				r.hit("analysis-broken", fmt.Sprint(p))
			}
			v = r.verdict()
		}
	}()
	if len(line) > maxLine {
		r.commands = append(r.commands, line[:64]+hiddenText)
		r.hit("too-large", "")
		return r.verdict()
	}
	m := newMachine(r)
	m.program(line)
	m.finish()
	return r.verdict()
}

// exhausted ends an analysis that went over a limit.
type exhausted struct{}

// report collects what an analysis finds.
type report struct {
	reasons  []Reason
	tiers    []Severity
	writes   []string
	git      []string
	commands []string
	network  bool
	changes  bool // a command that is not known to only read
	steps    int
	bytes    int
}

// hit records that a rule matched. A rule that is not in the table is
// critical.
func (r *report) hit(name, detail string) {
	tier, text := Critical, name
	if at, ok := ruleIndex[name]; ok {
		tier, text = ruleTable[at].tier, ruleTable[at].text
	}
	r.bytes += len(detail) / 4 // counted with the next step
	bare := Reason{Rule: "shell." + name, Text: text}
	if detail = shown(detail); strings.Trim(detail, "\u2026 ") != "" { // marks alone tell nothing
		text += ": " + detail
	}
	reason := Reason{Rule: bare.Rule, Text: text}
	if slices.Contains(r.reasons, reason) || reason == bare && slices.ContainsFunc(r.reasons, func(o Reason) bool { return o.Rule == bare.Rule }) {
		return
	}
	if at := slices.Index(r.reasons, bare); at >= 0 {
		r.reasons[at] = reason
		return
	}
	if len(r.reasons) >= maxReasons && tier <= slices.Min(r.tiers) {
		return
	}
	r.reasons = append(r.reasons, reason)
	r.tiers = append(r.tiers, tier)
}

// step counts one unit of work and ends the analysis when there were too many.
func (r *report) step(bytes int) {
	r.steps++
	r.bytes += bytes
	if r.steps > maxSteps || r.bytes > maxBytes {
		r.exhaust()
	}
}

func (r *report) exhaust() {
	r.hit("too-large", "")
	panic(exhausted{})
}

func (r *report) verdict() Analysis {
	order := make([]int, len(r.reasons))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(r.tiers[b], r.tiers[a]) })
	v := Analysis{Writes: r.writes, Network: r.network, Git: r.git, Commands: r.commands}
	for i, at := range order {
		if i == 0 {
			v.Severity = r.tiers[at]
		}
		v.Reasons = append(v.Reasons, r.reasons[at])
	}
	v.ReadOnly = !r.changes && len(r.commands) > 0 && len(r.writes) == 0 && v.Severity == None
	return v
}

// shown makes a value fit for a sentence.
func shown(s string) string {
	if len(s) > 1024 {
		s = strings.ToValidUTF8(s[:1024], "")
	}
	s = strings.Map(func(c rune) rune {
		switch {
		case isMark(c):
			return '\u2026'
		case c < ' ' || c == 0x7f:
			return ' '
		}
		return c
	}, s)
	if runes := []rune(s); len(runes) > 120 {
		return string(runes[:120]) + hiddenText
	}
	return s
}

// addTo appends s to the list unless it is there.
func addTo(list []string, s string) []string {
	if slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}
