package workspacetest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/handrail-bot/handrail/agent/workspace"
)

// git checks that git, if installed, works inside as in a clone, and that its objects
// cannot be written to.
func git(t *testing.T, s Subject) {
	source, past := pastOf(t, Tree{"a.txt": "old\n", "d/b.txt": "b\n", "gone.txt": "x\n", "same.txt": "same\n"})
	ws := OpenSpec(t, s, workspace.Spec{Source: source, Git: past})
	if run(t, ws, "command -v gi''t").Exit != 0 {
		t.Skip("NEEDS GIT: it is not in this workspace")
	}
	if got := mustRun(t, ws, "ls -A"); strings.Contains(got, ".git") {
		t.Errorf("there is a repository before its past is there: %s", got)
	}
	for name, text := range map[string]string{"a.txt": "new\n", "new.txt": "new\n", "same.txt": "same\n"} {
		if err := ws.Write(t.Context(), name, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := ws.Remove(t.Context(), "gone.txt"); err != nil {
		t.Fatal(err)
	}
	ready := make(chan error, 1)
	go func() { ready <- os.WriteFile(filepath.Join(past, workspace.GitReady), nil, 0o644) }()
	out := mustRun(
		t,
		ws,
		"git log --format=%s && git diff --stat HEAD~1 && git diff | grep '^[-+][a-z]'; git status --short; git fsck && git stash -q && cat a.txt && git stash pop -q && git commit -qam mine && git log -1 --format=%s",
	)
	if err := <-ready; err != nil {
		t.Fatal(err)
	}
	other := OpenSpec(t, s, workspace.Spec{Source: source, Git: past})
	res, err := other.Run(t.Context(), workspace.Command{Line: "ls -A # no git", NoGit: true}, nil)
	if err != nil || strings.Contains(res.Output, ".git") {
		t.Errorf("a command without need of a repository made one: %v, %s", err, res.Output)
	}
	for _, want := range []string{"base\nfirst\n", "a.txt    | 1 +", "-old\n", "+new\n", " M a.txt\n D gone.txt\n?? new.txt\n", "\nold\n", "mine\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("git inside shows no %q:\n%s", want, out)
		}
	}
	// An edit within the same second and of the same size.
	if out := mustRun(t, ws, "printf 'c\\n' >d/b.txt; git status --short d; printf 'd\\n' >d/b.txt; git diff d"); !strings.Contains(out, " M d/b.txt") || !strings.Contains(out, "+d") {
		t.Errorf("git does not see an edit: %s", out)
	}
	cs, err := ws.Changes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cs {
		if strings.HasPrefix(c.Path, ".git") {
			t.Errorf("%s is a change", c.Path)
		}
	}
	if s.Wall {
		for _, try := range []string{"touch %/objects/x", "rm -rf %/objects/pack", "echo x >%/ready", "chmod -R u+w %", "mount -o remount,rw %"} {
			if res := run(t, ws, strings.ReplaceAll(try, "%", workspace.GitInside)); res.Exit == 0 {
				t.Errorf("inside %s is done: %s", try, res.Output)
			}
		}
	}
	mustRun(
		t,
		ws,
		"git checkout -qb other && echo o >other.txt && git add other.txt && git commit -qm other && git checkout -q -",
	)
	strays, err := ws.Strays(t.Context())
	if diff := cmp.Diff([]workspace.Stray{{Ref: "refs/heads/other", Commits: 1, Paths: []string{"other.txt"}}}, strays); diff != "" ||
		err != nil {
		t.Errorf("strays (-want +got): %v\n%s", err, diff)
	}
	mustRun(t, ws, "git worktree add -q -b side .trees/side && echo w >.trees/side/new.txt")
	cs, err = ws.Changes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cs {
		if strings.HasPrefix(c.Path, ".trees") && (c.Path != ".trees/side" || !strings.HasPrefix(c.Why, "a work tree of another branch")) {
			t.Errorf("of a work tree %+v is a change", c)
		}
	}
	mustRun(t, ws, "git worktree remove --force .trees/side && git branch -qD side && git fsck && rm -rf .git")
	if res := run(t, ws, "git status"); res.Exit == 0 {
		t.Errorf("the repository came back: %s", res.Output)
	}

	// If there is no history, git fails at once.
	source, past = pastOf(t, Tree{"a.txt": "a\n"})
	if err := os.WriteFile(filepath.Join(past, workspace.GitFailed), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	ws = OpenSpec(t, s, workspace.Spec{Source: source, Git: past})
	if res := run(t, ws, "git status"); res.Exit == 0 {
		t.Errorf("there is a repository: %s", res.Output)
	}
}

// pastOf makes a source and its history of two commits.
func pastOf(t testing.TB, tree Tree) (source, past string) {
	t.Helper()
	at := t.TempDir()
	source, past = filepath.Join(at, "source"), filepath.Join(at, "past")
	run := func(args ...string) {
		cmd := exec.CommandContext(t.Context(), "git", args...)
		cmd.Dir = source
		cmd.Env = []string{
			"PATH=" + os.Getenv("PATH"),
			"HOME=" + at,
			"GIT_AUTHOR_NAME=a",
			"GIT_AUTHOR_EMAIL=a@example.com",
			"GIT_COMMITTER_NAME=a",
			"GIT_COMMITTER_EMAIL=a@example.com",
		}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.Mkdir(source, 0o755))
	must(os.MkdirAll(filepath.Join(past, workspace.GitFiles), 0o755))
	run("init", "-q", "-b", "main")
	run("commit", "-q", "--allow-empty", "-m", "first")
	tree.write(t, source)
	run("add", "-A")
	run("commit", "-q", "-m", "base")
	run("config", "user.name", "agent")
	run("config", "user.email", "agent@localhost")
	run("config", "core.trustctime", "false")
	run("rm", "-rq", "--cached", ".") // leaves an index without times
	run("read-tree", "HEAD")
	run("pack-refs", "--all")
	for _, name := range []string{"HEAD", "config", "packed-refs", "index"} {
		must(os.Rename(filepath.Join(source, ".git", name), filepath.Join(past, workspace.GitFiles, name)))
	}
	must(os.Rename(filepath.Join(source, ".git/objects"), filepath.Join(past, workspace.GitObjects)))
	must(os.RemoveAll(filepath.Join(source, ".git")))
	for _, dir := range []string{at, source} {
		must(os.Chmod(dir, 0o755))
	}
	must(workspace.Give(t.Context(), source))
	must(workspace.Give(t.Context(), past)) // so that only the wall protects it
	return source, past
}
