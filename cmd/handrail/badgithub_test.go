package main

import (
	"encoding/json"
	"flag"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/handrail-bot/handrail/bot/ghapp/ghtest/ghcheck"
)

var (
	badAll     = flag.Bool("bad.all", false, "tell each story once with each kind of broken answer on each route that it uses")
	badStories = flag.String("bad.stories", "", "tell only the stories that match this, in the long form")
	badFuzz    = flag.Int("bad.fuzz", 0, "tell this many stories with random broken answers in place of the long form")
	badSeed    = flag.Uint64("bad.seed", 1, "seed of bad.fuzz")
)

// badSample are the stories of the short form, each with the kinds of which it is told.
var badSample = map[string][]string{
	"serve_stop":   {"empty", "lacking"},
	"serve_called": {"null", "garbled", "cut"},
}

// line is GitHub's side of a bad line.
type line struct {
	mu    sync.Mutex
	met   map[string]int // answers, by route
	broke func(route string, n int) ghcheck.Break
}

func newLine(broke func(route string, n int) ghcheck.Break) *line {
	return &line{met: map[string]int{}, broke: broke}
}

func (l *line) choose(route string) ghcheck.Break {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.met[route]++
	return l.broke(route, l.met[route])
}

func (l *line) routes() (out []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for route := range l.met {
		out = append(out, route)
	}
	slices.Sort(out)
	return out
}

// tell tells a story over a bad line.
func (l *line) tell(t *testing.T, story string) {
	t.Helper()
	p := scriptParams(t, nil)
	setup := p.Setup
	p.Dir, p.Files = "", []string{filepath.Join("../../testdata/script", story+".txtar")}
	p.Setup = func(e *testscript.Env) error {
		err := setup(e)
		if s, ok := e.Values[stageKey{}].(*stage); ok {
			s.breaks = l.choose
		}
		return err
	}
	testscript.Run(t, p)
}

// TestBadGitHub: the stories end as they do, although GitHub's answers are broken: each once
// on each route in the short form, in all combinations with -bad.all (`make bad-github`).
func TestBadGitHub(t *testing.T) {
	leftToCI(t)
	t.Parallel()
	switch {
	case *badFuzz > 0:
		fuzzGitHub(t)
	case *badAll || long():
		badGitHubs(t)
	default:
		for story, kinds := range badSample {
			for _, kind := range kinds {
				t.Run(kind, func(t *testing.T) {
					t.Parallel()
					first := newLine(func(_ string, n int) ghcheck.Break {
						if n > 1 {
							return nil
						}
						return ghcheck.Breaks()[kind]
					})
					first.tell(t, story)
				})
			}
		}
	}
}

// onGitHub are the stories in which GitHub has a part.
func onGitHub(t *testing.T) (out []string) {
	t.Helper()
	files, err := filepath.Glob("../../testdata/script/serve_*.txtar")
	must(t, err)
	re, err := regexp.Compile(*badStories)
	must(t, err)
	for _, f := range files {
		name := strings.TrimSuffix(filepath.Base(f), ".txtar")
		if re.MatchString(name) {
			out = append(out, name)
		}
	}
	return out
}

// badGitHubs tells each story once with each kind of broken answer on each of its routes.
func badGitHubs(t *testing.T) {
	t.Helper()
	for _, story := range onGitHub(t) {
		whole := newLine(func(string, int) ghcheck.Break { return nil })
		t.Run(story, func(t *testing.T) { whole.tell(t, story) })
		for _, route := range whole.routes() {
			for kind, of := range ghcheck.Breaks() {
				t.Run(story+" "+kind+" "+route, func(t *testing.T) {
					t.Parallel()
					newLine(func(is string, n int) ghcheck.Break {
						if is != route || n > 1 {
							return nil
						}
						return of
					}).tell(t, story)
				})
			}
		}
	}
}

// fuzzGitHub tells random stories, in which each tenth answer is broken in a random way or
// lacks a random member.
func fuzzGitHub(t *testing.T) {
	t.Helper()
	rnd := rand.New(rand.NewPCG(*badSeed, 1))
	stories := onGitHub(t)
	for range *badFuzz {
		story, seed := stories[rnd.IntN(len(stories))], rnd.Uint64()
		t.Run(story, func(t *testing.T) {
			t.Parallel()
			draw := rand.New(rand.NewPCG(seed, 1))
			names := append(ghcheck.BreakNames(), "member", "member", "member")
			newLine(func(string, int) ghcheck.Break {
				if draw.IntN(10) > 0 {
					return nil
				}
				name := names[draw.IntN(len(names))]
				if name != "member" {
					return ghcheck.Breaks()[name]
				}
				pick := draw.Uint64()
				return func(_ http.Header, body []byte) ([]byte, bool) { return withoutOne(body, pick), false }
			}).tell(t, story)
		})
	}
}

// withoutOne returns an answer in JSON without one of its members, at any depth.
func withoutOne(body []byte, pick uint64) []byte {
	var top any
	if json.Unmarshal(body, &top) != nil {
		return body
	}
	var holders []map[string]any
	var look func(v any)
	look = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			if len(v) > 0 {
				holders = append(holders, v)
			}
			for _, sub := range v {
				look(sub)
			}
		case []any:
			for _, sub := range v {
				look(sub)
			}
		}
	}
	look(top)
	if len(holders) == 0 {
		return body
	}
	of := holders[0]
	if pick%2 == 1 {
		of = holders[pick/2%uint64(len(holders))]
	}
	var names []string
	for name := range of {
		names = append(names, name)
	}
	slices.Sort(names)
	delete(of, names[pick/2%uint64(len(names))])
	out, err := json.Marshal(top)
	if err != nil {
		return body
	}
	return out
}
