package render

import (
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/agent/session"
)

// How the tests went stands in the comment at the end and in the pull request, in words
// that no command line breaks out of.
func TestTestsAreTold(t *testing.T) {
	run := session.Tested{Last: &session.Result{Millis: 4100, Tests: &session.TestRun{Line: "go test ./... `x`\n# @kim ![x](http://x)"}}, At: "1f0c9ab7d2"}
	out := session.Outcome{Status: session.StatusDone, Summary: "It is mended.", Tests: run.Words()}
	s := &session.State{Phase: session.PhaseDone, Outcome: &out, Ends: []session.Outcome{out}}
	want := "Seen by Handrail: `go test ./... 'x' # @kim ![x](http://x)`: exit 0, 4 s, at checkpoint 1f0c9ab\n"
	for what, text := range map[string]string{"Progress": posted(Progress(s, Links{})), "PullBody": PullBody(s, "kim", Origin{Number: 1}), "CheckSummary": CheckSummary(s, "")} {
		if !strings.Contains(text, want) {
			t.Errorf("%s has no line of the tests: %s", what, text)
		}
	}
	long := session.Outcome{Status: session.StatusDone, Summary: strings.Repeat("word ", 10000), Tests: run.Words()}
	if !strings.Contains(summary(&long), want) || !strings.Contains(summaryFor(&long, 3), want) {
		t.Error("a long answer loses the line of the tests")
	}
	first := session.Outcome{Status: session.StatusDone, Summary: "Half of it.", Tests: "no tests were run"}
	both := PullBody(&session.State{Phase: session.PhaseDone, Outcome: &out, Ends: []session.Outcome{first, out}}, "kim", Origin{Number: 1})
	if strings.Count(both, "Seen by Handrail") != 1 || !strings.Contains(both, want) || !strings.Contains(both, "Half of it.") {
		t.Errorf("the tests are told of each request, not of what is there: %s", both)
	}
	none := session.Tested{}
	if got := none.Words(); got != "no tests were run" {
		t.Error(got)
	}
	other := session.Tested{Other: &session.TestRun{Line: "./check", Exit: 1}}
	if got := other.Words(); got != "no run of tests that I know; last came `./check`: exit 1" {
		t.Error(got)
	}
}

// The log of a pull request is folded, and its oldest steps give way.
func TestPullLog(t *testing.T) {
	v := story(t)
	log := PullLog(v)
	if len(log) != 1 || !strings.HasSuffix(log[0].Title, "steps") || !strings.Contains(log[0].Text, "`Edited a.go` +3 −1") {
		t.Errorf("the log is %+v", log)
	}
	for range 500 {
		v.Timeline = append(v.Timeline, &session.Answer{Content: strings.Repeat("word ", 20)})
	}
	if log = PullLog(v); len(log[0].Text) > maxPullLog+100 || !strings.HasPrefix(log[0].Text, "- … ") {
		t.Errorf("%d bytes: %.200s", len(log[0].Text), log[0].Text)
	}
	if none := PullLog(session.NewState()); len(none) != 0 {
		t.Errorf("without a step: %+v", none)
	}
}
