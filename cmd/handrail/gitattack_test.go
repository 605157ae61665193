package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/longtest"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// traps are where planted commands leave their marks, outside of every
// workspace: files, and calls on a port of this machine.
type traps struct {
	dir   string
	port  string
	calls atomic.Int64
}

func newTraps(t *testing.T) *traps {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	tr := &traps{dir: t.TempDir()}
	_, tr.port, _ = net.SplitHostPort(l.Addr().String())
	if err := os.Chmod(tr.dir, 0o777); err != nil { // whoever runs a plant can leave a mark
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			tr.calls.Add(1)
			_, _ = fmt.Fprint(c, "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"x\"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
			_ = c.Close()
		}
	}()
	t.Cleanup(func() {
		_ = l.Close()
		<-done
	})
	return tr
}

func (tr *traps) command(names string) string {
	return fmt.Sprintf("MARKS=%s PORT=%s sh plant.sh %s", tr.dir, tr.port, names)
}

// sprung lists the marks.
func (tr *traps) sprung(t *testing.T) []string {
	t.Helper()
	list, err := os.ReadDir(tr.dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range list {
		out = append(out, e.Name())
	}
	if n := tr.calls.Load(); n > 0 {
		out = append(out, fmt.Sprintf("%d calls", n))
	}
	return out
}

// buildHandrail builds the program.
func buildHandrail(t *testing.T) string {
	t.Helper()
	if !longtest.Long() {
		bin, err := exec.LookPath("handrail") // this program as scripts run it
		if err != nil {
			t.Fatal(err)
		}
		return bin
	}
	return buildProgram(t)
}

// buildProgram builds this program without its tests.
func buildProgram(t *testing.T) string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "handrail")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", bin, ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build handrail: %v\n%s", err, out)
	}
	return bin
}

// hostile makes the repository one whose own tree is an attack: a gitlink,
// attributes, submodules with options for addresses, a bare repository in a
// directory, and names that are .git elsewhere.
func hostile(s *story) (base string) {
	s.t.Helper()
	script, err := os.ReadFile("testdata/gitattack/plant.sh")
	if err != nil {
		s.t.Fatal(err)
	}
	dir := s.gitDir()
	blob := func(text string) string {
		cmd := plainGit(s.t.Context(), dir, "hash-object", "-w", "--stdin")
		cmd.Stdin = strings.NewReader(text)
		out, err := cmd.Output()
		if err != nil {
			s.t.Fatal(err)
		}
		return strings.TrimSpace(string(out))
	}
	tree := func(lines ...string) string {
		cmd := plainGit(s.t.Context(), dir, "mktree", "--missing")
		cmd.Stdin = strings.NewReader(strings.Join(lines, "\n") + "\n")
		out, err := cmd.CombinedOutput()
		if err != nil {
			s.t.Fatalf("mktree: %v\n%s", err, out)
		}
		return strings.TrimSpace(string(out))
	}
	config := blob("[core]\n\tfsmonitor = touch tree-config\n")
	inner := tree("100644 blob " + config + "\tconfig")
	old := s.gh.Branch(storyRepo, "main")
	root := tree(
		"100644 blob "+blob("echo Helo\n")+"\tgreet.sh",
		"100755 blob "+blob(string(script))+"\tplant.sh",
		"100644 blob "+blob("*.txt filter=tree diff=tree\n")+"\t.gitattributes",
		"100644 blob "+blob("[submodule \"sub\"]\n\tpath = sub\n\turl = --upload-pack=id\n\tupdate = !id\n")+"\t.gitmodules",
		"160000 commit "+old+"\tsub",
		"040000 tree "+inner+"\t.GIT",
		"040000 tree "+inner+"\tgit~1",
		"040000 tree "+inner+"\t.g\u200cit",
		"120000 blob "+blob("../../outside")+"\tout",
	)
	base = strings.TrimSpace(s.git(dir, "commit-tree", "-p", old, "-m", "hostile", root))
	s.git(dir, "update-ref", "refs/heads/main", base)
	return base
}

// TestGitAttacks has a puppet plant every known way to make git run something
// into a workspace of the real program, in a repository that is hostile
// itself. Nothing of it runs outside, the session ends as ever, and nothing of
// a git directory is pushed.
func TestGitAttacks(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	skipUnderRace(t)
	bin := buildHandrail(t)
	for _, engine := range []string{"local", "bwrap", "docker"}[:form(1, 3)] {
		t.Run(engine, func(t *testing.T) {
			needEngine(t, engine)
			tr := newTraps(t)
			s := newStory(t, greeting, "- calls: [{name: run_terminal_command, arguments: {command: "+quoted(t, tr.command("all"))+"}}]\n"+
				"- calls: [{name: edit_file, arguments: {path: greet.sh, old_string: Helo, new_string: Hello}}]\n"+
				"- {say: \"The greeting is right now. [TASK_COMPLETE]\", repeat: true}\n")
			base := hostile(s)
			s.stop()
			s.serve(bin, engine)
			var err error
			if s.issue, err = s.gh.OpenIssue(storyRepo, "you", "$(touch "+tr.dir+"/title);`touch "+tr.dir+"/title`\n--upload-pack=x", "Please."); err != nil {
				t.Fatal(err)
			}
			s.say("you", "/agent fix the greeting")
			s.approve("**done**", "Pull request: #")
			if marks := tr.sprung(t); len(marks) > 0 {
				t.Errorf("planted commands ran: %v", marks)
			}
			s.cleanTree(base)
		})
	}
}

func quoted(t *testing.T, text string) string {
	t.Helper()
	out, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// needEngine skips, loudly, where an engine does not work.
func needEngine(t *testing.T, name string) {
	t.Helper()
	list, err := workspaceEngines(t.Context(), &console{}, os.Args[0], policy.Workspace{})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		if e.Name() != name {
			continue
		}
		if err = e.Check(t.Context()); err == nil {
			return
		}
	}
	missing(t, name, "%v", err)
}

// serve runs the built program as a server of this story.
func (s *story) serve(bin, engine string) {
	s.t.Helper()
	dir := s.t.TempDir()
	write := func(name string, data []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			s.t.Fatal(err)
		}
		return path
	}
	app := s.gh.App()
	config := write("handrail.yml", fmt.Appendf(nil, "listen: 127.0.0.1:0\ndata: %s\nworkspace: %s\ngithub:\n  api: %s\n  app_id: %d\n  private_key_file: %s\npolicy: {workspace: {unlimited: true}}\nmodel:\n  name: m\n  ollama: %s\n",
		filepath.Join(dir, "data"), engine, s.gh.URL(), app.ID, write("key.pem", app.Key), s.model.URL()))
	ctx, stop := context.WithCancel(context.WithoutCancel(s.t.Context()))
	cmd := exec.CommandContext(ctx, bin, "serve", "-c", config)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "HANDRAIL_WEBHOOK_SECRET=" + app.WebhookSecret}
	cmd.Stderr = s.log
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 20 * time.Second
	out, err := cmd.StdoutPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		s.gh.SetWebhook("")
		stop()
		_ = cmd.Wait()
		if s.t.Failed() {
			s.t.Logf("server log:\n%s", s.log)
		}
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	_, rest, ok := strings.Cut(line, " listens on ")
	if err != nil || !ok {
		s.t.Fatalf("serve said %q, %v\n%s", line, err, s.log)
	}
	s.gh.SetWebhook(strings.Fields(rest)[0] + "/webhook")
}

// cleanTree looks at what was pushed: a branch with a harmless name, on top
// of the base, whose new paths are not of a git directory in any spelling.
func (s *story) cleanTree(base string) {
	s.t.Helper()
	dir := s.gitDir()
	pull := s.pull().Pull
	for _, r := range pull.HeadRef {
		if !strings.ContainsRune("abcdefghijklmnopqrstuvwxyz0123456789-/_.", r) {
			s.t.Errorf("the branch is called %q", pull.HeadRef)
			break
		}
	}
	if got := s.file(pull.HeadRef, "greet.sh"); !strings.HasPrefix(got, "echo Hello\n") {
		s.t.Errorf("greet.sh = %q", got)
	}
	if got := strings.TrimSpace(s.git(dir, "merge-base", base, pull.HeadSHA)); got != base {
		s.t.Errorf("the branch is not on top of the base but of %s", got)
	}
	if who := s.git(dir, "log", "--format=%an%ae%cn%ce", base+".."+pull.HeadSHA); strings.Contains(who, "touch") {
		s.t.Errorf("the commits are by %s", who)
	}
	paths := strings.Split(strings.TrimRight(s.git(dir, "diff", "--name-only", "-z", "--no-renames", base, pull.HeadSHA), "\x00"), "\x00")
	if len(paths) < 5 {
		s.t.Errorf("only %q was pushed: the plants were not there", paths)
	}
	for _, p := range paths {
		for part := range strings.SplitSeq(strings.ToLower(p), "/") {
			part = strings.TrimRight(strings.Map(func(r rune) rune {
				if r > 127 {
					return -1
				}
				return r
			}, part), " .")
			if part == ".git" || part == "git~1" || strings.HasPrefix(part, ".git:") || p == ".gitmodules" {
				s.t.Errorf("pushed %q", p)
			}
		}
	}
	if mode := s.git(dir, "ls-tree", pull.HeadSHA, "sub"); !strings.HasPrefix(mode, "160000") {
		s.t.Errorf("the gitlink became %q", mode)
	}
}

// TestGitAttacksAreLive is the control: plain git in a tree with the same
// plants runs them. Without it, TestGitAttacks would prove nothing.
func TestGitAttacksAreLive(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	s := newStory(t, greeting, "- {say: never, optional: true}\n")
	hostile(s)
	s.stop()
	list, err := exec.CommandContext(t.Context(), "sh", "testdata/gitattack/plant.sh", "list").Output()
	if err != nil {
		t.Fatal(err)
	}
	var live, quiet []string
	names := strings.Fields(string(list))
	if !longtest.Long() {
		names = []string{"fsmonitor", "hooks"}
	}
	for _, name := range append(names, "all") {
		tr := newTraps(t)
		dir := filepath.Join(t.TempDir(), "clone")
		s.git(".", "-c", "core.protectNTFS=false", "-c", "core.protectHFS=false", "-c", "core.symlinks=true", "clone", "-q", "--no-checkout", s.gitDir(), dir)
		s.git(dir, "config", "core.protectNTFS", "false")
		s.git(dir, "config", "core.protectHFS", "false")
		_, _ = plainGit(t.Context(), dir, "checkout", "-q", "HEAD", "--", "greet.sh", "plant.sh").CombinedOutput()
		_, _ = plainGit(t.Context(), dir, "reset", "-q").CombinedOutput()
		cmd := exec.CommandContext(t.Context(), "sh", "-c", tr.command(name))
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("plant %s: %v\n%s", name, err, out)
		}
		for _, line := range []string{
			"status", "diff", "diff --ext-diff", "add -A", "-C sub status", "-C nested status", "-C linked status", "-C bare status", "-p status", "st",
			"commit -q -m x --allow-empty", "commit --allow-empty", "checkout -q HEAD~1 -- greet.sh", "fetch -q evil", "submodule update",
			"merge-file -p greet.sh greet.sh greet.sh", "stash -q", "stash pop",
		} {
			plainGitTry(t, dir, strings.Fields(line)...)
		}
		if len(tr.sprung(t)) > 0 {
			live = append(live, name)
		} else {
			quiet = append(quiet, name)
		}
	}
	t.Logf("control: plain git runs %d of %d: %v; not run by these commands: %v", len(live), len(live)+len(quiet), live, quiet)
	for _, name := range []string{"fsmonitor", "hooks", "hookspath", "clean", "process", "smudge", "textconv", "diffcmd", "extdiff", "include",
		"includeif", "editor", "gpg", "credential", "askpass", "ssh", "insteadof", "infoattributes", "gitlink", "gitfile", "gitsymlink", "bare", "all"} {
		if slices.Contains(append(names, "all"), name) && !slices.Contains(live, name) {
			t.Errorf("plain git does not run %q: the plant proves nothing", name)
		}
	}
}

// plainGitTry runs git, which may fail, and not for long.
func plainGitTry(t *testing.T, dir string, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	cmd := plainGit(ctx, dir, args...)
	cmd.WaitDelay = time.Second
	cmd.Env = append(cmd.Env, "TERM=dumb", "GIT_ALLOW_PROTOCOL=http:https:ssh:ext:file")
	_ = cmd.Run()
}
