package main

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/handrail-bot/handrail/bot/ghapp/ghtest"

	"github.com/handrail-bot/handrail/bot/ghapp/ghtest/hub"
	"github.com/handrail-bot/handrail/cmd/action"
)

// storyAction is `handrail action` without the pauses that are there for the real
// GitHub.
func storyAction() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, over := context.WithCancelCause(ctx)
	defer over(nil)
	up := make(chan os.Signal, 1)
	signal.Notify(up, syscall.SIGUSR1)
	go func() { <-up; over(action.ErrTime) }()
	opt := serverOptions{unlimited: true, spacing: -1, settle: 100 * time.Millisecond, every: 50 * time.Millisecond, again: 30 * time.Millisecond, sweep: 100 * time.Millisecond}
	if kinds := os.Getenv("HANDRAIL_TEST_DIED"); kinds != "" {
		k := &killer{kinds: kinds}
		opt.wrap, opt.transport = k.wrap, killTransport{k, http.DefaultTransport}
	}
	if k := late(); k != nil {
		opt.wrap, opt.transport = k.wrap, killTransport{k, http.DefaultTransport}
	}
	return execute(ctx, []string{"action"}, &console{in: os.Stdin, out: os.Stdout, err: os.Stderr, version: "test", options: opt})
}

// actions are the verbs for a runner of GitHub Actions.
var actions = []scriptVerb{
	{"runner", "[INPUT=VALUE...]", 0, 9, (*stage).runner},
	{"runs", "N", 1, 1, (*stage).runs},
	{"stalled", "", 0, 0, (*stage).stalled},
	{"release", "", 0, 0, (*stage).release},
	{"killrun", "N", 1, 1, (*stage).killRun},
	{"endrun", "N", 1, 1, (*stage).endRun},
	{"timeisup", "N", 1, 1, (*stage).timeIsUp},
	{"event", "NAME USER JSON", 3, 3, (*stage).event},
	{"schedules", "PATTERN", 1, 1, (*stage).schedules},
	{"assign", "USER NUMBER LOGIN", 3, 3, (*stage).assign},
	{"forge", "NUMBER USER COMMENT", 3, 3, (*stage).forge},
	{"leave", "NUMBER USER COMMENT TEXT", 4, 4, (*stage).leave},
	{"age", "NUMBER DAYS", 2, 2, (*stage).age},
	{"overdue", "NAME", 1, 1, (*stage).overdue},
	{"keepref", "NUMBER", 1, 1, (*stage).keepRef},
	{"putback", "NUMBER [INTO]", 1, 2, (*stage).putBack},
	{"dropref", "NUMBER", 1, 1, (*stage).dropRef},
}

// runner starts a run of the action for each event, as a workflow does.
type runner struct {
	stage *stage
	dir   string
	env   []string
	on    []string // events that start the workflow
	one   bool     // one job at a time: those that come meanwhile wait

	mu   sync.Mutex
	cond *sync.Cond
	list []*workflowRun
}

type workflowRun struct {
	cmd   *exec.Cmd
	ended bool
	err   error
}

// runner has every event start a workflow run, with these inputs of the action.
func (s *stage) runner(ts *testscript.TestScript, args []string) error {
	s.gh.AddUser("github-actions[bot]", "write")
	token, err := s.gh.Token("github-actions[bot]")
	if err != nil {
		return err
	}
	ts.Setenv("JOB_TOKEN", token)
	ts.Setenv("JOB_BASIC", base64.StdEncoding.EncodeToString([]byte("x-access-token:"+token)))
	ts.Setenv("REPOSITORY", s.gh.URL()+"/"+scriptRepository+".git")
	r := &runner{stage: s, dir: ts.MkAbs(".runs")}
	r.cond = sync.NewCond(&r.mu)
	r.env = []string{
		"GITHUB_API_URL=" + s.gh.URL(), "GITHUB_SERVER_URL=" + s.gh.URL(), "GITHUB_REPOSITORY=" + scriptRepository, "GITHUB_RUN_ATTEMPT=1", "GITHUB_ACTIONS=true",
		"INPUT_TOKEN=" + token, "INPUT_MODEL=" + ts.Getenv("HANDRAIL_MODEL"), "INPUT_OLLAMA=" + ts.Getenv("OLLAMA_HOST"), "INPUT_WORKSPACE=local",
		lateness + "=" + os.Getenv(lateness),
	}
	for _, name := range []string{"PATH", "HOME", "TMPDIR", "GIT_CONFIG_NOSYSTEM"} {
		r.env = append(r.env, name+"="+ts.Getenv(name))
	}
	r.on = []string{"issues opened", "issue_comment created", "pull_request_review submitted", "pull_request_review_comment created"}
	for _, in := range args {
		if r.one = r.one || in == "one"; in == "one" {
			continue
		}
		if strings.HasSuffix(in, ".yml") {
			if err := r.example(in); err != nil {
				return err
			}
			continue
		}
		if name, ok := strings.CutPrefix(in, "on:"); ok {
			r.on = append(r.on, name)
			continue
		}
		r.env = append(r.env, "INPUT_"+in)
	}
	if err := os.MkdirAll(r.dir, 0o700); err != nil {
		return err
	}
	web := http.Server{Handler: r, ReadHeaderTimeout: time.Minute}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	go func() { _ = web.Serve(l) }()
	s.workflows = r
	s.gh.SetWebhook("http://" + l.Addr().String())
	ts.Defer(func() {
		if err := r.all(0); err != nil {
			s.t.Error(err)
		}
		_ = web.Close()
		if s.act != nil {
			if err := s.act.sweep(storyOf(filepath.Join(r.dir, "1"))); err != nil {
				s.t.Error(err)
			}
		}
	})
	return nil
}

// ServeHTTP takes an event. What a workflow's own token did starts no workflow.
func (r *runner) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	var ev struct {
		Action string
		Sender struct{ Login string }
	}
	err = cmp.Or(err, json.Unmarshal(body, &ev))
	own := ev.Sender.Login == "github-actions[bot]" && !strings.HasPrefix(req.Header.Get("X-GitHub-Event"), "check_") // that CI answers starts workflows, by workflow_run
	if err == nil && !own && slices.Contains(r.on, req.Header.Get("X-GitHub-Event")+" "+ev.Action) {
		err = r.start(req.Header.Get("X-GitHub-Event"), body)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}

func (r *runner) start(event string, payload []byte, env ...string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	id := len(r.list) + 1
	dir := filepath.Join(r.dir, strconv.Itoa(id))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	in := func(name string) string { return filepath.Join(dir, name) }
	log, err := os.Create(in("log"))
	if err == nil {
		err = os.WriteFile(in("event.json"), payload, 0o600)
	}
	if err != nil {
		return err
	}
	said, err := os.OpenFile(filepath.Join(filepath.Dir(r.dir), "server.log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600) // that other verbs show
	if err != nil {
		return errors.Join(err, log.Close())
	}
	cmd, words := exec.Command("handrail-action"), io.WriteCloser(nopCloser{io.MultiWriter(log, said)})
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, words, words
	cmd.Env = append(append(env, r.env...), "GITHUB_EVENT_NAME="+event, "GITHUB_EVENT_PATH="+in("event.json"), "GITHUB_RUN_ID="+strconv.Itoa(id),
		"GITHUB_OUTPUT="+in("output"), "GITHUB_STEP_SUMMARY="+in("summary"), "RUNNER_TEMP="+dir)
	if r.stage.act != nil {
		if cmd, words, err = r.stage.act.command(cmd, words); err != nil {
			return err
		}
	}
	run := &workflowRun{cmd: cmd}
	before := r.list
	r.list = append(r.list, run)
	if !r.one {
		before = nil
		if err := cmd.Start(); err != nil {
			return err
		}
		r.is(id, "in_progress")
	}
	go func() {
		r.mu.Lock()
		for len(before) > 0 && !before[len(before)-1].ended {
			r.cond.Wait()
		}
		r.mu.Unlock()
		var err error
		if r.one {
			err = cmd.Start()
		}
		err = errors.Join(err, cmd.Wait(), words.Close(), log.Close(), said.Close())
		r.mu.Lock()
		defer r.mu.Unlock()
		r.is(id, "completed")
		run.ended, run.err = true, err
		r.cond.Broadcast()
	}()
	return nil
}

// is tells GitHub how a run stands.
func (r *runner) is(id int, status string) {
	r.stage.gh.Do(func() {
		for _, repo := range r.stage.gh.Repos {
			if repo.Runs == nil {
				repo.Runs = map[int64]hub.WorkflowRun{}
			}
			repo.Runs[int64(id)] = hub.WorkflowRun{Attempt: 1, Status: status}
		}
	})
}

// all waits until at least so many runs were started, and all of them have ended.
func (r *runner) all(n int) error {
	end := time.AfterFunc(r.stage.patience(), func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, run := range r.list {
			if !run.ended {
				_ = run.cmd.Process.Kill()
			}
		}
		r.cond.Broadcast()
	})
	defer end.Stop()
	r.mu.Lock()
	defer r.mu.Unlock()
	began := time.Now()
	for {
		ended := len(r.list) >= n
		for _, run := range r.list {
			ended = ended && run.ended
		}
		if ended {
			return nil
		}
		if time.Since(began) > r.stage.patience() {
			return fmt.Errorf("%d runs were started, not %d, or they do not end", len(r.list), n)
		}
		r.cond.Wait()
	}
}

// runs waits for that many runs, and prints what the last ones said: exit code,
// outputs, log.
func (s *stage) runs(ts *testscript.TestScript, args []string) error {
	n, err := strconv.Atoi(args[0])
	if err != nil || s.workflows == nil {
		return errors.New("runs needs a number, and a runner")
	}
	if err := s.gh.Flush(context.Background()); err != nil {
		return err
	}
	err = s.workflows.all(n)
	for i, run := range s.workflows.list {
		fmt.Fprintf(ts.Stdout(), "== run %d: %v\n", i+1, run.err)
		for _, name := range []string{"output", "summary", "log"} {
			text, _ := os.ReadFile(filepath.Join(s.workflows.dir, strconv.Itoa(i+1), name))
			fmt.Fprintf(ts.Stdout(), "-- %s\n%s", name, text)
		}
	}
	return err
}

// stalled waits until the model stalls in an answer.
func (s *stage) stalled(_ *testscript.TestScript, _ []string) error {
	ctx, stop := context.WithTimeout(context.Background(), s.patience())
	defer stop()
	return s.model.stalled(ctx)
}

// release has a stalled answer go on.
func (s *stage) release(_ *testscript.TestScript, _ []string) error {
	ctx, stop := context.WithTimeout(context.Background(), s.patience())
	defer stop()
	return s.model.release(ctx)
}

// killRun ends a run as a crash does, and waits until GitHub knows that it has ended.
func (s *stage) killRun(_ *testscript.TestScript, args []string) error {
	r := s.workflows
	if err := r.signal(args[0], syscall.SIGKILL); err != nil {
		return err
	}
	n, err := strconv.Atoi(args[0])
	r.mu.Lock()
	defer r.mu.Unlock()
	for err == nil && !r.list[n-1].ended {
		r.cond.Wait()
	}
	return err
}

// endRun ends a run as a person does who cancels it.
func (s *stage) endRun(_ *testscript.TestScript, args []string) error {
	return s.workflows.signal(args[0], syscall.SIGINT)
}

// timeIsUp ends a run as the near end of its job's time does.
func (s *stage) timeIsUp(_ *testscript.TestScript, args []string) error {
	return s.workflows.signal(args[0], syscall.SIGUSR1)
}

func (r *runner) signal(run string, sig os.Signal) error {
	n, err := strconv.Atoi(run)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if n < 1 || n > len(r.list) {
		return fmt.Errorf("there is no run %d", n)
	}
	if r.stage.act != nil {
		err = killAction(r.stage.gh.URL(), n)
	}
	return errors.Join(err, r.list[n-1].cmd.Process.Signal(sig))
}

// event starts a run, or reaches the server, by an event that this GitHub tells nobody
// of, or that somebody made up: the clock, a dispatch, a check.
func (s *stage) event(_ *testscript.TestScript, args []string) error {
	payload := map[string]any{}
	if err := json.Unmarshal([]byte(args[2]), &payload); err != nil {
		return err
	}
	var id int64
	s.gh.Do(func() {
		for _, r := range s.gh.Repos {
			payload["repository"] = map[string]any{"id": r.ID, "full_name": r.FullName()}
		}
		if u := s.gh.Users[strings.ToLower(args[1])]; u != nil {
			id = u.ID
		}
	})
	if args[0] != "schedule" { // GitHub names nobody there
		payload["sender"] = map[string]any{"id": id, "login": args[1]}
	}
	if s.workflows == nil {
		payload["installation"] = map[string]any{"id": s.installation}
	}
	body, err := json.Marshal(payload)
	if err != nil {
		return err
	}
	if s.workflows == nil {
		s.sent++
		if !s.gh.Enqueue(&ghtest.Delivery{GUID: fmt.Sprintf("event-%d", s.sent), Event: args[0], Payload: body}) {
			return errors.New("no server runs; begin with serve")
		}
		return nil
	}
	return s.workflows.start(args[0], body, "GITHUB_ACTOR="+args[1], fmt.Sprintf("GITHUB_ACTOR_ID=%d", id))
}

// assign assigns a thread to somebody.
func (s *stage) assign(_ *testscript.TestScript, args []string) error {
	at, err := s.ref(args[1])
	if err != nil {
		return err
	}
	return s.gh.Assign(at, args[0], args[2])
}

// schedules waits until handrail schedule list prints what matches a pattern.
func (s *stage) schedules(ts *testscript.TestScript, args []string) error {
	return s.untilThere(ts, args[0], func() (string, error) {
		var out strings.Builder
		if code := execute(context.Background(), []string{"schedule", "list", "--data", ts.MkAbs(".handrail")}, &console{in: strings.NewReader(""), out: &out, err: &out, raw: &out, width: 1000, version: "test"}); code != 0 {
			return "", errors.New(out.String())
		}
		return out.String(), nil
	})
}
