package bot

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/thread"
)

// words are the names of kinds in this file.
var words = map[kind]string{
	silent: "silent", spoken: "spoken", posted: "posted", touched: "touched", reviewed: "reviewed", forked: "forked", moved: "moved",
}

// TestClassifyRecorded: each of GitHub's own examples has one kind, that of its event and
// action. One of those that open an issue opens one that came from elsewhere.
func TestClassifyRecorded(t *testing.T) {
	t.Parallel()
	want := map[string]kind{
		"issue_comment created": spoken, "pull_request_review_comment created": spoken, "pull_request_review submitted": spoken,
		"issues opened": posted, "pull_request opened": posted,
		"issue_comment edited": touched, "issue_comment deleted": touched,
		"pull_request_review_comment edited": touched, "pull_request_review_comment deleted": touched,
		"issues edited": touched, "issues transferred": touched,
	}
	files, err := filepath.Glob("../testdata/webhook/*/*.json")
	if err != nil || len(files) < 100 {
		t.Fatal(len(files), err)
	}
	found, away := map[kind]int{}, 0
	for _, file := range files {
		payload, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(filepath.Dir(file))
		ev, err := ghapp.ParseEvent(name, payload)
		if err != nil {
			t.Fatal(file, err)
		}
		is := want[name+" "+ev.Action]
		switch {
		case name == "repository", name == "installation", name == "installation_repositories":
			is = moved
		case ev.Moved:
			is = silent
			away++
		}
		e := classify(ev)
		if e.kind != is || e.in(ev.Thread).kind != is {
			t.Errorf("%s is %s, in its thread %s; want %s", file, words[e.kind], words[e.in(ev.Thread).kind], words[is])
		}
		found[e.kind]++
	}
	if away != 1 || found[spoken] == 0 || found[posted] == 0 || found[touched] == 0 || found[moved] == 0 || found[silent] == 0 {
		t.Errorf("%v, %d from elsewhere", found, away)
	}
}

// TestClassify: the kinds that no example of GitHub's has, and what decides on a kind.
func TestClassify(t *testing.T) {
	t.Parallel()
	const (
		kim    = `{"login":"kim","id":3,"type":"User"}`
		pat    = `{"login":"pat","id":4,"type":"User"}`
		branch = "handrail-review-7-abc123"
	)
	pull := func(head string, repo int) string {
		return fmt.Sprintf(`"pull_request":{"number":9,"user":%s,"body":"b","head":{"ref":%q,"repo":{"id":%d,"full_name":"acme/widget"}},
			"base":{"ref":"agent/1","repo":{"id":1}}}`, kim, head, repo)
	}
	review := func(state string) string {
		return fmt.Sprintf(`"review":{"id":5,"state":%q,"body":"/agent approve","user":%s},`, state, kim)
	}
	comment := func(by string) string {
		return fmt.Sprintf(`"issue":{"number":7,"user":%s},"comment":{"id":6,"body":"b","user":%s}`, pat, by)
	}
	for _, tt := range []struct {
		event, action, rest string
		want, elsewhere     kind // in the thread that it names, and in another
		speaks              bool
	}{
		{"issue_comment", "created", comment(kim), spoken, spoken, true},
		{"issue_comment", "created", comment(pat), silent, silent, false}, // brought by another account
		{"issue_comment", "edited", comment(pat), touched, touched, false},
		{"issue_comment", "pinned", comment(kim), silent, silent, false},
		{ghapp.Dashboard, "created", comment(kim), spoken, spoken, true},
		{"issues", "opened", `"issue":{"number":7,"user":` + kim + `}`, posted, posted, true},
		{"issues", "opened", `"issue":{"number":7,"user":` + pat + `}`, silent, silent, false},
		{"issues", "edited", `"issue":{"number":7,"user":` + kim + `}`, touched, touched, false},
		{"workflow_dispatch", "", `"inputs":{"task":"x"}`, silent, silent, false},
		{"workflow_dispatch", "", `"inputs":{"task":"x"},"issue":{"number":7}`, spoken, spoken, true},
		{"pull_request_review", "submitted", review("approved") + pull(branch, 1), reviewed, spoken, true},
		{"pull_request_review", "submitted", review("commented") + pull(branch, 1), spoken, spoken, true},
		{"pull_request_review", "submitted", review("approved") + pull("fix", 1), spoken, spoken, true},
		{"pull_request_review", "submitted", review("approved") + pull(branch, 2), spoken, spoken, true}, // a fork's
		{"pull_request_review", "dismissed", review("dismissed") + pull(branch, 1), reviewed, silent, false},
		{"pull_request", "closed", pull(branch, 1), reviewed, silent, false},
		{"pull_request", "synchronize", pull(branch, 1), reviewed, silent, false},
		{"pull_request", "synchronize", pull(branch, 2), forked, forked, false},
		{"pull_request", "synchronize", pull("fix", 1), silent, silent, false},
		{"pull_request", "opened", pull(branch, 1), posted, posted, true},
		{"pull_request", "labeled", pull("fix", 1), silent, silent, false},
		{"installation", "deleted", `"repositories":[]`, moved, moved, false},
		{"check_run", "completed", `"check_run":{"id":1}`, silent, silent, false},
		{"discussion_comment", "created", comment(kim), silent, silent, false}, // not understood
	} {
		payload := fmt.Sprintf(`{"action":%q,"sender":%s,"repository":{"id":1,"full_name":"acme/widget"},%s}`, tt.action, kim, tt.rest)
		if !json.Valid([]byte(payload)) {
			t.Fatalf("no JSON: %s", payload)
		}
		ev, err := ghapp.ParseEvent(tt.event, []byte(payload))
		if err != nil {
			t.Fatal(payload, err)
		}
		home := ev.Thread
		if e := classify(ev); e.kind == reviewed {
			home = thread.Ref{Owner: "acme", Repo: "widget", Number: 7}
			if !e.about.Same(home) {
				t.Errorf("%s is about %s", payload, e.about.Key())
			}
		}
		e, other := classify(ev).in(home), classify(ev).in(thread.Ref{Owner: "acme", Repo: "gadget", Number: 7})
		if e.kind != tt.want || other.kind != tt.elsewhere || e.speaks != tt.speaks {
			t.Errorf("%s %s: %s, elsewhere %s, speaks %t\n%s", tt.event, tt.action, words[e.kind], words[other.kind], e.speaks, payload)
		}
	}
}

// TestKinds: each kind has a row, and what is never handled is never stored.
func TestKinds(t *testing.T) {
	t.Parallel()
	for k := range words {
		row, ok := kinds()[k]
		if !ok || row.handle == nil {
			t.Errorf("%s has no handler", words[k])
		}
		if k == moved && (row.calls != nil || row.awaited != nil) {
			t.Errorf("%s is stored", words[k])
		}
	}
	if len(kinds()) != len(words) {
		t.Errorf("%d rows for %d kinds", len(kinds()), len(words))
	}
}
