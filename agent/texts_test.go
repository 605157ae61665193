package agent

import (
	"encoding/json"
	"errors"
	"testing"
	"unicode/utf8"

	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/tools"
	"github.com/handrail-bot/handrail/policy"
)

// FuzzTexts gives a text to each function of the loop that shortens, names or
// reads what a model wrote: nothing panics, and valid text stays valid.
func FuzzTexts(f *testing.F) {
	for _, s := range []string{"", "é", "修", "👩‍👩‍👧", "a\n\n", "`", "```", "x\x00", "model é", "the 修", `{"path":"é"}`, `{"path":["修"],"command":1}`, "@@ -1 +1 @@\n-é\n+修"} {
		f.Add(s, 1)
		f.Add("é"+s+"修", 2)
	}
	f.Fuzz(func(t *testing.T, text string, n int) {
		args, err := json.Marshal(map[string]any{"path": text, "diff": text, "old_string": text, "command": text})
		if err != nil {
			t.Fatal(err)
		}
		n = 1 + (n&0xffff)%300
		c := &session.CallState{Call: session.Call{ID: "c", Name: text, Arguments: args}, Result: &session.Result{Content: text, OK: true}}
		files := []session.FileChange{{Path: text, From: text, Kind: session.ChangeRename}, {Path: "a/" + text, Kind: session.ChangeModify}}
		out := []string{
			firstLine(text, n), callTitle(c, ruling{action: policy.Action{Kind: policy.Execute, Command: text}}), callTitle(c, ruling{action: policy.Action{Kind: policy.Write, Paths: []string{text, text}}}),
			session.Subject(files[:1]), session.Subject(files), heldText(files), leftOutText(session.LeftOut{Path: text, Why: text}), cutOffText(text), toolBroke(errors.New(text)),
			tools.Region(text+"\nx\n"+text, args), tools.Region(text, []byte(text)), pathArgument(args), userMessage(&llm.Error{Public: text}), stepOf(c).Command,
		}
		pathArgument([]byte(text))
		for i, o := range out {
			if utf8.ValidString(text) && !utf8.ValidString(o) {
				t.Errorf("text %d: %.100q becomes %.100q", i, text, o)
			}
		}
	})
}
