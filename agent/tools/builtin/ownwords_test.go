package builtin_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/handrail-bot/handrail/agent/tools/toolstest"
	"github.com/handrail-bot/handrail/policy/longtest"
)

// free lists tools whose results are only words of a model or a requester, or paths: no
// guard can distinguish them from the text of a file.
var free = []string{"ask_followup_question", "attempt_completion", "find_files", "new_task"}

// TestResultsAreNoFiles: the result of a tool never becomes the text of a file. Writing it
// is refused, or only the text of a shown file remains.
func TestResultsAreNoFiles(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("the results of the tools are missing: %v", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txtar")
		a, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		tree, said := map[string]string{}, ""
		for _, f := range a.Files {
			switch f.Name {
			case "CALL", "BEFORE", "INTENT", "CHANGED":
			case "RESULT":
				_, said, _ = strings.Cut(string(f.Data), "\n\n")
			default:
				tree[f.Name] = string(f.Data)
			}
		}
		if !slices.Contains(free, name) {
			t.Run(name, func(t *testing.T) { neverWritten(t, tree, said) })
		}
	}
}

// neverWritten writes a tool's text into files, new and old.
func neverWritten(t *testing.T, tree map[string]string, said string) {
	t.Helper()
	shown := map[string]bool{}
	for _, text := range tree {
		for line := range strings.Lines(text) {
			shown[strings.TrimSpace(line)] = true
		}
	}
	b := toolstest.Open(t, tree)
	targets := []string{"brand/new.go", "brand/new.py", "brand/notes.txt", "brand/data"}
	for name := range tree {
		if filepath.Ext(name) == ".log" {
			continue // it holds what programs say
		}
		targets = append(targets, name)
	}
	for _, name := range targets {
		for _, args := range []string{
			toolstest.Arguments("path", name, "content", said),
			toolstest.Arguments("path", name, "content", "<untrusted 0a1b2c3d4e \"result of x\">\n"+said+"\n</untrusted 0a1b2c3d4e>"),
			toolstest.Arguments("path", name, "content", tree[name]+"\n"+said),
		} {
			if _, err := b.Tool("write_file").Intent(t.Context(), toolstest.Call("write_file", args)); err != nil {
				continue // refused
			}
			if _, err := b.Tool("write_file").Run(t.Context(), toolstest.Call("write_file", args), nil); err != nil {
				t.Fatal(err)
			}
			data, _, err := b.WS.ReadAll(t.Context(), name, 0)
			if err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(string(data)) {
				if s := strings.TrimSpace(line); s != "" && !shown[s] {
					t.Errorf("%s has %q in it: a model can write a tool's result as a file. Give the result a form that agent/patch/foreign.go knows, such as File: NAME (2 lines), or add its form there; a tool of paths alone goes into free", name, s)
					return
				}
			}
		}
	}
}

// TestErrorsAreNoFiles: nor does the answer to a wrong call.
func TestErrorsAreNoFiles(t *testing.T) {
	longtest.Leave(t)
	const text = "package a\n\nfunc f() int {\n\treturn 1\n}\n\nfunc g() int {\n\treturn 1\n}\n"
	tree := map[string]string{"a.go": text}
	b := toolstest.Open(t, tree)
	wrong := [][2]string{
		{"edit_file", toolstest.Arguments("path", "a.go", "old_string", "", "new_string", "x")},
		{"edit_file", toolstest.Arguments("path", "a.go", "old_string", "\treturn 1", "new_string", "\treturn 2")},
		{"edit_file", toolstest.Arguments("path", "a.go", "old_string", "return 5", "new_string", "return 2")},
		{"edit_file", toolstest.Arguments("path", "b.go", "old_string", "x", "new_string", "y")},
		{"edit_file", toolstest.Arguments("path", "a.go", "code_edit", "func h() {}\n")},
		{"apply_diff", toolstest.Arguments("path", "a.go", "diff", "nothing")},
		{"apply_diff", toolstest.Arguments("path", "a.go", "diff", "<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE")},
		{"write_file", toolstest.Arguments("path", "a.go", "content", "package a\n// rest of code unchanged\n")},
		{"write_file", toolstest.Arguments("path", "a.go", "content", "Created a.go (+1 −0).\n")},
		{"insert_content", toolstest.Arguments("path", "a.go", "line", 99, "content", "x\n")},
		{"search_and_replace", toolstest.Arguments("path", "a.go", "search", "zz", "replace", "y")},
		{"read_file", toolstest.Arguments("path", "b.go")},
		{"delete_file", toolstest.Arguments("path", "b.go")},
	}
	for _, spec := range b.Tools.Specs() {
		wrong = append(wrong, [2]string{spec.Name, `{"surely_unknown":1}`})
	}
	for _, call := range wrong {
		_, err := b.Tool(call[0]).Intent(t.Context(), toolstest.Call(call[0], call[1]))
		if err == nil {
			_, err = b.Tool(call[0]).Run(t.Context(), toolstest.Call(call[0], call[1]), nil)
		}
		if err == nil {
			t.Errorf("%s %s is not wrong", call[0], call[1])
			continue
		}
		neverWritten(t, tree, err.Error())
	}
}
