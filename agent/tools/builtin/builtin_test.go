package builtin_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.uber.org/goleak"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/tools"
	"github.com/handrail-bot/handrail/agent/tools/builtin"
	"github.com/handrail-bot/handrail/agent/tools/toolstest"
	"github.com/handrail-bot/handrail/policy"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestCanonical(t *testing.T) {
	all := toolstest.Open(t, nil).Tools
	for in, want := range map[string]string{
		"read_file": "read_file", "readFile": "read_file", "ReadFile": "read_file", "read-file": "read_file", "functions.read_file": "read_file",
		"default_api.readFile": "read_file", "create_file": "write_file", "write_to_file": "write_file", "WriteToFile": "write_file",
		"execute_command": "run_terminal_command", "functions.executeCommand": "run_terminal_command", "bash": "run_terminal_command",
		"search_files": "search_workspace", "grep": "search_workspace", "apply_patch": "apply_diff", "str_replace": "edit_file",
		"list_dir": "list_files", "TodoWrite": "update_todo_list", "read_file()": "read_file",
		"some_mcp.tool": "some_mcp.tool", "functions.MyTool": "MyTool", "": "",
	} {
		if got := all.Canonical(in); got != want {
			t.Errorf("%q is %q, want %q", in, got, want)
		}
	}
}

func TestSpecs(t *testing.T) {
	b := toolstest.Open(t, nil)
	described, err := filepath.Glob("../*/*.md")
	if err != nil || len(described) < 15 {
		t.Fatalf("%d descriptions: %v", len(described), err)
	}
	for _, name := range described {
		name = strings.TrimSuffix(name, ".md")
		_, err := os.Stat(name + ".go") // else it is no tool's
		if err == nil && b.Tools.Spec(filepath.Base(name)).Name == "" {
			t.Errorf("%s is not offered: its family's tools.go does not name it", name)
		}
	}
	for _, spec := range b.Tools.Specs() {
		tool := b.Tool(spec.Name)
		if got := tool.Spec().Name; got != spec.Name || b.Tools.Canonical(spec.Name) != spec.Name {
			t.Errorf("%s is not found by its name", spec.Name)
		}
		if len(spec.Description) < 40 {
			t.Errorf("%s has no description", spec.Name)
		}
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(spec.Parameters))
		if err != nil {
			t.Fatalf("%s: %v", spec.Name, err)
		}
		var schema struct {
			Properties map[string]struct{ Description string }
			Required   []string
		}
		if err := json.Unmarshal(spec.Parameters, &schema); err != nil {
			t.Fatalf("%s: %v", spec.Name, err)
		}
		for _, name := range schema.Required {
			if schema.Properties[name].Description == "" {
				t.Errorf("the schema of %s does not say what %s is, which it requires", spec.Name, name)
			}
		}
		c := jsonschema.NewCompiler()
		if err := c.AddResource("mem://s", doc); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Compile("mem://s"); err != nil {
			t.Errorf("%s: %v", spec.Name, err)
		}
		_, err = tool.Intent(t.Context(), toolstest.Call(spec.Name, `{"no_such_argument":1}`))
		if err == nil {
			t.Errorf("%s takes any argument", spec.Name)
			continue
		}
		toolstest.Contains(t, err.Error(), "no_such_argument", `{"name":"`+spec.Name+`","arguments":{`)
		for _, raw := range []string{`null`, `"x"`, `[]`, `{"arguments":{"arguments":{"arguments":{"arguments":{"arguments":{}}}}}}`, `{`} {
			if _, err := tool.Intent(t.Context(), session.Call{Name: spec.Name, Arguments: json.RawMessage(raw)}); err == nil && !slices.Contains([]string{"list_files", "condense", "list_code_definition_names", "get_diagnostics", "fetch_instructions"}, spec.Name) {
				t.Errorf("%s takes %s", spec.Name, raw)
			}
		}
	}
	if all := builtin.Tools(tools.Config{}); len(all) != 7 {
		t.Errorf("without a workspace there are %d tools", len(all))
	}
}

func BenchmarkFind(b *testing.B) {
	w := toolstest.Open(b, nil)
	for b.Loop() {
		if _, ok := w.Tools.Find("switch_mode"); !ok {
			b.Fatal("not found")
		}
	}
}

// What a tool ordinarily does decides whether a mode offers it: an edit that
// may also delete a file is still one of the edits that an architect makes.
func TestOffersOfModes(t *testing.T) {
	architect, err := policy.ParseMode("architect")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"apply_diff": true, "write_file": true, "edit_file": true, "delete_file": false, "read_file": true} {
		if got := architect.Allows(toolstest.Open(t, nil).Tools.Spec(name).Kind); got != want {
			t.Errorf("architect mode offers %s: %v, want %v", name, got, want)
		}
	}
}

// What a schema requires is what calls are refused without: models may write nothing else.
func TestRequiredIsHonest(t *testing.T) {
	b := toolstest.Open(t, map[string]string{"a.txt": "one\ntwo\n"})
	full := map[string]string{ // calls with all that is required, and nothing else
		"read_file": `{"path":"a.txt"}`, "write_file": `{"path":"a.txt","content":"x"}`, "edit_file": `{"path":"a.txt","old_string":"one","new_string":"1"}`,
		"apply_diff": `{"diff":"--- a.txt\n+++ a.txt\n@@ -1 +1 @@\n-one\n+1\n"}`, "insert_content": `{"path":"a.txt","line":1,"content":"x"}`,
		"search_and_replace": `{"path":"a.txt","search":"one","replace":"1"}`, "delete_file": `{"path":"a.txt"}`, "list_files": `{}`, "find_files": `{"name":"a"}`,
		"search_workspace": `{"query":"x"}`, "list_code_definition_names": `{}`, "run_terminal_command": `{"command":"ls"}`, "read_output": `{"id":"o1"}`,
		"update_todo_list": `{"todos":"[ ] a"}`, "attempt_completion": `{"result":"x"}`, "ask_followup_question": `{"question":"x"}`, "switch_mode": `{"mode":"ask"}`, "condense": `{}`,
		"new_task": `{"task":"x"}`, "report_finding": `{"path":"a.txt","line":1,"severity":"low","claim":"x","why":"y"}`,
	}
	for _, spec := range b.Tools.Specs() {
		if spec.Untold {
			continue
		}
		var schema struct{ Required []string }
		var call map[string]json.RawMessage
		if json.Unmarshal(spec.Parameters, &schema) != nil || json.Unmarshal([]byte(full[spec.Name]), &call) != nil {
			t.Fatalf("%s: no schema, or no call here", spec.Name)
		}
		if _, err := b.Tool(spec.Name).Intent(t.Context(), toolstest.Call(spec.Name, full[spec.Name])); err != nil || len(call) != len(schema.Required) {
			t.Errorf("%s requires %q; %s: %v", spec.Name, schema.Required, full[spec.Name], err)
		}
		for _, name := range schema.Required {
			less := maps.Clone(call)
			delete(less, name)
			raw, err := json.Marshal(less)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := b.Tool(spec.Name).Intent(t.Context(), toolstest.Call(spec.Name, string(raw))); err == nil {
				t.Errorf("%s requires %s, and %s is taken", spec.Name, name, raw)
			}
		}
	}
}
