package host

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/policy/longtest"
)

// TestStrayRepositories: work that a command committed elsewhere is found, and work that came back is
// not named.
func TestStrayRepositories(t *testing.T) {
	longtest.Leave(t)
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("NEEDS GIT")
	}
	stray := func(ref string, commits int, paths ...string) workspace.Stray {
		return workspace.Stray{Ref: ref, Commits: commits, Paths: paths}
	}
	const side = "git checkout -qb fix/x; mkdir -p d; echo new >d/a.txt; git add -A; git commit -qm one; "
	for name, tt := range map[string]struct {
		lines []string // a search for strays follows each
		want  []workspace.Stray
	}{
		"none":               {[]string{"echo more >>a.txt"}, nil},
		"on the branch":      {[]string{side}, nil},
		"left":               {[]string{side + "git checkout -q main"}, []workspace.Stray{stray("refs/heads/fix/x", 1, "d/a.txt")}},
		"left later":         {[]string{side, "git checkout -q main"}, []workspace.Stray{stray("refs/heads/fix/x", 1, "d/a.txt")}},
		"two":                {[]string{side + "echo b >b; git add b; git commit -qm two; git checkout -q main"}, []workspace.Stray{stray("refs/heads/fix/x", 2, "b", "d/a.txt")}},
		"merged":             {[]string{side + "git checkout -q main; git merge -q fix/x"}, nil},
		"picked":             {[]string{side + "git checkout -q main; echo z >z; git add z; git commit -qm z; git cherry-pick fix/x"}, nil},
		"squashed, and then": {[]string{side + "git checkout -q main; git merge -q --squash fix/x", "echo newer >d/a.txt"}, nil},
		"taken as files":     {[]string{side + "git checkout -q main; git checkout -q fix/x -- d", "rm -r d"}, nil},
		"dropped at once":    {[]string{side + "git checkout -q main; git branch -qD fix/x"}, []workspace.Stray{stray("the commit ID", 1, "d/a.txt")}},
		"told, then dropped": {[]string{side + "git checkout -q main", "git branch -qD fix/x"}, nil},
		"put aside":          {[]string{"echo more >>a.txt; git stash -q"}, []workspace.Stray{stray("refs/stash", 2, "a.txt")}},
		"back from aside":    {[]string{"echo more >>a.txt; git stash -q; git stash pop -q"}, nil},
		"only taken away":    {[]string{"git checkout -qb gone; git rm -q a.txt; git commit -qm gone; git checkout -q main"}, []workspace.Stray{stray("refs/heads/gone", 1)}},
		"packed refs":        {[]string{side + "git checkout -q main; git pack-refs --all"}, []workspace.Stray{stray("refs/heads/fix/x", 1, "d/a.txt")}},
		"another work tree":  {[]string{"git worktree add -q -b w ../wt; cd ../wt; echo w >w.txt; git add -A; git commit -qm w"}, []workspace.Stray{stray("refs/heads/w", 1, "w.txt")}},
		"left without a branch": {[]string{"git checkout -q --detach; echo d >d.txt; git add d.txt; git commit -qm one; git branch kept; echo e >d.txt; git commit -qam two; git checkout -q main; git branch -qD kept"},
			[]workspace.Stray{stray("the commit ID", 2, "d.txt")}},
		"left, and on a branch": {[]string{"git checkout -q --detach; echo d >d.txt; git add d.txt; git commit -qm one; git checkout -qb fix/d; git checkout -q main"},
			[]workspace.Stray{stray("refs/heads/fix/d", 1, "d.txt")}},
		"left and merged":    {[]string{"git checkout -q --detach; echo d >d.txt; git add d.txt; git commit -qm one; git checkout -q main; git merge -q HEAD@{1}"}, nil},
		"only looked at":     {[]string{"git checkout -q HEAD~1; git checkout -q main"}, nil},
		"tag":                {[]string{side + "git tag keep; git checkout -q main; git branch -qD fix/x"}, []workspace.Stray{stray("refs/tags/keep", 1, "d/a.txt")}},
		"tag with a message": {[]string{side + "git tag -am kept keep; git checkout -q main; git branch -qD fix/x"}, []workspace.Stray{stray("refs/tags/keep", 1, "d/a.txt")}},
		"two on each other": {[]string{side + "git checkout -qb on; echo b >b; git add b; git commit -qm two; git checkout -q main"},
			[]workspace.Stray{stray("refs/heads/fix/x", 1, "d/a.txt"), stray("refs/heads/on", 1, "b", "d/a.txt")}},
		"orphan":               {[]string{"git checkout -q --orphan o; git rm -rfq .; echo o >o.txt; git add o.txt; git commit -qm o; git checkout -q main"}, []workspace.Stray{stray("refs/heads/o", 1, "o.txt")}},
		"amended":              {[]string{side + "echo newer >d/a.txt; git commit -qa --amend -m one; git checkout -q main; git merge -q fix/x"}, nil},
		"in a rebase":          {[]string{side + "git checkout -q main; mkdir d; echo other >d/a.txt; git add -A; git commit -qm other; git checkout -q fix/x; ! git rebase main >/dev/null 2>&1"}, []workspace.Stray{stray("refs/heads/fix/x", 1, "d/a.txt")}},
		"in a merge":           {[]string{side + "git checkout -q main; mkdir d; echo other >d/a.txt; git add -A; git commit -qm other; ! git merge fix/x >/dev/null 2>&1"}, []workspace.Stray{stray("refs/heads/fix/x", 1, "d/a.txt")}},
		"a link":               {[]string{"git checkout -qb l; ln -s a.txt l; git add l; git commit -qm l; git checkout -q main; ln -s a.txt l"}, nil},
		"packed":               {[]string{side + "git checkout -q main; git gc -q"}, []workspace.Stray{stray("refs/heads/fix/x", 1, "d/a.txt")}},
		"packed later":         {[]string{side + "git checkout -q main", "git gc -q"}, []workspace.Stray{stray("refs/heads/fix/x", 1, "d/a.txt")}},
		"packed with the base": {[]string{side + "git checkout -q main; git repack -qad"}, []workspace.Stray{stray("refs/heads/fix/x", 1, "d/a.txt")}},
		"packed as differences": {[]string{"git checkout -qb n; for i in $(seq 60); do seq $i 300 >$i; git add $i; git commit -qm $i; done; git checkout -q main; git gc -q --aggressive"},
			[]workspace.Stray{{Ref: "refs/heads/n", Commits: 60, Paths: []string{"1", "10", "11", "12", "13"}, More: 55}}},
		"another ref":         {[]string{side + "git update-ref refs/foo HEAD; git checkout -q main; git branch -qD fix/x"}, []workspace.Stray{stray("refs/foo", 1, "d/a.txt")}},
		"another ref, packed": {[]string{side + "git update-ref refs/foo/bar HEAD; git checkout -q main; git branch -qD fix/x; git gc -q"}, []workspace.Stray{stray("refs/foo/bar", 1, "d/a.txt")}},
		"in place of another": {[]string{side + "git checkout -q main; git replace HEAD fix/x; git branch -qD fix/x"}, []workspace.Stray{stray("refs/replace/ID", 1, "d/a.txt")}},
		"a note":              {[]string{"git notes add -m noted"}, []workspace.Stray{stray("refs/notes/commits", 1, "ID")}},
		"left by a work tree": {[]string{"git worktree add -q --detach ../wt; cd ../wt; echo w >w.txt; git add -A; git commit -qm w"}, []workspace.Stray{stray("the commit ID", 1, "w.txt")}},
		"without a log": {[]string{"git checkout -q --detach; echo d >d.txt; git add d.txt; git commit -qm one; git checkout -q main; git reflog expire --expire=now --all"},
			[]workspace.Stray{stray("the commit ID", 1, "d.txt")}},
		"without a log, and packed": {[]string{"git checkout -q --detach; echo d >d.txt; git add d.txt; git commit -qm one; git checkout -q main; git reflog expire --expire=now --all; git gc -q"},
			[]workspace.Stray{stray("the commit ID", 1, "d.txt")}},
		"pruned":                      {[]string{"git checkout -q --detach; echo d >d.txt; git add d.txt; git commit -qm one; git checkout -q main", "git reflog expire --expire=now --all; git gc -q --prune=now"}, nil},
		"made without a ref":          {[]string{"git commit-tree -p HEAD -m made $(echo x >x.txt; git add x.txt; git write-tree) >/dev/null; git rm -fq x.txt"}, []workspace.Stray{stray("the commit ID", 1, "x.txt")}},
		"new files put aside":         {[]string{"echo more >>a.txt; echo u >u.txt; git stash -qu"}, []workspace.Stray{stray("refs/stash", 3, "a.txt", "u.txt")}},
		"only new files put aside":    {[]string{"echo u >u.txt; git stash -qu"}, []workspace.Stray{stray("refs/stash", 3, "u.txt")}},
		"new files put aside, packed": {[]string{"echo u >u.txt; git stash -qu; git gc -q"}, []workspace.Stray{stray("refs/stash", 3, "u.txt")}},
		"put aside twice": {[]string{"echo more >>a.txt; GIT_COMMITTER_DATE=2026-01-01T00:00:00Z git stash -q; echo b >>a.txt; git stash -q"},
			[]workspace.Stray{stray("refs/stash", 2, "a.txt"), stray("the commit ID", 2, "a.txt")}},
		"amended there": {[]string{"git checkout -q --detach; echo d >d.txt; git add d.txt; git commit -qm one; echo e >d.txt; git commit -qa --amend -m two; git checkout -q main"}, []workspace.Stray{stray("the commit ID", 1, "d.txt")}},
		"rebased":       {[]string{side + "git checkout -q main; echo other >>a.txt; git commit -qam other; git checkout -q fix/x; echo a >>d/a.txt; git commit -qam two; git rebase -q main; git checkout -q main; git merge -q fix/x"}, nil},
		"the last one picked": {[]string{"git checkout -q --detach; for i in e f; do echo $i >$i; git add $i; git commit -qm $i; done; git checkout -q main; echo z >z; git add z; git commit -qm z; git cherry-pick HEAD@{2}"},
			[]workspace.Stray{stray("the commit ID", 2, "e")}},
		"reset":                {[]string{"echo r >r.txt; git add r.txt; git commit -qm r; git reset -q --hard HEAD~1"}, []workspace.Stray{stray("the commit ID", 1, "r.txt")}},
		"old branch":           {[]string{"git branch old HEAD~1"}, nil},
		"without a repository": {[]string{side + "git checkout -q main; rm -rf .git"}, nil},
		"many": {[]string{"git checkout -qb m; for i in 1 2 3 4 5 6 7; do echo $i >$i; done; git add -A; git commit -qm m; git checkout -q main"},
			[]workspace.Stray{{Ref: "refs/heads/m", Commits: 1, Paths: []string{"1", "2", "3", "4", "5"}, More: 2}}},
		"damaged": {[]string{side + "git checkout -q main; for f in .git/objects/??/*; do chmod u+w $f; echo x >$f; done; echo x >.git/refs/heads/y; mkfifo .git/refs/heads/z"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "w")
			sh(t, t.TempDir(), "git init -q -b main "+dir)
			sh(t, dir, "echo a >a.txt; git add -A; git commit -qm base; echo b >>a.txt; git commit -qam base2; git gc -q --prune=now")
			root, err := os.OpenRoot(dir)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = root.Close() })
			seen := &seenDirectories{}
			var got []workspace.Stray
			for _, line := range tt.lines {
				sh(t, dir, line)
				got = strays(root, seen)
			}
			id := regexp.MustCompile(`[0-9a-f]{40}`)
			for i := range got {
				got[i].Ref = id.ReplaceAllString(got[i].Ref, "ID")
				for n, path := range got[i].Paths {
					got[i].Paths[n] = id.ReplaceAllString(path, "ID")
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("strays (-want +got):\n%s", diff)
			}
		})
	}
}

// TestDamagedPacks: whatever is in a pack, a search comes to an end.
func TestDamagedPacks(t *testing.T) {
	longtest.Leave(t)
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("NEEDS GIT")
	}
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	sh(t, dir, "git init -q -b main; for i in 1 2 3 4; do seq $i 90 >a; git add a; git commit -qm $i; done; git checkout -qb b; seq 70 >b; git add b; git commit -qm b; git checkout -q main; git gc -q --aggressive; chmod -R u+w .git")
	if got := strays(root, &seenDirectories{}); len(got) != 1 {
		t.Fatalf("%+v", got)
	}
	files, err := filepath.Glob(filepath.Join(dir, ".git/objects/pack/*.[ip]*"))
	if err != nil || len(files) < 2 {
		t.Fatal(files, err)
	}
	rnd := rand.New(rand.NewPCG(1, 1))
	for _, name := range files {
		whole, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for range 300 {
			data := slices.Clone(whole)
			for range 1 + rnd.IntN(4) {
				data[rnd.IntN(len(data))] = byte(rnd.Uint32())
			}
			if err := os.WriteFile(name, data[:len(data)-rnd.IntN(2)*rnd.IntN(len(data))], 0o600); err != nil {
				t.Fatal(err)
			}
			if got := strays(root, &seenDirectories{}); len(got) > 6 {
				t.Fatalf("%s: %+v", name, got)
			}
		}
		if err := os.WriteFile(name, whole, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func sh(t *testing.T, dir, line string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-ec", line)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@e.invalid",
		"GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@e.invalid")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", strings.TrimSpace(line), err, out)
	}
}

// TestTracked: the names in the index are those that git lists, whatever was done to it.
func TestTracked(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("NEEDS GIT")
	}
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	if got := trackedFiles(root); len(got) != 0 {
		t.Errorf("without a repository: %v", got)
	}
	sh(t, dir, "git init -q -b main; echo x/ >.gitignore; mkdir x; for i in 1 22 333 4444 55555 666666 7777777; do echo $i >x/$i; done; git add -f x/1 x/22 x/333 x/4444 x/55555; git add -N x/666666 -f")
	want := map[string]bool{"x/1": true, "x/22": true, "x/333": true, "x/4444": true, "x/55555": true, "x/666666": true}
	if diff := cmp.Diff(want, trackedFiles(root)); diff != "" {
		t.Error(diff)
	}
	data, err := root.ReadFile(".git/index")
	if err != nil {
		t.Fatal(err)
	}
	for n := range data {
		if err := root.WriteFile(".git/index", data[:n], 0o644); err != nil {
			t.Fatal(err)
		}
		if got := trackedFiles(root); len(got) > len(want) {
			t.Errorf("the first %d bytes have %v", n, got)
		}
	}
}
