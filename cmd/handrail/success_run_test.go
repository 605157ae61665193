package main

import (
	"errors"
	"fmt"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/policy/longtest"
)

// badModels are what is played: models that spoil so many of 100 turns, and one that
// has no calls of its own and prints them. Of the first faults, and of those in the
// short form, they mend at least so many. They are told by their seed, so fewer means
// that the program leads them worse.
var badModels = []badRate{{0, false, 42, 1}, {10, false, 42, 1}, {30, false, 42, 1}, {60, false, 42, 1}, {30, true, 42, 1}}

type badRate struct {
	rate         int
	text         bool
	first, short int
}

// measuredFirst is of how many faults the figures were measured.
const measuredFirst = 42

// Models that make the mistakes of small ones still mend what they know how to mend,
// and no false "done" of theirs is believed.
func TestBadModels(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	if longtest.Long() {
		fetchLibs(t)
	}
	program := buildHandrail(t)
	for _, bad := range badModels {
		if *successFlags.rate >= 0 && bad.rate != *successFlags.rate {
			continue
		}
		name := badName(bad.rate, bad.text)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var all standing
			first := 0 // solved, of those that figures are of
			for _, f := range exercises(t) {
				if *successFlags.tasks > 0 && all.tried == *successFlags.tasks || !longtest.Long() && !f.Short && *successFlags.only == "" || !strings.Contains(f.Name, *successFlags.only) {
					continue
				}
				l, err := f.lib(t.Context())
				if errors.Is(err, errNotHere) {
					t.Logf("%s: %v", f.Name, err)
					continue
				}
				must(t, err)
				s, made := playBad(t, program, f, l, bad)
				all.add(s)
				if all.tried <= measuredFirst {
					first = all.solved
				}
				t.Logf("%-22s %s\n\t%s %s", f.Name, s, strings.Join(made, ", "), oneLine(s.Reason))
			}
			t.Log("\n" + modelsHead + "\n" + all.row(name, "llmtest 0.17.4", "make models-bad"))
			want := bad.short
			if longtest.Long() { // of those that are here, as many may fail as of all
				want = bad.first - measuredFirst + min(all.tried, measuredFirst)
			}
			if *successFlags.only == "" && *successFlags.seed == 1 && first < want {
				t.Errorf("%s: solved %d of %d, want %d", name, first, min(all.tried, measuredFirst), want)
			}
			if all.believed > 0 {
				t.Errorf("%s: %d false done", name, all.believed)
			}
		})
	}
}

func oneLine(s string) string { return strings.ReplaceAll(s, "\n", " ") }

func playBad(t *testing.T, program string, f exercise, l lib, bad badRate) (score, []string) {
	t.Helper()
	planted, err := f.plant(l)
	must(t, err)
	m := newBadModel(f, planted, l.test, bad.rate, uint64(*successFlags.seed))
	m.spec.Tools = !bad.text
	server := httptest.NewServer(m)
	defer server.Close()
	at, err := url.Parse(server.URL)
	must(t, err)
	s := contest{program: program, model: m.spec.Name, server: at, workspace: "local", wall: patience}.play(t, f, l)
	m.mu.Lock()
	defer m.mu.Unlock()
	return s, m.made
}

func badName(rate int, text bool) string {
	if text {
		return fmt.Sprintf("bad model that prints its calls, %d %%", rate)
	}
	return fmt.Sprintf("bad model, %d %%", rate)
}
