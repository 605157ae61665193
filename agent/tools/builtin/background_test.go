package builtin_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/agent/tools/toolstest"
)

// A command in the background: what it prints is read as it comes, it is waited for, and
// stopped with all that it started.
func TestBackground(t *testing.T) {
	b := toolstest.Open(t, map[string]string{"sub/serve.sh": "echo starting; echo wrong >&2; sleep 0.2; echo x >out.txt; echo ready; sleep 1000 & wait\n"})
	b.Do("bash", `{"command":"cd sub"}`)
	action, res := b.Do("bash", `{"command":"sh serve.sh","is_background":true}`)
	if action.Command != "sh serve.sh" || action.Cwd != "sub" || !strings.Contains(action.Display, "background") || res.Handle != "b1" {
		t.Errorf("the intent is %+v, the handle %q", action, res.Handle)
	}
	toolstest.Contains(t, res.Content, `read_output {"id":"b1","wait":30}`)
	_, res = b.Do("read_output", `{"id":"b1","search":"ready","wait":60,"context":0}`)
	toolstest.Contains(t, res.Content, ">3 | ready\n[1 of 3 lines match]\n[b1 still runs after ")
	action, res = b.Do("read_output", `{"id":"b1"}`)
	if action.Display != "Reading the output b1" {
		t.Errorf("people are told %q", action.Display)
	}
	toolstest.Contains(t, res.Content, "(nothing new)")
	if say := b.Tools.News(); len(say) != 1 || say[0] != "b1 (sh serve.sh) still runs in the background." {
		t.Errorf("the model is told %q", say)
	}
	if _, err := os.Stat(filepath.Join(b.WS.Root(), "sub/out.txt")); err != nil || !b.Tools.Busy() || !b.Tools.Busy() {
		t.Errorf("what it does is not looked for (%v)", err)
	}
	_, res = b.Do("read_output", `{"id":"b1","kill":true}`)
	toolstest.Contains(t, res.Content, "[b1 ended: stopped, after ")
	if !b.Tools.Busy() || b.Tools.Busy() || len(b.Tools.News()) != 0 {
		t.Error("its end is not looked at once")
	}
	_, res = b.Do("read_output", `{"id":"b1","lines":"1-2"}`)
	toolstest.Contains(t, res.Content, "1 | starting\n2 | wrong\n[Lines 1-2 of 3]\n[b1 ended: stopped, after ")
	_, res = b.Do("bash", `{"command":"seq 300; exit 3","background":true}`)
	_, res = b.Do("read_output", `{"id":"b2","timeout":60}`)
	toolstest.Contains(t, res.Content, "216 | 216\n", "300 | 300\n[Lines 216-300 of 300]\n[b2 ended: exit code 3, after ")
	b.Do("bash", `{"command":"true","background":true}`)
	_, res = b.Do("read_output", `{"id":"b3","wait":60}`)
	toolstest.Contains(t, res.Content, "(no output)\n[b3 ended: exit code 0")
	b.Fails("read_output", `{"id":"b4"}`, `there is no output "b4"`)
	b.Fails("bash", `{"command":"ls","background":"perhaps"}`, "true or false")
}

// What results advise is in the schema that models are shown: some can write nothing else.
func TestAdviceIsShown(t *testing.T) {
	b := toolstest.Open(t, nil)
	_, began := b.Do("bash", `{"command":"sleep 1000","background":true}`)
	_, long := b.Do("bash", `{"command":"seq 1000"}`)
	_, page := b.Do("read_output", fmt.Sprintf(`{"id":%q,"lines":"1-900"}`, long.Handle))
	_, hits := b.Do("read_output", fmt.Sprintf(`{"id":%q,"search":"\\d"}`, long.Handle))
	tool, ok := b.Tools.Find("read_output")
	if !ok {
		t.Fatal("there is no read_output")
	}
	var shown struct{ Properties map[string]any }
	if err := json.Unmarshal(tool.Spec().Parameters, &shown); err != nil {
		t.Fatal(err)
	}
	advised := map[string]bool{}
	for _, text := range []string{began.Content, long.Content, page.Content, hits.Content} {
		for _, m := range regexp.MustCompile(`"([a-z]+)"(?::| for a line)`).FindAllStringSubmatch(text, -1) {
			advised[m[1]] = true
			if shown.Properties[m[1]] == nil {
				t.Errorf("%q is advised and not shown: %s", m[1], text)
			}
		}
	}
	for _, name := range []string{"id", "lines", "search", "wait", "stop"} {
		if !advised[name] {
			t.Errorf("%s is not advised: is this test still right?", name)
		}
	}
}

// A secret that spreads over lines is found before they are shown in parts.
func TestBackgroundIsRedacted(t *testing.T) {
	b := toolstest.Open(t, nil)
	b.Do("bash", `{"command":"printf 'one\\nBEGIN\\nhidden\\nEND\\ntwo\\n'","background":true}`)
	_, res := b.Do("read_output", `{"id":"b1","wait":60,"lines":"2-3"}`)
	toolstest.Contains(t, res.Content, "2 | [gone]\n3 | two\n")
}

// As many as are allowed run at once, and no more.
func TestBackgroundIsBounded(t *testing.T) {
	b := toolstest.Open(t, nil)
	for range 8 {
		b.Do("bash", `{"command":"sleep 1000","background":true}`)
	}
	tool := b.Tool("bash")
	call := toolstest.Call("bash", `{"command":"sleep 1000","background":true}`)
	if _, err := tool.Run(t.Context(), call, nil); err == nil || !strings.Contains(err.Error(), "8 commands run in the background") {
		t.Errorf("a ninth runs: %v", err)
	}
	for i := range 8 {
		b.Do("read_output", fmt.Sprintf(`{"id":"b%d","stop":true}`, i+1))
	}
	b.Do("bash", `{"command":"true","background":true}`)
}
