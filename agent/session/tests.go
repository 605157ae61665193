package session

import (
	"fmt"
	"strings"
	"time"
)

// TestRun is a run of the project's tests, as its own exit status tells of it.
type TestRun struct {
	Line    string `json:"line"`
	Exit    int    `json:"exit"`              // -1 when it was killed
	CutOff  bool   `json:"cut_off,omitempty"` // it ended because its output was read no further: that says nothing
	Unknown bool   `json:"unknown,omitempty"` // Exit is that of the whole line, which may be another command's
}

// Passed reports whether the tests are known to have succeeded.
func (t *TestRun) Passed() bool { return t.Exit == 0 && !t.Unknown }

// Failed reports whether the tests failed, could not start, or ended in a way that
// proves nothing.
func (t *TestRun) Failed() bool { return !t.Passed() && !t.CutOff } //control:sigpipe-is-no-failure

// mostTestLine is how much of a command's line is told, in characters.
const mostTestLine = 100

// String says how a run ended, as Markdown.
func (t *TestRun) String() string {
	how := fmt.Sprintf("exit %d", t.Exit)
	switch {
	case t.Unknown:
		how = "its own exit status is not known"
	case t.Exit < 0:
		how = "killed before it ended"
	case t.CutOff:
		how = "its output was not read to the end, so how it went is not known"
	case t.Exit == 126 || t.Exit == 127:
		how += ", it could not start"
	}
	return t.line() + ": " + how
}

// line is the command as Markdown.
func (t *TestRun) line() string {
	line := []rune(strings.Join(strings.Fields(strings.ReplaceAll(t.Line, "`", "'")), " "))
	if len(line) > mostTestLine {
		line = append(line[:mostTestLine-1], '…')
	}
	return "`" + string(line) + "`"
}

// Tested is the last run of tests since a person last asked for something.
type Tested struct {
	Last *Result // nil for none
	At   string  // the commit that it saw; "" when what it saw is on no branch
	Old  bool    // files changed after it

	seq int64 // of its event
}

func (t *Tested) ran(e Event, p *Result, published string, pending bool) {
	if p.Tests == nil {
		return
	}
	*t = Tested{Last: p, At: published, seq: e.Seq}
	if pending {
		t.At = ""
	}
}

// saved takes in a saved state. One that is recorded with the result holds what the
// tests left behind.
func (t *Tested) saved(e Event, p *Checkpoint) {
	switch {
	case t.Last == nil:
	case p.Parked && e.Seq <= t.seq+2:
		t.At = ""
	case p.Parked:
		t.Old = true //control:tests-are-old
	case t.At == "" && !t.Old:
		t.At = p.Commit
	case p.Commit != t.At:
		t.Old = true
	}
}

// Words says what the tests came to, for people: Handrail's own words, not the model's.
func (t *Tested) Words() string {
	if t.Last == nil {
		return "tests did not run: the agent ran none"
	}
	words := t.Last.Tests.String()
	if e := t.Last.Tests.Exit; !t.Last.Tests.Unknown && (e == 126 || e == 127) {
		return "tests did not run: " + words
	}
	words += ", " + took(time.Duration(t.Last.Millis)*time.Millisecond)
	if t.At != "" {
		words += fmt.Sprintf(", at checkpoint %.7s", t.At)
	}
	if t.Old {
		words += ", before the last changes"
	}
	return words
}

// Tail returns the end of what the tests said, in whole lines of at most n bytes.
func (t *Tested) Tail(n int) string {
	s := t.Last.Content
	if len(s) <= n {
		return s
	}
	return "…\n" + LastLines(s, n)
}

// LastLines returns the end of a text, in whole lines of at most n bytes.
func LastLines(s string, n int) string {
	if len(s) <= n {
		return s
	}
	s = s[len(s)-n:]
	if _, rest, ok := strings.Cut(s, "\n"); ok {
		s = rest
	}
	return strings.ToValidUTF8(s, "")
}
