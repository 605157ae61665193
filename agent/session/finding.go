package session

import "fmt"

// Finding is a fault that a reviewer reports in the code, with the lines that it is in.
type Finding struct {
	Path     string   `json:"path"`
	Line     int      `json:"line"`          // the first, of the file as it is now, or with Old as it was before the change
	End      int      `json:"end,omitempty"` // the last; 0 for a single line
	Old      bool     `json:"old,omitempty"`
	In       string   `json:"in,omitempty"` // the definition around the lines, "" for none
	Severity Severity `json:"severity"`
	Claim    string   `json:"claim"` // what is wrong, in a sentence
	Why      string   `json:"why"`   // an input or a sequence of steps that shows it
	// Suggestion is what the lines are replaced by: it was applied to the file, and what
	// came of it parses. nil for none; empty takes the lines away.
	Suggestion *string `json:"suggestion,omitempty"`
	Unsure     string  `json:"unsure,omitempty"`  // why a second look did not bear it out
	Refuted    string  `json:"refuted,omitempty"` // what a second look brought against it: it is not shown
	Tokens     int     `json:"tokens,omitempty"`  // that the second look took
}

// Severity is how much a finding matters.
type Severity string

// The severities, the worst first.
const (
	High   Severity = "high"   // wrong results, lost data, a hole
	Medium Severity = "medium" // wrong in cases that happen
	Low    Severity = "low"    // worth a line, no more
)

// Last returns the last line that the finding is about.
func (f Finding) Last() int { return max(f.Line, f.End) }

// Where names the lines, as "a.go:3" or "a.go:3-5".
func (f Finding) Where() string {
	if f.Last() > f.Line {
		return fmt.Sprintf("%s:%d-%d", f.Path, f.Line, f.Last())
	}
	return fmt.Sprintf("%s:%d", f.Path, f.Line)
}

// Reported is a finding as the log has it.
type Reported struct {
	*Finding
	Seq int64 // of the event that reported it
}
