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

// finding collects the results of an analysis.
type finding struct {
	reasons  []Reason
	tiers    []Severity
	writes   []string
	git      []string
	commands []string
	unknown  []string
	wrote    map[string]bool
	network  bool
	changes  bool // some command is not known to only read
	leaked   bool // a credential is in a place that may be published
	steps    int
	bytes    int
}

// hit records that a rule matched. An unknown rule is critical.
func (f *finding) hit(name, detail string) {
	tier, text := Critical, name
	if r, ok := tables().Rules[name]; ok {
		tier, text = Severity(slices.Index(tiers[:], r.Tier)), r.Text
	}
	f.bytes += len(detail) / 4 // counted with the next step
	bare := Reason{Rule: "shell." + name, Text: text}
	if detail = shown(detail); strings.Trim(detail, ellipse+" ") != "" { // marks alone are not informative
		text += ": " + detail
	}
	reason := Reason{Rule: bare.Rule, Text: text}
	if slices.Contains(f.reasons, reason) ||
		reason == bare && slices.ContainsFunc(f.reasons, func(o Reason) bool { return o.Rule == bare.Rule }) {
		return
	}
	if at := slices.Index(f.reasons, bare); at >= 0 {
		f.reasons[at] = reason
		return
	}
	if len(f.reasons) >= maxReasons && tier <= slices.Min(f.tiers) {
		return
	}
	f.reasons = append(f.reasons, reason)
	f.tiers = append(f.tiers, tier)
	if f.leaked && inList("publishing-rules", name) { //control:leaked-credential
		f.hit("secret-sent", detail)
	}
}

func (f *finding) ranUnknown() bool {
	return !slices.Contains(f.tiers, Critical) &&
		slices.ContainsFunc(
			f.reasons,
			func(r Reason) bool { return inList("unknown-runs", strings.TrimPrefix(r.Rule, "shell.")) },
		)
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
	for i, reason := range found.reasons {
		if found.tiers[i] == Critical {
			f.hit(strings.TrimPrefix(reason.Rule, "shell."), line)
		}
	}
}

// result returns the analysis, with the most severe reasons first.
func (f *finding) result() Analysis {
	order := make([]int, len(f.reasons))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(f.tiers[b], f.tiers[a]) })
	a := Analysis{Writes: f.writes, Network: f.network, Git: f.git, Commands: f.commands, Unknown: f.unknown}
	for i, at := range order {
		if i == 0 {
			a.Severity = f.tiers[at]
		}
		if f.tiers[at] == Critical {
			a.critical++
		}
		a.Reasons = append(a.Reasons, f.reasons[at])
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

func (f *finding) ranGit(sub string) { f.git = addTo(f.git, sub) }

func (f *finding) unlisted(name string) { f.unknown = addTo(f.unknown, name) }

// broken records that the analysis panicked with why.
func (f *finding) broken(why any) {
	if _, ok := why.(exhausted); !ok {
		f.hit("analysis-broken", fmt.Sprint(why))
	}
}

func (f *finding) tooLong(line string) {
	f.ran(line[:64] + ellipse)
	f.hit("too-large", "")
}

func (f *finding) touch(p string) {
	f.writes = addTo(f.writes, show(p))
	f.changes = true
}

// write records and rates a write to a clean path.
func (f *finding) write(p string) {
	at := zoneOf(p)
	if at == nowhere {
		return
	}
	f.touch(p)
	if f.wrote == nil {
		f.wrote = map[string]bool{}
	}
	f.wrote[p] = true
	rule, ok := map[zone]string{
		vital: "write-vital", device: "write-device", system: "write-system", startup: "write-startup", runner: "write-workflow",
		git: "write-git", obeyed: "write-obeyed", outside: "write-outside", home: "write-home", above: "write-home", zoneUnknown: "write-unknown",
	}[at]
	if ok {
		f.hit(rule, p)
	}
}

func (f *finding) remove(p string, recursive bool) {
	at := zoneOf(p)
	if at == nowhere {
		return
	}
	f.touch(p)
	if rule := removeRule(p, at, recursive); rule != "" {
		f.hit(rule, p)
	}
}

func removeRule(p string, at zone, recursive bool) string {
	choose := func(whole, one string) string {
		if recursive {
			return whole
		}
		return one
	}
	switch {
	case strings.HasPrefix(p, "/tmp/tmp."+unknown): // created by mktemp before
	case needed(p, at, recursive):
		return "delete-vital"
	case at == system:
		return choose("delete-vital", "delete-system")
	case at == startup:
		return "delete-system"
	case at == git && !strings.HasSuffix(p, ".lock"):
		return "delete-git"
	case at == runner:
		return "write-workflow"
	case p == "..", p == "../*", at == above && recursive && strings.Trim(p, "./*") == "", at == zoneRoot && recursive:
		return "delete-workspace"
	case at == outside, at == home, at == above:
		return "delete-outside"
	case at == zoneUnknown:
		return choose("delete-unknown", "delete-tree")
	case at == git, recursive, manyFiles(p):
		return "delete-tree"
	}
	return ""
}

func needed(p string, at zone, recursive bool) bool {
	switch {
	case at == vital, at == device && !strings.Contains(p, "/loop"):
		return true
	case !recursive:
		return false
	}
	all, ok := strings.CutSuffix(p, "/*")
	return ok && zoneOf(all) == vital || at == startup && secretOf(p) == machineSecret
}

func manyFiles(p string) bool {
	return strings.HasPrefix(path.Base(p), "found-"+unknown) ||
		strings.Contains(p, "*") && path.Dir(p) == "." && strings.Trim(p, "*") == ""
}
