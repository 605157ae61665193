package builtin_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/tools"
	"github.com/handrail-bot/handrail/agent/tools/toolstest"
)

// voice is a model that says one thing, or nothing when it is empty.
type voice struct {
	says  string
	asked llm.Request
}

func (v *voice) Name() string { return "voice" }
func (v *voice) Capabilities(context.Context) (llm.Capabilities, error) {
	return llm.Capabilities{ContextLength: 8192}, nil
}

func (v *voice) Stream(_ context.Context, req llm.Request) iter.Seq2[llm.Part, error] {
	v.asked = req
	return func(yield func(llm.Part, error) bool) {
		if v.says == "" {
			yield(llm.Part{}, errors.New("away"))
			return
		}
		half := len(v.says) / 2
		_ = yield(llm.Part{Content: v.says[:half]}, nil) && yield(llm.Part{Content: v.says[half:], Done: true, PromptTokens: 70, AnswerTokens: 7}, nil)
	}
}

// Each finding is looked at once more, with its code: what is refuted is not shown, what
// nobody is sure of is marked, and the answer of any model is read.
func TestSecondLook(t *testing.T) {
	for said, want := range map[string]session.Finding{
		"STANDS. pages(11) is 1.":                       {},
		"REFUTED: size is a float, see line 2.":         {Refuted: "size is a float, see line 2."},
		"**Refuted** — it is rounded up\nbefore.":       {Refuted: "it is rounded up before."},
		"Verdict: UNSURE, it hangs on the type of size": {Unsure: "it hangs on the type of size"},
		"<think>REFUTED? No.</think>\nstands":           {},
		"refuted":                                       {Refuted: "a second look does not say why."},
		"The claim could be REFUTED, but it stands.":    {Unsure: "a second look came to no answer."},
		"STANDSTILL": {Unsure: "a second look came to no answer."},
		"":           {Unsure: "nobody could take a second look, because the model did not answer."},
		"# UNSURE\n\nThe value of size is not shown.":                             {Unsure: "The value of size is not shown."},
		"`REFUTED`: " + strings.Repeat("because it is not so and ", 40) + "so on": {Refuted: "because it is not so and"},
	} {
		m := &voice{says: said}
		b := bench(t)
		tool := offered(t, tools.Config{Files: b.WS, Root: b.WS.Root(), Model: m}, "report_finding")
		res, err := tool.Run(t.Context(), toolstest.Call("report_finding", `{"path":"pager.go","line":5,"severity":"high","claim":"The last page is lost.","why":"pages(11) is 1."}`), nil)
		if err != nil {
			t.Fatal(err)
		}
		got := *res.Finding
		if got.Unsure != want.Unsure || !strings.HasPrefix(got.Refuted, want.Refuted) || (got.Refuted == "") != (want.Refuted == "") || len(got.Refuted) > 310 {
			t.Errorf("%q: refuted %q, unsure %q", said, got.Refuted, got.Unsure)
		}
		if want := map[bool]int{true: 77}[said != ""]; got.Tokens != want {
			t.Errorf("%q: took %d tokens, want %d", said, got.Tokens, want)
		}
		if want.Refuted != "" {
			toolstest.Contains(t, res.Content, "Not recorded", "refutes it")
		}
		asked, _ := json.Marshal(m.asked.Messages) // strings
		toolstest.Contains(t, string(asked), "The last page is lost.", `5 | \tn := items / size`, "pages(11) is 1.")
		if m.asked.Context != 8192 || len(m.asked.Tools) != 0 {
			t.Errorf("asked for %d tokens with %d tools", m.asked.Context, len(m.asked.Tools))
		}
	}
}
