package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/agent/llm/llmtest"
	"github.com/handrail-bot/handrail/bot/ghapp/ghtest"
	"github.com/handrail-bot/handrail/bot/render"
	"github.com/handrail-bot/handrail/bot/thread"
)

var (
	crashSteps  = flag.Int("crash.steps", 12, "kill at every n-th step of a story; 1 for every step")
	crashRandom = flag.Int("crash.random", 8, "how many kills at random times")
	crashLimits = flag.Bool("crash.limits", false, "also 5 % secondary rate limits, which take a second each")
)

// crashModel answers by how far the conversation is, so that a turn that a
// kill cut off is asked again.
const crashModel = `
model: {name: m, tools: true, context: 32768}
select: by-conditions
forget: true
turns:
- {when: {turn: 0}, repeat: true, optional: true, calls: [{name: edit_file, arguments: {path: greet.sh, old_string: Helo, new_string: Hello}}]}
- {when: {turn: 1}, repeat: true, optional: true, calls: [{name: run_terminal_command, arguments: {command: rm -rf build && echo ran >> ran.txt}}]}
- {when: {turn: 2}, repeat: true, optional: true, say: "The greeting is right now. [TASK_COMPLETE]"}
- {when: {turn: 3}, repeat: true, optional: true, calls: [{name: write_file, arguments: {path: notes.txt, content: "noted\n"}}]}
- {when: {turn: 4}, repeat: true, optional: true, say: "The note is there. [TASK_COMPLETE]"}
`

// crashStage is GitHub and a model in this process, for one story after the
// other.
type crashStage struct {
	gh    *ghtest.Server
	model *llmtest.Server
	told  int // stories
}

// crashWorld is one story: a repository, and the server in another process
// that is killed and started again.
type crashWorld struct {
	gh     *ghtest.Server
	repo   string
	dir    string
	child  childConfig
	cmd    *exec.Cmd
	exited chan struct{}
	steps  int64
	log    syncBuffer
	issue  thread.Ref
	kills  int
}

func newCrashStage(t *testing.T) *crashStage {
	t.Helper()
	script, err := llmtest.ParseScript([]byte(crashModel))
	must(t, err)
	g := &crashStage{}
	g.model, err = llmtest.Start(script)
	must(t, err)
	t.Cleanup(g.model.Close)
	g.gh, err = ghtest.New(ghtest.Config{Dir: t.TempDir()})
	must(t, err)
	must(t, g.gh.Start())
	t.Cleanup(func() { must(t, g.gh.Close()) })
	g.gh.AddUser("you", "write")
	return g
}

func (g *crashStage) world(t *testing.T, faults ghtest.Faults) *crashWorld {
	t.Helper()
	g.told++
	name := fmt.Sprintf("app%d", g.told)
	w := &crashWorld{gh: g.gh, repo: "team/" + name, dir: t.TempDir()}
	_, err := w.gh.AddRepo("team", name, ghtest.Source{Files: map[string]string{
		"greet.sh": "echo Helo\n", "build/out": "old\n",
	}})
	must(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	addr := l.Addr().String()
	must(t, l.Close())
	app := w.gh.App()
	w.child = childConfig{
		Listen: addr, Data: filepath.Join(w.dir, "bot"), API: w.gh.URL(), AppID: app.ID, Key: app.Key, Secret: app.WebhookSecret,
		Model: g.model.URL(), Trace: filepath.Join(w.dir, "died"), TTL: 600 * time.Millisecond,
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

// start starts the server; it kills itself at a step, or never.
func (w *crashWorld) start(t *testing.T, killAt int64) {
	t.Helper()
	w.child.KillAt = killAt
	text, err := json.Marshal(w.child)
	must(t, err)
	file := filepath.Join(w.dir, "child.json")
	must(t, os.WriteFile(file, text, 0o600))
	self, err := os.Executable()
	must(t, err)
	w.cmd = &exec.Cmd{Path: self, Args: []string{"handrail-crash", file}, Stderr: &w.log, Env: os.Environ()}
	out, err := w.cmd.StdoutPipe()
	must(t, err)
	must(t, w.cmd.Start())
	ready := make(chan struct{})
	w.exited = make(chan struct{})
	go func(cmd *exec.Cmd, exited chan struct{}) {
		defer close(exited)
		lines := bufio.NewScanner(out)
		said := false
		for lines.Scan() {
			if lines.Text() == "ready" && !said {
				said = true
				close(ready)
			}
			_, _ = fmt.Sscanf(lines.Text(), "steps %d", &w.steps)
		}
		_ = cmd.Wait() // killed, as a rule
	}(w.cmd, w.exited)
	select {
	case <-ready:
	case <-w.exited:
	}
}

// kill ends the server at once.
func (w *crashWorld) kill() {
	_ = w.cmd.Process.Kill() // it may have died by itself
	<-w.exited
}

// stop lets the server drain.
func (w *crashWorld) stop(t *testing.T) {
	t.Helper()
	must(t, w.cmd.Process.Signal(syscall.SIGTERM))
	<-w.exited
}

// until waits for a state of the thread; restart is called whenever the
// server has died.
func (w *crashWorld) until(t *testing.T, restart func(), ok func(ghtest.Thread) bool) {
	t.Helper()
	end := time.Now().Add(40 * time.Second)
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
			died, _ := os.ReadFile(w.child.Trace)
			t.Fatalf("the story got stuck after dying at %q:\n%s\nserver:\n%s", died, w.thread(), w.log.String())
		}
		restart()
	}
}

func (w *crashWorld) thread() string {
	var b strings.Builder
	for _, c := range w.gh.Thread(w.issue).Comments {
		fmt.Fprintf(&b, "--- %s\n%s\n", c.Author, c.Body)
	}
	return b.String()
}

// own returns the bot's comments whose marker begins like this.
func (w *crashWorld) own(th ghtest.Thread, marker string) []ghtest.Comment {
	var out []ghtest.Comment
	for _, c := range th.Comments {
		if c.Author == w.gh.App().Login && strings.Contains(c.Body, "<!-- handrail:"+marker) {
			out = append(out, c)
		}
	}
	return out
}

// tell plays the whole story: a task, an approval, and a further wish.
func (w *crashWorld) tell(t *testing.T, restart func()) {
	t.Helper()
	var err error
	w.issue, err = w.gh.OpenIssue(w.repo, "you", "The greeting is wrong", "It says Helo.")
	must(t, err)
	_, err = w.gh.Comment(w.issue, "you", "/agent fix the greeting")
	must(t, err)
	request := ""
	w.until(t, restart, func(th ghtest.Thread) bool {
		for _, c := range w.own(th, "ask-") {
			_, rest, _ := strings.Cut(c.Body, "Approval `")
			request, _, _ = strings.Cut(rest, "`")
		}
		return request != ""
	})
	_, err = w.gh.Comment(w.issue, "you", "/agent approve "+request)
	must(t, err)
	done := func(commits int) func(ghtest.Thread) bool {
		return func(th ghtest.Thread) bool {
			p := w.own(th, "progress-")
			return len(p) > 0 && strings.Contains(p[0].Body, "**done**") && strings.Contains(p[0].Body, "Pull request: #") &&
				strings.Count(p[0].Body, "/commit/") >= commits
		}
	}
	w.until(t, restart, done(2))
	_, err = w.gh.Comment(w.issue, "you", "/agent also add a note")
	must(t, err)
	w.until(t, restart, done(3))
}

// crashTally adds up what went wrong.
type crashTally struct {
	mu                      sync.Mutex
	kills, lost, duplicates int
}

func (c *crashTally) add(w *crashWorld, lost, duplicates []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kills += w.kills
	c.lost += len(lost)
	c.duplicates += len(duplicates)
}

func crashFaults(seed uint64) ghtest.Faults {
	f := ghtest.Faults{Seed: seed, BadGateway: 0.05, Lost: 0.05, Late: 0.05, LateBy: 30 * time.Millisecond}
	if *crashLimits {
		f.Secondary = 0.05
	}
	return f
}

// TestCrash kills the real server with SIGKILL at numbered steps of a story
// and at random times, on a GitHub that fails, and checks what is there after
// the recovery. The long form is `make crash`.
func TestCrash(t *testing.T) {
	if testing.Short() {
		t.Skip("SHORT: processes are killed and started for seconds")
	}
	if raceDetector {
		t.Skip("NEEDS A BUILD WITHOUT -race: short leases run out while the detector works; .ci/test runs this without")
	}
	tally := &crashTally{}
	t.Run("steps", func(t *testing.T) { crashAtSteps(t, tally) })
	t.Run("random", func(t *testing.T) { crashAtRandom(t, tally) })
	line := fmt.Sprintf("crash: kills %d, lost %d, duplicates %d", tally.kills, tally.lost, tally.duplicates)
	t.Log(line)
	_, _ = io.WriteString(os.Stdout, line+"\n")
}

// crashWorlds is how many stories run at a time; they mostly wait.
const crashWorlds = 5

func crashAtSteps(t *testing.T, tally *crashTally) {
	var next atomic.Int64
	var over atomic.Bool
	for range crashWorlds {
		t.Run("world", func(t *testing.T) {
			t.Parallel()
			stage := newCrashStage(t)
			for !over.Load() && !t.Failed() {
				n := 1 + (next.Add(1)-1)*int64(*crashSteps)
				w := stage.world(t, crashFaults(uint64(n)))
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
	timer.Stop()
	select {
	case <-w.exited: // killed after the end
		w.kills++
		w.start(t, 0)
	default:
	}
}

// settled waits until the server itself takes the session for done: what it
// shows comes before what it notes.
func (w *crashWorld) settled(ctx context.Context) error {
	s, err := openStore(ctx, serverConfig{Data: w.child.Data, Database: w.child.Database}, logger(&w.log, "error"))
	if err != nil {
		return err
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		row, err := s.Sessions.ByThread(ctx, w.issue.Key())
		if err != nil || row.State == render.Done {
			return errors.Join(err, s.Close())
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return errors.Join(ctx.Err(), s.Close())
		}
	}
}

// finish stops the server, and looks at what is on GitHub and in the store.
func (w *crashWorld) finish(t *testing.T, tally *crashTally) {
	t.Helper()
	w.until(t, func() { w.kills++; w.start(t, 0) }, func(ghtest.Thread) bool { return true })
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	must(t, errors.Join(w.settled(ctx), w.gh.Flush(ctx), w.gh.Settled(ctx)))
	w.stop(t)
	must(t, w.gh.Settled(ctx))
	lost, duplicates := w.judge(t)
	died, _ := os.ReadFile(w.child.Trace)
	for _, text := range append(lost, duplicates...) {
		t.Errorf("died at %q (step %d, %d kills): %s\n%s", died, w.child.KillAt, w.kills, text, w.thread())
	}
	if t.Failed() {
		t.Logf("server:\n%s", w.log.String())
	}
	tally.add(w, lost, duplicates)
}
