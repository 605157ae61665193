package session

import "fmt"

// Finding is a fault in the code reported by a reviewer, with its lines.
type Finding struct {
	Path     string   `json:"path"`
	Line     int      `json:"line"`          // first line in the current file, or in the file before the change if Old is set
	End      int      `json:"end,omitempty"` // last line; 0 for a single line
	Old      bool     `json:"old,omitempty"`
	In       string   `json:"in,omitempty"` // the enclosing definition, or ""
	Severity Severity `json:"severity"`
	Claim    string   `json:"claim"` // the fault, in a sentence
	Why      string   `json:"why"`   // an input or a sequence of steps that demonstrates it
	// Suggestion is the replacement of the lines. It was applied to the file and the
	// result parses. nil means none; empty deletes the lines.
	Suggestion *string `json:"suggestion,omitempty"`
	Unsure     string  `json:"unsure,omitempty"`  // reason why a second look did not confirm it
	Refuted    string  `json:"refuted,omitempty"` // counterargument of a second look; a refuted finding is not shown
	Tokens     int     `json:"tokens,omitempty"`  // used by the second look
}

// Severity is the importance of a finding.
type Severity string

// The severities, worst first.
const (
	High   Severity = "high"   // wrong results, lost data, a vulnerability
	Medium Severity = "medium" // wrong in realistic cases
	Low    Severity = "low"    // worth a remark
)

// Last returns the last line of the finding.
func (f Finding) Last() int { return max(f.Line, f.End) }

// Where formats the lines as "a.go:3" or "a.go:3-5".
func (f Finding) Where() string {
	if f.Last() > f.Line {
		return fmt.Sprintf("%s:%d-%d", f.Path, f.Line, f.Last())
	}
	return fmt.Sprintf("%s:%d", f.Path, f.Line)
}

// Reported is a finding recorded in the log.
type Reported struct {
	*Finding
	Seq int64 // of its event
}
