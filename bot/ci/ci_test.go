package ci_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/handrail-bot/handrail/bot/ci"
	"github.com/handrail-bot/handrail/bot/ghapp/reads"
	"github.com/handrail-bot/handrail/policy"
)

var noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

// run is a check run "NAME STATE [SUITE]" that ran in a minute of its own.
func run(id int, text string) reads.Check {
	c := reads.Check{App: "github-actions", ID: int64(id), Suite: 1, Started: noon.Add(time.Duration(id) * time.Minute)}
	if _, err := fmt.Sscan(text, &c.Name, &c.State, &c.Suite); err != nil && c.State == "" {
		panic(text)
	}
	if !c.Running() {
		c.Completed = c.Started.Add(30 * time.Second)
	}
	return c
}

func runs(text string) (out []reads.Check) {
	for i, t := range strings.Split(text, ", ") {
		if t != "" {
			out = append(out, run(i+1, t))
		}
	}
	return out
}

// TestDecide: which checks bring a session back, and which do not.
func TestDecide(t *testing.T) {
	for _, tt := range []struct {
		name, head, base string
		attempts, ofHead int
		limits           policy.CIFix
		want             string // what is to be mended, then "used up" or "not again"
	}{
		{"one fails", "test failure, lint success", "", 0, 0, policy.CIFix{}, "test"},
		{"two fail", "test failure, lint timed_out, x startup_failure", "", 0, 0, policy.CIFix{}, "lint test x"},
		{"others run", "test failure, lint in_progress", "", 0, 0, policy.CIFix{}, ""},
		{"all are green", "test success, lint neutral, docs skipped", "", 0, 0, policy.CIFix{}, ""},
		{"cancelled, or a person's to decide", "test cancelled, lint action_required, x stale", "", 0, 0, policy.CIFix{}, ""},
		{"it fails on the base", "test failure, lint failure", "test failure", 0, 0, policy.CIFix{}, "lint"},
		{"it failed on the base once", "test failure", "test failure, test success", 0, 0, policy.CIFix{}, "test"},
		{"green when it ran again", "test failure, test success", "", 0, 0, policy.CIFix{}, ""},
		{"green in the end, in another suite", "test failure 1, test success 2", "", 0, 0, policy.CIFix{}, ""},
		{"green at first", "test success, test failure", "", 0, 0, policy.CIFix{}, ""},
		{"twice red", "test failure, test failure", "", 0, 0, policy.CIFix{}, "test"},
		{"it runs again", "test failure, test queued", "", 0, 0, policy.CIFix{}, ""},
		{"no check", "", "", 0, 0, policy.CIFix{}, ""},
		{"three times is enough", "test failure", "", 3, 0, policy.CIFix{}, "test used up"},
		{"as configured", "test failure", "", 1, 0, policy.CIFix{Attempts: 1}, "test used up"},
		{"more, as configured", "test failure", "", 4, 0, policy.CIFix{Attempts: 5}, "test"},
		{"once for a commit", "test failure", "", 1, 1, policy.CIFix{}, "test not again"},
		{"twice for a commit", "test failure", "", 1, 1, policy.CIFix{PerHead: 2}, "test"},
	} {
		v := ci.Decide(ci.Facts{Head: runs(tt.head), Base: runs(tt.base), Attempts: tt.attempts, OfHead: tt.ofHead, Limits: tt.limits})
		var got []string
		for _, c := range v.Failed {
			got = append(got, c.Name)
		}
		if len(v.Running) > 0 {
			got = nil
		}
		switch {
		case v.UsedUp:
			got = append(got, "used up")
		case len(got) > 0 && !v.Mend:
			got = append(got, "not again")
		}
		if s := strings.Join(got, " "); s != tt.want || v.Mend && v.UsedUp {
			t.Errorf("%s: %q, want %q: %+v", tt.name, s, tt.want, v)
		}
	}
	for after, want := range map[time.Duration]bool{time.Hour: false, 7 * time.Hour: true} { // a check that never ends hides no other
		for _, hangs := range []string{"test failure, lint in_progress", "test failure, cla pending"} {
			v := ci.Decide(ci.Facts{Head: runs(hangs), Now: noon.Add(after)})
			if v.Mend != want || len(v.Stuck) > 0 != want || len(v.Green) > 0 {
				t.Errorf("%s after %s: %+v", hangs, after, v)
			}
		}
	}
	both := runs("build failure 1, build success 2")
	both[1].Started, both[1].Completed = both[0].Started, both[0].Completed
	if v := ci.Decide(ci.Facts{Head: both}); !v.Mend {
		t.Errorf("two jobs of one name that ran side by side: %+v", v)
	}
}

// TestWaits: nobody waits for ever.
func TestWaits(t *testing.T) {
	for _, tt := range []struct {
		head  string
		since time.Duration
		wait  time.Duration
		want  bool
	}{
		{"", time.Minute, 0, true}, {"", 10 * time.Minute, 0, false}, {"", time.Minute, time.Minute, false}, {"", 10 * time.Minute, time.Hour, false},
		{"test queued", time.Hour, 0, true}, {"test queued", 7 * time.Hour, 0, false}, {"test failure", 0, 0, false}, {"test failure, lint pending", 0, 0, true},
		{"test queued", 20 * time.Minute, 10 * time.Minute, false}, {"test queued", 5 * time.Minute, 10 * time.Minute, true},
	} {
		f := ci.Facts{Head: runs(tt.head), Now: noon.Add(tt.since), Limits: policy.CIFix{Wait: policy.Duration(tt.wait)}}
		if got := ci.Waits(f, noon); got != tt.want {
			t.Errorf("%q after %s: waits %t", tt.head, tt.since, got)
		}
	}
}

// TestWaitsForWhatBeginsAnew: checks that begin again and again end no later.
func TestWaitsForWhatBeginsAnew(t *testing.T) {
	for after, want := range map[time.Duration]bool{5 * time.Hour: true, 6 * time.Hour: false} {
		anew := runs("test in_progress")
		anew[0].Started = noon.Add(after - time.Minute)
		if got := ci.Waits(ci.Facts{Head: anew, Now: noon.Add(after)}, noon); got != want {
			t.Errorf("after %s: waits %t", after, got)
		}
	}
}

// TestExcerpt: what matters stands where the step failed, not at the end of the log.
func TestExcerpt(t *testing.T) {
	filler := func(what string, n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "2026-01-01T00:00:00.0000000Z %s %d\n", what, i)
		}
		return b.String()
	}
	stamp := "2026-01-01T00:00:00.0000000Z "
	for _, tt := range []struct {
		name, log string
		has, not  []string
	}{
		{"a step in the middle", stamp + "##[group]Run make build\n" + filler("built", 500) + stamp + "##[endgroup]\n" + stamp + "##[group]Run go test ./...\n" + filler("ok package", 2000) +
			stamp + "--- FAIL: TestSum (0.00s)\n" + stamp + "    sum_test.go:9: got 3, want 4\n" + filler("ok more", 2000) + stamp + "FAIL\n" + stamp + "##[error]Process completed with exit code 1.\n" +
			stamp + "##[group]Run actions/upload\n" + filler("cleaning up", 3000),
			[]string{"--- FAIL: TestSum", "got 3, want 4", "exit code 1", "lines …]"}, []string{"cleaning up", "built", "2026-01-01T"}},
		{"no runner", filler("compiling", 900) + "src/a.c:3: error: expected ';'\nmake: *** [a.o] Error 1\n" + filler("bye", 900), []string{"expected ';'", "make: ***"}, []string{"bye"}},
		{"nothing says so", filler("line", 1000), []string{"line 999"}, nil},
		{"colours and bytes that are no text", "\x1b[31mE   AssertionError: 1 != 2\x1b[0m\r\n\xff\r\n##[error]Process completed with exit code 2.\r\n", []string{"E   AssertionError: 1 != 2\n"}, []string{"\x1b", "\r"}},
		{"one very long line", strings.Repeat("é", 100_000) + "\n##[error]Process completed with exit code 2.", []string{"exit code 2"}, nil},
		{"empty", "", nil, nil},
		{"the first that failed", stamp + "##[group]Run a\n" + stamp + "first wrong\n" + stamp + "##[error]Process completed with exit code 3.\n" + stamp + "##[group]Run b\nsecond\n##[error]Process completed with exit code 1.\n", []string{"first wrong"}, []string{"second"}},
	} {
		excerpt(t, tt.name, tt.log, 4000, tt.has, tt.not)
	}
	if diff := cmp.Diff("a\nb", ci.Excerpt("a\nb\n", 100)); diff != "" {
		t.Error(diff)
	}
}
