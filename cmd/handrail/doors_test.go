package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// atDoor runs one command line as a script outside would, and returns what it
// can see.
func atDoor(t *testing.T, stdin string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, errs bytes.Buffer
	code = execute(t.Context(), args, &console{in: strings.NewReader(stdin), out: &out, err: &errs, version: "test"})
	return out.String(), errs.String(), code
}

// oneObject is standard output, which must be one JSON value and one newline.
func oneObject(t *testing.T, stdout string) map[string]any {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal([]byte(stdout), &v); err != nil {
		t.Fatalf("standard output is not one object: %v\n%s", err, stdout)
	}
	if strings.Count(stdout, "\n") != 1 || !strings.HasSuffix(stdout, "}\n") {
		t.Fatalf("standard output is not one line: %q", stdout)
	}
	return v
}

func keys(v map[string]any) string {
	var list []string
	for _, k := range []string{"id", "severity", "reasons", "decision", "digest", "sensitive", "pattern", "ok", "content", "calls", "text", "errors", "error", "faults", "line", "version", "commit", "modified", "go", "platform", "open", "walled"} {
		if _, ok := v[k]; ok {
			list = append(list, k)
		}
	}
	if len(list) != len(v) {
		return "unknown keys beside " + strings.Join(list, " ")
	}
	return strings.Join(list, " ")
}

func TestExplainCommandDoor(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ command, severity, decision string }{
		"plain":               {"go test ./...", "none", "allow"},
		"critical":            {"rm -rf /", "critical", "ask"},
		"begins with -":       {"-rf /", "none", "allow"},
		"looks like a number": {"-1", "none", "allow"},
		"empty":               {"", "none", "deny"},
		"blank":               {" \t ", "none", "deny"},
		"lines":               {"echo a\nrm -rf /\n", "critical", "ask"},
		"quotes":              {`sh -c "rm -rf '/'"`, "critical", "ask"},
		"unicode":             {"echo „grüß“ 🦊", "none", "allow"},
		"angle brackets":      {"cat <in", "none", "allow"},
		"not a program":       {"echo 'open", "high", "ask"},
		"a megabyte":          {"echo " + strings.Repeat("x", 1<<20), "critical", "ask"},
	} {
		t.Run(name, func(t *testing.T) {
			out, errs, code := atDoor(t, "", "policy", "explain", "command", c.command, "--json")
			v := oneObject(t, out)
			if code != exitDone || errs != "" || keys(v) != "severity reasons decision digest open walled" {
				t.Fatalf("exit %d, keys %s, stderr %s", code, keys(v), errs)
			}
			if v["severity"] != c.severity || v["decision"] != c.decision {
				t.Errorf("%s, %s; want %s, %s: %s", v["severity"], v["decision"], c.severity, c.decision, out[:min(len(out), 400)])
			}
			if d, _ := v["digest"].(string); len(d) != 64 || strings.Trim(d, "0123456789abcdef") != "" {
				t.Errorf("digest %q is not a SHA-256", d)
			}
			line, err := json.Marshal(map[string]any{"id": 1, "command": c.command})
			if err != nil {
				t.Fatal(err)
			}
			piped, _, code := atDoor(t, string(line), "policy", "explain", "command", "--stdin", "--json")
			if want := `{"id":1,` + out[1:]; code != exitDone || piped != want {
				t.Errorf("exit %d; --stdin says something else: %s", code, cmp.Diff(want, piped))
			}
		})
	}
}

func TestExplainFileDoor(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		path, decision, pattern string
	}{
		"ordinary":         {"src/main.go", "allow", ""},
		"workflow":         {".github/workflows/ci.yml", "ask", ".github/workflows/**"},
		"other case":       {".GitHub/Workflows/CI.yml", "ask", ".github/workflows/**"},
		"dots inside":      {"a/../.github/./workflows/ci.yml", "ask", ".github/workflows/**"},
		"backslashes":      {`.github\workflows\ci.yml`, "ask", ".github/workflows/**"},
		"begins with -":    {"-x.go", "allow", ""},
		"begins with --":   {"--x.go", "allow", ""},
		"only dots":        {"..x", "allow", ""},
		"above":            {"../x", "deny", ""},
		"above, later":     {"a/../../x", "deny", ""},
		"absolute":         {"/etc/passwd", "deny", ""},
		"empty":            {"", "deny", ""},
		"NUL":              {"a\x00b", "deny", ""},
		"unicode":          {"ü/ö 🦊.txt", "allow", ""},
		"composed unicode": {"u\u0308.txt", "allow", ""},
		"very long":        {strings.Repeat("d/", 100_000) + ".env", "deny", "**"},
	} {
		t.Run(name, func(t *testing.T) {
			out, errs, code := atDoor(t, "", "policy", "explain", "file", c.path, "--json")
			v := oneObject(t, out)
			if code != exitDone || errs != "" || keys(v) != "sensitive pattern decision" && keys(v) != "decision sensitive pattern" {
				t.Fatalf("exit %d, keys %s, stderr %s", code, keys(v), errs)
			}
			if v["decision"] != c.decision || v["pattern"] != c.pattern || v["sensitive"] != (c.pattern != "") {
				t.Errorf("%s; want %s by %q", out, c.decision, c.pattern)
			}
		})
	}
}

// TestStdinLines sends what scripts send: every line but an empty one is
// answered by one, in order, with its id as it was written.
func TestStdinLines(t *testing.T) {
	t.Parallel()
	lines := []struct{ in, id, has string }{
		{"\ufeff" + `{"id":1,"command":"ls"}`, `1`, `"decision":"allow"`},
		{`{"id":"a \"b\" <c> ü","command":"ls","more":[1,{"x":2}]}`, `"a \"b\" <c> ü"`, `"decision":"allow"`},
		{`{"id":12345678901234567890123,"command":"ls"}`, `12345678901234567890123`, `"decision":"allow"`},
		{`{"id":1.50,"command":"ls"}`, `1.50`, `"decision":"allow"`},
		{`{"id":{"n":[1,null,true]},"command":"ls"}`, `{"n":[1,null,true]}`, `"decision":"allow"`},
		{`{"id":null,"command":"ls"}`, `null`, `"decision":"allow"`},
		{`{"command":"ls"}`, `null`, `"decision":"allow"`},
		{"\t{ \"command\" : \"ls\" , \"id\" : false }\r", `false`, `"decision":"allow"`},
		{`{"id":2,"command":""}`, `2`, `"decision":"deny"`},
		{`{"id":3,"command":"a\u0000b"}`, `3`, `"decision":"deny"`},
		{`{"id":4,"command":"rm -rf /\n"}`, `4`, `"severity":"critical"`},
		{`{"id":5}`, `5`, `"error":"no \"command\"`},
		{`{"id":6,"command":null}`, `6`, `"error":"no \"command\"`},
		{`{"id":7,"command":["ls"]}`, `7`, `"error":`},
		{`{"id":8,"path":"x"}`, `8`, `"error":"no \"command\"`},
		{`{"id":9,"command":"ls"} {"id":10}`, `null`, `"error":`},
		{`ls`, `null`, `"error":`},
		{`[1]`, `null`, `"error":`},
		{`null`, `null`, `"error":`},
		{`{"id":11,"command":"echo ` + strings.Repeat("x", 1<<20) + `"}`, `11`, `"decision":"ask"`},
		{`{"id":12,"command":"ls"}`, `12`, `"decision":"allow"`}, // no newline after it
	}
	var in strings.Builder
	for i, l := range lines {
		if i > 0 {
			in.WriteString("\n\n \n")
		}
		in.WriteString(l.in)
	}
	out, errs, code := atDoor(t, in.String(), "policy", "explain", "command", "--stdin", "--json")
	if code != exitFailed {
		t.Errorf("exit %d, want %d: some lines could not be answered", code, exitFailed)
	}
	if n := strings.Count(errs, " of standard input: "); n != 8 || !strings.Contains(errs, "line 34 of standard input") {
		t.Errorf("%d complaints on standard error, want 8, the first about line 34:\n%s", n, errs)
	}
	got := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	if len(got) != len(lines) {
		t.Fatalf("%d answers to %d lines", len(got), len(lines))
	}
	for i, l := range lines {
		if !strings.HasPrefix(got[i], `{"id":`+l.id+`,"`) || !strings.Contains(got[i], l.has) || !json.Valid([]byte(got[i])) {
			t.Errorf("%.80s\nis answered by\n%.300s\nwant id %s and %s", l.in, got[i], l.id, l.has)
		}
	}
}

func TestStdinOfNothing(t *testing.T) {
	t.Parallel()
	for _, in := range []string{"", "\n", "\r\n\r\n", "\ufeff"} {
		out, errs, code := atDoor(t, in, "policy", "explain", "file", "--stdin")
		if out != "" || errs != "" || code != exitDone {
			t.Errorf("%q: exit %d, %q, %q", in, code, out, errs)
		}
	}
}

// TestStdinAnswersAtOnce holds a conversation: a script may wait for each
// answer before it asks again.
func TestStdinAnswersAtOnce(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	context.AfterFunc(ctx, func() { outR.CloseWithError(ctx.Err()) })
	ended := make(chan int, 1)
	go func() {
		ended <- execute(ctx, []string{"policy", "explain", "file", "--stdin"}, &console{in: inR, out: outW, err: io.Discard})
	}()
	dec := json.NewDecoder(outR)
	for n := range 3 {
		if _, err := io.WriteString(inW, `{"id":`+string(rune('0'+n))+`,"path":"a"}`+"\n"); err != nil {
			t.Fatal(err)
		}
		var v struct{ ID int }
		if err := dec.Decode(&v); err != nil || v.ID != n {
			t.Fatalf("answer %d: %+v, %v", n, v, err)
		}
	}
	if err := inW.Close(); err != nil {
		t.Error(err)
	}
	if code := <-ended; code != exitDone {
		t.Errorf("exit %d", code)
	}
}

// TestWrongUseIsJSONToo: a script that reads JSON gets JSON, whatever was
// wrong, on standard output; the same sentence is on standard error.
func TestWrongUseIsJSONToo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	bad := filepath.Join(dir, "agent.yml")
	if err := os.WriteFile(bad, []byte("mod: code\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"unknown flag":          {[]string{"version", "--jsn", "--json"}, "unknown flag --jsn"},
		"unknown verb":          {[]string{"polcy", "--json"}, "polcy"},
		"no verb":               {[]string{"--json"}, "json"},
		"half a verb":           {[]string{"policy", "explain", "--json"}, "unknown flag"},
		"no command":            {[]string{"policy", "explain", "command", "--json"}, "give a command line"},
		"no path":               {[]string{"policy", "explain", "file", "--json"}, "give a path"},
		"two commands":          {[]string{"policy", "explain", "command", "ls", "pwd", "--json"}, "unexpected argument pwd"},
		"unknown mode":          {[]string{"policy", "explain", "command", "ls", "--mode", "cod", "--json"}, `unknown mode "cod"`},
		"no such configuration": {[]string{"policy", "explain", "file", "x", "--config", dir + "/none", "--json"}, "no such file"},
		"faulty configuration":  {[]string{"policy", "explain", "file", "x", "--config", bad, "--json"}, `line 1, column 1: unknown key "mod", did you mean "mode"?`},
		"word and --stdin":      {[]string{"policy", "explain", "command", "ls", "--stdin", "--json"}, `leave out "ls"`},
		"no such tools file":    {[]string{"tools", "parse", "--tools", dir + "/none", "--json"}, "no such file"},
		"faulty tools file":     {[]string{"tools", "parse", "--tools", bad, "--json"}, "expected an array"},
		"unknown log level":     {[]string{"version", "--json", "--log-level", "loud"}, "loud"},
	} {
		t.Run(name, func(t *testing.T) {
			out, errs, code := atDoor(t, "", c.args...)
			v := oneObject(t, out)
			said, _ := v["error"].(string)
			if code != exitUsage || keys(v) != "ok error" || v["ok"] != false || !strings.Contains(said, c.want) {
				t.Errorf("exit %d: %s, want an error with %q", code, out, c.want)
			}
			if !strings.Contains(errs, said) {
				t.Errorf("standard error says something else: %s", errs)
			}
		})
	}
}

// TestNoVerb: a person who types just the name gets help, a script nothing.
func TestNoVerb(t *testing.T) {
	t.Parallel()
	out, errs, code := atDoor(t, "")
	if out != "" || code != exitUsage || !strings.Contains(errs, "Usage: handrail") || !strings.Contains(errs, "To begin with:\n  demo") {
		t.Errorf("exit %d, stdout %q, stderr %q", code, out, errs)
	}
	for _, args := range [][]string{{"policy"}, {"tools"}, {"policy", "explain"}} {
		out, errs, code := atDoor(t, "", args...)
		if out != "" || code != exitUsage || strings.Count(errs, "\n") != 1 || !strings.Contains(errs, "needs a verb: ") {
			t.Errorf("%v: exit %d, stdout %q, stderr %q", args, code, out, errs)
		}
	}
	out, errs, code = atDoor(t, "", "--help")
	if code != exitDone || errs != "" || !strings.Contains(out, "policy explain command") {
		t.Errorf("--help: exit %d, stdout %q, stderr %q", code, out, errs)
	}
}

// TestExplainUnknownProgram: a program that no rule knows is named, and what
// it needs depends on the wall.
func TestExplainUnknownProgram(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		flags              []string
		severity, decision string
	}{
		"default": {nil, "medium", "ask"}, "open": {[]string{"--open"}, "medium", "ask"}, "walled": {[]string{"--walled"}, "none", "allow"},
	} {
		t.Run(name, func(t *testing.T) {
			args := append([]string{"policy", "explain", "command", "frobnicate --all", "--json"}, c.flags...)
			out, errs, code := atDoor(t, "", args...)
			if want := `"unknown":["frobnicate"]`; code != exitDone || errs != "" || !strings.Contains(out, want) {
				t.Fatalf("exit %d, %s%s, want %s", code, out, errs, want)
			}
			if v := oneObject(t, out); v["severity"] != c.severity || v["decision"] != c.decision {
				t.Errorf("%s, %s; want %s, %s", v["severity"], v["decision"], c.severity, c.decision)
			}
		})
	}
	if _, _, code := atDoor(t, "", "policy", "explain", "command", "ls", "--open", "--walled"); code != exitUsage {
		t.Errorf("--open and --walled together end with %d", code)
	}
}
