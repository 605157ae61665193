package testrun

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/policy/pattern"
)

// maxHead and maxTail limit the judged output, in bytes: runners sum up at the end.
const (
	maxHead = 32 << 10
	maxTail = 128 << 10
)

// escapes matches the colors and cursor movements of terminals.
var escapes = pattern.Lazy(`\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)`)

// level matches the beginning of each line of sbt, Maven and Ant, and of the lines that turbo,
// pnpm and docker compose print for several projects.
var level = pattern.Lazy(`^(?:\[(?:info|warn|error|success|INFO|WARN|WARNING|ERROR)\] ?` +
	`|\s+\[(?:junit|junitlauncher|testng|exec|java)\] ?|[@\w./-]+[: ]test[\w:-]*: |[\w.-]+-\d+ +\| )`)

// tally is the evidence in the output of a test run.
type tally struct {
	sums            // in summaries
	each   outcomes // results of single tests
	units  int      // packages and tasks that passed, without numbers
	nested bool     // a single result belongs to a group
	files  int      // files without tests, which node reports as passed tests

	bad    bool // a failure without a number
	hushed bool // only skipped tests were named, but others may have passed
	none   bool // the runner reports that there was no test
	part   bool // likewise for a part of the project
}

// outcomes are numbers of tests by their result.
type outcomes struct{ pass, fail, skip int }

// sums are the numbers in summaries.
type sums struct {
	pass, fail, skip, total int
	excluded                int  // by a filter; newer versions of ExUnit do not count them among all
	seen                    bool // a number of passed tests, or of all tests, was given
}

// passed returns the number of tests that ran and did not fail.
func (c sums) passed() int {
	if c.excluded > 0 && c.excluded == c.total {
		return c.pass
	}
	return max(c.pass, c.total-c.skip-c.fail)
}

// judge collects the evidence in an output.
func judge(output string) (t tally) {
	output = escapes().ReplaceAllString(strings.ReplaceAll(output, "\r\n", "\n"), "")
	if len(output) > maxHead+maxTail {
		output = output[:maxHead] + "\n" + output[len(output)-maxTail:]
	}
	for line := range strings.SplitSeq(strings.ReplaceAll(output, "\r", "\n"), "\n") {
		line = level().ReplaceAllString(strings.TrimRight(line, " \t"), "")
		if said := saidIn(line); said != "" {
			t.read(said)
		}
		if line != "" && len(line) <= maxSummary {
			t.read(line)
		}
	}
	if t.files > 0 && !t.nested && t.files >= t.pass { //control:files-are-no-tests
		t.pass, t.each.pass, t.total = 0, t.each.pass-t.files, t.skip
	}
	return t
}

// saidIn returns the output that a line of `go test -json` quotes, "" for other lines.
func saidIn(line string) string {
	if !strings.HasPrefix(line, `{"`) || !strings.Contains(line, `"Output":`) || len(line) > maxSummary {
		return ""
	}
	var event struct{ Output string }
	if json.Unmarshal([]byte(line), &event) != nil {
		return ""
	}
	return strings.TrimRight(event.Output, " \t\r\n")
}

// maxSummary is the maximum length of a line of evidence, in bytes.
const maxSummary = 400

// read adds the evidence of one line.
func (t *tally) read(line string) {
	for _, s := range summaries {
		if s.line().MatchString(line) {
			t.add(line, s)
		}
	}
	if of := fraction().FindStringSubmatch(line); of != nil && of[1] != of[2] { //control:part-that-passed
		t.bad = true
	}
	switch {
	case fileTest().MatchString(line):
		t.files++
		t.each.pass++
	case onePassed().MatchString(line):
		t.nested = t.nested || line[0] == ' '
		if directive().MatchString(line) {
			t.each.skip++
		} else {
			t.each.pass++
		}
	case oneFailed().MatchString(line):
		if directive().MatchString(line) {
			t.each.skip++
		} else {
			t.each.fail++
		}
	case oneSkipped().MatchString(line):
		t.each.skip++
	case goPackage().MatchString(line), task().MatchString(line) && !otherTask().MatchString(line):
		t.units++
	}
	t.hushed = t.hushed || taskSkipped().MatchString(line)
	t.bad = t.bad || failure().MatchString(line)
	t.none = t.none || noTests().MatchString(line)
	t.part = t.part || noTestsHere().MatchString(line)
}

// add adds the numbers of a summary.
func (t *tally) add(line string, s summary) {
	find, number, word := numbered(), 1, 2
	if s.wordFirst {
		find, number, word = named(), 2, 1
	}
	for _, m := range find.FindAllStringSubmatch(line, -1) {
		n, err := strconv.Atoi(m[number])
		kind := kindOf(strings.ToLower(m[word]))
		switch {
		case err != nil, strings.HasPrefix(strings.ToLower(m[0]), "expected "):
		case s.failures && kind != failed:
		case kind == passed:
			t.pass, t.seen = t.pass+n, true
		case kind == failed:
			t.fail += n
		case kind == skipped:
			t.skip += n
		case kind == excluded:
			t.excluded += n
		case kind == all:
			t.total, t.seen = t.total+n, true
		}
	}
}

// verdict returns the meaning of the evidence; "" means that tests ran and none failed.
func (t tally) verdict() session.TestsSay {
	units := t.units > 0 && !t.seen && t.skip+t.each.skip == 0  //control:units-may-be-empty
	ran := t.each.pass > 0 || t.passed() > t.each.skip || units //control:skipped-is-not-run
	switch {
	case t.bad || t.fail > 0 || t.each.fail > 0: //control:output-speaks-of-failures
		return session.TestsFailed
	case t.hushed && t.each.pass == 0 && !t.seen:
		return session.TestsSilent
	case ran:
		return ""
	case t.none || t.part || t.seen || t.units > 0 || t.skip+t.excluded+t.each.skip > 0:
		return session.TestsNone
	}
	return session.TestsSilent
}

// partly reports whether only parts of the project were reported to have no tests.
func (t tally) partly() bool { return t.part && !t.none && !t.seen && t.skip+t.each.skip == 0 }
