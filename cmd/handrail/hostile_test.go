package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"iter"
	"log/slog"
	"math/rand/v2"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/agent"
	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/tools"
	"github.com/handrail-bot/handrail/agent/tools/builtin"
	"github.com/handrail-bot/handrail/agent/work"
	"github.com/handrail-bot/handrail/agent/workspace/local"
	"github.com/handrail-bot/handrail/bot/ghapp/ghtest/bare"
	"github.com/handrail-bot/handrail/gitops"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/longtest"
)

// hostileFiles are where every trial begins. The programs in t are hostile, and
// nothing in their names says what they do.
var hostileFiles = map[string]string{
	".ci/deploy.sh": "#!/bin/sh\necho zero\n",
	"CODEOWNERS":    "* @team\n",
	".env":          "A=0\n",
	"a.txt":         "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\n",
	"src/b.txt":     "b\n",
	"t/1.sh":        "printf '#!/bin/sh\\necho evil\\n' > .ci/deploy.sh\n",
	"t/2.sh":        "mv CODEOWNERS src/notes.txt\n",
	"t/3.sh":        "chmod 755 .env CODEOWNERS; chmod 644 .ci/deploy.sh\n",
	"t/4.sh":        "rm -f .env; ln -s a.txt .env\n",
	"t/5.sh":        "mv .ci src/x; mkdir -p .ci; cp a.txt .ci/deploy.sh; cp a.txt .ci/more.sh\n",
	"t/6.sh":        "(for i in 1 2 3 4 5 6 7 8 9; do printf 'A=evil\\n' > .env; sleep 0.01; done) > /dev/null 2>&1 &\n",
	"t/7.sh":        "ln CODEOWNERS src/alias 2> /dev/null; printf '* @evil\\n' > src/alias\n",
	"t/8.sh":        "mkdir -p .CI .Github/workflows; echo evil > .CI/Deploy.sh; echo on > .Github/workflows/x.yml\n",
	"t/9.sh":        "git checkout -- . 2> /dev/null; printf 'A=1\\n' > .env; printf '* @one\\n' > CODEOWNERS\n",
	"t/10.sh":       "mkdir -p src/real; echo evil > src/real/x.yml; rm -rf deploy; ln -s src/real deploy; ln -s src/real .github\n",
	"t/11.sh":       "rm -rf CODEOWNERS; mkdir CODEOWNERS; echo x > CODEOWNERS/x\n",
}

// hostileTexts are few, so that the same content comes back.
var hostileTexts = map[string][]string{
	".ci/deploy.sh": {"#!/bin/sh\necho zero\n", "#!/bin/sh\necho one\n", "#!/bin/sh\necho two\n"},
	"CODEOWNERS":    {"* @team\n", "* @one\n", "* @two\n"},
	".env":          {"A=0\n", "A=1\n", "A=2\n", ""},
	"deploy/x.yaml": {"x: 1\n", "x: 2\n"},
}

var hostilePaths = []string{".ci/deploy.sh", "CODEOWNERS", ".env", "deploy/x.yaml"}

// hostileStage is a remote, a mirror of it, and what else trials share.
type hostileStage struct {
	t      *testing.T
	repo   bare.Dir
	mirror *gitops.Mirror
	base   string
	dir    string
	bases  *work.Bases
	rules  *policy.Policy
}

func newHostileStage(t *testing.T) *hostileStage {
	t.Helper()
	s := &hostileStage{t: t, dir: t.TempDir()}
	var err error
	s.repo, err = bare.Init(filepath.Join(s.dir, "remote", "r.git"), "main")
	must(t, err)
	s.base, err = s.repo.Commit(bare.Change{Branch: "main", Author: "kim", Message: "base", Files: hostileFiles}, 1_700_000_000)
	must(t, err)
	out, err := exec.Command("git", "--exec-path").Output()
	must(t, err)
	srv := httptest.NewServer(&cgi.Handler{
		Path: filepath.Join(strings.TrimSpace(string(out)), "git-http-backend"),
		Env:  []string{"GIT_PROJECT_ROOT=" + filepath.Join(s.dir, "remote"), "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER=bot", "PATH=" + os.Getenv("PATH")},
	})
	t.Cleanup(srv.Close)
	store, err := gitops.New(gitops.Config{Dir: filepath.Join(s.dir, "mirrors")})
	must(t, err)
	s.mirror, err = store.Mirror(t.Context(), srv.URL+"/r.git")
	must(t, err)
	s.bases, err = work.OpenBases(gitops.BasesConfig{Dir: filepath.Join(s.dir, "bases")}, filepath.Join(s.dir, "work"))
	must(t, err)
	s.rules, err = policy.New(policy.DefaultConfig())
	must(t, err)
	return s
}

// hostileTrial is one session, its people and its enemies.
type hostileTrial struct {
	*hostileStage
	r       *rand.Rand
	task    session.Task
	log     session.Memory
	plan    [][]llm.ToolCall
	crashIn int
	root    string // of the workspace that is open
	inside  bool
	asked   []session.Asked
	step    []string
	judge   hostileJudge
}

var errHostileKilled = errors.New("killed")

func (s *hostileStage) trial(seed uint64) *hostileTrial {
	r := rand.New(rand.NewPCG(seed, 21))
	h := &hostileTrial{hostileStage: s, r: r, task: session.Task{
		Session: fmt.Sprint("h", seed), Text: "Work.", Mode: "code", Model: "m", Base: s.base, Branch: fmt.Sprint("agent/", seed), Nonce: "n",
	}}
	h.judge = hostileJudge{repo: s.repo, mark: filepath.Join(s.dir, fmt.Sprint("mark", seed))}
	for turn := range 2 + r.IntN(3) {
		var calls []llm.ToolCall
		for i := range 1 + r.IntN(3) {
			name, args := h.call(fmt.Sprint(turn, "-", i))
			raw, _ := json.Marshal(args) // strings only
			calls = append(calls, llm.ToolCall{Name: name, Arguments: raw})
		}
		h.plan = append(h.plan, calls)
	}
	return h
}

func (h *hostileTrial) call(id string) (string, map[string]string) {
	p := hostilePaths[h.r.IntN(len(hostilePaths))]
	switch h.r.IntN(9) {
	case 0, 1, 2:
		return "write_file", map[string]string{"path": p, "content": pick(h.r, hostileTexts[p])}
	case 3:
		return "edit_file", map[string]string{"path": ".ci/deploy.sh", "old_string": "echo", "new_string": "echo -n"}
	case 4:
		return "delete_file", map[string]string{"path": p}
	case 5:
		return "run_terminal_command", map[string]string{"command": fmt.Sprintf("rm -rf src; echo %s >> %s", id, h.judge.mark)}
	case 6:
		return "write_file", map[string]string{"path": "src/c.txt", "content": id + "\n"}
	}
	return "run_terminal_command", map[string]string{"command": fmt.Sprintf("sh t/%d.sh", 1+h.r.IntN(11))}
}

func pick[T any](r *rand.Rand, list []T) T { return list[r.IntN(len(list))] }

func (h *hostileTrial) note(format string, args ...any) {
	h.step = append(h.step, fmt.Sprintf(format, args...))
}

// Name implements llm.Model.
func (*hostileTrial) Name() string { return "m" }

// Capabilities implements llm.Model.
func (*hostileTrial) Capabilities(context.Context) (llm.Capabilities, error) {
	return llm.Capabilities{Tools: true, ContextLength: 32768}, nil
}

// Stream implements llm.Model.
func (h *hostileTrial) Stream(_ context.Context, req llm.Request) iter.Seq2[llm.Part, error] {
	n := 0
	for _, m := range req.Messages {
		if m.Role == llm.RoleAssistant {
			n++
		}
	}
	h.attack()
	return func(yield func(llm.Part, error) bool) {
		if n >= len(h.plan) {
			yield(llm.Part{Content: "Done. [TASK_COMPLETE]", Done: true, DoneReason: "stop"}, nil)
			return
		}
		yield(llm.Part{Calls: h.plan[n], Done: true, DoneReason: "tool_calls"}, nil)
	}
}

// Append implements session.Log: enemies act before and after each step, and the
// process can die at each.
func (h *hostileTrial) Append(ctx context.Context, events ...*session.Event) error {
	if !h.inside {
		return h.log.Append(ctx, events...)
	}
	h.attack()
	h.crashIn--
	if h.crashIn == 0 && h.r.IntN(2) == 0 {
		h.note("dies before an append")
		return errHostileKilled
	}
	if err := h.log.Append(ctx, events...); err != nil {
		return err
	}
	for _, e := range events {
		h.note("%d %s", e.Seq, e.Type)
		if a, err := session.Decode[session.Asked](*e); err == nil && e.Type == session.TypeAsked {
			h.asked = append(h.asked, a)
		}
	}
	h.attack()
	if h.crashIn == 0 {
		h.note("dies after an append")
		return errHostileKilled
	}
	return nil
}

// Events implements session.Log.
func (h *hostileTrial) Events(ctx context.Context, after int64) ([]session.Event, error) {
	return h.log.Events(ctx, after)
}

// attack does something to the workspace, now and then: what a program that was
// left running there could do at this moment.
func (h *hostileTrial) attack() {
	if h.root == "" || h.r.IntN(3) != 0 {
		return
	}
	p := pick(h.r, hostilePaths)
	at := func(name string) string { return filepath.Join(h.root, name) }
	what := h.r.IntN(12)
	h.note("attack %d on %s", what, p)
	write := func(name, text string) {
		_ = os.MkdirAll(filepath.Dir(at(name)), 0o755) // it may fail, as any attack
		_ = os.WriteFile(at(name), []byte(text), 0o644)
	}
	switch what {
	case 0:
		write(p, "evil\n")
	case 1, 2: // also what was approved once
		write(p, pick(h.r, hostileTexts[p]))
	case 3:
		_ = os.Chmod(at(p), fs.FileMode(pick(h.r, []int{0o644, 0o755})))
	case 4:
		_ = os.Remove(at(p))
		_ = os.Symlink(pick(h.r, []string{"a.txt", "../a.txt", "src/b.txt"}), at(p))
	case 5:
		_ = os.Rename(at(p), at(fmt.Sprint("src/moved", h.r.IntN(3))))
	case 6:
		_ = os.Rename(at(fmt.Sprint("src/moved", h.r.IntN(3))), at(p))
	case 7:
		_ = os.Remove(at(p))
		write(p, hostileFiles[p])
	case 8:
		_ = os.RemoveAll(at(filepath.Dir(p) + "/was"))
		_ = os.Rename(at(".ci"), at(fmt.Sprint("src/ci", h.r.IntN(3))))
		_ = os.Symlink("src", at(".ci"))
	case 9:
		_ = os.Link(at(p), at(fmt.Sprint("src/link", h.r.IntN(3))))
		write(fmt.Sprint("src/link", h.r.IntN(3)), "evil\n")
	case 10:
		write(pick(h.r, []string{".CI/deploy.sh", "codeowners", ".Env", "Deploy/x.yaml", "docs/CODEOWNERS"}), pick(h.r, hostileTexts[p]))
	case 11:
		_ = os.RemoveAll(at(p))
	}
}

// published is the head that the log knows of.
func (h *hostileTrial) published() string {
	all, err := h.log.Events(context.Background(), 0)
	must(h.t, err)
	at, err := session.Fold(all)
	must(h.t, err)
	return at.Published
}

// others do something on the branch: what anybody who may push can.
func (h *hostileTrial) others() {
	tip := h.repo.Branch(h.task.Branch)
	if tip == "" || tip == h.base {
		return
	}
	ref := "refs/heads/" + h.task.Branch
	switch h.r.IntN(4) {
	case 0: // take the last commit back by a commit
		tree, err := h.repo.Line("rev-parse", tip+"^^{tree}")
		must(h.t, err)
		commit, err := h.repo.Line("commit-tree", "-m", "revert", "-p", tip, tree)
		must(h.t, err)
		h.note("others revert %.10s", tip)
		_, err = h.repo.Run(nil, "update-ref", ref, commit)
		must(h.t, err)
	case 1: // and by force, but not when a death hid from the bot that it was there: docs/safety.md says so
		if h.repo.Branch(h.task.Branch) != h.published() {
			return
		}
		h.note("others drop %.10s", tip)
		_, err := h.repo.Run(nil, "update-ref", ref, tip+"^")
		must(h.t, err)
	case 2:
		p := pick(h.r, hostilePaths)
		h.note("others change %s", p)
		_, err := h.repo.Commit(bare.Change{Branch: h.task.Branch, Parent: tip, Author: "kim", Message: "mine", Files: map[string]string{p: pick(h.r, hostileTexts[p])}}, 1_700_000_000)
		must(h.t, err)
	case 3:
		h.note("others change a.txt")
		_, err := h.repo.Commit(bare.Change{Branch: h.task.Branch, Parent: tip, Author: "kim", Message: "mine", Files: map[string]string{"a.txt": fmt.Sprint(h.r.IntN(9), "\n")}}, 1_700_000_000)
		must(h.t, err)
	}
}

// push is the engine's, watched by the judge; others are quicker at times.
func (h *hostileTrial) push(ctx context.Context, p gitops.SafePush) (gitops.Pushed, error) {
	if h.r.IntN(6) == 0 {
		h.others()
	}
	beside := []string{strings.TrimPrefix(p.Ref, "refs/heads/")}
	for n := 2; n <= 9; n++ {
		beside = append(beside, fmt.Sprint(beside[0], "-", n))
	}
	before := map[string]string{}
	for _, b := range beside {
		before[b] = h.repo.Branch(b)
	}
	out, err := h.mirror.PushSafe(ctx, p)
	for i, b := range beside {
		after := h.repo.Branch(b)
		was := before[b]
		if i > 0 && was == "" { // what the branch itself has, or had, is judged there
			was = p.Base
		}
		if after != "" && after != before[b] {
			h.note("push to %s: %.10s → %.10s (%s)", b, before[b], after, out.How)
			h.judge.pushed(was, after)
		}
	}
	return out, err
}

// work is one process.
func (h *hostileTrial) work() (done bool) {
	h.crashIn = 0
	if h.r.IntN(3) == 0 {
		h.crashIn = 1 + h.r.IntN(12)
	}
	ws, err := local.New(local.Config{Env: []string{"PATH=" + os.Getenv("PATH")}})
	must(h.t, err)
	e := work.New(work.Config{
		Bases: h.bases, Workspace: ws, Policy: h.rules, Rules: policy.DefaultConfig(), Log: slog.New(slog.DiscardHandler), Secrets: newSecrets().Secrets,
		Agent: func(need work.Need) (agent.Config, error) {
			w := need.Workspace
			h.root = w.Root()
			return agent.Config{Model: h, Tools: builtin.Tools(tools.Config{Files: w, Search: w, Shell: w, Changes: w, Start: w, Root: w.Root()})}, nil
		},
	})
	h.note("works")
	h.inside = true
	out, err := e.Run(h.t.Context(), work.Job{
		Task: h.task, Name: "r", Log: h, Repo: h.mirror, Commits: work.Commits{Author: gitops.Signature{Name: "handrail", Email: "h@x"}}, Push: h.push,
		ApprovalFacts: func(ctx context.Context) ([]session.Fact, error) {
			if err := h.mirror.Fetch(ctx); err != nil {
				return nil, err
			}
			foreign, err := work.Foreign(ctx, h.mirror, h, h.task)
			return []session.Fact{{Name: "push by somebody else", Value: foreign}}, err
		},
	})
	h.inside, h.root = false, ""
	h.note("%s %v", out.Status, err)
	if err != nil && !errors.Is(err, errHostileKilled) {
		h.judge.fault("run: %v", err)
	}
	return err == nil && !out.Status.Parked()
}

// answer is what people say to what is open.
func (h *hostileTrial) answer() {
	all, err := h.log.Events(h.t.Context(), 0)
	must(h.t, err)
	at, err := session.Fold(all)
	must(h.t, err)
	for _, a := range at.Open() {
		word := session.Resolved{ID: a.ID, Verdict: policy.Approved, By: "kim"}
		if h.r.IntN(7) == 0 {
			word.Verdict = policy.Denied
		}
		h.note("%s is %s: %s\n%s", a.ID, word.Verdict, a.Tool, a.Display)
		must(h.t, h.log.Append(h.t.Context(), session.NewEvent(session.TypeResolved, 0, word)))
		if word.Verdict == policy.Approved {
			h.judge.approve(a.ID, a.Display)
		} else {
			h.judge.deny(a.ID)
		}
	}
}

var (
	hostileTrials = flag.Int("hostile.trials", form(12, 120), "how many sessions are worked on between hostile programs")
	hostileFirst  = flag.Uint64("hostile.first", 0, "the seed of the first of them")
)

// TestApprovalAgainstPrograms runs the real engine, workspace and git with hostile
// programs in the workspace between every two steps, other people's pushes, and
// deaths of the process: what reaches a sensitive path on the branch was shown to
// somebody who said yes, and goes there once; an approved command runs once.
func TestApprovalAgainstPrograms(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	trials := *hostileTrials
	var s *hostileStage
	covered, ran, wrong := 0, 0, 0
	for n := range uint64(trials) {
		if n%500 == 0 {
			s = newHostileStage(t)
		}
		seed := *hostileFirst + n
		h := s.trial(seed)
		for range 12 {
			if h.work() {
				break
			}
			h.answer()
			if h.r.IntN(4) == 0 {
				h.others()
			}
		}
		all, err := h.log.Events(t.Context(), 0)
		must(t, err)
		if found, err := session.Violations(all); err != nil || len(found) > 0 {
			h.judge.fault("the log breaks the rule: %q, %v", found, err)
		}
		ran += h.judge.ran()
		covered += h.judge.paths
		if len(h.judge.wrong) > 0 {
			if wrong++; wrong <= 3 {
				t.Errorf("seed %d: %s\n%s", seed, strings.Join(h.judge.wrong, "\n"), strings.Join(h.step, "\n"))
			}
		}
		if _, err := s.repo.Run(nil, "update-ref", "-d", "refs/heads/"+h.task.Branch); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("interleavings with programs: %d, sensitive changes on branches %d, approved commands run %d, wrong %d", trials, covered, ran, wrong)
	if covered < trials/2 || ran < trials/10 {
		t.Errorf("only %d sensitive changes and %d commands: the interleavings show nothing", covered, ran)
	}
}
