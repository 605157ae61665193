package ghapp_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/ghapp/answer"
	"github.com/handrail-bot/handrail/bot/ghapp/ghtest"
	"github.com/handrail-bot/handrail/bot/ghapp/ghtest/ghcheck"
	"github.com/handrail-bot/handrail/bot/ghapp/reads"
	"github.com/handrail-bot/handrail/policy/longtest"
)

// lookups are the reads of the client, by name.
func (w *world) lookups(ctx context.Context, t *testing.T) map[string]func() (any, error) {
	t.Helper()
	first, _ := reviewed(t, w)
	cm, err := w.gh.Comment(w.issue, "kim", "see #2")
	must(t, err)
	w.gh.AddTeam("acme", "core", "max")
	sha := w.gh.Branch(repo, "fix")
	_, err = w.gh.RunCheck(repo, sha, ghcheck.Result{Name: "test", Conclusion: "failure", Log: "no"})
	must(t, err)
	c := w.client
	return map[string]func() (any, error){
		"self":       func() (any, error) { return c.Self(ctx) },
		"installed":  func() (any, error) { return w.app.Installed(ctx, w.issue) },
		"issue":      func() (any, error) { return c.Issue(ctx, w.issue) },
		"pull":       func() (any, error) { return c.GetPull(ctx, w.pull) },
		"find pull":  func() (any, error) { p, _, err := c.FindPull(ctx, "fix"); return p, err },
		"lines":      func() (any, error) { return c.ListDiffComments(ctx, w.pull) },
		"reviews":    func() (any, error) { return c.ListReviews(ctx, w.pull) },
		"comment":    func() (any, error) { return c.GetComment(ctx, ghapp.Target{Comment: cm.ID}) },
		"line":       func() (any, error) { return c.GetComment(ctx, ghapp.Target{Comment: first, Diff: true}) },
		"text":       func() (any, error) { return c.CurrentText(ctx, ghapp.Text{Thread: w.issue}) },
		"own":        func() (any, error) { return c.OwnComments(ctx, w.pull, "", true) },
		"repository": func() (any, error) { return c.Repo(ctx) },
		"head":       func() (any, error) { return c.Head(ctx, "fix") },
		"protected":  func() (any, error) { return ghapp.Protected(ctx, c, "fix") },
		"file":       func() (any, error) { return c.FileAt(ctx, "main", "README.md") },
		"actor":      func() (any, error) { return c.Actor(ctx, "kim") },
		"team":       func() (any, error) { return c.InTeam(ctx, "acme", "core", "max") },
		"account":    func() (any, error) { return ghapp.OwnAccount(ctx, c) },
		"deliveries": func() (any, error) { return w.app.Deliveries(ctx, time.Time{}) },
		"checks":     func() (any, error) { return reads.Checks(ctx, c, sha) },
		"files":      func() (any, error) { return reads.Files(ctx, c, w.pull, 10) },
		"compare":    func() (any, error) { return reads.Compare(ctx, c, w.pull, "main", sha) },
		"diff":       func() (any, error) { return reads.PullDiff(ctx, c, w.pull, 1000, nil) },
		"labels":     func() (any, error) { return reads.Labels(ctx, c) },
		"quiet":      func() (any, error) { return reads.QuietPulls(ctx, c, time.Now().Add(time.Hour)) },
		"comments":   func() (any, error) { return reads.Comments(ctx, c, w.issue, reads.Window{Max: 5}) },
		"threads":    func() (any, error) { return reads.ReviewThreads(ctx, c, w.pull, 5) },
		"since":      func() (any, error) { return reads.TextsSince(ctx, c, w.issue, time.Now().Add(-time.Hour)) },
	}
}

// badAnswers are all kinds of answers that are none.
func badAnswers() map[string]ghcheck.Break {
	all := ghcheck.Breaks()
	maps.Copy(all, ghcheck.Lies())
	return all
}

// TestBadAnswersToReads: whatever is read and in whatever way the answer is broken, it is
// an outage, told as one. Nothing of it is kept: the next good answer is the good one.
func TestBadAnswersToReads(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	for name, kind := range badAnswers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			list := w.lookups(t.Context(), t)
			broken := 0
			bad := map[string]error{}
			w.gh.SetBreaks(func(route string) ghcheck.Break {
				if strings.HasSuffix(route, "/access_tokens") {
					return nil
				}
				broken++
				return kind
			})
			for of, look := range list {
				before := broken
				_, bad[of] = look()
				if broken == before {
					t.Errorf("%s: nothing was broken", of)
				}
			}
			w.gh.SetBreaks(nil)
			for of, look := range list {
				var none *answer.Error
				if ghapp.KindOf(bad[of]) != ghapp.Temporary || !errors.As(bad[of], &none) {
					t.Errorf("%s: %v of kind %v, want an outage", of, bad[of], ghapp.KindOf(bad[of]))
				}
				now, err := look()
				if err != nil {
					t.Fatalf("%s, afterwards: %v", of, err)
				}
				again, err := look()
				if diff := cmp.Diff(again, now); diff != "" || err != nil {
					t.Errorf("%s: what is read afterwards is not the same twice: %v\n%s", of, err, diff)
				}
			}
		})
	}
}

// TestBadAnswersToWrites: a write with a broken answer may have happened, so it is looked
// up, and is there once.
func TestBadAnswersToWrites(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	for name, kind := range badAnswers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			for i, wr := range w.writes(t) {
				wr.Key, wr.Since = fmt.Sprintf("s-1/%d", i), time.Now()
				broken := false
				w.gh.SetBreaks(func(route string) ghcheck.Break {
					if strings.HasPrefix(route, "GET") || strings.HasSuffix(route, "/access_tokens") {
						return nil
					}
					broken = true
					return kind
				})
				_, err := w.client.Perform(t.Context(), wr)
				w.gh.SetBreaks(nil)
				if broken && ghapp.KindOf(err) != ghapp.Unknown || !broken && err != nil {
					t.Errorf("%d %s: %v of kind %v, want unknown", i, wr.Kind, err, ghapp.KindOf(err))
				}
				if !broken && wr.Kind != ghapp.WriteBranchGone { // whose answer has no body
					t.Errorf("%d %s: nothing was broken", i, wr.Kind)
				}
				if _, done, err := w.client.Find(t.Context(), wr); (err != nil || !done) && wr.Kind != ghapp.WriteLabels {
					t.Errorf("%d %s: found is %v, %v", i, wr.Kind, done, err)
				}
			}
		})
	}
}

// TestOneBadAnswer: a single broken answer, also to the request for a token, is made good
// by asking again at once, so that the caller sees nothing of it.
func TestOneBadAnswer(t *testing.T) {
	t.Parallel()
	for name, kind := range badAnswers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, func(_ *ghtest.Config, ac *ghapp.Config) { ac.Backoff = 1 })
			list := w.lookups(t.Context(), t)
			seen := map[string]bool{}
			w.gh.SetBreaks(func(route string) ghcheck.Break {
				if seen[route] {
					return nil
				}
				seen[route] = true
				return kind
			})
			if _, _, err := w.client.GitAuth(t.Context(), w.gh.URL()+"/acme/widget.git", ghapp.GitFetch); err != nil || len(seen) != 1 {
				t.Errorf("credentials of git: %v after %d broken answers", err, len(seen))
			}
			for of, look := range list {
				if _, err := look(); err != nil {
					t.Errorf("%s: %v", of, err)
				}
			}
			if len(seen) < 20 {
				t.Errorf("only %d routes were asked", len(seen))
			}
		})
	}
}

// TestShortDiff: a diff that shows less than the pull request changes, or is no diff, is
// read as a list of files, which shows all.
func TestShortDiff(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	w := newWorld(t)
	_, err := w.gh.Push(repo, "fix", "kim", map[string]string{"b.txt": "b\n", "c.txt": "c\n"})
	must(t, err)
	for _, name := range []string{"empty", "short", "lacking"} {
		w.gh.SetBreaks(func(string) ghcheck.Break {
			return func(h http.Header, body []byte) ([]byte, bool) {
				if !strings.Contains(h.Get("Content-Type"), "diff") {
					return body, false
				}
				return ghcheck.Breaks()[name](h, body)
			}
		})
		got, err := reads.PullDiff(t.Context(), w.client, w.pull, 5000, nil)
		if err != nil || len(got.Files) != 3 || got.Files[2].Patch == "" || got.Files[2].Additions != 1 {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}
