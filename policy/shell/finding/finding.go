// Package finding collects what an analysis of a command finds, says how much
// harm that is, and ends an analysis that works too much.
package finding

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/policy/shell/known"
	"github.com/handrail-bot/handrail/policy/shell/mark"
	"github.com/handrail-bot/handrail/policy/shell/zone"
)

// ellipse stands for what is not known.
const ellipse = "\u2026"

// exhausted ends an analysis that went over a limit.
type exhausted struct{}

// Finding collects what an analysis finds.
type Finding struct {
	reasons  []Reason
	tiers    []Severity
	writes   []string
	git      []string
	commands []string
	unknown  []string
	Network  bool
	Changes  bool // a command that is not known to only read
	Leaked   bool // a credential lies where it may be published from
	Steps    int
	Bytes    int
}

// Hit records that a rule matched. A rule that is not in the table is
// critical.
func (f *Finding) Hit(name, detail string) {
	tier, text := Critical, name
	if r, ok := known.Tables().Rules[name]; ok {
		tier, text = Severity(slices.Index(tiers[:], r.Tier)), r.Text
	}
	f.Bytes += len(detail) / 4 // counted with the next step
	bare := Reason{Rule: "shell." + name, Text: text}
	if detail = shown(detail); strings.Trim(detail, ellipse+" ") != "" { // marks alone tell nothing
		text += ": " + detail
	}
	reason := Reason{Rule: bare.Rule, Text: text}
	if slices.Contains(f.reasons, reason) || reason == bare && slices.ContainsFunc(f.reasons, func(o Reason) bool { return o.Rule == bare.Rule }) {
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
	if f.Leaked && known.In("publishing-rules", name) { //control:leaked-credential
		f.Hit("secret-sent", detail)
	}
}

// RanUnknown reports whether something runs that is not known, and nothing
// that is critical was found.
func (f *Finding) RanUnknown() bool {
	return !slices.Contains(f.tiers, Critical) && slices.ContainsFunc(f.reasons, func(r Reason) bool { return known.In("unknown-runs", strings.TrimPrefix(r.Rule, "shell.")) })
}

// Step counts one unit of work and ends the analysis when there were too many.
func (f *Finding) Step(bytes int) {
	f.Steps++
	f.Bytes += bytes
	if f.Steps > maxSteps || f.Bytes > maxBytes {
		f.Exhaust()
	}
}

// Exhaust gives up on a program that takes too long to follow.
func (f *Finding) Exhaust() {
	f.Hit("too-large", "")
	panic(exhausted{})
}

// Aside returns an empty finding that goes on with the work of this one.
func (f *Finding) Aside() *Finding { return &Finding{Leaked: f.Leaked, Steps: f.Steps, Bytes: f.Bytes} }

// Join takes over the work of a finding that was set aside, and what in it is
// critical.
func (f *Finding) Join(found *Finding, line string) {
	f.Steps, f.Bytes = found.Steps, found.Bytes
	for i, reason := range found.reasons {
		if found.tiers[i] == Critical {
			f.Hit(strings.TrimPrefix(reason.Rule, "shell."), line)
		}
	}
}

// Result returns what was found, the worst first.
func (f *Finding) Result() Analysis {
	order := make([]int, len(f.reasons))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(f.tiers[b], f.tiers[a]) })
	a := Analysis{Writes: f.writes, Network: f.Network, Git: f.git, Commands: f.commands, Unknown: f.unknown}
	for i, at := range order {
		if i == 0 {
			a.Severity = f.tiers[at]
		}
		a.Reasons = append(a.Reasons, f.reasons[at])
	}
	a.ReadOnly = !f.Changes && len(f.commands) > 0 && len(f.writes) == 0 && a.Severity == None
	return a
}

// shown makes a value fit for a sentence.
func shown(s string) string {
	if len(s) > 1024 {
		s = strings.ToValidUTF8(s[:1024], "")
	}
	s = strings.Map(func(c rune) rune {
		if c < ' ' || c == 0x7f {
			return ' '
		}
		return c
	}, mark.Show(s))
	if runes := []rune(s); len(runes) > 120 {
		return string(runes[:120]) + ellipse
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

// Ran records a command.
func (f *Finding) Ran(line string) { f.commands = addTo(f.commands, line) }

// RanGit records a sub-command of git.
func (f *Finding) RanGit(sub string) { f.git = addTo(f.git, sub) }

// Unlisted records a program that no rule knows.
func (f *Finding) Unlisted(name string) { f.unknown = addTo(f.unknown, name) }

// Broken records that the analysis ended before its time: with what it
// panicked.
func (f *Finding) Broken(why any) {
	if _, ok := why.(exhausted); !ok {
		f.Hit("analysis-broken", fmt.Sprint(why))
	}
}

// TooLong records a line that is not looked at.
func (f *Finding) TooLong(line string) {
	f.Ran(line[:64] + ellipse)
	f.Hit("too-large", "")
}

// Touch records that a path is written or deleted.
func (f *Finding) Touch(p string) {
	f.writes = addTo(f.writes, mark.Show(p))
	f.Changes = true
}

// Wrote reports whether a clean path was written before.
func (f *Finding) Wrote(p string) bool { return slices.Contains(f.writes, mark.Show(p)) }

// Write records that a clean path is written and rates it.
func (f *Finding) Write(p string) {
	at := zone.Of(p)
	if at == zone.Nowhere {
		return
	}
	f.Touch(p)
	rule, ok := map[zone.Zone]string{
		zone.Vital: "write-vital", zone.Device: "write-device", zone.System: "write-system", zone.Startup: "write-startup", zone.Runner: "write-workflow",
		zone.Git: "write-git", zone.Obeyed: "write-obeyed", zone.Outside: "write-outside", zone.Home: "write-home", zone.Above: "write-home", zone.Unknown: "write-unknown",
	}[at]
	if ok {
		f.Hit(rule, p)
	}
}

// Remove records that a clean path is deleted and rates it.
func (f *Finding) Remove(p string, recursive bool) {
	at := zone.Of(p)
	if at == zone.Nowhere {
		return
	}
	f.Touch(p)
	if rule := removeRule(p, at, recursive); rule != "" {
		f.Hit(rule, p)
	}
}

func removeRule(p string, at zone.Zone, recursive bool) string {
	choose := func(whole, one string) string {
		if recursive {
			return whole
		}
		return one
	}
	switch {
	case strings.HasPrefix(p, "/tmp/tmp."+mark.Unknown): // made by mktemp a moment ago
	case needed(p, at, recursive):
		return "delete-vital"
	case at == zone.System:
		return choose("delete-vital", "delete-system")
	case at == zone.Startup:
		return "delete-system"
	case at == zone.Git && !strings.HasSuffix(p, ".lock"):
		return "delete-git"
	case at == zone.Runner:
		return "write-workflow"
	case p == "..", p == "../*", at == zone.Above && recursive && strings.Trim(p, "./*") == "", at == zone.Root && recursive:
		return "delete-workspace"
	case at == zone.Outside, at == zone.Home, at == zone.Above:
		return "delete-outside"
	case at == zone.Unknown:
		return choose("delete-unknown", "delete-tree")
	case at == zone.Git, recursive, manyFiles(p):
		return "delete-tree"
	}
	return ""
}

// needed reports whether the system, or who uses it, cannot do without a path.
func needed(p string, at zone.Zone, recursive bool) bool {
	switch {
	case at == zone.Vital, at == zone.Device && !strings.Contains(p, "/loop"):
		return true
	case !recursive:
		return false
	}
	all, ok := strings.CutSuffix(p, "/*")
	return ok && zone.Of(all) == zone.Vital || at == zone.Startup && zone.SecretOf(p) == zone.MachineSecret
}

// manyFiles reports whether a path stands for files that were found, or for
// all in the workspace.
func manyFiles(p string) bool {
	return strings.HasPrefix(path.Base(p), "found-"+mark.Unknown) || strings.Contains(p, "*") && path.Dir(p) == "." && strings.Trim(p, "*") == ""
}
