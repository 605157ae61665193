package policy

import "path"

// CommandExplanation is what the policy says about a command, in the form of
// `handrail policy explain command`.
type CommandExplanation struct {
	Severity string   `json:"severity"` // critical, high, medium or none
	Reasons  []Reason `json:"reasons"`
	Decision string   `json:"decision"` // allow, ask or deny
	Digest   string   `json:"digest"`
}

// FileExplanation is what the policy says about edits of a file, in the form
// of `handrail policy explain file`.
type FileExplanation struct {
	Sensitive bool   `json:"sensitive"`
	Pattern   string `json:"pattern"` // the rule that decided it, empty for none
	Decision  string `json:"decision"`
}

// ExplainCommand says what would happen to a command in mode m.
func (p *Policy) ExplainCommand(m Mode, command string) CommandExplanation {
	d := p.Check(m, Action{Kind: Execute, Tool: "run_terminal_command", Command: command, Cwd: ".", Display: command})
	reasons := d.Reasons
	if reasons == nil {
		reasons = []Reason{}
	}
	return CommandExplanation{Severity: d.Severity.String(), Reasons: reasons, Decision: d.Verdict.String(), Digest: d.Digest}
}

// ExplainFile says what would happen to an edit of a file in mode m.
func (p *Policy) ExplainFile(m Mode, name string) FileExplanation {
	v := p.Sensitive(name)
	clean := name
	if name != "" { // which would become the root of the repository
		clean = path.Clean(name)
	}
	d := p.Check(m, Action{Kind: Write, Tool: "write_file", Paths: []string{clean}, Display: name})
	return FileExplanation{Sensitive: v.Sensitive, Pattern: v.Pattern, Decision: d.Verdict.String()}
}
