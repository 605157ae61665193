package work

import (
	"fmt"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/policy/longtest"
)

// The map of a repository is made once for what a workspace shows: nothing that is hidden is
// in it, and nothing that a workspace wrote. A fork gets none.
func TestChart(t *testing.T) {
	longtest.Leave(t)
	s := newSetUpTrial(t)
	files := map[string]string{}
	for i := range 120 {
		files[fmt.Sprintf("a%d.go", i)] = fmt.Sprintf("package a\n\nfunc f%d() { Shown(); Hidden() }\n", i)
	}
	files["shown.go"], files["hidden.go"], files[".agentignore"] = "package a\n\nfunc Shown() {}\n", "package a\n\nfunc Hidden() {}\n", "hidden.go\n"
	hides := s.commit(files)
	shows := s.commit(map[string]string{".agentignore": "\n"})
	e := s.engine()
	chartedFrom := func(commit, base string, foreign, write bool) string {
		t.Helper()
		j := s.job()
		j.RulesAt, j.Task.Base, j.Foreign = commit, commit, foreign
		at := session.NewState()
		at.Saved, at.Base = commit, commit
		ws, end, err := e.open(t.Context(), j, at, heldLayer{})
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := end(t.Context()); err != nil {
				t.Error(err)
			}
		}()
		if write {
			if err := ws.Write(t.Context(), "shown.go", []byte("package a\n\nfunc Planted() {}\n")); err != nil {
				t.Fatal(err)
			}
		}
		facts, err := e.facts(t.Context(), ws, j, commit, base)
		if err != nil {
			t.Fatal(err)
		}
		return facts.Charted
	}
	charted := func(commit string, foreign, write bool) string {
		t.Helper()
		return chartedFrom(commit, commit, foreign, write)
	}
	if got := charted(hides, true, false); got != "" {
		t.Errorf("a fork gets %q", got)
	}
	first := charted(hides, false, false)
	if !strings.Contains(first, "shown.go: Shown ") || strings.Contains(first, "idden") {
		t.Errorf("it is %q", first)
	}
	if got := charted(hides, false, true); got != first {
		t.Errorf("it is made anew: %q", got)
	}
	if got := charted(hides, true, false); got != "" {
		t.Errorf("a fork gets that of another: %q", got)
	}
	if got := charted(shows, false, false); !strings.Contains(got, "hidden.go: Hidden ") || !strings.Contains(got, "shown.go: Shown ") {
		t.Errorf("of another commit it is %q", got)
	}
	planted := s.commit(map[string]string{"shown.go": "package a\n\nfunc Planted() {}\n"})
	if got := chartedFrom(planted, shows, false, false); !strings.Contains(got, "shown.go: Shown ") {
		t.Errorf("a session that goes on has %q, not that of its first commit", got)
	}
	base := s.commit(map[string]string{"shown.go": "package a\n\nfunc Shown() {}\n"})
	if got := chartedFrom(planted, base, false, false); got == "" || strings.Contains(got, "Shown") {
		t.Errorf("of the later commit it is %q", got)
	}
	if got := charted(base, false, false); !strings.Contains(got, "shown.go: Shown ") {
		t.Errorf("the base has that of a session: %q", got)
	}
	for i := range maxRules {
		e.cfg.Bases.charts[fmt.Sprint(i)] = ""
	}
	if again := charted(s.commit(map[string]string{"b.go": "package a\n"}), false, false); again == "" || len(e.cfg.Bases.charts) > maxRules {
		t.Errorf("it is %q, and %d are remembered", again, len(e.cfg.Bases.charts))
	}
}
