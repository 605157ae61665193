package live

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/ghapp/ghtest"
	"github.com/handrail-bot/handrail/bot/ghapp/ghtest/ghcheck"
)

// refusing refuses searches.
type refusing struct {
	next *http.Transport
	on   bool
}

func (d *refusing) RoundTrip(r *http.Request) (*http.Response, error) {
	if !d.on || !strings.HasSuffix(r.URL.Path, "/search/issues") {
		return d.next.RoundTrip(r)
	}
	return &http.Response{
		StatusCode: http.StatusUnprocessableEntity, Status: "422", Request: r, Header: http.Header{},
		Body: io.NopCloser(strings.NewReader(`{"message": "Validation Failed"}`)),
	}, nil
}

// TestOldIssues: an issue that reports the same is found however many newer ones there are.
// A refused search is told, and the newest issues are compared all the same.
func TestOldIssues(t *testing.T) {
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	quiet, d := slog.New(slog.DiscardHandler), &refusing{next: &http.Transport{}}
	gh, err := ghcheck.New(ghtest.Config{Dir: t.TempDir(), Log: quiet})
	must(err)
	must(gh.Start())
	t.Cleanup(func() {
		d.next.CloseIdleConnections()
		must(gh.Close())
		if v := gh.Violations(); len(v) > 0 {
			t.Errorf("GitHub was spoken to wrongly: %s", v)
		}
	})
	gh.AddUser("kim", "write")
	inst, err := gh.AddRepo("acme", "widget", ghtest.Source{})
	must(err)
	open := func(title, body string) *ghapp.Issue {
		ref, err := gh.OpenIssue("acme/widget", "kim", title, body)
		must(err)
		return &ghapp.Issue{Ref: ref, Title: title, Body: body}
	}
	old := open("Panic when the configuration is empty", "nil pointer in parseConfig")
	for n := range 100*maxPages + 5 {
		open(fmt.Sprintf("The app should support format %d", n), "")
	}
	open("An empty configuration is a mystery", "")
	is := open("Empty configuration panics", "It ends in parseConfig.")
	app, err := ghapp.New(ghapp.Config{
		APIURL: gh.URL() + "/api/v3/", AppID: gh.App().ID, PrivateKey: gh.App().Key, Spacing: -1, Backoff: time.Millisecond,
		Transport: d, Log: quiet,
	})
	must(err)
	c, err := app.For(t.Context(), is.Ref, inst)
	must(err)
	context := func() string {
		t.Helper()
		items, err := triageItems(t.Context(), c, *is, func(string) bool { return true })
		must(err)
		if len(items) == 0 {
			t.Fatal("no context")
		}
		last := items[len(items)-1]
		return last.Name + "\n" + last.Text
	}
	line := fmt.Sprintf("- #%d, open: Panic when the configuration is empty", old.Ref.Number)
	if got := context(); !strings.Contains(got, line) || !strings.Contains(got, "a mystery") || strings.Contains(got, "format") || !strings.HasPrefix(got, "Issues with") {
		t.Errorf("the context is %s", got)
	}
	d.on = true
	if got := context(); strings.Contains(got, line) || !strings.Contains(got, "a mystery") || !strings.HasPrefix(got, "GitHub refuses a search. Of the 300 issues") {
		t.Errorf("without a search: %s", got)
	}
}
