package action_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/cmd/action"
)

// Which events bring a task, for whom, and where it goes.
func TestTasks(t *testing.T) {
	t.Parallel()
	const who = `"repository": {"id": 1, "full_name": "team/app"}, "sender": {"id": 7, "login": "kim"}`
	for _, tt := range []struct {
		name, event, payload string
		inputs               string // NAME=VALUE, with semicolons between
		want                 string // "text|mode|model|thread|author", "" for no task, else a part of the error
	}{
		{"a dispatch", "workflow_dispatch", `{"inputs": {"task": " mend it ", "mode": "code", "model": "m:1"}}`, "", "mend it|code|m:1|0|kim"},
		{"in a thread, as text", "workflow_dispatch", `{"inputs": {"task": "x", "issue": "#12"}}`, "", "x|||12|kim"},
		{"no inputs at all", "workflow_dispatch", `{"inputs": null}`, "TASK=y;MODE=ask;ISSUE=3", "y|ask||3|kim"},
		{"the event wins", "workflow_dispatch", `{"inputs": {"task": "x", "issue": "", "mode": ""}}`, "TASK=y;MODE=ask", "x|ask||0|kim"},
		{"a dispatch from outside", "repository_dispatch", `{"action": "a", "client_payload": {"task": "x", "issue": 4}}`, "", "x|||4|kim"},
		{"without a payload", "repository_dispatch", `{"action": "a", "client_payload": null}`, "", "there is no task"},
		{"a list", "repository_dispatch", `{"action": "a", "client_payload": {"task": ["x"]}}`, "", "are to be text"},
		{"no number", "repository_dispatch", `{"action": "a", "client_payload": {"task": "x", "issue": 1.5}}`, "", "is not the number"},
		{"minus", "workflow_dispatch", `{"inputs": {"task": "x", "issue": "-4"}}`, "", "is not the number"},
		{"a mode that is more", "workflow_dispatch", `{"inputs": {"task": "x", "mode": "ask --turns 9"}}`, "", "is not a mode"},
		{"a model that is more", "workflow_dispatch", `{"inputs": {"task": "x", "model": "m\n/agent stop"}}`, "", "is not the name of a model"},
		{"the clock", "schedule", `{"schedule": "0 3 * * *"}`, "TASK=look", "look|||0|actor"},
		{"the clock without a task", "schedule", `{"schedule": "0 3 * * *"}`, "", "there is no task"},
		{"a pull request", "pull_request", `{"action": "opened", "pull_request": {"number": 5}}`, "TASK=review;MODE=review", "review|review||5|kim"},
		{"a pull request for a server", "pull_request", `{"action": "opened", "pull_request": {"number": 5}}`, "", ""},
		{"an issue with a label", "issues", `{"action": "labeled", "issue": {"number": 6}}`, "TASK=x", "x|||6|kim"},
		{"a comment", "issue_comment", `{"action": "created", "issue": {"number": 6}, "comment": {"id": 1}}`, "TASK=x", ""},
		{"a review", "pull_request_review", `{"action": "submitted", "pull_request": {"number": 6}, "review": {"id": 1}}`, "TASK=x", ""},
		{"a failed suite", "check_suite", `{"action": "completed", "check_suite": {"conclusion": "failure", "pull_requests": [{"number": 8}]}}`, "TASK=x", "x|||8|kim"},
		{"a failed run", "workflow_run", `{"action": "completed", "workflow_run": {"conclusion": "timed_out", "pull_requests": [{"number": 8}]}}`, "TASK=x", "x|||8|kim"},
		{"a failed suite without a task", "check_suite", `{"check_suite": {"conclusion": "failure", "pull_requests": [{"number": 8}]}}`, "", "For others, set the input task"},
		{"one that did not fail", "check_suite", `{"check_suite": {"conclusion": "cancelled", "pull_requests": [{"number": 8}]}}`, "TASK=x", "has not failed (cancelled)"},
		{"of a pull request elsewhere", "workflow_run", `{"workflow_run": {"conclusion": "failure", "pull_requests": [{"number": 8, "base": {"repo": {"id": 2}}}]}}`, "TASK=x", "not about a pull request"},
		{"of a second one here", "workflow_run", `{"workflow_run": {"conclusion": "failure", "pull_requests": [{"number": 8, "base": {"repo": {"id": 2}}}, {"number": 9, "base": {"repo": {"id": 1}}}]}}`, "TASK=x", "x|||9|kim"},
		{"one of a fork", "check_run", `{"check_run": {"conclusion": "failure", "pull_requests": []}}`, "TASK=x", "not about a pull request"},
	} {
		env := environment(t, tt.event, strings.TrimSuffix(tt.payload, "}")+", "+who+"}")
		for in := range strings.SplitSeq(tt.inputs, ";") {
			name, value, _ := strings.Cut(in, "=")
			env["INPUT_"+name] = value
		}
		env["GITHUB_ACTOR"], env["GITHUB_ACTOR_ID"] = "actor", "9"
		task, err := read(t, env).Task(func(name string) string { return env[name] })
		got := ""
		switch {
		case err != nil:
			got = err.Error()
		case task != nil:
			got = fmt.Sprintf("%s|%s|%s|%d|%s", task.Text, task.Mode, task.Model, task.Thread, task.By.Login)
			if task.By.ID == 0 {
				t.Errorf("%s: nobody is asked for their rights", tt.name)
			}
		}
		if got != tt.want && (err == nil || tt.want == "" || !strings.Contains(got, tt.want)) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// Every payload that GitHub shows for an event is read, and none is a task by itself but
// a dispatch that has one.
func TestPayloadsOfGitHub(t *testing.T) {
	t.Parallel()
	names, err := filepath.Glob("../../testdata/webhook/*/*.json")
	if err != nil || len(names) < 20 {
		t.Fatal(len(names), err)
	}
	for _, name := range names {
		payload, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		r := read(t, environment(t, filepath.Base(filepath.Dir(name)), string(payload)))
		if _, err := r.Webhook(t.Context(), func(string) string { return "" }); err != nil {
			if !strings.Contains(err.Error(), `take it out of "on:"`) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		task, err := r.Task(func(string) string { return "" })
		var nothing action.Ignored
		if err != nil && !errors.As(err, &nothing) && !strings.Contains(err.Error(), "there is no task") {
			t.Errorf("%s: %v", name, err)
		}
		if task != nil {
			t.Errorf("%s: brings the task %q", name, task.Text)
		}
		_ = r.Reads()
	}
}

func TestBotsStartNothing(t *testing.T) {
	t.Parallel()
	r := read(t, environment(t, "workflow_dispatch", `{"inputs": {"task": "x", "issue": "1"}, "sender": {"id": 5, "login": "other[bot]", "type": "Bot"}}`))
	task, err := r.Task(func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	var nothing action.Ignored
	if _, err := r.Begin(t.Context(), nil, task, []int64{6}); !errors.As(err, &nothing) || !strings.Contains(err.Error(), "approvals.bots") {
		t.Errorf("a bot that is not let in: %v", err)
	}
}

// A fork's run can only read, and says so.
func TestReads(t *testing.T) {
	t.Parallel()
	pull := func(head int, private bool) string {
		text, err := json.Marshal(map[string]any{
			"repository":   map[string]any{"full_name": "team/app", "private": private},
			"pull_request": map[string]any{"number": 1, "head": map[string]any{"repo": map[string]any{"id": head}}, "base": map[string]any{"repo": map[string]any{"id": 1}}},
		})
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	for _, tt := range []struct {
		event, payload string
		only           bool
	}{
		{"pull_request", pull(2, false), true},
		{"pull_request_review", pull(2, false), true},
		{"pull_request", pull(1, false), false},
		{"pull_request", pull(2, true), false},
		{"pull_request_target", pull(2, false), false},
		{"issue_comment", `{"issue": {"number": 1, "pull_request": {"url": "x"}}}`, false},
	} {
		if why := read(t, environment(t, tt.event, tt.payload)).Reads(); (why != "") != tt.only {
			t.Errorf("%s %s: %q", tt.event, tt.payload, why)
		}
	}
}

func TestUnknownEvents(t *testing.T) {
	t.Parallel()
	for _, event := range []string{"push", "release", "", "issue-comment", "Schedule"} {
		env := environment(t, "issues", `{}`)
		r := read(t, env)
		r.Event = event
		if _, err := r.Webhook(t.Context(), func(string) string { return "" }); err == nil || !strings.Contains(err.Error(), "repository_dispatch") {
			t.Errorf("%q: %v", event, err)
		}
	}
}

// The run ends before the job does, counted from when the job began.
func TestEnds(t *testing.T) {
	t.Parallel()
	env := environment(t, "issues", `{}`)
	began := time.Now().Add(-5 * time.Second).Truncate(time.Second)
	if err := os.Chtimes(env["GITHUB_EVENT_PATH"], began, began); err != nil {
		t.Fatal(err)
	}
	for minutes, want := range map[string]time.Duration{"": 358 * time.Minute, "360": 358 * time.Minute, "10": 9 * time.Minute, "0.5": 27 * time.Second} {
		env["INPUT_TIMEOUT-MINUTES"] = minutes
		ends, err := read(t, env).Ends(func(name string) string { return env[name] })
		if err != nil || !ends.Equal(began.Add(want)) {
			t.Errorf("%q minutes: ends after %s, want %s: %v", minutes, ends.Sub(began), want, err)
		}
	}
	long := time.Unix(0, 0)
	if err := os.Chtimes(env["GITHUB_EVENT_PATH"], long, long); err != nil { // as a runner does that gives files no time
		t.Fatal(err)
	}
	env["INPUT_TIMEOUT-MINUTES"] = "10"
	ends, err := read(t, env).Ends(func(name string) string { return env[name] })
	if left := time.Until(ends); err != nil || left < 8*time.Minute || left > 9*time.Minute {
		t.Errorf("without a time of the beginning the run ends in %s: %v", left, err)
	}
	late := time.Now().Add(-9*time.Minute - 30*time.Second)
	if err := os.Chtimes(env["GITHUB_EVENT_PATH"], late, late); err != nil {
		t.Fatal(err)
	}
	if _, err := read(t, env).Ends(func(name string) string { return env[name] }); !errors.Is(err, action.ErrTime) {
		t.Errorf("at the end of the job: %v", err)
	}
	for _, bad := range []string{"0", "-1", "soon", "NaN", "1h"} {
		env["INPUT_TIMEOUT-MINUTES"] = bad
		if _, err := read(t, env).Ends(func(name string) string { return env[name] }); err == nil {
			t.Errorf("%q counts as minutes", bad)
		}
	}
	env["INPUT_TIMEOUT-MINUTES"] = "1e300"
	if ends, err := read(t, env).Ends(func(string) string { return "" }); err != nil || ends.Before(time.Now()) {
		t.Errorf("endless minutes end at %s: %v", ends, err)
	}
	copied := environment(t, "issues", `{}`)
	if err := os.Chtimes(copied["GITHUB_EVENT_PATH"], time.Time{}, time.Unix(0, 0)); err != nil {
		t.Fatal(err)
	}
	if ends, err := read(t, copied).Ends(func(name string) string { return copied[name] }); err != nil || ends.Before(time.Now()) {
		t.Errorf("with an event that was copied without its time a run ends at %v: %v", ends, err)
	}
}
