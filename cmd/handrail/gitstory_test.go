package main

import (
	"context"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/bot/ghapp/ghtest"
	"github.com/handrail-bot/handrail/bot/ghapp/ghtest/ghcheck"
	"github.com/handrail-bot/handrail/policy/longtest"
)

const storyBranch = "agent/1-the-greeting-is-wrong"

// askMore edits, waits for a person, and edits again: between the two, the
// world may change.
const askMore = `
- calls: [{name: edit_file, arguments: {path: greet.sh, old_string: Helo, new_string: Hello}}]
- calls: [{name: run_terminal_command, arguments: {command: rm -rf build}}]
- calls: [{name: edit_file, arguments: {path: greet.sh, old_string: Hello, new_string: Hello there}}]
- say: "Both are done. [TASK_COMPLETE]"
`

// approve says yes until words are in a comment of the bot. What was asked
// before a branch moved is asked again.
func (s *story) approve(words ...string) string {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	said, found := map[string]bool{}, ""
	for found == "" {
		next := ""
		err := s.gh.Wait(ctx, func(gh *ghtest.Server) bool {
			for _, c := range gh.Thread(s.issue).Comments {
				if c.Author == gh.App().Login && containsAllOf(c.Body, words) {
					found = c.Body
					return true
				}
				_, rest, _ := strings.Cut(c.Body, "Approval `")
				if id, _, ok := strings.Cut(rest, "`"); ok && c.Author == gh.App().Login && !said[id] {
					next = id
					return true
				}
			}
			return false
		})
		if err != nil {
			s.t.Fatalf("no comment of the bot has %q: %v\n%s", words, err, s.thread())
		}
		if found == "" {
			said[next] = true
			s.say("you", "/agent approve "+next)
		}
	}
	return found
}

// clone is a person's clone of the repository, which can push.
func (s *story) clone() string {
	s.t.Helper()
	token, err := s.gh.Token("you")
	if err != nil {
		s.t.Fatal(err)
	}
	dir := filepath.Join(s.t.TempDir(), "clone")
	s.git(".", "clone", "-q", strings.Replace(s.gh.URL(), "http://", "http://you:"+token+"@", 1)+"/team/app.git", dir)
	return dir
}

func (s *story) git(dir string, args ...string) string {
	s.t.Helper()
	out, err := plainGit(s.t.Context(), dir, args...).CombinedOutput()
	if err != nil {
		s.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// plainGit is git without the settings of this machine.
func plainGit(ctx context.Context, dir string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = dir
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(os.TempDir(), "no-such-home"), "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0",
		"GIT_AUTHOR_NAME=You", "GIT_AUTHOR_EMAIL=you@example.com", "GIT_COMMITTER_NAME=You", "GIT_COMMITTER_EMAIL=you@example.com", "LC_ALL=C",
	}
	return cmd
}

// hook replaces the rules of the remote.
func (s *story) hook(text string) {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(s.gitDir(), "hooks", "pre-receive"), []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
		s.t.Fatal(err)
	}
}

// has checks files of a branch.
func (s *story) has(branch string, files map[string]string) {
	s.t.Helper()
	for path, want := range files {
		if got := s.file(branch, path); got != want {
			s.t.Errorf("%s on %s = %q, want %q", path, branch, got, want)
		}
	}
}

// A person changed the same line on the branch: both keep what they did.
func TestConflictGoesToABranchBeside(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	s := newStory(t, greeting, `
- calls: [{name: edit_file, arguments: {path: greet.sh, old_string: Helo, new_string: Hello}}]
- calls: [{name: run_terminal_command, arguments: {command: "rm -rf build; echo echo Hello there > greet.sh"}}]
- say: "Both are done. [TASK_COMPLETE]"
`)
	s.say("you", "/agent fix the greeting and clean the build")
	s.request()
	if _, err := s.gh.Push(storyRepo, storyBranch, "you", map[string]string{"greet.sh": "echo Hallo\n"}); err != nil {
		t.Fatal(err)
	}
	text := s.approve("**done**", "Pull request: #", "The work is on the branch `"+storyBranch+"-2`", "others changed the same lines of `greet.sh`")
	s.has(storyBranch, map[string]string{"greet.sh": "echo Hallo\n"})
	s.has(storyBranch+"-2", map[string]string{"greet.sh": "echo Hello there\n"})
	if p := s.pull(); p.Pull.HeadRef != storyBranch+"-2" || !strings.Contains(p.Body, storyBranch+"-2") {
		t.Errorf("the pull request is from %s:\n%s", p.Pull.HeadRef, p.Body)
	}
	s.show(text)
}

// A rule of the repository is in the way: its words reach the person.
func TestProtectedBranch(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	s := newStory(t, greeting, fixGreeting)
	if err := s.gh.Protect(storyRepo, storyBranch, ghcheck.Protection{RequirePull: true}); err != nil {
		t.Fatal(err)
	}
	s.say("you", "/agent fix the greeting")
	text := s.until("**done**", "Pull request: #", "I could not push it to", "remote: error: GH006: Protected branch update failed", "`"+storyBranch+"-2`")
	s.has(storyBranch+"-2", map[string]string{"greet.sh": "echo Hello\n"})
	if p := s.pull(); p.Pull.HeadRef != storyBranch+"-2" {
		t.Errorf("the pull request is from %s", p.Pull.HeadRef)
	}
	s.show(text)
}

// Nothing can be pushed: the work comes as a patch that git takes, and is
// pushed when the rule is gone.
func TestPatchWhenNothingCanBePushed(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	s := newStory(t, greeting, `
- when: {has_tool: edit_file}
  calls: [{name: write_file, arguments: {path: more.txt, content: "more\n"}}, {name: edit_file, arguments: {path: greet.sh, old_string: Helo, new_string: Hello}}]
- say: "The greeting is right now. [TASK_COMPLETE]"
`)
	rules, err := os.ReadFile(filepath.Join(s.gitDir(), "hooks", "pre-receive"))
	if err != nil {
		t.Fatal(err)
	}
	s.hook("echo 'Pushing is closed until Monday.' >&2\nexit 1")
	s.say("you", "/agent fix the greeting")
	s.show(s.until("**failed**", "could not push the work to any branch", "remote: Pushing is closed until Monday.", "/agent retry", "is in my comment"))
	patch := s.until("### 📎 Patch", "<details>", "+echo Hello")
	s.show(patch)
	dir := s.clone()
	s.applies(dir, patch, "git apply changes.patch")
	for path, want := range map[string]string{"greet.sh": "echo Hello\n", "more.txt": "more\n"} {
		if got, err := os.ReadFile(filepath.Join(dir, path)); err != nil || string(got) != want {
			t.Errorf("the patch makes %s %q, %v", path, got, err)
		}
	}
	s.hook(strings.TrimPrefix(string(rules), "#!/bin/sh\n"))
	s.say("you", "/agent retry")
	s.done()
	s.has(storyBranch, map[string]string{"greet.sh": "echo Hello\n", "more.txt": "more\n"})
	if n := strings.Count(s.thread(), "### 📎 Patch"); n != 1 {
		t.Errorf("%d patches, want the one", n)
	}
}

// applies does what a comment with a patch says.
func (s *story) applies(dir, comment, command string) {
	s.t.Helper()
	_, rest, _ := strings.Cut(comment, "```diff\n")
	text, _, ok := strings.Cut(rest, "\n```")
	if !ok || !strings.Contains(comment, command) {
		s.t.Fatalf("no patch in:\n%s", comment)
	}
	if err := os.WriteFile(filepath.Join(dir, "changes.patch"), []byte(text+"\n"), 0o600); err != nil {
		s.t.Fatal(err)
	}
	s.git(dir, "apply", "changes.patch")
}

// show prints what a person reads, for -v.
func (s *story) show(text string) {
	s.t.Helper()
	s.t.Logf("a person reads:\n%s", text)
}

// The branch that the pull request goes to was renamed while the session
// worked.
func TestBaseBranchIsGone(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	s := newStory(t, greeting, askMore)
	s.say("you", "/agent fix the greeting and clean the build")
	s.request()
	if err := s.gh.RenameBranch(storyRepo, "main", "trunk"); err != nil {
		t.Fatal(err)
	}
	s.approve("**done**", "Pull request: #")
	p := s.pull()
	if p.Pull.BaseRef != "trunk" || !strings.Contains(p.Body, "`main`, the first target of this pull request, no longer exists; it now goes to `trunk`") {
		t.Errorf("the pull request goes to %s:\n%s", p.Pull.BaseRef, p.Body)
	}
	s.show(p.Body)
	s.has(p.Pull.HeadRef, map[string]string{"greet.sh": "echo Hello there\n"})
}

// pullStory has a pull request of a person, which the agent is asked in.
func pullStory(t *testing.T, turns string) (s *story, clone string) {
	t.Helper()
	s = newStory(t, greeting, turns)
	clone = s.clone()
	s.git(clone, "checkout", "-q", "-b", "feature")
	if err := os.WriteFile(filepath.Join(clone, "mine.txt"), []byte("mine\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.git(clone, "add", "-A")
	s.git(clone, "commit", "-q", "-m", "Mine")
	s.git(clone, "push", "-q", "origin", "feature")
	var err error
	s.issue, err = s.gh.OpenPull(storyRepo, "you", ghcheck.NewPull{Title: "My feature", Head: "feature", Base: "main"})
	if err != nil {
		t.Fatal(err)
	}
	s.say("you", "/agent fix the greeting and clean the build")
	s.request()
	return s, clone
}

// A pull request is force-pushed while the session works on it. Its first
// checkpoint is not in the rewritten branch; it is not lost.
func TestForcePushDuringWork(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	s, clone := pullStory(t, askMore)
	if err := os.WriteFile(filepath.Join(clone, "mine.txt"), []byte("better\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.git(clone, "commit", "-q", "-a", "--amend", "-m", "Mine, better")
	s.git(clone, "push", "-q", "--force", "origin", "feature")
	s.show(s.approve("**done**", "Rebased the work onto new commits of `feature`"))
	s.has("feature", map[string]string{"greet.sh": "echo Hello there\n", "mine.txt": "better\n"})
	log, err := s.gh.Log(storyRepo, "feature")
	if err != nil || len(log) < 3 || !strings.Contains(strings.Join(log, "\n"), "Mine, better") {
		t.Errorf("the branch has the commits %q, %v", log, err)
	}
}

// The branch of a pull request is deleted while the session works: the work
// makes it again, and since the pull request is closed, there is a new one.
func TestPullBranchDeletedDuringWork(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	s, clone := pullStory(t, askMore)
	s.git(clone, "push", "-q", "origin", ":feature")
	text := s.approve("**done**", "The branch `feature` was deleted, so I restored it", "Pull request: #")
	s.has("feature", map[string]string{"greet.sh": "echo Hello there\n", "mine.txt": "mine\n"})
	open := 0
	for _, th := range s.gh.Threads(storyRepo) {
		if th.Pull != nil && th.State == "open" && th.Pull.HeadRef == "feature" && th.Pull.BaseRef == "main" {
			open++
		}
	}
	if open != 1 {
		t.Errorf("%d open pull requests from the branch, want 1", open)
	}
	s.show(text)
}

// Workflow files are left out when the App may not push them; the rest goes
// out, and people get the files.
func TestWorkflowFilesAreAskedFor(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	for name, turns := range map[string]string{
		"with other work": `
- calls:
  - {name: edit_file, arguments: {path: greet.sh, old_string: Helo, new_string: Hello}}
  - {name: write_file, arguments: {path: .github/workflows/ci.yml, content: "on: push\n"}}
- when: {contains: ["I am not allowed to push workflow files"]}
  say: "The greeting is right, and there is a workflow. [TASK_COMPLETE]"
`,
		"alone": `
- calls: [{name: write_file, arguments: {path: .github/workflows/ci.yml, content: "on: push\n"}}]
- when: {contains: ["I am not allowed to push workflow files"]}
  say: "There is a workflow. [TASK_COMPLETE]"
`} {
		t.Run(name, func(t *testing.T) {
			s := newStory(t, greeting, turns)
			s.say("you", "/agent fix the greeting and add a workflow")
			s.show(s.approve("**done**", "I may not push workflow files", "`.github/workflows/ci.yml` +1 −0", "Workflows: read and write"))
			patch := s.until("### 📎 Patch", "+on: push")
			dir := s.clone()
			s.applies(dir, patch, "git apply changes.patch")
			if got, err := os.ReadFile(filepath.Join(dir, ".github", "workflows", "ci.yml")); err != nil || string(got) != "on: push\n" {
				t.Errorf("the patch makes %q, %v", got, err)
			}
			if name == "alone" {
				if n := len(s.gh.Branches(storyRepo)); n != 1 {
					t.Errorf("%d branches, want main alone", n)
				}
				return
			}
			s.done()
			s.has(storyBranch, map[string]string{"greet.sh": "echo Hello\n"})
			if _, err := s.gh.File(storyRepo, storyBranch, ".github/workflows/ci.yml"); err == nil {
				t.Error("the workflow was pushed")
			}
			if p := s.pull(); !strings.Contains(p.Body, "in my comment in #1") {
				t.Errorf("the pull request does not tell:\n%s", p.Body)
			}
		})
	}
}

// flaky lets git's requests through only while it is up.
type flaky struct {
	down atomic.Bool
	met  atomic.Int64
}

func (f *flaky) RoundTrip(r *http.Request) (*http.Response, error) {
	if f.down.Load() && strings.Contains(r.URL.Path, "git-receive-pack") {
		f.met.Add(1)
		return nil, errors.New("connection refused")
	}
	return http.DefaultTransport.RoundTrip(r)
}

// The remote cannot be reached for a while, also over a restart.
func TestRemoteIsDownForAWhile(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	s := newStory(t, greeting, fixGreeting)
	f := &flaky{}
	f.down.Store(true)
	s.restart(func(o *serverOptions) { o.transport, o.again, o.sweep = f, 10*time.Millisecond, 20*time.Millisecond })
	s.say("you", "/agent fix the greeting")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := waitFor(ctx, func() bool { return f.met.Load() > mostTriesOfARun }); err != nil {
		t.Fatalf("only %d tries", f.met.Load())
	}
	s.restart(func(o *serverOptions) { o.transport, o.again, o.sweep = f, 10*time.Millisecond, 20*time.Millisecond })
	if text := s.thread(); strings.Contains(text, "**failed**") {
		t.Errorf("it gave up:\n%s", text)
	}
	f.down.Store(false)
	s.done()
	s.has(storyBranch, map[string]string{"greet.sh": "echo Hello\n"})
}

// mostTriesOfARun is more often than a session is run again after a failure
// of its own.
const mostTriesOfARun = 12

// waitFor looks until ok.
func waitFor(ctx context.Context, ok func() bool) error {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
	return nil
}

// The repository is taken away from the App while the session waits: nothing
// crashes, nothing is pushed, and it goes on when it is back.
func TestRepositoryIsGoneForAWhile(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	s := newStory(t, greeting, askMore)
	s.say("you", "/agent fix the greeting and clean the build")
	id := s.request()
	s.until("**awaiting approval**")
	head := s.gh.Branch(storyRepo, storyBranch)
	s.say("you", "/agent approve "+id)
	if err := s.gh.Uninstall(storyRepo, true); err != nil {
		t.Fatal(err)
	}
	s.restart(nil)
	if got := s.gh.Branch(storyRepo, storyBranch); got != head {
		t.Errorf("the branch moved to %s", got)
	}
	if err := s.gh.Uninstall(storyRepo, false); err != nil {
		t.Fatal(err)
	}
	s.restart(nil)
	s.say("you", "/agent retry")
	s.approve("**done**", "Pull request: #")
	s.has(storyBranch, map[string]string{"greet.sh": "echo Hello there\n"})
}

// A patch that no comment can hold comes in parts, and they are whole.
func TestLongPatch(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	s := newStory(t, greeting, `
- calls: [{name: run_terminal_command, arguments: {command: "seq 1 40000 > numbers.txt"}}, {name: write_file, arguments: {path: crlf.txt, content: "a\r\nb\r\n"}}]
- {say: "Done. [TASK_COMPLETE]", optional: true}
`)
	s.hook("exit 1")
	s.say("you", "/agent write the numbers")
	s.approve("**failed**", "could not push", "of my comments")
	s.until("### 📎 Patch, part 2 of")
	var packed strings.Builder
	for _, c := range s.gh.Thread(s.issue).Comments {
		if n := len([]rune(c.Body)); n > 65536 {
			t.Errorf("a comment of %d characters", n)
		}
		if _, rest, ok := strings.Cut(c.Body, "```\n"); ok && strings.Contains(c.Body, "### 📎 Patch, part") {
			text, _, _ := strings.Cut(rest, "```")
			packed.WriteString(text)
		}
	}
	dir := s.clone()
	if err := os.WriteFile(filepath.Join(dir, "changes.patch.gz.b64"), []byte(packed.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := plainGit(t.Context(), dir)
	cmd.Path, cmd.Args = "/bin/sh", []string{"sh", "-c", "base64 -d changes.patch.gz.b64 | gunzip | git apply"}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("apply: %v\n%s", err, out)
	}
	if got, err := os.ReadFile(filepath.Join(dir, "crlf.txt")); err != nil || string(got) != "a\r\nb\r\n" {
		t.Errorf("crlf.txt = %q, %v", got, err)
	}
	if got, err := os.ReadFile(filepath.Join(dir, "numbers.txt")); err != nil || strings.Count(string(got), "\n") != 40000 {
		t.Errorf("numbers.txt has %d lines, %v", strings.Count(string(got), "\n"), err)
	}
}
