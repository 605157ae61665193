package work

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/handrail-bot/handrail/agent"
	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/gitops"
	"github.com/handrail-bot/handrail/policy/longtest"
	"github.com/handrail-bot/handrail/policy/secret"
)

// TestFilesAreTheDiff has git judge what people are told of a session: after each
// edit, rename, step back, undo, redo and taking in of the base, the files and their
// counts are those of the diff of the branch and its base.
func TestFilesAreTheDiff(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	seeds := 6
	if longtest.Long() {
		seeds = 300
	}
	did := map[string]int{}
	for seed := range seeds {
		d := newDiffTrial(t, uint64(seed))
		for range 25 {
			what := d.step()
			did[what]++
			if got, want := d.told(), d.judged(); !slices.Equal(got, want) {
				t.Fatalf("seed %d, after %s: told\n%s\nand git says\n%s", seed, what, strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		}
	}
	for _, what := range []string{"edit", "back", "undo", "redo", "rebase"} {
		if did[what] < seeds/2 {
			t.Errorf("%d of %s: this test does not test it", did[what], what)
		}
	}
}

// TestLostPush: the answer to a push is lost, and more is saved before the next one. The pushed commit is
// no work of others: it becomes the parent of the next, on the same branch, and the files of both are told.
func TestLostPush(t *testing.T) {
	t.Parallel()
	d := newDiffTrial(t, 1)
	d.step() // the checkpoints begin with it
	landed := false
	d.saves.job.Push = func(ctx context.Context, p gitops.SafePush) (gitops.Pushed, error) {
		out, err := d.job.Repo.PushSafe(ctx, p)
		if err == nil && !landed {
			landed = true
			return gitops.Pushed{}, gitops.ErrUnavailable
		}
		return out, err
	}
	before, files := d.at.Published, map[string]string{"copies.txt": "one\n"} // all others go
	first := d.save(files)
	if _, err := d.saves.Publish(t.Context(), agent.Publication{Turn: 1, Saved: first, When: time.Unix(1_700_000_000, 0), Parent: before, Subject: "One"}); !errors.Is(err, gitops.ErrUnavailable) || !landed {
		t.Fatalf("the first push: %v", err)
	}
	files["copies.txt"] = "one\ntwo\n"
	d.save(files)
	d.publish()
	if d.at.Branch != "agent/1" || len(d.at.Sent) != 0 || d.files["copies.txt"] != "one\ntwo\n" {
		t.Errorf("on %s, %+v, %q", d.at.Branch, d.at.Sent, d.files["copies.txt"])
	}
	if got, want := d.told(), d.judged(); !slices.Equal(got, want) {
		t.Errorf("told %q, git says %q", got, want)
	}
	if n := strings.TrimSpace(d.git("rev-list", "--count", before+"..agent/1")); n != "2" {
		t.Errorf("%s commits", n)
	}
}

// TestLostPushes loses answers to pushes at random: of pushes that arrived and of those that did not, several in a
// row, with commits of a maintainer before, between and behind them, in files of their own or to the same line as the
// session's older text. No work of either is lost, no second branch is made for a conflict with the session's own
// work, and git agrees with the files that are told.
func TestLostPushes(t *testing.T) {
	t.Parallel()
	seeds := 40
	if longtest.Long() {
		seeds = 2000
	}
	did := map[string]int{}
	for seed := range seeds {
		d := newDiffTrial(t, uint64(seed))
		d.step()
		theirs := map[string]string{}
		losing := true
		d.saves.job.Push = func(ctx context.Context, p gitops.SafePush) (gitops.Pushed, error) {
			if !losing {
				return d.job.Repo.PushSafe(ctx, p)
			}
			if d.r.IntN(2) == 0 { // it did not arrive
				did["away"]++
				return gitops.Pushed{Commit: p.Commit}, gitops.ErrUnavailable
			}
			did["lost"]++
			out, err := d.job.Repo.PushSafe(ctx, p)
			return gitops.Pushed{Commit: out.Commit}, errors.Join(err, gitops.ErrUnavailable)
		}
		files := maps.Clone(d.files)
		for range 1 + d.r.IntN(5) {
			if d.r.IntN(3) == 0 {
				did["maintainer"]++
				name := fmt.Sprintf("theirs%d.txt", d.r.IntN(3))
				theirs[name] = d.text(2)
				d.theirs(name, theirs[name])
			}
			files["copies.txt"] = strings.Repeat("one\n", d.r.IntN(3)) + d.text(1)
			if d.r.IntN(2) == 0 {
				files[d.name()] = d.text(3)
			}
			d.save(files)
			_, err := d.saves.Publish(t.Context(), agent.Publication{Turn: 1, Saved: d.at.Saved, When: time.Unix(1_700_000_000, 0), Parent: d.at.Published, Subject: "One"})
			if !errors.Is(err, gitops.ErrUnavailable) && err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
		}
		losing = false
		files["copies.txt"] = d.text(2)
		d.save(files)
		d.publish()
		maps.Copy(files, theirs)
		if d.at.Branch != "agent/1" || !maps.Equal(d.files, files) {
			t.Fatalf("seed %d: on %s, %+v:\n%s", seed, d.at.Branch, d.at.Sent, cmp.Diff(files, d.files))
		}
	}
	for _, event := range []string{"away", "lost", "maintainer"} {
		if did[event] < seeds/3 {
			t.Errorf("%d of %s: this test does not test it", did[event], event)
		}
	}
}

// theirs has a maintainer commit a file to the session's branch.
func (d *diffTrial) theirs(name, text string) {
	d.t.Helper()
	tip := strings.TrimSpace(d.git("rev-parse", "agent/1"))
	d.git("read-tree", tip)
	if err := os.WriteFile(filepath.Join(d.dir, "theirs"), []byte(text), 0o600); err != nil {
		d.t.Fatal(err)
	}
	blob := strings.TrimSpace(d.git("hash-object", "-w", "theirs"))
	d.git("update-index", "--add", "--cacheinfo", "100644,"+blob+","+name)
	tree := strings.TrimSpace(d.git("write-tree"))
	d.git("update-ref", "refs/heads/agent/1", strings.TrimSpace(d.git("commit-tree", tree, "-p", tip, "-m", "theirs")), tip)
	d.git("read-tree", "HEAD")
}

// diffTrial is one session on a clone.
type diffTrial struct {
	t     *testing.T
	r     *rand.Rand
	dir   string
	job   Job
	at    *session.State
	saves *checkpoints
	files map[string]string // on the branch
	older []map[string]string
	names int
}

func newDiffTrial(t *testing.T, seed uint64) *diffTrial {
	t.Helper()
	d := &diffTrial{t: t, r: rand.New(rand.NewPCG(seed, 5)), dir: t.TempDir(), files: map[string]string{}}
	d.git("init", "-q", "-b", "main")
	for range 4 {
		d.files[d.name()] = d.text(20)
	}
	base := d.onMain(d.files)
	repo, err := gitops.OpenLocal(d.dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = repo.Close() })
	d.job = Job{Repo: repo, Log: &session.Memory{}, Task: session.Task{Session: "s1", Base: base, Branch: "agent/1"}}
	d.at = session.NewState()
	d.record(session.NewEvent(session.TypeOpened, 0, session.Opened{Task: d.job.Task}))
	return d
}

func (d *diffTrial) git(args ...string) string {
	d.t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=kim", "-c", "user.email=kim@example.com"}, args...)...)
	cmd.Dir = d.dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		d.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// onMain commits files to the base branch.
func (d *diffTrial) onMain(files map[string]string) string {
	d.t.Helper()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(d.dir, name), []byte(text), 0o600); err != nil {
			d.t.Fatal(err)
		}
	}
	d.git("add", "-A")
	d.git("commit", "-q", "-m", "base", "--allow-empty")
	return strings.TrimSpace(d.git("rev-parse", "HEAD"))
}

func (d *diffTrial) name() string {
	d.names++
	return fmt.Sprintf("f%d.txt", d.names)
}

// text is n lines that no other file has.
func (d *diffTrial) text(n int) string {
	var b strings.Builder
	for range n {
		fmt.Fprintf(&b, "%x\n", d.r.Uint64())
	}
	return b.String()
}

func (d *diffTrial) record(events ...*session.Event) {
	d.t.Helper()
	if err := record(d.t.Context(), d.job, d.at, events); err != nil {
		d.t.Fatal(err)
	}
}

// step does one thing and says what.
func (d *diffTrial) step() string {
	d.t.Helper()
	d.saves = &checkpoints{job: d.job, branch: d.at.Branch, published: d.at.Published, since: d.at.Base, secrets: Secrets{Redactor: secret.NewRedactor()}}
	switch n := d.r.IntN(10); {
	case n == 0 && len(d.at.Checkpoints) > 0:
		d.wish(session.TakeBack{Do: session.Undo, N: 1 + d.r.IntN(2)})
		return "undo"
	case n <= 2 && len(d.at.Checkpoints) > 0:
		d.wish(session.TakeBack{Do: session.Redo, N: d.r.IntN(3)})
		return "redo"
	case n == 3:
		d.onMain(map[string]string{d.name(): d.text(3)})
		d.wish(session.TakeBack{Do: session.Rebase, Branch: "main"})
		return "rebase"
	case n <= 5 && len(d.older) > 0:
		d.become(d.older[d.r.IntN(len(d.older))])
		return "back"
	}
	next := maps.Clone(d.files)
	for range 1 + d.r.IntN(3) {
		d.edit(next)
	}
	d.become(next)
	return "edit"
}

// edit makes one change to files.
func (d *diffTrial) edit(files map[string]string) {
	names := slices.Sorted(maps.Keys(files))
	if len(names) == 0 || d.r.IntN(5) == 0 {
		files[d.name()] = d.text(1 + d.r.IntN(20))
		return
	}
	name := names[d.r.IntN(len(names))]
	lines := strings.SplitAfter(files[name], "\n")
	switch at := d.r.IntN(len(lines)); d.r.IntN(6) {
	case 0:
		delete(files, name)
	case 1:
		files[d.name()] = files[name]
		delete(files, name)
	case 2:
		files[name] = "\x00" + d.text(2)
	case 3:
		files[name] = strings.TrimSuffix(files[name], "\n")
	case 4:
		files[name] = strings.Join(slices.Insert(lines, at, d.text(1)), "")
	default:
		files[name] = strings.Join(slices.Delete(lines, at, min(at+1, len(lines))), "") + d.text(1)
	}
}

// become puts files on the branch as a turn of the agent does.
func (d *diffTrial) become(files map[string]string) {
	d.t.Helper()
	d.save(files)
	d.publish()
}

// save saves files that are not on the branch yet, and returns the commit of the saved state.
func (d *diffTrial) save(files map[string]string) string {
	d.t.Helper()
	var changes []gitops.Change
	for name := range d.files {
		if _, ok := files[name]; !ok {
			changes = append(changes, gitops.Change{Path: name, Delete: true})
		}
	}
	for name, text := range files {
		if d.files[name] != text {
			changes = append(changes, gitops.Change{Path: name, Open: func() (io.ReadCloser, error) {
				return io.NopCloser(bytes.NewReader([]byte(text))), nil
			}})
		}
	}
	saved, err := d.job.Repo.Checkpoint(d.t.Context(), gitops.Checkpoint{Parent: d.at.Published, Changes: changes, Meta: d.saves.meta("Saved state", 1)})
	if err != nil {
		d.t.Fatal(err)
	}
	d.record(session.NewEvent(session.TypeCheckpoint, 1, session.Checkpoint{Commit: saved.ID, Tree: saved.Tree, Parent: d.at.Published, Files: fileChanges(saved.Files), Parked: true}))
	return saved.ID
}

func (d *diffTrial) publish() {
	d.t.Helper()
	pub := agent.Publication{Turn: 1, Saved: d.at.Saved, When: time.Unix(1_700_000_000, 0), Parent: d.at.Published, Subject: "Step", TookBack: d.at.Newest.TookBack, Merge: d.at.TakingIn()}
	cp, err := d.saves.Publish(d.t.Context(), pub)
	if err != nil {
		d.t.Fatal(err)
	}
	d.record(session.NewEvent(session.TypeCheckpoint, 1, cp))
	d.older, d.files = append(d.older, d.files), map[string]string{}
	for all := tar.NewReader(strings.NewReader(d.git("archive", d.at.Published))); ; { // one process for all files
		head, err := all.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		var text []byte
		if err == nil {
			text, err = io.ReadAll(all)
		}
		if err != nil {
			d.t.Fatal(err)
		}
		if head.Typeflag == tar.TypeReg {
			d.files[head.Name] = string(text)
		}
	}
}

// wish has the engine do what a person wants of the checkpoints.
func (d *diffTrial) wish(w session.TakeBack) {
	d.t.Helper()
	d.record(d.at.WithTakeBack(session.Message{Author: "kim"}, session.Place{}, w)...)
	was := d.at.Saved
	if err := New(Config{Secrets: d.saves.secrets}).takeBack(context.WithoutCancel(d.t.Context()), d.job, d.at); err != nil {
		d.t.Fatal(err)
	}
	if m := d.at.TakingIn(); m.Unsettled() { // given up
		d.record(session.NewEvent(session.TypeCheckpoint, 1, session.Checkpoint{Commit: d.at.Published, Parent: d.at.Published, Parked: true}))
		return
	}
	if d.at.Saved != was {
		d.saves.merge = d.at.TakingIn()
		d.publish()
	}
}

// told is what people are told.
func (d *diffTrial) told() (out []string) {
	for _, f := range d.at.Files {
		out = append(out, fmt.Sprintf("%s %s +%d -%d", f.From, f.Path, f.Added, f.Removed))
	}
	slices.Sort(out)
	return out
}

// judge is what git says of the branch and its base.
func (d *diffTrial) judged() (out []string) {
	d.t.Helper()
	base := strings.TrimSpace(d.git("merge-base", "main", d.at.Published))
	parts := strings.Split(d.git("diff", "--numstat", "-M", "-z", base, d.at.Published), "\x00")
	for i := 0; i < len(parts) && parts[i] != ""; i++ {
		f := strings.SplitN(parts[i], "\t", 3)
		from, to := "", f[2]
		if to == "" {
			from, to = parts[i+1], parts[i+2]
			i += 2
		}
		added, _ := strconv.Atoi(f[0]) // "-" for a binary file
		removed, _ := strconv.Atoi(f[1])
		out = append(out, fmt.Sprintf("%s %s +%d -%d", from, to, added, removed))
	}
	slices.Sort(out)
	return out
}
