package review

import (
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/agent/session"
)

// A finding is followed to its lines through the changes between two commits.
func TestFollow(t *testing.T) {
	const patch = "@@ -2,3 +2,4 @@ x\n a\n-b\n+B\n+C\n c\n@@ -10,0 +12,2 @@\n+p\n+q\n@@ -20,2 +22,0 @@\n-r\n-s"
	for name, tt := range map[string]struct{ line, end, wantLine, wantEnd int }{
		"above":               {1, 0, 1, 0},
		"context":             {2, 0, 2, 0},
		"removed":             {3, 0, 0, 0},
		"behind a hunk":       {4, 0, 5, 0},
		"between":             {9, 0, 10, 0},
		"before an insertion": {10, 0, 11, 0},
		"behind an insertion": {11, 0, 14, 0},
		"deleted":             {20, 21, 0, 0},
		"behind all":          {30, 31, 31, 32},
		"partly":              {2, 4, 2, 5},
	} {
		f := session.Finding{Path: "a.go", Line: tt.line, End: tt.end}
		got := follow(f, []change{{From: "x.go", To: "x.go", Patch: "@@ -1 +1,9 @@"}, {From: "a.go", To: "b.go", Patch: patch}})
		if got.Path != "b.go" || got.Line != tt.wantLine || got.End != tt.wantEnd {
			t.Errorf("%s: %s:%d-%d, want %d-%d", name, got.Path, got.Line, got.End, tt.wantLine, tt.wantEnd)
		}
	}
	f := session.Finding{Path: "c.go", Line: 7}
	if got := follow(f, nil); got != f {
		t.Errorf("a file without changes: %+v", got)
	}
}

// In one place a fault is one fault, however it is worded, and a line gets one comment.
func TestSamePlace(t *testing.T) {
	one := finding(5, "The sum is off by one")
	other := finding(5, "Nobody counts what comes last")
	if !same(one, other) {
		t.Error("other words on the same line count as another fault")
	}
	if far := finding(9, "Nobody counts what comes last"); same(one, far) {
		t.Error("other words on another line count as the same fault")
	}
	if gone := finding(0, "Nobody counts what comes last"); same(one, gone) || same(gone, finding(0, "x y z")) {
		t.Error("a finding whose lines are gone is in a place")
	}
	r := composed(input{Findings: []session.Finding{one, other}})
	if len(r.All()) != 1 {
		t.Errorf("the same lines are told %d times", len(r.All()))
	}
	r = composed(input{Findings: []session.Finding{finding(3, "The sum is off by one", to(4)), finding(4, "Nobody counts what comes last")}})
	if len(r.Comments) != 1 || len(r.Elsewhere) != 1 {
		t.Errorf("the line gets %d comments, and the summary %d findings", len(r.Comments), len(r.Elsewhere))
	}
}

// Findings below the wanted severity are not told.
func TestLeastSeverity(t *testing.T) {
	list := []session.Finding{finding(4, "Bad", high), finding(5, "Middling"), finding(22, "Worth a remark")}
	list[2].Severity = session.Low
	for least, want := range map[session.Severity]int{"": 3, session.Low: 3, session.Medium: 2, session.High: 1} {
		if got := len(composed(input{Findings: list, Least: least}).All()); got != want {
			t.Errorf("%s: %d findings, want %d", least, got, want)
		}
	}
}

func TestStanding(t *testing.T) {
	rows := []row{
		{Finding: finding(3, "Fixed | since"), Now: finding(0, ""), State: fixed, At: 12, Commit: "abc1234def"},
		{Finding: finding(5, "Wrong", high), Now: finding(8, ""), State: open, At: 13},
		{Finding: finding(6, "Doubtful", unsure), Now: finding(6, ""), State: open},
	}
	checks := []check{{Name: "build", Result: "passed"}, {Name: "lint", Result: "failed"}, {Name: "old", Result: "neutral"}}
	got := standing(rows, input{Checks: checks}, "0123456789abcdef", "https://h/o/r", 7)
	want := "**Review of this pull request** as of `0123456789`: 1 open, 1 not sure, 1 fixed\n\n| state | finding | place |\n|---|---|---|\n" +
		"| open | **High: Wrong.** | a.go:8 · https://h/o/r/pull/7#discussion_r13 |\n" +
		"| not sure | **Medium, not sure: Doubtful.** | a.go:6 |\n" +
		"| fixed in [`abc1234`](https://h/o/r/commit/abc1234def) | **Medium: Fixed \\| since.** | a.go:3 · https://h/o/r/pull/7#discussion_r12 |\n" +
		"\nChecks seen: failed: `lint`; passed: `build`.\n"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	many := make([]row, 300)
	for i := range many {
		many[i] = row{Finding: finding(i+1, "Wrong"), Now: finding(i+1, ""), State: open}
	}
	if text := standing(many, input{}, "c", "h", 1); strings.Count(text, "\n| open") != maxRows || !strings.Contains(text, "and 200 more") {
		t.Error("the table is not cut")
	}
}
