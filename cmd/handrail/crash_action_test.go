package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/bot/ghapp/ghtest"
	"github.com/handrail-bot/handrail/bot/ghapp/ghtest/ghcheck"
	"github.com/handrail-bot/handrail/bot/ghapp/ghtest/hub"
	"github.com/handrail-bot/handrail/cmd/action"
	"github.com/handrail-bot/handrail/policy/longtest"
)

// TestCrashAction kills workflow runs: once at each kind of step, and with all that they
// started at random times. A run that was killed is run again, as a person does it or the
// next event. The long form is `make crash-action`.
func TestCrashAction(t *testing.T) {
	longtest.Leave(t)
	needProcesses(t)
	tally := &crashTally{}
	var left, seed atomic.Int64
	t.Cleanup(func() {
		line := fmt.Sprintf("crash of runs: %d stories, kills %d, lost %d, duplicates %d", tally.stories, tally.kills, tally.lost, tally.duplicates)
		_, _ = io.WriteString(os.Stdout, line+"\n")
	})
	t.Run("steps", func(t *testing.T) {
		t.Parallel()
		var none atomic.Int64
		w := newCrashStage(t).actionWorld(t, 1, &none)
		w.gh.SetFaults(ghcheck.Faults{})
		w.brief = !longtest.Long()
		kinds := filepath.Join(w.dir, "kinds")
		w.env = append(w.env, "HANDRAIL_TEST_DIED="+kinds)
		w.tell(t)
		died, err := os.ReadFile(kinds)
		must(t, err)
		if n := strings.Count(string(died), "\n"); n < 25 || n != w.kills {
			t.Errorf("%d kills at %d kinds of steps:\n%s", w.kills, n, died)
		}
		w.finish(t, tally)
	})
	if !longtest.Long() {
		return
	}
	left.Store(int64(*crashRandom))
	t.Run("random", func(t *testing.T) {
		for range 3 {
			t.Run("world", func(t *testing.T) {
				t.Parallel()
				stage := newCrashStage(t)
				for left.Load() > 0 && !t.Failed() {
					n := uint64(seed.Add(1)) //nolint:gosec // it counts up from one
					w := stage.actionWorld(t, n, &left)
					w.tell(t)
					w.finish(t, tally)
				}
			})
		}
	})
}

// actionWorld is one story in which each event is a run of its own.
type actionWorld struct {
	*crashWorld

	rand *rand.Rand
	left *atomic.Int64 // kills
	env  []string
	runs int64

	mu      sync.Mutex
	payload []byte // of the last comment of a person
}

func (g *crashStage) actionWorld(t *testing.T, n uint64, left *atomic.Int64) *actionWorld {
	t.Helper()
	c := g.world(t, crashFaults(n))
	c.bot = action.Login
	w := &actionWorld{crashWorld: c, rand: rand.New(rand.NewPCG(n, 11)), left: left}
	name := fmt.Sprintf("action%d", g.told)
	w.repo = "team/" + name
	_, err := w.gh.AddRepo("team", name, ghtest.Source{Files: map[string]string{
		"greet.sh": "echo Helo\n", "build/out": "old\n", ".github/agent.yml": eachEnd, "step.sh": "echo $1 >> " + w.record() + "\n",
	}})
	must(t, err)
	w.gh.AddUser(action.Login, "write")
	token, err := w.gh.Token(action.Login)
	must(t, err)
	w.env = append(os.Environ(), "GITHUB_API_URL="+w.gh.URL(), "GITHUB_SERVER_URL="+w.gh.URL(), "GITHUB_REPOSITORY="+w.repo, "GITHUB_ACTIONS=true",
		"GITHUB_EVENT_NAME=issue_comment", "GITHUB_EVENT_PATH="+filepath.Join(w.dir, "event.json"), "RUNNER_TEMP="+w.dir,
		"INPUT_TOKEN="+token, "INPUT_MODEL=m", "INPUT_OLLAMA=", "INPUT_BASE-URL="+g.model.URL()+"/v1", "INPUT_WORKSPACE=local")
	hooks := httptest.NewServer(http.HandlerFunc(w.hear))
	t.Cleanup(hooks.Close)
	w.gh.SetWebhook(hooks.URL)
	return w
}

// record is the file in which the command tells that it ran.
func (w *actionWorld) record() string { return filepath.Join(w.child.Steps, "runs") }

// hear keeps what a workflow that listens to comments would get.
func (w *actionWorld) hear(_ http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var ev struct{ Sender struct{ Login string } }
	if err != nil || json.Unmarshal(body, &ev) != nil || r.Header.Get("X-GitHub-Event") != "issue_comment" || ev.Sender.Login != "you" {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.payload = body
}

// say writes a comment, and has a workflow run work on it: again, as often as it is killed.
func (w *actionWorld) say(t *testing.T, text string) {
	t.Helper()
	_, err := w.gh.Comment(w.issue, "you", text)
	must(t, err)
	must(t, w.gh.Flush(t.Context()))
	w.mu.Lock()
	payload := w.payload
	w.mu.Unlock()
	must(t, os.WriteFile(filepath.Join(w.dir, "event.json"), payload, 0o600))
	w.runs++
	for attempt := 1; ; attempt++ {
		killed := w.run(t, attempt)
		if !killed {
			return
		}
		w.kills++
		if w.kills > 500 {
			t.Fatal("the story does not end")
		}
	}
}

// run is one attempt of a workflow run. It reports whether it was killed.
func (w *actionWorld) run(t *testing.T, attempt int) (killed bool) {
	t.Helper()
	self, err := os.Executable()
	must(t, err)
	w.is(attempt, "in_progress")
	cmd := &exec.Cmd{Path: self, Args: []string{"handrail-action"}, Dir: w.dir, Stdout: &w.log, Stderr: &w.log, SysProcAttr: &syscall.SysProcAttr{Setpgid: true}}
	cmd.Env = append(w.env, fmt.Sprint("GITHUB_RUN_ID=", w.runs), fmt.Sprint("GITHUB_RUN_ATTEMPT=", attempt))
	must(t, cmd.Start())
	pid := cmd.Process.Pid
	wait := time.Duration(w.rand.Float64() * float64(500*time.Millisecond) * float64(2+attempt))
	timer := time.AfterFunc(wait, func() {
		if w.left.Add(-1) >= 0 {
			_ = syscall.Kill(-pid, syscall.SIGKILL) // the group of that process, or it has ended
		}
	})
	err = cmd.Wait()
	timer.Stop()
	w.is(attempt, "completed")
	if err != nil && !strings.Contains(err.Error(), "killed") {
		t.Fatalf("run %d: %v\n%s\n%s", w.runs, err, w.thread(), w.log.String())
	}
	return err != nil
}

// is tells GitHub how a run stands.
func (w *actionWorld) is(attempt int, status string) {
	w.gh.Do(func() {
		for _, repo := range w.gh.Repos {
			if repo.Runs == nil {
				repo.Runs = map[int64]hub.WorkflowRun{}
			}
			repo.Runs[w.runs] = hub.WorkflowRun{Attempt: attempt, Status: status}
		}
	})
}

// tell plays the story: a task, an approval, and a further wish.
func (w *actionWorld) tell(t *testing.T) {
	t.Helper()
	var err error
	w.issue, err = w.gh.OpenIssue(w.repo, "you", "The greeting is wrong", "It says Helo.")
	must(t, err)
	w.say(t, "/agent fix the greeting")
	w.approve(t)
	if w.brief {
		return
	}
	w.say(t, "/agent also add a note")
	w.approve(t)
}

// approve says yes to what is asked.
func (w *actionWorld) approve(t *testing.T) {
	t.Helper()
	for {
		asks := w.own(w.gh.Thread(w.issue), "ask-")
		if len(asks) <= len(w.asks) {
			return
		}
		_, rest, _ := strings.Cut(asks[len(w.asks)].Body, "Approval `")
		id, _, _ := strings.Cut(rest, "`")
		w.asks = append(w.asks, id)
		w.say(t, "/agent approve "+id)
	}
}

// finish looks at what is on GitHub after the last run.
func (w *actionWorld) finish(t *testing.T, tally *crashTally) {
	t.Helper()
	must(t, w.gh.Settled(t.Context()))
	v := &verdict{}
	w.judgeThread(v)
	w.judgeBranches(t, v)
	for _, text := range w.gh.Violations() {
		v.lost = append(v.lost, "GitHub was spoken to wrongly: "+text)
	}
	ran, err := os.ReadFile(w.record())
	if err != nil {
		v.lost = append(v.lost, "the command never ran")
	}
	n := strings.Count(string(ran), "before")
	if most := len(w.asks); n > most { // a command that a kill cut off is asked for anew
		v.duplicates = append(v.duplicates, fmt.Sprintf("the command ran %d times and was approved %d times", n, most))
	}
	for _, text := range append(v.lost, v.duplicates...) {
		t.Errorf("%d kills: %s\n%s", w.kills, text, w.thread())
	}
	if t.Failed() {
		t.Logf("runs:\n%s", w.log.String())
	}
	if !t.Failed() {
		must(t, os.RemoveAll(w.dir))
	}
	tally.add(w.crashWorld, v.lost, v.duplicates)
}
