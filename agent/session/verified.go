package session

import (
	"fmt"
	"time"
)

// Verified is the payload of [TypeVerified]: Handrail ran the project's tests on a
// commit, in a separate workspace.
type Verified struct {
	At     string   `json:"at"`             // the commit
	Base   bool     `json:"base,omitempty"` // a run on the start of the work, for comparison
	Tests  *TestRun `json:"tests,omitempty"`
	Why    string   `json:"why,omitempty"`    // reason why no test ran; Tests is nil then
	Output string   `json:"output,omitempty"` // the end of the tests' output
	Lines  []Item   `json:"lines,omitempty"`  // parts of the tests that failed: path and text
	Faults []Fault  `json:"faults,omitempty"` // lines of changed files that a compiler or an interpreter rejects
	Faulty []Item   `json:"faulty,omitempty"` // the files of Faults: path and text
	Millis int64    `json:"ms,omitempty"`
}

// Fault is a line of a file that a compiler, a parser or an interpreter rejects.
type Fault struct {
	Path string `json:"path"`
	Line int    `json:"line"` // from 1
	Says string `json:"says"` // its words; untrusted
}

// Line is a line of a file that the model is asked to correct, without the rest of the file. Lines
// occur in this order once in the file; the one at index At is the wrong one.
type Line struct {
	Path  string   `json:"path"`
	Lines []string `json:"lines"`
	At    int      `json:"at"`
	Says  string   `json:"says"` // the complaint about it; untrusted
}

// Text returns the wrong line.
func (l *Line) Text() string { return l.Lines[l.At] }

func (*Verified) moment() {}

// Failed reports whether tests ran and did not pass.
func (v *Verified) Failed() bool { return v != nil && v.Tests != nil && v.Tests.Failed() }

// Passed reports whether tests ran and passed.
func (v *Verified) Passed() bool { return v != nil && v.Tests != nil && v.Tests.Passed() }

// Proof holds Handrail's newest test run and the one on the base. Either may be nil.
type Proof struct {
	Last, Base *Verified
}

func (p *Proof) take(v *Verified) {
	if v.Base {
		p.Base = v
		return
	}
	p.Last = v
}

// Of returns the newest run if it was on the given commit, or nil.
func (p *Proof) Of(commit string) *Verified {
	if p.Last == nil || p.Last.At != commit {
		return nil
	}
	return p.Last
}

// Words describes the tests of a commit for display, or returns "" if Handrail ran
// none there.
func (p *Proof) Words(commit string) string {
	v := p.Of(commit)
	switch {
	case v == nil:
		return ""
	case v.Tests == nil:
		return "tests did not run: " + v.Why
	}
	words := v.Tests.String()
	if v.Passed() {
		words = "tests passed in a clean copy: " + v.Tests.line()
	}
	words += ", " + formatDuration(time.Duration(v.Millis)*time.Millisecond) + fmt.Sprintf(", at checkpoint %.7s", v.At)
	if v.Failed() && p.Base.Failed() {
		words += "; failed before the change, too"
	}
	return words
}

// formatDuration formats a duration for display.
func formatDuration(d time.Duration) string {
	if d >= time.Second {
		return fmt.Sprintf("%d s", int(d.Round(time.Second).Seconds()))
	}
	return fmt.Sprintf("%d ms", d.Milliseconds())
}
