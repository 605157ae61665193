package work

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/agent"
	"github.com/handrail-bot/handrail/agent/project"
	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/workspace"
)

// Limits of the words about a commit in a prompt, and of their memory.
const (
	maxKnownPlaces = 8   // places of errors, or changed files
	maxKnownFiles  = 200 // files with errors of one commit
)

// known holds findings of earlier work about a commit. Nothing is started to learn more.
type known struct {
	errors map[string][]int // lines with errors, by path
	tests  *session.TestRun // the newest run; nil means none
}

// contentKey identifies the part of a commit that a workspace shows.
func contentKey(ws place, commit string) string {
	return fmt.Sprintf("%q", append([]string{commit, ws.rules.Key, ws.layer}, ws.shows.Paths...)) //control:chart-of-what-is-shown
}

// learn changes the findings about a commit.
func (b *Bases) learn(key string, change func(*known)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	k := b.known[key]
	if k == nil {
		if len(b.known) >= maxRules {
			clear(b.known)
		}
		k = &known{errors: map[string][]int{}}
		b.known[key] = k
	}
	change(k)
}

// learning returns a function that asks as problems does, and remembers the problems that files have
// at the commit itself.
func (b *Bases) learning(key string, problems agent.Problems) agent.Problems {
	return func(ctx context.Context, q workspace.ProblemsQuery) ([]workspace.FileProblems, error) {
		list, err := problems(ctx, q)
		b.learn(key, func(k *known) {
			for _, f := range list {
				if !f.OfBase { //control:known-is-of-the-base
					continue
				}
				delete(k.errors, f.Path)
				for _, p := range f.Base {
					if p.Severity == 1 && (k.errors[f.Path] != nil || len(k.errors) < maxKnownFiles) {
						k.errors[f.Path] = append(k.errors[f.Path], p.Line)
					}
				}
			}
		})
		return list, err
	}
}

// knownWords returns lines for the prompt about the errors and the tests of a commit, "" if nothing bad
// is known.
func (b *Bases) knownWords(key string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	k := b.known[key]
	if k == nil {
		return ""
	}
	text, n := "", 0
	var places []string
	for _, name := range slices.Sorted(maps.Keys(k.errors)) {
		for _, line := range k.errors[name] {
			n++
			if project.Tellable(name) { //control:known-names
				places = append(places, fmt.Sprintf("%s:%d", name, line))
			}
		}
	}
	if n > 0 {
		text += fmt.Sprintf("\n- Errors at this commit, before any change: %d%s", n, namedPlaces(places, n))
	}
	if k.tests != nil && k.tests.Failed() {
		text += fmt.Sprintf("\n- Tests at this commit, before any change: `%s` failed", k.tests.Line)
	}
	return text
}

// changeWords returns a line for the prompt about the change so far, "" if there is none.
func changeWords(files []session.FileChange) string {
	var places []string
	added, removed := 0, 0
	for _, f := range files {
		added, removed = added+f.Added, removed+f.Removed
		if project.Tellable(f.Path) {
			places = append(places, fmt.Sprintf("%s +%d −%d", f.Path, f.Added, f.Removed))
		}
	}
	switch len(files) {
	case 0:
		return ""
	case 1:
		return "\n- Changed so far: 1 file" + namedPlaces(places, 1)
	}
	named := namedPlaces(places, len(files))
	return fmt.Sprintf("\n- Changed so far: %d files, +%d −%d%s", len(files), added, removed, named)
}

// namedPlaces names the first of n places in brackets.
func namedPlaces(places []string, n int) string {
	if len(places) == 0 {
		return ""
	}
	shown := places[:min(len(places), maxKnownPlaces)]
	more := ""
	if n > len(shown) {
		more = ", …"
	}
	return " (" + strings.Join(shown, ", ") + more + ")"
}
