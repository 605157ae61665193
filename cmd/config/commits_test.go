package config

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/ghapp/ghtest"
	"github.com/handrail-bot/handrail/bot/ghapp/ghtest/ghcheck"
	"github.com/handrail-bot/handrail/bot/thread"
	"github.com/handrail-bot/handrail/gitops"
	"github.com/handrail-bot/handrail/policy"
)

// world is a GitHub with one repository, and a job there.
type world struct {
	gh   *ghcheck.Server
	job  Job
	base string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	return newWorldAt(t, ghtest.Config{Dir: t.TempDir()})
}

func newWorldAt(t *testing.T, cfg ghtest.Config) *world {
	t.Helper()
	gh, err := ghcheck.New(cfg)
	if err == nil {
		err = gh.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, v := range gh.Violations() {
			t.Errorf("GitHub was spoken to wrongly: %s", v)
		}
		_ = gh.Close() // it was perhaps closed before
	})
	gh.AddUser("kim", "write")
	installation, err := gh.AddRepo("team", "app", ghtest.Source{Files: map[string]string{"a": "1\n"}})
	if err != nil {
		t.Fatal(err)
	}
	app, err := ghapp.New(ghapp.Config{APIURL: gh.URL(), AppID: gh.App().ID, PrivateKey: gh.App().Key, Spacing: -1})
	if err != nil {
		t.Fatal(err)
	}
	client, err := app.For(t.Context(), thread.Ref{Owner: "team", Repo: "app"}, installation)
	if err != nil {
		t.Fatal(err)
	}
	store, err := gitops.New(gitops.Config{Dir: t.TempDir(), Auth: func(ctx context.Context, url string, _ gitops.Access) (string, string, error) {
		return client.GitAuth(ctx, url, ghapp.GitPush)
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	mirror, err := store.Mirror(t.Context(), gh.URL()+"/team/app.git")
	if err != nil {
		t.Fatal(err)
	}
	_, base, err := mirror.Default(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return &world{gh, Job{Client: client, Mirror: mirror, Rules: policy.Commits{Sign: "api"}, App: true}, base}
}

// commit makes a commit on top of the base, signed as the job says.
func (w *world) commit(t *testing.T, text string) gitops.Commit {
	t.Helper()
	look, err := Of(t.Context(), w.job)
	if err != nil {
		t.Fatal(err)
	}
	c, err := w.job.Mirror.Checkpoint(t.Context(), gitops.Checkpoint{
		Parent: w.base,
		Changes: []gitops.Change{
			{Path: "bin/run", Exec: true, Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil }},
			{Path: "a", Delete: true},
		},
		Meta: gitops.Meta{Message: "Ändere es\n\nText", Trailers: []gitops.Trailer{{Key: "Session", Value: "s1"}}, Author: look.Author, When: time.Unix(1_700_000_000, 0), Sign: look.Sign("agent/1")},
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestCommitOfGitHubIsMadeOnce: when the server ends after a push and before it
// wrote down what GitHub called the commit, the same publication is that commit,
// also when people pushed since, or when the work went to a branch beside.
func TestCommitOfGitHubIsMadeOnce(t *testing.T) {
	for _, branch := range []string{"refs/heads/agent/1", "refs/heads/agent/1-2"} {
		w := newWorld(t)
		c := w.commit(t, "1\n")
		dir, err := w.gh.Dir("team/app")
		if err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command("git", "-C", dir, "cat-file", "-e", c.ID).CombinedOutput(); err != nil {
			t.Errorf("GitHub has not the commit %s: %s", c.ID, out)
		}
		if again := w.commit(t, "1\n"); again.ID == c.ID {
			t.Error("GitHub made the same commit twice, so this test shows nothing")
		}
		if err := w.job.Mirror.Push(t.Context(), gitops.Push{Commit: c.ID, Ref: branch}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.gh.Push("team/app", strings.TrimPrefix(branch, "refs/heads/"), "kim", map[string]string{"b": "2\n"}); err != nil {
			t.Fatal(err)
		}
		if again := w.commit(t, "1\n"); again.ID != c.ID {
			t.Errorf("%s: the commit %s was made again as %s", branch, c.ID, again.ID)
		}
		if other := w.commit(t, "2\n"); other.ID == c.ID {
			t.Errorf("%s: another commit is taken for it", branch)
		}
		out, err := exec.Command("git", "-C", dir, "for-each-ref", "--format=%(refname)").Output()
		if err != nil || bytes.Contains(out, []byte(staging)) {
			t.Errorf("there are the refs %s (%v)", out, err)
		}
		if out, err := exec.Command("git", "-C", dir, "ls-tree", "-r", c.ID).Output(); err != nil || !bytes.HasPrefix(out, []byte("100755 blob")) || bytes.Contains(out, []byte("\ta\n")) {
			t.Errorf("the commit holds %s (%v)", out, err)
		}
	}
}

// TestGitHubThatDoesNotSign: where only the repository asks for signatures, the commits
// are kept as they are and that is told once; where the server asks for them, nothing
// is committed, and who can mend it is told at once.
func TestGitHubThatDoesNotSign(t *testing.T) {
	w := newWorldAt(t, ghtest.Config{Dir: t.TempDir(), Sign: func([]byte) (string, error) { return "", nil }})
	told := 0
	w.job.Unsigned = func(context.Context) error { told++; return nil }
	look, err := Of(t.Context(), w.job)
	if err != nil {
		t.Fatal(err)
	}
	c := w.commit(t, "1\n")
	if err := w.job.Mirror.Push(t.Context(), gitops.Push{Commit: c.ID, Ref: "refs/heads/kept"}); err != nil {
		t.Fatal(err)
	}
	dir, err := w.gh.Dir("team/app")
	if err != nil {
		t.Fatal(err)
	}
	raw, err := exec.Command("git", "-C", dir, "cat-file", "commit", c.ID).Output()
	if err != nil || bytes.Contains(raw, []byte("gpgsig")) || told != 1 {
		t.Errorf("the commit is %s (%v), and that was told %d times", raw, err, told)
	}
	for _, branch := range []string{"agent/1", "agent/2"} {
		if out, err := look.Sign(branch)(t.Context(), c.ID, raw); err != nil || !bytes.Equal(out, raw) {
			t.Errorf("%s: it became %s (%v)", branch, out, err)
		}
	}
	if told != 2 { // once for each look, which is one run
		t.Errorf("it was told %d times", told)
	}
	w.job.Must = true
	look, err = Of(t.Context(), w.job)
	if err != nil {
		t.Fatal(err)
	}
	var final interface{ Final() bool }
	if out, err := look.Sign("agent/1")(t.Context(), c.ID, raw); !errors.As(err, &final) || out != nil || told != 2 {
		t.Errorf("the server asks for signatures, and the commit is %s (%v)", out, err)
	}
}

// TestWhoIsCredited: the co-author is the account that asked, by its number; an
// account that has its name now is not.
func TestWhoIsCredited(t *testing.T) {
	w := newWorld(t)
	kim, err := w.job.Client.Actor(t.Context(), "kim")
	if err != nil {
		t.Fatal(err)
	}
	no := false
	for name, c := range map[string]struct {
		change func(*Job)
		want   int
	}{
		"who asked":            {func(j *Job) { j.AskerID = kim.ID }, 1},
		"a log without number": {func(*Job) {}, 1},
		"another account":      {func(j *Job) { j.AskerID = kim.ID + 1 }, 0},
		"nobody":               {func(j *Job) { j.Asker = policy.Actor{Login: "kim", Lookup: policy.NotFound} }, 0},
		"not wanted":           {func(j *Job) { j.Rules.CoAuthor = &no }, 0},
	} {
		j := w.job
		j.Asker = kim
		c.change(&j)
		look, err := Of(t.Context(), j)
		if err != nil || len(look.CoAuthors) != c.want {
			t.Errorf("%s: %v, %v", name, look.CoAuthors, err)
		}
	}
}

// TestMissingKey: a repository that asks for a signature which nobody can give is told.
func TestMissingKey(t *testing.T) {
	w := newWorld(t)
	w.job.Rules.Sign = "gpg"
	if _, err := Of(t.Context(), w.job); err == nil || !strings.Contains(err.Error(), "`commits.sign` is `gpg`") {
		t.Errorf("it says %v", err)
	}
	w.job.Rules.Sign, w.job.App = "api", false
	if _, err := Of(t.Context(), w.job); err == nil || !strings.Contains(err.Error(), "none that are made with a token") {
		t.Errorf("of a token it says %v", err)
	}
}
