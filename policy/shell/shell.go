// Package shell says what a command line can do. It reads the line as a POSIX
// or bash program, follows its variables, functions, substitutions and files
// as far as they can be known without running anything, and asks a rule for
// each program that would run. It is pure; what it cannot resolve counts up,
// never down.
//
// A walk goes through the syntax tree; word expands its words. Each command
// it meets goes to the rule of its program, one of rules; what is known as
// data is in known. What they find is a finding.
package shell

import (
	"github.com/handrail-bot/handrail/policy/shell/around"
	"github.com/handrail-bot/handrail/policy/shell/finding"
	"github.com/handrail-bot/handrail/policy/shell/rules"
	"github.com/handrail-bot/handrail/policy/shell/walk"
	"github.com/handrail-bot/handrail/policy/shell/wrappers"
	"github.com/handrail-bot/handrail/policy/shell/zone"
)

// Severity is how much harm a command can do, see [finding.Severity].
type Severity = finding.Severity

// The tiers of severity.
const (
	None     = finding.None
	Medium   = finding.Medium
	High     = finding.High
	Critical = finding.Critical
)

// Reason is one rule that matched, see [finding.Reason].
type Reason = finding.Reason

// Analysis is what a command line can do, see [finding.Analysis].
type Analysis = finding.Analysis

// HoldsSecrets reports whether a path is that of a file with credentials: a command that
// prints it is of high severity.
func HoldsSecrets(path string) bool { return zone.SecretOf(path) > zone.NoSecret }

// Analyze reads a command line as a POSIX or bash program and says what it
// can do. What it cannot resolve counts up, never down.
func Analyze(line string) Analysis { return AnalyzeOn("", line) }

// AnalyzeOn is [Analyze] in a session whose work goes to a branch: adding
// commits to that branch publishes nothing that the session would not.
func AnalyzeOn(branch, line string) (a Analysis) {
	f := &finding.Finding{}
	defer func() {
		if p := recover(); p != nil {
			f.Broken(p)
			a = f.Result()
		}
	}()
	if len(line) > walk.MaxLine {
		short, ok := elide(line)
		if !ok {
			f.TooLong(line)
			return f.Result()
		}
		line = short
	}
	w := walk.New(f, ruleOf)
	w.Branch = branch
	w.Program(line)
	w.Finish()
	return f.Result()
}

// ruleOf is the rule of a command, with what holds for every command around
// it.
func ruleOf(c *walk.Command) walk.Rule {
	rule, ok := wrappers.RuleOf(c.Name)
	if !ok {
		rule = rules.RuleOf(c)
	}
	return func(c *walk.Command) string {
		around.Look(c)
		return rule(c)
	}
}
