package session

import (
	"fmt"
	"time"
)

// Verified is the payload of [TypeVerified]: Handrail ran the project's tests on a commit,
// in a workspace of its own.
type Verified struct {
	At     string   `json:"at"`             // the commit
	Base   bool     `json:"base,omitempty"` // the work began there: this is for comparison
	Tests  *TestRun `json:"tests,omitempty"`
	Why    string   `json:"why,omitempty"`    // no test ran; then Tests is nil
	Output string   `json:"output,omitempty"` // the end of what the tests said
	Millis int64    `json:"ms,omitempty"`
}

func (*Verified) moment() {}

// Failed reports whether tests ran and did not pass.
func (v *Verified) Failed() bool { return v != nil && v.Tests != nil && v.Tests.Failed() }

// Passed reports whether tests ran and passed.
func (v *Verified) Passed() bool { return v != nil && v.Tests != nil && v.Tests.Passed() }

// Proof is the newest run of the tests by Handrail, and the one on the base. Either may be
// nil.
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

// Of returns the run on a commit, nil if that is not the newest.
func (p *Proof) Of(commit string) *Verified {
	if p.Last == nil || p.Last.At != commit {
		return nil
	}
	return p.Last
}

// Words says how the tests of a commit went, for people; "" if Handrail ran none there.
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
		words = fmt.Sprintf("tests passed (ran by Handrail): %s", v.Tests.line())
	}
	words += ", " + took(time.Duration(v.Millis)*time.Millisecond) + fmt.Sprintf(", at checkpoint %.7s", v.At)
	if v.Failed() && p.Base.Failed() {
		words += "; failed before the change, too"
	}
	return words
}

// took returns a length of time as people are told it.
func took(d time.Duration) string {
	if d >= time.Second {
		return fmt.Sprintf("%d s", int(d.Round(time.Second).Seconds()))
	}
	return fmt.Sprintf("%d ms", d.Milliseconds())
}
