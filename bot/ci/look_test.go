package ci

import (
	"strings"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/ghapp/ghtest"
	"github.com/handrail-bot/handrail/bot/ghapp/ghtest/ghcheck"
	"github.com/handrail-bot/handrail/bot/thread"
)

// TestTold: the model is told of a check whose log is gone by what the check says itself,
// and that the log cannot be read.
func TestTold(t *testing.T) {
	t.Parallel()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	gh, err := ghcheck.New(ghtest.Config{Dir: t.TempDir()})
	must(err)
	must(gh.Start())
	defer func() { must(gh.Close()) }()
	inst, err := gh.AddRepo("acme", "widget", ghtest.Source{Files: map[string]string{"a": "a"}})
	must(err)
	app, err := ghapp.New(ghapp.Config{APIURL: gh.URL(), AppID: gh.App().ID, PrivateKey: gh.App().Key, Spacing: -1, Backoff: time.Millisecond})
	must(err)
	c, err := app.For(t.Context(), thread.Ref{Owner: "acme", Repo: "widget"}, inst)
	must(err)
	job, err := gh.RunCheck("acme/widget", gh.Branch("acme/widget", "main"), ghcheck.Result{Name: "build", Conclusion: "failure", Log: "no\n##[error]Process completed with exit code 1."})
	must(err)
	items, err := describeFailed(t.Context(), c, "abc", []mendCheck{
		{Name: "build (1.26, linux/amd64)", State: "failure", Job: job}, {Name: "gone\nx", State: "failure", Job: 999_999, Summary: "3 tests failed"},
		{Name: "gone", State: "failure", Job: 999_998}, {Name: "jenkins", State: "error", Title: "Build broke"},
	})
	must(err)
	var got []string
	for _, it := range items {
		got = append(got, it.Text)
	}
	want := []string{
		"build (1.26, linux/amd64): failure\n\nno\n##[error]Process completed with exit code 1.", "gone\\nx: failure (its log cannot be read)\n\n3 tests failed",
		"gone: failure (its log cannot be read)", "jenkins: error Build broke",
	}
	if a, b := strings.Join(got, "\n---\n"), strings.Join(want, "\n---\n"); a != b {
		t.Errorf("told\n%s\nnot\n%s", a, b)
	}
}
