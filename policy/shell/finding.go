package shell

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
)

// Severity is the amount of harm that a command can do, in increasing order.
type Severity int

// The tiers of severity.
const (
	None Severity = iota
	Medium
	High
	Critical
)

// tiers are the names of the tiers, in increasing severity.
var tiers = [...]string{"none", "medium", "high", "critical"}

// String returns "none", "medium", "high" or "critical".
func (s Severity) String() string { return tiers[min(max(s, None), Critical)] }

// Reason is one rule that matched, with an explanation for the approver.
type Reason struct {
	Rule string `json:"rule"`
	Text string `json:"text"`
}

// Analysis is the result of analyzing a command line.
type Analysis struct {
	// Severity is the highest tier of all rules that matched.
	Severity Severity
	// Reasons are the rules that matched, worst first.
	Reasons []Reason
	// Writes are the paths that redirections and well-known commands would write or
	// delete, after expansion, relative to the working directory.
	Writes []string
	// Network reports whether a command reaches the network.
	Network bool
	// Git lists the git sub-commands of the line.
	Git []string
	// Commands are the resolved commands: the program and its arguments, separated by
	// single spaces. Wrappers are listed too, before the commands that they run.
	Commands []string
	// Unknown lists the programs with a plain name that no rule knows, and interpreters
	// together with unknown calls in their program texts. They affect no other field of
	// the analysis.
	Unknown []string
	// ReadOnly is true only if every command is known to only read.
	ReadOnly bool

	critical int // number of critical reasons
}

// Walled returns the analysis for a workspace behind a wall without network access. A
// command there can only change a copy, which is checked before it is pushed, so only
// critical findings count.
func (a Analysis) Walled() Analysis {
	a.Reasons = a.Reasons[:a.critical]
	if a.Severity < Critical { //control:walled-verdict
		a.Severity = None
	}
	return a
}

// Open returns the analysis for a command with access to the network or the machine, for
// which an unknown program is of medium severity.
func (a Analysis) Open() Analysis {
	if len(a.Unknown) > 0 { //control:unknown-program
		a.Severity = max(a.Severity, Medium)
		a.Reasons = append(
			slices.Clip(a.Reasons),
			Reason{Rule: "shell.unknown-program", Text: "runs an unknown program: " + shown(strings.Join(a.Unknown, ", "))},
		)
	}
	return a
}

// The limits of one analysis. Exceeding one is critical.
const (
	maxSteps   = 20_000  // number of commands, words and expansions
	maxBytes   = 4 << 20 // total size of all values
	maxReasons = 32      // number of reasons
)

// ellipse represents unknown text.
const ellipse = "\u2026"

// exhausted is the panic value that ends an analysis over a limit.
type exhausted struct{}

// match is one rule that matched, and the part of the line that it is about.
type match struct {
	rule, detail string
	tier         Severity
}

// finding collects the results of an analysis.
type finding struct {
	matches  []match
	writes   []string
	git      []string
	commands []string
	unknown  []string
	wrote    []string
	network  bool
	changes  bool // some command is not known to only read
	leaked   bool // a credential is in a place that may be published
	steps    int
	bytes    int
}

// hit records that a rule matched. An unknown rule is critical. Of the same rule, a match
// with a detail replaces one without.
func (f *finding) hit(rule, detail string) {
	m := match{rule: rule, detail: shown(detail), tier: Critical}
	if r, ok := tables().Rules[rule]; ok {
		m.tier = Severity(slices.Index(tiers[:], r.Tier))
	}
	f.bytes += len(detail) / 4                     // counted with the next step
	if strings.Trim(m.detail, ellipse+" ") == "" { // marks alone are not informative
		m.detail = ""
	}
	for i, old := range f.matches {
		if old.rule == rule && (old.detail == "" || m.detail == "" || old.detail == m.detail) {
			f.matches[i].detail = cmp.Or(old.detail, m.detail)
			return
		}
	}
	if len(f.matches) >= maxReasons && m.tier < Critical {
		return
	}
	f.matches = append(f.matches, m)
	if f.leaked && inList("publishing-rules", rule) { //control:leaked-credential
		f.hit("secret-sent", detail)
	}
}

// ranUnknown reports whether the line runs code of which nothing critical is known.
func (f *finding) ranUnknown() bool {
	return !slices.ContainsFunc(f.matches, func(m match) bool { return m.tier == Critical }) &&
		slices.ContainsFunc(f.matches, func(m match) bool { return inList("unknown-runs", m.rule) })
}

func (f *finding) step(bytes int) {
	f.steps++
	f.bytes += bytes
	if f.steps > maxSteps || f.bytes > maxBytes {
		f.exhaust()
	}
}

func (f *finding) exhaust() {
	f.hit("too-large", "")
	panic(exhausted{})
}

func (f *finding) aside() *finding {
	return &finding{leaked: f.leaked, steps: f.steps, bytes: f.bytes}
}

func (f *finding) join(found *finding, line string) {
	f.steps, f.bytes = found.steps, found.bytes
	for _, m := range found.matches {
		if m.tier == Critical {
			f.hit(m.rule, line)
		}
	}
}

// result returns the analysis, with the most severe reasons first.
func (f *finding) result() Analysis {
	a := Analysis{Writes: f.writes, Network: f.network, Git: f.git, Commands: f.commands, Unknown: f.unknown}
	slices.SortStableFunc(f.matches, func(a, b match) int { return cmp.Compare(b.tier, a.tier) })
	for _, m := range f.matches {
		a.Severity = max(a.Severity, m.tier)
		if m.tier == Critical {
			a.critical++
		}
		text := cmp.Or(tables().Rules[m.rule].Text, m.rule)
		if m.detail != "" {
			text += ": " + m.detail
		}
		a.Reasons = append(a.Reasons, Reason{Rule: "shell." + m.rule, Text: text})
	}
	a.ReadOnly = !f.changes && len(f.commands) > 0 && len(f.writes) == 0 && a.Severity == None
	return a
}

func shown(s string) string {
	if len(s) > 1024 {
		s = strings.ToValidUTF8(s[:1024], "")
	}
	s = strings.Map(func(c rune) rune {
		if c < ' ' || c == 0x7f {
			return ' '
		}
		return c
	}, show(s))
	if runes := []rune(s); len(runes) > 120 {
		return string(runes[:120]) + ellipse
	}
	return s
}

func addTo(list []string, s string) []string {
	if slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}

func (f *finding) ran(line string) { f.commands = addTo(f.commands, line) }

func (f *finding) unlisted(name string) { f.unknown = addTo(f.unknown, name) }

// broken records that the analysis panicked with why.
func (f *finding) broken(why any) {
	if _, ok := why.(exhausted); !ok {
		f.hit("analysis-broken", fmt.Sprint(why))
	}
}

func (f *finding) touch(p string) {
	f.writes = addTo(f.writes, show(p))
	f.changes = true
}

// acts records and rates an action on a clean path.
func (f *finding) acts(verb, p string) {
	if zoneOf(p) == nowhere {
		return
	}
	f.touch(p)
	f.rate(verb, p)
	if verb == "write" {
		f.wrote = addTo(f.wrote, p)
	}
}

// rate rates an action on a clean path by the first line of the tables with its zone.
func (f *finding) rate(verb, p string) { f.rateIn(verb, p, zoneOf(p)) }

func (f *finding) rateIn(verb, p string, at zone) {
	for _, r := range rowsOf("zone", verb) {
		if slices.Contains(r[0], string(at)) {
			f.hit(r[1][0], p)
			return
		}
	}
}

// remove records and rates the removal of a file, or of a whole directory. Some paths count
// as another zone: a lock of git as a file, everything in a directory as the directory.
func (f *finding) remove(p string, whole bool) {
	at := zoneOf(p)
	if at == nowhere {
		return
	}
	f.touch(p)
	dir, every := strings.CutSuffix(p, "/*")
	switch {
	case strings.HasPrefix(p, "/tmp/tmp."+unknown): // created by mktemp before
		return
	case p == "..", p == "../*", at == above && whole && strings.Trim(p, "./*") == "":
		at, whole = zoneRoot, true
	case whole && every && zoneOf(dir) == vital, whole && at == startup && secretOf(p) == machineSecret:
		at = vital
	case at == device && strings.Contains(p, "/loop"), at == zoneUnknown && strings.HasPrefix(p, "/"):
		at = outside
	case at == git && strings.HasSuffix(p, ".lock"):
		at = workspace
	case strings.HasPrefix(path.Base(p), "found-"+unknown):
		whole = true
	}
	verb := "remove"
	if whole {
		verb = "remove-all"
	}
	f.rateIn(verb, p, at)
}
