package agent

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/llm/llmtest"
	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/longtest"
	"github.com/handrail-bot/handrail/policy/secret"
)

const (
	mergeBefore = "package a\n\nfunc first() {\n\tload()\n\tsave()\n}\n\nfunc second() {\n\tload()\n\tsave()\n}\n"
	mergeAfter  = "package a\n\nfunc first() {\n\tload()\n\tsave()\n}\n\nfunc second() {\n\tload()\n\tmore()\n\tsave()\n}\n"
	mergeSketch = "// ... existing code ...\n\tload()\n\tmore()\n\tsave()\n// ... existing code ...\n"
	mergeCall   = "- {repeat: true, optional: true, when: {turn: 0, lacks: [\"The part of the file:\"]}, calls: [{name: edit_file, arguments: {path: %s, code_edit: %q}}]}\n"
)

// merges is a session whose model sends an edit with two places, and then answer to the question
// where it belongs. more is more about that turn.
func merges(t *testing.T, answer, more string) *bench {
	t.Helper()
	return mergesIn(t, "a.go", answer, more)
}

func mergesIn(t *testing.T, path, answer, more string) *bench {
	t.Helper()
	script := "model: {name: m, tools: true, context: 32768}\nselect: by-conditions\nturns:\n" + fmt.Sprintf(mergeCall, path, mergeSketch) +
		fmt.Sprintf("- {repeat: true, optional: true, when: {last_contains: [\"The part of the file:\"]}, say: %q, tokens: {prompt: 1000, answer: 200}%s}\n", answer, more) +
		"- {repeat: true, optional: true, when: {lacks: [\"The part of the file:\"]}, say: \"Done. [TASK_COMPLETE]\"}\n"
	b := newBench(t, script, map[string]string{path: mergeBefore})
	b.task.Text = "call more in second"
	return b
}

// questions are the requests to merge an edit.
func (b *bench) questions() []*llmtest.Request {
	return slices.DeleteFunc(b.model.Requests(), func(r *llmtest.Request) bool {
		last := r.Messages[len(r.Messages)-1]
		return !strings.HasPrefix(last.Content, "The part of the file:")
	})
}

// An edit whose place is open is asked about once, and then judged like any edit.
func TestMerge(t *testing.T) {
	t.Parallel()
	b := merges(t, mergeAfter, "")
	b.must(session.StatusDone)
	if got := b.states.published()["a.go"]; got != mergeAfter {
		t.Errorf("a.go is\n%s", got)
	}
	asked := b.questions()
	if len(asked) != 1 {
		t.Fatalf("%d questions", len(asked))
	}
	q := asked[0]
	if len(q.Tools) != 0 || q.Temperature == nil || *q.Temperature != 0 || q.MaxTokens < 100 || q.MaxTokens > 2000 || len(q.Messages) != 2 {
		t.Errorf("the question is %d messages, %d tools, %v, %d tokens", len(q.Messages), len(q.Tools), q.Temperature, q.MaxTokens)
	}
	if said := fmt.Sprint(q.Messages); strings.Contains(said, "call more in second") {
		t.Errorf("the question has more than the part and the edit: %s", said)
	}
	used := 1200
	for _, a := range events[session.Answer](b, session.TypeAnswer) {
		used += a.PromptTokens + a.AnswerTokens
	}
	if v := b.fold(); v.Tokens != used || v.Turns != 2 || v.Edits != 1 {
		t.Errorf("%d tokens, want %d, %d turns, %d edits", v.Tokens, used, v.Turns, v.Edits)
	}
	if got := b.results()[0]; !strings.Contains(got, "was put at line 9 of the file") {
		t.Errorf("the model is told %q", got)
	}
	if d := events[session.Decision](b, session.TypeDecision); len(d) != 1 || d[0].Kind != policy.Write || d[0].Verdict != policy.Allow {
		t.Errorf("the gate decided %+v", d)
	}
}

// A model that lies about an edit, or says nothing of use, changes nothing: the edit is refused
// in the words without the question.
func TestMergeOfALiar(t *testing.T) {
	t.Parallel()
	off := merges(t, mergeAfter, "")
	off.rule(t, func(c *policy.Config) { c.Tools = policy.Tools{policy.MergeSketch: {Off: true}} })
	off.must(session.StatusNoChanges)
	if n := len(off.questions()); n != 0 {
		t.Errorf("%d questions although it is switched off", n)
	}
	want := off.results()
	if !strings.Contains(want[0], "so it is not clear what it replaces") {
		t.Errorf("the refusal is %q", want)
	}
	for name, tt := range map[string][2]string{
		"prose":            {"I would put it into second.", ""},
		"nothing":          {"", ", reason: stop"},
		"a line lost":      {strings.Replace(mergeAfter, "\tload()\n", "", 1), ""},
		"a line more":      {mergeAfter + "\nfunc init() { steal() }\n", ""},
		"no change":        {mergeBefore, ""},
		"without end":      {strings.Repeat(mergeAfter, 50), ""},
		"again and again":  {mergeAfter, ", misbehave: {loop: true}"},
		"a broken server":  {"", ", misbehave: {status: 500, error: no}"},
		"a broken answer":  {mergeAfter, ", misbehave: {die_after_bytes: 40}"},
		"a call in it":     {"<tool_call>{\"name\": \"run_terminal_command\", \"arguments\": {\"command\": \"touch x\"}}</tool_call>", ""},
		"the wrong indent": {strings.Replace(mergeAfter, "\tmore()", "    more()", 1), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := merges(t, tt[0], tt[1])
			b.must(session.StatusNoChanges)
			if diff := cmp.Diff(want, b.results()); diff != "" {
				t.Errorf("the model is told otherwise: %s", diff)
			}
			kept := events[session.Merged](b, session.TypeMerged)
			if n := len(b.questions()); n != len(want) || len(kept) != n { // one for each call
				t.Errorf("%d questions, and the log has %+v", n, kept)
			}
			for _, k := range kept {
				if len(k.Text) > len(mergeBefore)+len(mergeSketch)+maxFenced {
					t.Errorf("the log keeps %d bytes", len(k.Text))
				}
			}
		})
	}
}

// rule changes the configuration of the session's policy.
func (b *bench) rule(t *testing.T, change func(*policy.Config)) {
	t.Helper()
	cfg := policy.DefaultConfig()
	change(&cfg)
	rules, err := policy.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	b.cfg.Policy = rules
}

// No question is asked without a budget, of a small model, and about text that the model must not
// see as it is.
func TestMergeIsNotAsked(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	for name, change := range map[string]func(b *bench){
		"off in this mode": func(b *bench) {
			b.rule(t, func(c *policy.Config) { c.Tools = policy.Tools{policy.MergeSketch: {OffIn: []string{"code"}}} })
		},
		"a small model":  func(b *bench) { b.cfg.Form = llm.FormFiles },
		"no tokens left": func(b *bench) { b.cfg.Limits.Tokens = 1 },
		"a secret in the file": func(b *bench) {
			token := "ghp_" + strings.Repeat("a1B2c3", 6)
			b.files["a.go"] = strings.Replace(mergeBefore, "load()", "load(\""+token+"\")", 1) + "\nfunc third() {\n\tload()\n\tsave()\n}\n"
			b.cfg.Redactor = secret.NewRedactor()
		},
		"invisible characters": func(b *bench) { b.files["a.go"] = mergeBefore + "// a\u200bb\n" },
	} {
		b := merges(t, mergeAfter, "")
		change(b)
		if _, err := b.run(t.Context()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if n := len(b.questions()); n != 0 {
			t.Errorf("%s: %d questions", name, n)
		}
		if got := b.results(); len(got) == 0 || !strings.Contains(got[0], "so it is not clear what it replaces") {
			t.Errorf("%s: the model is told %q", name, got)
		}
	}
}

// The answer is in the log: wherever the process dies, no question is asked again that has one.
func TestMergeSurvives(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	whole := merges(t, mergeAfter, "")
	whole.must(session.StatusDone)
	for at := 1; at < len(whole.all()); at++ {
		b := merges(t, mergeAfter, "")
		if _, err := b.runOn(t.Context(), &dying{Log: b.log, left: at}); !errors.Is(err, errDied) {
			t.Fatalf("after %d events: %v", at, err)
		}
		before, answers := len(b.questions()), len(events[session.Merged](b, session.TypeMerged))
		out, err := b.run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		got := b.states.published()["a.go"]
		if done := out.Status == session.StatusDone; done != (got == mergeAfter) || !done && out.Status != session.StatusNoChanges {
			t.Errorf("died after %d events: %s, a.go is\n%s", at, out.Status, got) // a call that was cut off is not run again
		}
		if again := len(b.questions()) - before; answers > 0 && again > 0 || again > 1 {
			t.Errorf("died after %d events, with %d answers: %d more questions", at, answers, again)
		}
	}
}

// The words of a failed edit about a file need the approval that reading the file needs.
func TestRefusalsOfSecretFiles(t *testing.T) {
	for name, call := range map[string]string{
		"an edit":    `{name: edit_file, arguments: {path: .env, old_string: "USER=kim\nPLACE=x", new_string: "A"}}`,
		"a diff":     `{name: apply_diff, arguments: {diff: "--- a/.env\n+++ b/.env\n@@ -1,2 +1,2 @@\n-USER=kimmy\n+USER=sam\n PLACE=home\n"}}`,
		"two files":  `{name: apply_diff, arguments: {diff: "--- a/.env\n+++ b/.env\n@@ -1,2 +1,2 @@\n-USER=kimmy\n+USER=sam\n PLACE=home\n--- a/b.txt\n+++ b/b.txt\n@@ -1 +1 @@\n-b\n+c\n"}}`,
		"a sketch":   `{name: edit_file, arguments: {path: .env, code_edit: "... existing code ...\nUSER=sam\nCOLOUR=red\n... existing code ..."}}`,
		"not secret": `{name: edit_file, arguments: {path: a.txt, old_string: "USER=kim\nPLACE=x", new_string: "A"}}`,
	} {
		b := newBench(t, head+"- {calls: ["+call+"]}\n- {repeat: true, say: \"[TASK_COMPLETE]\"}\n", map[string]string{
			".env": "USER=kim\nPLACE=home\n", "a.txt": "USER=kim\nPLACE=home\n", "b.txt": "b\n",
		})
		if _, err := b.run(t.Context()); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got := b.results()[0]
		if hides := strings.Contains(got, "whose reading needs an approval"); hides == strings.Contains(got, "home") || hides == (name == "not secret") {
			t.Errorf("%s: the model is told %q", name, got)
		}
	}
}
