package main

import (
	"encoding/json"
	"flag"
	"fmt"
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
	"github.com/handrail-bot/handrail/policy/longtest"
)

var (
	badAll     = flag.Bool("bad.all", false, "tell each story once with each kind of broken answer, once on each route that it uses")
	badAlone   = flag.Bool("bad.alone", false, "tell each story anew for each route, with bad.all")
	badStories = flag.String("bad.stories", "", "tell only the stories that match this, in the long form")
	badKinds   = flag.String("bad.kinds", "", "tell them only with the kinds of broken answers that match this")
	badPart    = flag.String("bad.part", "1/1", "tell only this part of the stories in the long form: 3/20 is the third of 20")
	badDone    = flag.String("bad.done", "", "file of what passed; it is not told again")
	badFuzz    = flag.Int("bad.fuzz", 0, "tell this many stories with random broken answers in place of the long form")
	badSeed    = flag.Uint64("bad.seed", 1, "seed of bad.fuzz")
)

// badSample are the stories of the short form, each with the kinds of which it is told.
var badSample = map[string][]string{
	"serve_stop":   {"empty", "lacking"},
	"serve_called": {"null", "garbled", "cut"},

	"serve_action_clock": {"lacking"},
	"serve_ready_green":  {"empty"},
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

// TestBadGitHub: the stories end as they do, although GitHub's answers are broken, each once
// on each route: some of them in the short form, all with -bad.all (`make bad-github`).
func TestBadGitHub(t *testing.T) {
	longtest.Leave(t)
	t.Parallel()
	switch {
	case *badFuzz > 0:
		fuzzGitHub(t)
	case *badAlone:
		badGitHubs(t)
	case *badAll || longtest.Long():
		passed, err := resultsIn[[]string](*badDone)
		must(t, err)
		kinds, err := regexp.Compile(*badKinds)
		must(t, err)
		names := ghcheck.BreakNames()
		for round := range names { // all stories and all kinds have their turn in each round
			t.Run(fmt.Sprint("round ", round+1), func(t *testing.T) {
				for i, story := range onGitHub(t) {
					if kind := names[(round+i)%len(names)]; kinds.MatchString(kind) {
						firstOfEach(kind).tellUnlessPassed(t, passed, story, kind)
					}
				}
			})
		}
	default:
		for story, kinds := range badSample {
			for _, kind := range kinds {
				t.Run(kind, func(t *testing.T) {
					t.Parallel()
					firstOfEach(kind).tell(t, story)
				})
			}
		}
	}
}

// onGitHub are the stories in which GitHub has a part.
func onGitHub(t *testing.T) (out []string) {
	t.Helper()
	var part, parts int
	if n, err := fmt.Sscanf(*badPart, "%d/%d", &part, &parts); err != nil || n != 2 || part < 1 || part > parts {
		t.Fatalf("-bad.part=%s: want a part such as 3/20", *badPart)
	}
	files, err := filepath.Glob("../../testdata/script/serve_*.txtar")
	must(t, err)
	re, err := regexp.Compile(*badStories)
	must(t, err)
	for i, f := range files {
		name := strings.TrimSuffix(filepath.Base(f), ".txtar")
		if re.MatchString(name) && i%parts == part-1 {
			out = append(out, name)
		}
	}
	return out
}

// firstOfEach breaks the first answer on each route.
func firstOfEach(kind string) *line {
	return newLine(func(_ string, n int) ghcheck.Break {
		if n > 1 {
			return nil
		}
		return ghcheck.Breaks()[kind]
	})
}

// TestLostRewording: the answer to an edit of the pull request is lost, and a maintainer changes the
// title and asks for more before GitHub tells of that edit. The rest of the text is the bot's still.
func TestLostRewording(t *testing.T) {
	longtest.Leave(t)
	t.Parallel()
	left := 0
	newLine(func(route string, n int) ghcheck.Break {
		switch method, pull := strings.CutSuffix(route, " /repos/{owner}/{repo}/pulls/{pull_number}"); {
		case pull && method == http.MethodPatch && n == 1:
			left = 8
		case pull && method == http.MethodGet && left > 0:
			left--
		default:
			return nil
		}
		return ghcheck.Breaks()["lacking"]
	}).tell(t, "serve_pull_text")
}

// badGitHubs tells each story once with each kind of broken answer on each of its routes alone. The
// result of a story is its routes.
func badGitHubs(t *testing.T) {
	t.Helper()
	passed, err := resultsIn[[]string](*badDone)
	must(t, err)
	for _, story := range onGitHub(t) {
		routes := passed.was[story]
		if routes == nil {
			whole := newLine(func(string, int) ghcheck.Break { return nil })
			if t.Run(story, func(t *testing.T) { whole.tell(t, story) }) {
				routes = whole.routes()
				must(t, passed.keep(story, routes))
			}
		}
		for _, route := range routes {
			for kind, of := range ghcheck.Breaks() {
				first := newLine(func(is string, n int) ghcheck.Break {
					if is != route || n > 1 {
						return nil
					}
					return of
				})
				first.tellUnlessPassed(t, passed, story, kind+" "+route)
			}
		}
	}
}

// tellUnlessPassed tells a story over a bad line, unless that passed in an earlier run.
func (l *line) tellUnlessPassed(t *testing.T, passed results[[]string], story, how string) {
	t.Helper()
	name := story + " " + how
	if _, did := passed.was[name]; did {
		return
	}
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		t.Cleanup(func() {
			if !t.Failed() {
				must(t, passed.keep(name, nil))
			}
		})
		l.tell(t, story)
	})
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
