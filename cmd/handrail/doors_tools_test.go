package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/handrail-bot/handrail/policy/longtest"
)

// toolTree is a directory with what tools stumble over.
func toolTree(t *testing.T) string {
	t.Helper()
	outside := t.TempDir()
	dir := filepath.Join(outside, "repo")
	files := map[string]string{
		"a.txt": "one\ntwo\n", "ü b/ö.txt": "u\n", "bin": "\x00\x01\xff" + strings.Repeat("\x00", 500),
		".agentignore": "hidden.txt\n", "hidden.txt": "secret\n", "huge.txt": strings.Repeat("a line of text\n", 2_000_000),
		"../outside.txt": "outside\n",
	}
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"out": "../outside.txt", "up": "..", "in": "a.txt", "loop": "loop"} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestToolsCallDoor calls tools as a script would: always one object with the
// three fields, 0 when ok, 1 when the tool or the policy said no, 2 when the
// command line was wrong.
func TestToolsCallDoor(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	dir := toolTree(t)
	for name, c := range map[string]struct {
		args []string
		code int
		want string // in content when ok, else in error
	}{
		"read":                    {[]string{"read_file", "--args", `{"path":"a.txt"}`}, 0, "1 | one\n2 | two\n"},
		"read by another name":    {[]string{"ReadFile", "--args", `{"path":"a.txt"}`}, 0, "1 | one"},
		"read in unicode":         {[]string{"read_file", "--args", `{"path":"\u00fc b/ö.txt"}`}, 0, "1 | u"},
		"read through a link":     {[]string{"read_file", "--args", `{"path":"in"}`}, 0, "1 | one"},
		"read binary":             {[]string{"read_file", "--args", `{"path":"bin"}`}, 0, "binary file, 503 bytes"},
		"read huge":               {[]string{"read_file", "--args", `{"path":"huge.txt"}`}, 0, "2000000 lines"},
		"read lines of huge":      {[]string{"read_file", "--args", `{"path":"huge.txt","lines":"1999999-2000000"}`}, 0, "1999999 | a line of text"},
		"read missing":            {[]string{"read_file", "--args", `{"path":"a.text"}`}, 1, "does not exist"},
		"read above":              {[]string{"read_file", "--args", `{"path":"../outside.txt"}`}, 1, "outside the workspace"},
		"read absolute":           {[]string{"read_file", "--args", `{"path":"/etc/hostname"}`}, 1, "outside the workspace"},
		"read link out":           {[]string{"read_file", "--args", `{"path":"out"}`}, 1, "outside the workspace"},
		"read below link out":     {[]string{"read_file", "--args", `{"path":"up/outside.txt"}`}, 1, "outside the workspace"},
		"read link to itself":     {[]string{"read_file", "--args", `{"path":"loop"}`}, 1, "loop"},
		"read fifo":               {[]string{"read_file", "--args", `{"path":"pipe"}`}, 1, "not a regular file"},
		"read directory":          {[]string{"read_file", "--args", `{"path":"ü b"}`}, 1, "directory"},
		"read below a file":       {[]string{"read_file", "--args", `{"path":"a.txt/x"}`}, 1, "a.txt/x"},
		"read ignored":            {[]string{"read_file", "--args", `{"path":"hidden.txt"}`}, 1, ".agentignore"},
		"read NUL":                {[]string{"read_file", "--args", `{"path":"a\u0000b"}`}, 1, "path"},
		"read nothing":            {[]string{"read_file", "--args", `{"path":""}`}, 1, `missing argument "path"`},
		"no arguments":            {[]string{"read_file"}, 1, `missing argument "path"`},
		"unknown argument":        {[]string{"read_file", "--args", `{"path":"a.txt","colour":1}`}, 1, `unknown argument "colour"`},
		"write link out":          {[]string{"write_file", "--yes", "--args", `{"path":"out","content":"x"}`}, 1, "outside the workspace"},
		"write sensitive":         {[]string{"write_file", "--args", `{"path":".github/workflows/ci.yml","content":"x"}`}, 1, "needs approval: .github/workflows/ci.yml is a sensitive file"},
		"write in reading mode":   {[]string{"write_file", "--mode", "ask", "--yes", "--args", `{"path":"z","content":"x"}`}, 1, "refused: "},
		"list":                    {[]string{"list_files"}, 0, "a.txt"},
		"search":                  {[]string{"search_workspace", "--args", `{"query":"two"}`}, 0, "a.txt"},
		"run":                     {[]string{"run_terminal_command", "--args", `{"command":"echo \"<&>\" 🦊"}`}, 0, "<&> 🦊\n"},
		"run and fail":            {[]string{"run_terminal_command", "--args", `{"command":"false"}`}, 0, "Exit code 1"},
		"run medium unasked":      {[]string{"run_terminal_command", "--args", `{"command":"rm -rf none"}`}, 1, "needs approval: "},
		"run medium with --yes":   {[]string{"run_terminal_command", "--yes", "--args", `{"command":"rm -rf none"}`}, 0, "Exit code 0"},
		"run critical with --yes": {[]string{"run_terminal_command", "--yes", "--args", `{"command":"mkfs.ext4 /dev/none-such"}`}, 1, "--yes does not approve it"},
		"unknown tool":            {[]string{"reed_file_", "--args", `{}`}, 2, `there is no tool "reed_file_"`},
		"arguments are a list":    {[]string{"read_file", "--args", `["a.txt"]`}, 2, "--args must be a JSON object"},
		"arguments are null":      {[]string{"read_file", "--args", `null`}, 2, "--args must be a JSON object"},
		"arguments are cut":       {[]string{"read_file", "--args", `{"path":"a`}, 2, "--args must be a JSON object"},
		"arguments are empty":     {[]string{"read_file", "--args", ``}, 2, "--args must be a JSON object"},
		"unknown mode":            {[]string{"read_file", "--mode", "cod"}, 2, `unknown mode "cod"`},
		"no such configuration":   {[]string{"read_file", "--config", dir + "/none.yml"}, 2, "no such file"},
		"no such directory":       {[]string{"read_file", "--repo", dir + "/none"}, 2, "no such file"},
		"a file as directory":     {[]string{"read_file", "--repo", dir + "/a.txt"}, 2, "is not a directory"},
	} {
		t.Run(name, func(t *testing.T) {
			args := append([]string{"tools", "call", "--json"}, c.args...)
			if !strings.Contains(strings.Join(args, " "), "--repo") {
				args = append(args, "--repo", dir)
			}
			out, _, code := atDoor(t, "", args...)
			v := oneObject(t, out)
			if code != c.code || keys(v) != "ok content error" || v["ok"] != (code == 0) {
				t.Fatalf("exit %d, want %d: %.400s", code, c.code, out)
			}
			field := "error"
			if code == 0 {
				field = "content"
			}
			if s, _ := v[field].(string); !strings.Contains(s, c.want) {
				t.Errorf("%s = %.400q, want it to contain %q", field, s, c.want)
			}
			if code == 0 && v["error"] != "" || code != 0 && v["content"] != "" {
				t.Errorf("both content and error: %.400s", out)
			}
			if strings.Contains(out, "outside\\n") || strings.Contains(out, "secret\\n") {
				t.Errorf("content of a file that is kept away: %.400s", out)
			}
		})
	}
	if data, err := os.ReadFile(filepath.Join(dir, "../outside.txt")); err != nil || string(data) != "outside\n" {
		t.Errorf("the file outside is now %q, %v", data, err)
	}
	if _, err := os.Stat(filepath.Join(dir, ".github")); !os.IsNotExist(err) {
		t.Errorf("the sensitive file was written without a yes: %v", err)
	}
}

func TestToolsCallYesWrites(t *testing.T) {
	t.Parallel()
	dir := toolTree(t)
	out, _, code := atDoor(t, `{"path":".github/workflows/ci.yml","content":"on: push\n"}`,
		"tools", "call", "write_file", "--args", "-", "--repo", dir, "--yes", "--json")
	if v := oneObject(t, out); code != exitDone || v["ok"] != true {
		t.Fatalf("exit %d: %s", code, out)
	}
	if data, err := os.ReadFile(filepath.Join(dir, ".github/workflows/ci.yml")); err != nil || string(data) != "on: push\n" {
		t.Errorf("written %q, %v", data, err)
	}
}

// TestToolsCallConfig: the repository's rules hold for calls by hand too.
func TestToolsCallConfig(t *testing.T) {
	t.Parallel()
	dir := toolTree(t)
	rules := filepath.Join(t.TempDir(), "agent.yml")
	if err := os.WriteFile(rules, []byte("commands: {deny: [echo]}\nsensitive_files: [{pattern: '*.txt', approve: required}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for tool, args := range map[string]string{"run_terminal_command": `{"command":"echo x"}`, "write_file": `{"path":"a.txt","content":"x\n"}`} {
		out, _, code := atDoor(t, "", "tools", "call", tool, "--args", args, "--repo", dir, "--config", rules, "--json")
		if v := oneObject(t, out); code != exitFailed || v["ok"] != false {
			t.Errorf("%s: exit %d: %s", tool, code, out)
		}
		if out, _, code := atDoor(t, "", "tools", "call", tool, "--args", args, "--repo", dir, "--json"); code != exitDone {
			t.Errorf("%s without configuration: exit %d: %s", tool, code, out)
		}
	}
}

// TestToolsListAndParseDoor: what list prints is what parse takes.
func TestToolsListAndParseDoor(t *testing.T) {
	t.Parallel()
	out, errs, code := atDoor(t, "", "tools", "list", "--json")
	var list []map[string]any
	if err := json.Unmarshal([]byte(out), &list); err != nil || code != exitDone || errs != "" || strings.Count(out, "\n") != 1 {
		t.Fatalf("exit %d, %v, stderr %s", code, err, errs)
	}
	names := map[string]bool{}
	for _, tool := range list {
		name, _ := tool["name"].(string)
		names[name] = true
		schema, _ := tool["parameters"].(map[string]any)
		if d, _ := tool["description"].(string); len(tool) != 3 || d == "" || schema["type"] != "object" {
			t.Errorf("tool %v is not {name, description, parameters}", tool)
		}
	}
	for _, want := range []string{"read_file", "write_file", "apply_diff", "list_files", "search_workspace", "run_terminal_command", "update_todo_list", "attempt_completion"} {
		if !names[want] {
			t.Errorf("no tool %s", want)
		}
	}
	file := filepath.Join(t.TempDir(), "tools.json")
	if err := os.WriteFile(file, []byte(out), 0o600); err != nil {
		t.Fatal(err)
	}
	text := `Look:<tool_call>{"name":"read_file","arguments":{"path":"<a>"}}</tool_call>`
	want := `{"calls":[{"name":"read_file","arguments":{"path":"<a>"}}],"text":"Look:","errors":[]}` + "\n"
	for _, args := range [][]string{{"tools", "parse", "--json"}, {"tools", "parse", "--json", "--tools", file}} {
		if got, _, code := atDoor(t, text, args...); got != want || code != exitDone {
			t.Errorf("%v: exit %d: %s", args, code, got)
		}
	}
}

// TestToolsParseTakesAnything: no text makes parse fail or print something
// else than its object.
func TestToolsParseTakesAnything(t *testing.T) {
	t.Parallel()
	for name, in := range map[string]string{
		"nothing": "", "prose": "I would read the file first.", "bytes": "\x00\xff\xfe", "a cut call": `<tool_call>{"name":"read_file","arguments":{"path":"a.`,
		"unknown tool": `<tool_call>{"name":"fly","arguments":{}}</tool_call>`, "deep": strings.Repeat("[", 100_000), "many": strings.Repeat("<tool_call>{}", 10_000),
		"a megabyte": strings.Repeat("x ", 1<<19),
	} {
		out, errs, code := atDoor(t, in, "tools", "parse", "--json")
		v := oneObject(t, out)
		_, calls := v["calls"].([]any)
		_, errors := v["errors"].([]any)
		_, text := v["text"].(string)
		if code != exitDone || errs != "" || !calls || !errors || !text || keys(v) != "calls text errors" {
			t.Errorf("%s: exit %d, stderr %s: %.300s", name, code, errs, out)
		}
	}
}

// TestToolsFile: the tools can be given in every form in which they are
// commonly written, and what is none of them is refused.
func TestToolsFile(t *testing.T) {
	t.Parallel()
	const schema = `{"type":"object","properties":{"to":{"type":"string"},"n":{"type":"integer"}},"required":["to"]}`
	file := filepath.Join(t.TempDir(), "tools.json")
	parse := func(tools string) (string, int) {
		if err := os.WriteFile(file, []byte(tools), 0o600); err != nil {
			t.Fatal(err)
		}
		out, _, code := atDoor(t, "<fly><to>moon</to><n>3</n></fly>", "tools", "parse", "--json", "--tools", file)
		return out, code
	}
	for name, c := range map[string]struct{ tools, n string }{
		"as list prints them":   {`[{"name":"fly","description":"d","parameters":` + schema + `}]`, "3"},
		"as a request has them": {`[{"type":"function","function":{"name":"fly","parameters":` + schema + `}}]`, "3"},
		"a whole request":       {`{"model":"m","tools":[{"type":"function","function":{"name":"fly","parameters":` + schema + `}}]}`, "3"},
		"functions":             {`{"functions":[{"name":"fly","parameters":` + schema + `}]}`, "3"},
		"inputSchema":           {`{"tools":[{"name":"fly","inputSchema":` + schema + `}]}`, "3"},
		"an answer of a server": {`{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"fly","inputSchema":` + schema + `}]}}`, "3"},
		"input_schema":          {`[{"name":"fly","input_schema":` + schema + `}]`, "3"},
		"names":                 {`["fly", "land"]`, `"3"`},
		"a byte order mark":     {"\ufeff[\"fly\"]", `"3"`},
	} {
		want := `{"calls":[{"name":"fly","arguments":{"to":"moon","n":` + c.n + `}}],"text":"","errors":[]}` + "\n"
		if out, code := parse(c.tools); out != want || code != exitDone {
			t.Errorf("%s: exit %d: %s", name, code, out)
		}
	}
	for name, c := range map[string]struct{ tools, want string }{
		"nothing": {"", "end of JSON"}, "a number": {"7", "expected an array"}, "no tools": {`{"a":1}`, `no \"tools\"`}, "no name": {`[{"parameters":{}}]`, "has no name"},
		"a list in the list": {`[["fly"]]`, "tool 1"}, "twice": {`["fly","fly"]`, "twice"}, "cut": {`[{"name":"fly"`, "end of JSON"},
	} {
		if out, code := parse(c.tools); code != exitUsage || !strings.Contains(out, c.want) {
			t.Errorf("%s: exit %d: %s, want an error with %q", name, code, out, c.want)
		}
	}
}

// TestToolsParseNamesUnknownTools: a call to a tool that does not exist is
// reported with those that do.
func TestToolsParseNamesUnknownTools(t *testing.T) {
	t.Parallel()
	out, _, _ := atDoor(t, strings.Repeat(`<tool_call>{"name":"raed_file","arguments":{}}</tool_call>`, 2), "tools", "parse", "--json")
	v := oneObject(t, out)
	calls, _ := v["calls"].([]any)
	errs, _ := v["errors"].([]any)
	if len(calls) != 2 || len(errs) != 1 || !strings.Contains(out, `There is no tool \"raed_file\". The tools are: read_file, `) {
		t.Error(out)
	}
}

func TestVersionDoor(t *testing.T) {
	t.Parallel()
	out, errs, code := atDoor(t, "", "version", "--json")
	v := oneObject(t, out)
	if code != exitDone || errs != "" || keys(v) != "version commit modified go platform" {
		t.Errorf("exit %d, stderr %s: %s", code, errs, out)
	}
	if s, _ := v["version"].(string); s == "" {
		t.Errorf("no version: %s", out)
	}
}

func TestConfigSchemaDoor(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{"agent.json": {"config", "schema"}, "server.json": {"config", "schema", "--server"}} {
		want, _, code := atDoor(t, "", args...)
		if code != exitDone || document(t, "docs/schema/"+name) != want {
			t.Errorf("docs/schema/%s is not what the program prints; write it anew: go run ./cmd/handrail %s > docs/schema/%s", name, strings.Join(args, " "), name)
		}
	}
	out, errs, code := atDoor(t, "", "config", "schema")
	var schema struct {
		Properties           map[string]any
		AdditionalProperties *bool
	}
	if err := json.NewDecoder(bytes.NewReader([]byte(out))).Decode(&schema); err != nil || code != exitDone || errs != "" {
		t.Fatalf("exit %d, %v, stderr %s", code, err, errs)
	}
	if schema.Properties["sensitive_files"] == nil || schema.AdditionalProperties == nil || *schema.AdditionalProperties {
		t.Errorf("the schema lacks sensitive_files, or takes any key: %.300s", out)
	}
}

// What people never see is no text of an answer, and a call in thinking is none.
func TestParseShowsWhatPeopleSee(t *testing.T) {
	t.Parallel()
	const call = `<tool_call>{"name":"read_file","arguments":{"path":"%s"}}</tool_call>`
	for in, want := range map[string]string{
		"<think>hm " + fmt.Sprintf(call, "no") + "</think>Done. [TASK_COMPLETE]": `{"calls":[],"text":"Done.","errors":[]}`,
		"hm</think>\nSo.\n" + fmt.Sprintf(call, "a") + "\n[TASK_COMPLETE]":       `{"calls":[{"name":"read_file","arguments":{"path":"a"}}],"text":"So.","errors":[]}`,
		"[THINK]hm[/THINK]Yes [task_complete] and no [TASK_COM":                  `{"calls":[],"text":"Yes  and no","errors":[]}`,
		"It says `<think>` in code. " + fmt.Sprintf(call, "n<¦|end|>"):           `{"calls":[{"name":"read_file","arguments":{"path":"n<|end|>"}}],"text":"It says ` + "`<think>`" + ` in code.","errors":[]}`,
	} {
		out, errs, code := atDoor(t, in, "tools", "parse", "--json")
		if code != 0 || strings.TrimSpace(out) != want {
			t.Errorf("%q: exit %d, %s\n%s\nwant %s", in, code, errs, out, want)
		}
	}
}
