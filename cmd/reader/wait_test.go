package reader_test

import (
	"strings"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/bot/ghapp/reads"
	"github.com/handrail-bot/handrail/cmd/reader"
	"github.com/handrail-bot/handrail/policy"
)

// TestEndOfAWait: a wait ends with words on why, and names what is green only where all is.
func TestEndOfAWait(t *testing.T) {
	green := reads.Check{Name: "test", App: "a", ID: 1, State: "success"}
	hangs := reads.Check{Name: "cla", State: "pending"}
	for _, tt := range []struct {
		all   []reads.Check
		waits bool
		want  string
		green string
	}{
		{[]reads.Check{green}, false, "checks of abc: 1 green, 0 failed, 0 still running\nchecks: green: test", "test"},
		{[]reads.Check{green, hangs}, false, "checks of abc: 1 green, 0 failed, 1 still running\nchecks: green: test\nstill running: cla\nmore: the wait ended after 2h0m0s: what still runs may never end. Go on without it, and say so at the end", ""},
		{[]reads.Check{green, hangs}, true, "checks of abc: 1 green, 0 failed, 1 still running\nchecks: green: test\nstill running: cla\nmore: a person said something meanwhile, so the wait ended", ""},
		{nil, false, "checks of abc: none, after 10m0s", ""},
	} {
		saw := ""
		w := reader.Wait{Limits: policy.CIFix{Wait: policy.Duration(2 * time.Hour)}, Green: func(_ string, names []string) { saw = strings.Join(names, " ") }}
		if got := told(reader.Told(w, "abc", tt.all, tt.waits)); got != tt.want || saw != tt.green {
			t.Errorf("%q, green %q; want %q, green %q", got, saw, tt.want, tt.green)
		}
	}
}
