package policy

import "path"

// CommandExplanation is the policy's decision about a command, as output by
// `handrail policy explain command`.
type CommandExplanation struct {
	Severity string   `json:"severity"`          // critical, high, medium or none
	Unknown  []string `json:"unknown,omitempty"` // programs that no rule knows
	Reasons  []Reason `json:"reasons"`
	Decision string   `json:"decision"` // allow, ask or deny
	Digest   string   `json:"digest"`
	sides
}

// sides are the decisions about a command in the open, with access to the network or the
// machine, and behind a wall without network access.
type sides struct {
	Open   side `json:"open"`
	Walled side `json:"walled"`
}

type side struct {
	Severity string   `json:"severity"`
	Unknown  []string `json:"unknown,omitempty"`
	Reasons  []Reason `json:"reasons"`
	Decision string   `json:"decision"`
}

// bothSides decides about a command on each side of a wall.
func (p *Policy) bothSides(m Mode, command string) sides {
	open, walled := *p, *p
	open.walled, walled.walled = false, true
	of := func(q *Policy) side {
		d := q.checkCommand(m, command)
		return side{
			Severity: d.Severity.String(),
			Unknown:  d.Unknown,
			Reasons:  append([]Reason{}, d.Reasons...),
			Decision: d.Verdict.String(),
		}
	}
	return sides{Open: of(&open), Walled: of(&walled)}
}

// FileExplanation is the policy's decision about edits of a file, as output by
// `handrail policy explain file`.
type FileExplanation struct {
	Sensitive bool   `json:"sensitive"`
	Pattern   string `json:"pattern"` // the deciding pattern, empty if none matched
	Decision  string `json:"decision"`
}

// ExplainCommand returns the decision about a command in mode m.
func (p *Policy) ExplainCommand(m Mode, command string) CommandExplanation {
	d := p.checkCommand(m, command)
	reasons := d.Reasons
	if reasons == nil {
		reasons = []Reason{}
	}
	return CommandExplanation{
		Severity: d.Severity.String(), Unknown: d.Unknown, Reasons: reasons, Decision: d.Verdict.String(), Digest: d.Digest,
		sides: p.bothSides(m, command),
	}
}

func (p *Policy) checkCommand(m Mode, command string) Decision {
	return p.Check(m, Action{Kind: Execute, Tool: "run_terminal_command", Command: command, Cwd: ".", Display: command})
}

// ExplainFile returns the decision about an edit of a file in mode m.
func (p *Policy) ExplainFile(m Mode, name string) FileExplanation {
	v := p.Sensitive(name)
	if below := p.Touches(name); !v.Sensitive && below.Sensitive { // a directory with sensitive files in it
		v = below
	}
	return FileExplanation{Sensitive: v.Sensitive, Pattern: v.Pattern, Decision: p.checkFile(m, name).Verdict.String()}
}

func (p *Policy) checkFile(m Mode, name string) Decision {
	clean := name
	if name != "" { // Clean would turn "" into the root of the repository
		clean = path.Clean(name)
	}
	return p.Check(m, Action{Kind: Write, Tool: "write_file", Paths: []string{clean}, Display: name})
}

// Explanation is a complete decision, as output by `handrail policy explain --full`.
type Explanation struct {
	Decision string   `json:"decision"`          // allow, ask or deny
	Severity string   `json:"severity"`          // critical, high, medium or none
	Unknown  []string `json:"unknown,omitempty"` // programs that no rule knows
	Rule     string   `json:"rule"`              // the deciding rule
	Auto     bool     `json:"auto"`              // allowed by a setting instead of an approver
	Reasons  []Reason `json:"reasons"`           // every rule that matched, the deciding one first
	Digest   string   `json:"digest"`
	*sides            // nil unless it is a command
}

// ExplainCommandFully returns the complete decision about a command in mode m.
func (p *Policy) ExplainCommandFully(m Mode, command string) Explanation {
	e, both := explanation(p.checkCommand(m, command)), p.bothSides(m, command)
	e.sides = &both
	return e
}

// ExplainFileFully returns the complete decision about an edit of a file in mode m.
func (p *Policy) ExplainFileFully(m Mode, name string) Explanation {
	return explanation(p.checkFile(m, name))
}

func explanation(d Decision) Explanation {
	return Explanation{
		Decision: d.Verdict.String(),
		Severity: d.Severity.String(),
		Unknown:  d.Unknown,
		Rule:     d.Rule,
		Auto:     d.Auto && d.Verdict == Allow,
		Reasons:  d.Reasons,
		Digest:   d.Digest,
	}
}
