package session

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/handrail-bot/handrail/policy/phrase"
)

// TestsSay is the meaning of the output of a test run, if it is not that of the exit status.
type TestsSay string

// The meanings of outputs.
const (
	TestsNone   TestsSay = "none"   // no test ran
	TestsFailed TestsSay = "failed" // a test failed, although the exit status is 0 or the run was killed
	TestsSilent TestsSay = "silent" // nothing shows that a test ran
)

// TestRun is a run of the project's tests, judged by its exit status and its output.
type TestRun struct {
	Line    string   `json:"line"`
	Exit    int      `json:"exit"`              // -1 if it was killed
	CutOff  bool     `json:"cut_off,omitempty"` // ended by a closed output pipe: inconclusive
	Unknown bool     `json:"unknown,omitempty"` // Exit is the status of the whole line, perhaps of another command
	Says    TestsSay `json:"says,omitempty"`
}

// Passed reports whether the tests are known to have succeeded.
func (t *TestRun) Passed() bool { return t.Exit == 0 && !t.Unknown && t.Says == "" } //control:output-counts

// Failed reports whether the tests failed, could not start, or ended with an unknown
// status. A run without a test neither passed nor failed.
func (t *TestRun) Failed() bool {
	return !t.Passed() && !t.CutOff && t.Says != TestsNone && t.Says != TestsSilent //control:sigpipe-is-no-failure
}

// Killed reports whether the tests were ended, usually for their time limit: by Handrail, by timeout(1), or
// by SIGKILL or SIGTERM as a shell tells of them.
func (t *TestRun) Killed() bool {
	return t.Exit < 0 || slices.Contains([]int{124, 128 + 9, 128 + 15}, t.Exit) //control:ended-by-others
}

// maxTestLine is the maximum length of a displayed command line, in characters.
const maxTestLine = 100

// String describes the result of a run, in Markdown.
func (t *TestRun) String() string { return t.line() + ": " + t.How() }

// How describes the result of a run without its command.
func (t *TestRun) How() string {
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
	switch t.Says {
	case TestsNone:
		how = fmt.Sprintf("exit %d, but no test ran", t.Exit)
	case TestsSilent:
		how += ", but the output does not show that a test ran"
	case TestsFailed:
		how += map[bool]string{true: ", and", false: ", but"}[t.Killed()] + " the output shows a failure"
	}
	return how
}

// line returns the command in Markdown.
func (t *TestRun) line() string { return inCode(t.Line) }

// inCode returns a text as code in one line of Markdown.
func inCode(s string) string {
	line := strings.Join(strings.Fields(strings.ReplaceAll(s, "`", "'")), " ")
	return "`" + phrase.Short(line, maxTestLine) + "`"
}

// maxFaults is the maximum number of files that do not parse to name.
const maxFaults = 5

// FaultWords names files that do not parse, as an addition to the words about tests, in
// Markdown.
func FaultWords(files []FileChange) string {
	var b strings.Builder
	for i, f := range files {
		if i == maxFaults {
			fmt.Fprintf(&b, "; %d more files do not parse", len(files)-i)
			break
		}
		fmt.Fprintf(&b, "; %s does not parse: %s", inCode(f.Path), inCode(f.Fault))
	}
	return b.String()
}

// Tested is the last test run since the user's last request.
type Tested struct {
	Last *Result // nil if there was none
	// Other is the last command or call of which it is not known whether it ran tests; nil if
	// there was none.
	Other *TestRun
	At    string // commit that was tested; "" if that state is on no branch
	Old   bool   // files changed after the run

	seq int64 // of its event
}

func (t *Tested) applyResult(e Event, p *Result, published string, pending bool) {
	if p.Ran != nil {
		t.Other = p.Ran
	}
	if p.Tests == nil {
		return
	}
	*t = Tested{Last: p, Other: t.Other, At: published, seq: e.Seq}
	if pending {
		t.At = ""
	}
}

// applyCheckpoint applies a saved state. One recorded together with the result contains files
// left by the tests.
func (t *Tested) applyCheckpoint(e Event, p *Checkpoint) {
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

// Words describes the result of the tests for display, independently of the model's
// claims.
func (t *Tested) Words() string {
	switch {
	case t.Last == nil && t.Other != nil: //control:unknown-is-not-none
		how := ": " + t.Other.How()
		if t.Other.Unknown {
			how = ""
		}
		return "no run of tests that I know; last came " + t.Other.line() + how
	case t.Last == nil:
		return "no tests were run"
	}
	words := t.Last.Tests.String()
	if e := t.Last.Tests.Exit; !t.Last.Tests.Unknown && (e == 126 || e == 127) {
		return "tests did not run: " + words
	}
	words += ", " + formatDuration(time.Duration(t.Last.Millis)*time.Millisecond)
	if t.At != "" {
		words += fmt.Sprintf(", at checkpoint %.7s", t.At)
	}
	if t.Old {
		words += ", before the last changes"
	}
	return words
}

// Tail returns the end of the tests' output, in whole lines of at most n bytes in
// total.
func (t *Tested) Tail(n int) string {
	s := t.Last.Content
	if len(s) <= n {
		return s
	}
	return "…\n" + LastLines(s, n)
}

// LastLines returns the end of a text, in whole lines of at most n bytes in total.
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
