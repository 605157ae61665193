package builtin_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.uber.org/goleak"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/tools"
	"github.com/handrail-bot/handrail/agent/tools/builtin"
	"github.com/handrail-bot/handrail/agent/tools/toolstest"
	"github.com/handrail-bot/handrail/policy"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// offered returns a tool that cfg supports.
func offered(t *testing.T, cfg tools.Config, name string) tools.Tool {
	t.Helper()
	for _, tool := range builtin.Tools(cfg) {
		if tool.Spec().Name == name {
			return tool
		}
	}
	t.Fatalf("%s is not offered", name)
	return nil
}

func offers(cfg tools.Config, name string) bool {
	return slices.ContainsFunc(builtin.Tools(cfg), func(t tools.Tool) bool { return t.Spec().Name == name })
}

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

// A mode offers a tool by its ordinary effect: an edit that can also delete a file is
// still an edit, which an architect may make.
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

// The required arguments of a schema are enough for a call, and none can be left out:
// models may write nothing else. The calls are those of testdata.
func TestRequiredIsHonest(t *testing.T) {
	for _, spec := range toolstest.Open(t, nil).Tools.Specs() {
		if spec.Untold {
			continue
		}
		var schema struct{ Required []string }
		if err := json.Unmarshal(spec.Parameters, &schema); err != nil {
			t.Fatalf("%s: %v", spec.Name, err)
		}
		b, call, err := requiredCall(t, spec.Name, schema.Required)
		if err != nil {
			t.Errorf("no call in testdata/%s*.txtar is accepted with its required arguments %q alone: %v; add one as %[1]s-plain.txtar", spec.Name, schema.Required, err)
			continue
		}
		for _, name := range schema.Required {
			less := maps.Clone(call)
			delete(less, name)
			if _, err := b.Tool(spec.Name).Intent(t.Context(), toolstest.Call(spec.Name, object(t, less))); err == nil {
				t.Errorf("%s requires %s, and a call without it is accepted", spec.Name, name)
			}
		}
	}
}

// requiredCall returns a call of testdata with only its required arguments, and a
// workspace that accepts it. The error is that of the last call.
func requiredCall(t *testing.T, tool string, required []string) (b *toolstest.Bench, call map[string]json.RawMessage, err error) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", tool+"*.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	err = errors.New("there is no call")
	for _, file := range files {
		if name := strings.TrimSuffix(filepath.Base(file), ".txtar"); name != tool && !strings.HasPrefix(name, tool+"-") {
			continue
		}
		a, fault := txtar.ParseFile(file)
		if fault != nil {
			t.Fatal(fault)
		}
		tree := map[string]string{}
		for _, f := range a.Files {
			tree[f.Name] = string(f.Data)
		}
		if fault := json.Unmarshal([]byte(tree["CALL"]), &call); fault != nil {
			t.Fatalf("%s: %v", file, fault)
		}
		maps.DeleteFunc(call, func(name string, _ json.RawMessage) bool { return !slices.Contains(required, name) })
		b = toolstest.Open(t, tree)
		if _, err = b.Tool(tool).Intent(t.Context(), toolstest.Call(tool, object(t, call))); err == nil {
			return b, call, nil
		}
		call = nil
	}
	return nil, nil, err
}

func object(t *testing.T, fields map[string]json.RawMessage) string {
	t.Helper()
	raw, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// A configuration can limit each tool, but for the one that ends a session.
func TestEveryToolCanBeLimited(t *testing.T) {
	for _, spec := range toolstest.Open(t, nil).Tools.Specs() {
		_, err := policy.ParseConfig("agent.yml", []byte("tools: {"+spec.Name+": {off: true}}"))
		if ends := spec.Name == "attempt_completion"; (err != nil) != ends {
			t.Errorf("tools: {%s: {off: true}} in a configuration: %v; the names are toolNames in policy/tools.go", spec.Name, err)
		}
	}
}
