package ghcheck

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/handrail-bot/handrail/bot/thread"
)

// notSent are fields of the official examples that belong to features which
// the fake does not play.
var notSent = []string{"organization", "active_lock_reason", "timeline_url", "custom_properties", "allow_forking",
	"is_template", "web_commit_signoff_required", "topics", "visibility", "requested_teams", "master_branch", "stargazers",
	"has_downloads", "public", "has_discussions", "base_ref", "compare", "changes", "allow_merge_commit",
	"allow_rebase_merge", "allow_squash_merge", "delete_branch_on_merge"}

// TestPayloadsLikeOfficialOnes: what GitHub's examples of an event have, what
// the fake sends has too, with values of the same JSON type.
func TestPayloadsLikeOfficialOnes(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.SetWebhook("http://127.0.0.1:1/") // nobody there; the payloads are kept
	ref, err := s.OpenIssue(testRepo, "rae", "t", "b")
	if err != nil {
		t.Fatal(err)
	}
	act(t, s, ref)
	if err := s.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	sent := map[string]object{}
	for _, d := range s.Deliveries() {
		var v object
		if err := json.Unmarshal(d.Payload, &v); err != nil {
			t.Fatal(err)
		}
		sent[d.Event+" "+d.Action] = v
	}
	for example, key := range map[string]string{
		"issue_comment/*-created.json": "issue_comment created", "issue_comment/*-edited.json": "issue_comment edited",
		"issues/*-opened.json": "issues opened", "issues/*-labeled.json": "issues labeled",
		"pull_request/*-opened.json":                 "pull_request opened",
		"pull_request_review/*-submitted.json":       "pull_request_review submitted",
		"pull_request_review_comment/*-created.json": "pull_request_review_comment created",
		"check_run/*-completed.json":                 "check_run completed", "push/*.json": "push ",
	} {
		files, err := filepath.Glob(filepath.Join("../../../../testdata/webhook", example))
		if err != nil || len(files) == 0 || sent[key] == nil {
			t.Errorf("%s: %d examples, sent: %v", key, len(files), sent[key] != nil)
			continue
		}
		b, err := os.ReadFile(files[0])
		if err != nil {
			t.Fatal(err)
		}
		var want object
		if err := json.Unmarshal(b, &want); err != nil {
			t.Fatal(err)
		}
		alike(t, key, want, sent[key])
	}
}

// act does one of each thing that sends an event.
func act(t *testing.T, s *Server, ref thread.Ref) {
	t.Helper()
	must := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	cm, err := s.Comment(ref, "kim", "x")
	must(nil, err)
	must(nil, s.EditComment(ref, cm.ID, "kim", "y"))
	must(nil, s.Label(ref, "kim", "bug"))
	must(s.Push(testRepo, "topic", "kim", map[string]string{"src/a.go": "package b\n"}))
	pr, err := s.OpenPull(testRepo, "kim", NewPull{Title: "t", Head: "topic"})
	must(nil, err)
	must(s.Review(pr, "rae", NewReview{Event: "COMMENT", Body: "b", Comments: []Inline{{Path: "src/a.go", Line: 1, Body: "c"}}}))
	must(s.RunCheck(testRepo, s.Branch(testRepo, "topic"), Result{Name: "ci", Conclusion: "success"}))
}

// alike compares two levels: the parts of the event and their fields.
func alike(t *testing.T, path string, want, got object) {
	t.Helper()
	for name, w := range want {
		g, ok := got[name]
		if !ok {
			if !slices.Contains(notSent, name) {
				t.Errorf("%s: field %s is missing", path, name)
			}
			continue
		}
		wo, isObject := w.(object)
		if g == nil || w == nil {
			continue
		}
		if kind(w) != kind(g) && name != "created_at" && name != "pushed_at" {
			t.Errorf("%s: field %s is %s, GitHub sends %s", path, name, kind(g), kind(w))
		}
		if gobj, ok := g.(object); ok && isObject && name != "permissions" && name != "owner" {
			alike(t, path+"."+name, wo, gobj)
		}
	}
}

func kind(v any) string {
	switch v.(type) {
	case object:
		return "object"
	case []any:
		return "array"
	case string:
		return "string"
	case float64:
		return "number"
	case bool:
		return "boolean"
	}
	return "null"
}
