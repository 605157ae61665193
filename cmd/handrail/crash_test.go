package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/agent/llm/llmcheck"
	"github.com/handrail-bot/handrail/agent/llm/llmtest"
	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/ghapp/ghtest"
	"github.com/handrail-bot/handrail/bot/ghapp/ghtest/ghcheck"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/bot/thread"
	"github.com/handrail-bot/handrail/cmd/config"
	"github.com/handrail-bot/handrail/cmd/records"
	"github.com/handrail-bot/handrail/policy/longtest"
)

var (
	crashSteps  = flag.Int("crash.steps", form(30, 12), "kill at every n-th step of a story; 1 for every step")
	crashBrief  = flag.Bool("crash.brief", false, "at the steps, a story that ends without a further wish")
	crashRandom = flag.Int("crash.random", form(3, 20), "how many kills at random times")
	crashLimits = flag.Bool("crash.limits", false, "also 5 % secondary rate limits, which take a second each")
)

// eachEnd has each end of a run told in a comment of its own, which a kill must not lose or
// repeat.
const eachEnd = "comments: {after: 1ms}\n"

const crashLease = 600 * time.Millisecond

// crashModel answers by what it heard last, so that a turn that a kill cut off
// is asked again. It makes a call again that ended with the workspace.
const crashModel = `
model: {name: m, tools: true, context: 32768}
select: by-conditions
forget: true
turns:
- {when: {last_contains: add a note}, repeat: true, optional: true, calls: [` + crashNote + `]}
- {when: {tool_result_contains: call of write_file began}, repeat: true, optional: true, calls: [` + crashNote + `]}
- {when: {tool_result_contains: notes.txt}, repeat: true, optional: true, say: "The note is there. [TASK_COMPLETE]"}
- {when: {turn: 0}, repeat: true, optional: true, calls: [` + crashEdit + `]}
- {when: {tool_result_contains: call of edit_file began}, repeat: true, optional: true, calls: [` + crashEdit + `]}
- {when: {tool_result_contains: call of run_terminal_command began}, repeat: true, optional: true, calls: [` + crashRun + `]}
- {when: {tool_result_contains: greet.sh}, repeat: true, optional: true, calls: [` + crashRun + `]}
- {when: {contains: rm -rf build}, repeat: true, optional: true, say: "The greeting is right now. [TASK_COMPLETE]"}
`

const (
	crashEdit = `{name: edit_file, arguments: {path: greet.sh, old_string: Helo, new_string: Hello}}`
	crashRun  = `{name: run_terminal_command, arguments: {command: "` + crashCommand + `"}}`
	crashNote = `{name: write_file, arguments: {path: notes.txt, content: "noted\n"}}`
)

// crashStage is GitHub and a model in this process, for one story after the
// other.
type crashStage struct {
	gh    *ghcheck.Server
	model *llmtest.Server
	dir   string
	told  int // stories
}

// crashWorld is one story: a repository, and the server in another process
// that is killed and started again.
type crashWorld struct {
	gh     *ghcheck.Server
	repo   string
	dir    string
	child  childConfig
	cmd    *exec.Cmd
	exited chan struct{}
	log    syncBuffer
	issue  thread.Ref
	bot    string // account of the bot, "" for the App
	at     int64  // step that the server dies at, 0 for none
	kills  int
	keep   bool // the directory, after the end
	brief  bool // the story has no further wish
	stops  int  // servers that were stopped and continued
	again  int  // commands that a kill cut off and that ran again, with a new yes
	asks   []string
}

func newCrashStage(t *testing.T) *crashStage {
	t.Helper()
	return newScriptedStage(t, crashModel)
}

// newScriptedStage has a model of another script.
func newScriptedStage(t *testing.T, model string) *crashStage {
	t.Helper()
	script, err := llmtest.ParseScript([]byte(model))
	must(t, err)
	g := &crashStage{dir: memoryDir(t)}
	g.model, err = llmtest.Start(script, llmcheck.Dialect)
	must(t, err)
	t.Cleanup(g.model.Close)
	g.gh, err = ghcheck.New(ghtest.Config{Dir: memoryDir(t)})
	must(t, err)
	must(t, g.gh.Start())
	t.Cleanup(func() { must(t, g.gh.Close()) })
	g.gh.AddUser("you", "write")
	return g
}

func (g *crashStage) world(t *testing.T, faults ghcheck.Faults) *crashWorld {
	t.Helper()
	g.told++
	name := fmt.Sprintf("app%d", g.told)
	dir, err := os.MkdirTemp(g.dir, "world") //nolint:usetesting // it goes when its story has ended, not with the test
	must(t, err)
	w := &crashWorld{gh: g.gh, repo: "team/" + name, dir: dir}
	steps := filepath.Join(w.dir, "steps")
	must(t, os.Mkdir(steps, 0o700))
	_, err = w.gh.AddRepo("team", name, ghtest.Source{Files: map[string]string{
		"greet.sh": "echo Helo\n", "build/out": "old\n", "step.sh": crashScript(steps), ".github/agent.yml": eachEnd,
	}})
	must(t, err)
	t.Cleanup(func() {
		if w.cmd != nil { // a story that failed
			w.kill()
		}
	})
	addr := steadyAddress(t)
	app := w.gh.App()
	w.child = childConfig{
		Listen: addr, Data: filepath.Join(w.dir, "bot"), API: w.gh.URL(), AppID: app.ID, Key: app.Key, Secret: app.WebhookSecret,
		Model: g.model.URL(), Trace: filepath.Join(w.dir, "died"), Steps: steps,
	}
	w.gh.SetWebhook("http://" + addr + "/webhook")
	w.gh.SetFaults(faults)
	return w
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// until waits for a state of the thread; restart is called whenever the
// server has died.
func (w *crashWorld) until(t *testing.T, restart func(), ok func(ghtest.Thread) bool) {
	t.Helper()
	end := time.Now().Add(patience)
	for {
		ctx, cancel := context.WithDeadline(t.Context(), end)
		go func(exited chan struct{}) {
			select {
			case <-exited:
				cancel()
			case <-ctx.Done():
			}
		}(w.exited)
		err := w.gh.Wait(ctx, func(*ghtest.Server) bool { return ok(w.gh.Thread(w.issue)) })
		cancel()
		if err == nil {
			return
		}
		select {
		case <-w.exited:
		default:
			if w.cmd != nil && w.lease() > w.child.TTL {
				w.kill()
				end = time.Now().Add(patience)
				break
			}
			died, _ := os.ReadFile(w.child.Trace)
			t.Fatalf("the story got stuck after dying at %q:\n%s\nserver:\n%s", died, w.thread(), w.log.String())
		}
		restart()
	}
}

// tell plays the story: a task, an approval, and a further wish.
func (w *crashWorld) tell(t *testing.T, restart func()) {
	t.Helper()
	var err error
	w.issue, err = w.gh.OpenIssue(w.repo, "you", "The greeting is wrong", "It says Helo.")
	must(t, err)
	_, err = w.gh.Comment(w.issue, "you", "/agent fix the greeting")
	must(t, err)
	w.approveUntilDone(t, restart, 2)
	if w.brief {
		return
	}
	_, err = w.gh.Comment(w.issue, "you", "/agent also add a note")
	must(t, err)
	w.approveUntilDone(t, restart, 3)
}

// approveUntilDone says yes to every request, and waits for a session that is
// done with so many commits. A command that a kill cut off is asked for again.
func (w *crashWorld) approveUntilDone(t *testing.T, restart func(), commits int) {
	t.Helper()
	for {
		fresh := ""
		w.until(t, restart, func(th ghtest.Thread) bool {
			for _, c := range w.own(th, "ask-") {
				_, rest, _ := strings.Cut(c.Body, "Approval `")
				if id, _, _ := strings.Cut(rest, "`"); !slices.Contains(w.asks, id) {
					fresh = id
					return true
				}
			}
			p := w.own(th, "progress-")
			made := 0
			for _, c := range p {
				made += strings.Count(c.Body, "/commit/")
			}
			return made >= commits && strings.Contains(p[len(p)-1].Body, "**done**") &&
				strings.Contains(p[len(p)-1].Body, "Pull request: #") && len(w.own(th, "final-")) >= len(p)
		})
		if fresh == "" {
			return
		}
		w.asks = append(w.asks, fresh)
		_, err := w.gh.Comment(w.issue, "you", "/agent approve "+fresh)
		must(t, err)
	}
}

// crashTally adds up what went wrong.
type crashTally struct {
	mu                      sync.Mutex
	kills, lost, duplicates int

	stories, again, faults int
}

func (c *crashTally) add(w *crashWorld, lost, duplicates []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kills += w.kills
	c.stories++
	c.again += w.again
	c.faults += w.gh.FaultsInjected()
	c.lost += len(lost)
	c.duplicates += len(duplicates)
}

func crashFaults(seed uint64) ghcheck.Faults {
	f := ghcheck.Faults{Seed: seed, BadGateway: 0.05, Lost: 0.10, Late: 0.05, LateBy: 30 * time.Millisecond}
	if *crashLimits {
		f.Secondary = 0.05
	}
	return f
}

// TestCrash kills the real server with SIGKILL at numbered steps of a story
// and at random times, on a GitHub that fails, and checks what is there after
// the recovery. The long form is `make crash`.
func TestCrash(t *testing.T) {
	longtest.Leave(t)
	needProcesses(t)
	tally := &crashTally{}
	t.Run("steps", func(t *testing.T) { crashAtSteps(t, tally) })
	t.Run("random", func(t *testing.T) { crashAtRandom(t, tally) })
	t.Logf("crash: %d stories, %d answers of GitHub failed or were lost, %d commands were cut off and ran again from the state before",
		tally.stories, tally.faults, tally.again)
	line := fmt.Sprintf("crash: kills %d, lost %d, duplicates %d", tally.kills, tally.lost, tally.duplicates)
	_, _ = io.WriteString(os.Stdout, line+"\n")
}

// crashWorlds is how many stories run at a time; they mostly wait.
const crashWorlds = 8

func crashAtSteps(t *testing.T, tally *crashTally) {
	var next atomic.Int64
	var over atomic.Bool
	for range crashWorlds {
		t.Run("world", func(t *testing.T) {
			t.Parallel()
			stage := newCrashStage(t)
			for !over.Load() && !t.Failed() {
				n := 1 + (next.Add(1)-1)*int64(*crashSteps)
				w := stage.world(t, crashFaults(1)) // the same faults for each, or the numbers would mean other steps
				w.at, w.brief = n, *crashBrief
				w.start(t, n)
				w.tell(t, func() { w.kills++; w.start(t, 0) })
				w.finish(t, tally)
				if w.kills == 0 {
					over.Store(true)
				}
			}
		})
	}
}

func crashAtRandom(t *testing.T, tally *crashTally) {
	var left atomic.Int64
	left.Store(int64(*crashRandom))
	var seed atomic.Uint64
	for range crashWorlds {
		t.Run("world", func(t *testing.T) {
			t.Parallel()
			stage := newCrashStage(t)
			for left.Load() > 0 && !t.Failed() {
				n := seed.Add(1)
				w := stage.world(t, crashFaults(n))
				w.storm(t, rand.New(rand.NewPCG(n, 7)), &left)
				w.finish(t, tally)
			}
		})
	}
}

// storm tells the story while the server is killed again and again.
func (w *crashWorld) storm(t *testing.T, r *rand.Rand, left *atomic.Int64) {
	t.Helper()
	var timer *time.Timer
	start := func() {
		w.start(t, 0)
		// The pauses grow, or a story of many steps would never end.
		wait := time.Duration(r.Float64() * float64(100*time.Millisecond) * float64(2+w.kills))
		proc := w.cmd.Process
		timer = time.AfterFunc(wait, func() {
			if left.Add(-1) >= 0 {
				_ = proc.Kill() // or it has ended
			}
		})
	}
	start()
	w.tell(t, func() { w.kills++; start() })
	timer.Stop() // a kill that comes just now is seen by finish
}

// settled waits until the server itself takes the session for done, with
// nothing more to write and nobody at work: what it shows comes before what it notes.
func (w *crashWorld) settled(ctx context.Context) error {
	s, err := records.Open(ctx, config.Server{Data: w.child.Data, Database: w.child.Database}, logger(&w.log, "error"))
	if err != nil {
		return err
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		row, err := s.Sessions.ByThread(ctx, w.issue.Key())
		var open []store.Intent
		if err == nil {
			open, err = s.Intents.Open(ctx, row.ID)
		}
		var held store.Lease
		if err == nil {
			held, err = s.Leases.Lease(ctx, w.issue.Key())
		}
		if err != nil || row.State == session.PhaseDone && len(open) == 0 && held.Owner == "" && held.Attempts == 0 {
			return errors.Join(err, s.Close())
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return errors.Join(ctx.Err(), s.Close())
		}
	}
}

// finish stops the server, and looks at what is on GitHub and in the store. A
// server that dies on the way is started again.
func (w *crashWorld) finish(t *testing.T, tally *crashTally) {
	t.Helper()
	restart := func() { w.kills++; w.start(t, 0) }
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	w.living(ctx, t, restart, w.settled)
	w.living(ctx, t, restart, w.gh.Flush)
	must(t, w.gh.Settled(ctx))
	for !w.stop(t) {
		restart()
		w.living(ctx, t, restart, w.settled)
	}
	must(t, w.gh.Settled(ctx))
	lost, duplicates := w.judge(t)
	died, _ := os.ReadFile(w.child.Trace)
	for _, text := range append(lost, duplicates...) {
		t.Errorf("died at %q (step %d, %d kills): %s\n%s", died, w.at, w.kills, text, w.thread())
	}
	if t.Failed() {
		t.Logf("server:\n%s", w.log.String())
	}
	w.cmd = nil
	if !t.Failed() && !w.keep {
		must(t, os.RemoveAll(w.dir))
	}
	tally.add(w, lost, duplicates)
}

// living calls f until it succeeds, and starts the server again when it has
// died meanwhile.
func (w *crashWorld) living(ctx context.Context, t *testing.T, restart func(), f func(context.Context) error) {
	t.Helper()
	for {
		alive, cancel := context.WithCancel(ctx)
		go func(exited chan struct{}) {
			select {
			case <-exited:
				cancel()
			case <-alive.Done():
			}
		}(w.exited)
		err := f(alive)
		cancel()
		select {
		case <-w.exited:
			restart()
			continue
		default:
		}
		if err == nil {
			return
		}
		t.Fatalf("the story does not end: %v\n%s\nserver:\n%s", err, w.thread(), w.log.String())
	}
}
