package main

import (
	"context"
	"flag"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/handrail-bot/handrail/agent/acp/acptest"
	"github.com/handrail-bot/handrail/agent/llm/llmcheck"
	"github.com/handrail-bot/handrail/agent/llm/llmtest"
	"github.com/handrail-bot/handrail/agent/lsp/lsptest"
	"github.com/handrail-bot/handrail/policy/longtest"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "toolhost" { // what engines start inside
		os.Exit(mainExit(os.Args[1:]))
	}
	if len(os.Args) > 1 && os.Args[1] == "fake-agent" { // the same, as the agent inside
		os.Exit(acptest.Main(os.Args[2:]))
	}
	if len(os.Args) > 2 && os.Args[1] == "fake-lsp" { // the same, as a language server inside, for files of an extension
		(&lsptest.Server{Ext: os.Args[2], Index: os.Getenv("FAKE_LSP_INDEX")}).Serve(stdio{os.Stdin, os.Stdout})
		os.Exit(0)
	}
	testscript.Main(wide{m}, map[string]func(){
		"handrail":        func() { os.Exit(mainExit(os.Args[1:])) },
		"handrail-crash":  func() { os.Exit(crashChild()) },
		"handrail-serve":  func() { os.Exit(storyServe()) },
		"handrail-action": func() { os.Exit(storyAction()) },
		"fake-lsp":        func() { (&lsptest.Server{Ext: ".rs"}).Serve(stdio{os.Stdin, os.Stdout}) },
	})
}

// wide runs tests beside each other, since stories mostly wait. Programs that stories start do not get here.
type wide struct{ *testing.M }

func (w wide) Run() int {
	longtest.Wide(6)
	return w.M.Run()
}

// TestScripts runs the stories in testdata/script through the real main. They
// are the specification that runs.
//
// The commands that they have besides testscript's own are described in
// testdata/script/README.md.
//
// At the end of a story, a model that was not asked what its script says
// fails the test.
func TestScripts(t *testing.T) {
	t.Parallel()
	p := scriptParams(t, nil)
	if *stories != p.Dir {
		p.Dir = *stories
	} else if longtest.Plain() {
		for _, name := range core {
			p.Files = append(p.Files, filepath.Join(p.Dir, name+".txtar"))
		}
		p.Dir = ""
		t.Run("others", func(t *testing.T) { longtest.Leave(t) })
	}
	testscript.Run(t, p)
}

var stories = flag.String("stories", "../../testdata/script", "directory of the stories")

// core are the stories that a plain `go test` tells: one of each part of the program.
var core = []string{
	"door_policy", "door_text",
	"run_fix", "run_approval", "run_budget", "run_chat", "run_followup", "run_killed", "run_sensitive_denied", "run_text_calls",
	"serve_approval_restart", "serve_commits", "serve_denial", "serve_question", "serve_review", "serve_stop",
}

// scriptParams are what stories have; with act it runs their workflows.
func scriptParams(t *testing.T, runs *actRunner) testscript.Params {
	cmds := githubVerbs(t)
	maps.Copy(cmds, map[string]func(*testscript.TestScript, bool, []string){
		"model": scriptModel(t), "repo": scriptRepo, "branchfile": scriptBranchFile, "branchless": scriptBranchless,
		"sessionid": scriptSessionID, "permalink": scriptPermalink, "sshkey": sshKey, "gpgkey": gpgKey, "submodule": scriptSubmodule,
		"binary": scriptBinary, "gomodule": scriptGoModule, "tty": scriptTTY(t), "edge": scriptEdge,
	})
	return testscript.Params{
		Dir: "../../testdata/script",
		Setup: func(e *testscript.Env) error {
			e.Setenv("XDG_STATE_HOME", filepath.Join(e.WorkDir, ".state"))
			e.Setenv("HOME", e.WorkDir)
			e.Setenv("COLUMNS", "1000") // a line for each row of a table
			e.Setenv("GIT_CONFIG_NOSYSTEM", "1")
			e.Setenv("GOCACHE", filepath.Join(os.TempDir(), "handrail-script-gocache"))
			e.Setenv("GOFLAGS", "-mod=mod")
			e.Setenv("FRONTENDS", os.Getenv("FRONTENDS")) // of testdata/frontends
			test, _ := e.T().(interface{ Failed() bool })
			e.Values[stageKey{}] = &stage{act: runs, test: test}
			return nil
		},
		Condition: func(cond string) (bool, error) {
			if cond == "act" {
				return runs != nil, nil
			}
			if image, ok := strings.CutPrefix(cond, "image:"); ok {
				there := exec.CommandContext(context.Background(), "docker", "image", "inspect", image).Run() == nil
				return there || slices.Contains(strings.Split(os.Getenv("HANDRAIL_REQUIRE_ENGINES"), ","), "docker"), nil
			}
			_, err := exec.LookPath(cond)
			return err == nil, nil
		},
		Cmds: cmds,
	}
}

func scriptModel(t *testing.T) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		if neg || len(args) != 1 {
			ts.Fatalf("usage: model FILE")
		}
		script, err := llmtest.ParseScript([]byte(ts.ReadFile(args[0])))
		ts.Check(err)
		ts.Check(harmless(script))
		s, err := llmtest.Start(script, llmcheck.Dialect)
		ts.Check(err)
		at := newFront(t, ts, s.Handler())
		if st, ok := ts.Value(stageKey{}).(*stage); ok {
			st.model, at.stalled, at.release, at.served = at, s.WaitStalled, s.Release, s.WaitServed
			at.refused, at.wrong = s.Refused, s.Err
		}
		ts.Setenv("OLLAMA_HOST", "http://"+at.addr)
		ts.Setenv("HANDRAIL_MODEL", script.Model.Name)
		ts.Defer(func() {
			s.Close()
			if err := s.Err(); err != nil {
				t.Errorf("%s: %v", ts.Name(), err)
			}
		})
	}
}

func scriptRepo(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: repo DIR")
	}
	dir := ts.MkAbs(args[0])
	for _, line := range []string{
		"init -q -b main", "add -A", "-c user.name=Test -c user.email=test@example.invalid commit -q -m start",
	} {
		ts.Check(ts.Exec("git", append([]string{"-C", dir}, strings.Fields(line)...)...))
	}
}

func scriptBranchFile(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 3 {
		ts.Fatalf("usage: branchfile DIR PATTERN FILE")
	}
	dir := ts.MkAbs(args[0])
	git := func(args ...string) ([]byte, error) {
		return exec.CommandContext(context.Background(), "git", append([]string{"-C", dir}, args...)...).Output()
	}
	list, err := git("branch", "--format=%(refname:short)", "--list", args[1])
	ts.Check(err)
	names := strings.Fields(string(list))
	if len(names) != 1 {
		ts.Fatalf("%d branches match %s: %v", len(names), args[1], names)
	}
	data, err := git("show", names[0]+":"+args[2])
	if neg {
		if err == nil {
			ts.Fatalf("%s is on branch %s", args[2], names[0])
		}
		return
	}
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs("out"), data, 0o600))
}
