package policy

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// A repository can switch tools off and shorten their time, and not undo the server's word.
func TestMergeTools(t *testing.T) {
	server := Config{Running: Running{Tools: Tools{"new_task": {Off: true}, "github": {OffIn: []string{"ask"}, Timeout: Duration(time.Minute)}}}}
	repo := Config{Running: Running{Tools: Tools{"new_task": {Off: false}, "github": {OffIn: []string{"plan"}, Timeout: Duration(time.Hour)}, "read_output": {Timeout: Duration(time.Second)}}}}
	got := Merge(server, repo).Tools
	want := Tools{"new_task": {Off: true}, "github": {OffIn: []string{"ask", "plan"}, Timeout: Duration(time.Minute)}, "read_output": {Timeout: Duration(time.Second)}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	p, err := New(Merge(server, repo))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		mode, tool string
		off        bool
	}{{"code", "new_task", true}, {"ask", "github", true}, {"code", "github", false}, {"plan", "github", true}, {"code", "read_file", false}} {
		m, err := ParseMode(c.mode)
		if err != nil || p.ToolOff(m, c.tool) != c.off {
			t.Errorf("%s in %s: off is %t, %v", c.tool, c.mode, !c.off, err)
		}
	}
	if p.ToolTime("github") != time.Minute || p.ToolTime("new_task") != 0 {
		t.Error("the times differ")
	}
}

func TestCheckTools(t *testing.T) {
	for text, want := range map[string]string{
		"tools: {newtask: {off: true}}":            `did you mean "new_task"`,
		"tools: {attempt_completion: {off: true}}": `no tool "attempt_completion" to be limited`,
		"tools: {github: {off_in: [cod]}}":         "off_in",
		"tools: {github: {timeout: 1ms}}":          "at least 1s",
		"tools: {docs__search: {off: true}}":       "",
		"tools: {merge_sketch: {timeout: 1m}}":     "",
	} {
		_, err := ParseConfig("agent.yml", []byte(text))
		if (want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// A command that ran out of time asks, whatever else allows it, and its approval is for that
// time.
func TestMoreTimeIsAsked(t *testing.T) {
	yes := true
	p, err := New(Config{AutoApproveCommands: &yes, Commands: Commands{Allow: []string{"make"}}})
	if err != nil {
		t.Fatal(err)
	}
	m, err := ParseMode("code")
	if err != nil {
		t.Fatal(err)
	}
	a := Action{Kind: Execute, Command: "make test", Cwd: "."}
	before := p.Walled().Check(m, a)
	a.Longer = time.Hour
	after := p.Walled().Check(m, a)
	if before.Verdict != Allow || after.Verdict != Ask || !strings.Contains(after.Reasons[0].Text, "up to 1h0m0s") {
		t.Errorf("%+v, then %+v", before, after)
	}
	a.Longer++
	if p.Check(m, a).Digest == after.Digest || before.Digest == after.Digest {
		t.Error("the digest is the same for another time")
	}
}
