package main

import (
	"errors"
	"fmt"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"
)

// solvedAtLeast is how many of the first faults, and of those in the short form, bad
// models mend at a rate of mistakes in 100 turns. They are told by their seed, so
// fewer means that the program leads them worse.
var solvedAtLeast = map[int]struct{ first, short int }{0: {10, 1}, 10: {10, 1}, 30: {10, 1}}

// measuredFirst is of how many faults the figures were measured.
const measuredFirst = 10

// Models that make the mistakes of small ones still mend what they know how to mend,
// and no false "done" of theirs is believed.
func TestBadModels(t *testing.T) {
	if long() {
		fetchLibs(t)
	}
	for _, rate := range []int{0, 10, 30} {
		if *successFlags.rate >= 0 && rate != *successFlags.rate {
			continue
		}
		t.Run(fmt.Sprint(rate), func(t *testing.T) {
			t.Parallel()
			var all standing
			first := 0 // solved, of those that figures are of
			for _, f := range exercises(t) {
				if *successFlags.tasks > 0 && all.tried == *successFlags.tasks || !long() && !f.Short && *successFlags.only == "" || !strings.Contains(f.Name, *successFlags.only) {
					continue
				}
				l, err := f.lib(t.Context())
				if errors.Is(err, errNotHere) {
					t.Logf("%s: %v", f.Name, err)
					continue
				}
				must(t, err)
				s, made := playBad(t, f, l, rate)
				all.add(s)
				if all.tried <= measuredFirst {
					first = all.solved
				}
				t.Logf("%-22s %s\n\t%s %s", f.Name, s, strings.Join(made, ", "), oneLine(s.Reason))
			}
			t.Log("\n" + modelsHead + "\n" + all.row(badName(rate), "llmtest 0.17.4", "make models-bad"))
			least := solvedAtLeast[rate]
			want := least.short
			if long() {
				want = least.first
			}
			if *successFlags.only == "" && *successFlags.seed == 1 && first < want {
				t.Errorf("%d %%: solved %d of %d, want %d", rate, first, min(all.tried, measuredFirst), want)
			}
			if all.believed > 0 {
				t.Errorf("%d %%: %d false done", rate, all.believed)
			}
		})
	}
}

func oneLine(s string) string { return strings.ReplaceAll(s, "\n", " ") }

func playBad(t *testing.T, f exercise, l lib, rate int) (score, []string) {
	t.Helper()
	planted, err := f.plant(l)
	must(t, err)
	m := newBadModel(f, planted, l.test, rate, uint64(*successFlags.seed))
	server := httptest.NewServer(m)
	defer server.Close()
	at, err := url.Parse(server.URL)
	must(t, err)
	s := contest{model: badSpec.Name, server: at, workspace: "local", wall: 3 * time.Minute}.play(t, f, l)
	m.mu.Lock()
	defer m.mu.Unlock()
	return s, m.made
}

func badName(rate int) string { return fmt.Sprintf("bad model, %d %%", rate) }
