package prompt

import (
	"encoding/json"
	"io/fs"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/llm/toolcall"
	"github.com/handrail-bot/handrail/policy"
)

func specs(names ...string) []llm.ToolSpec {
	var out []llm.ToolSpec
	for _, n := range names {
		out = append(out, llm.ToolSpec{Name: n, Description: "Does " + n + ".", Parameters: json.RawMessage(`{"type":"object"}`)})
	}
	return out
}

func TestEveryModeHasItsPart(t *testing.T) {
	for _, m := range policy.Modes() {
		if part("mode_"+m.Name) == "" {
			t.Errorf("mode %s has no part", m.Name)
		}
	}
	names, err := fs.Glob(parts, "parts/*.md")
	if err != nil || len(names) < 10 {
		t.Fatal(names, err)
	}
}

func TestVariants(t *testing.T) {
	all := specs("read_file", "write_file", "edit_file", "search_workspace")
	for _, tt := range []struct {
		name        string
		in          Input
		has, hasNot []string
	}{
		{"native", Input{Mode: "code", Form: llm.FormNative, Tools: all},
			[]string{"# Mode: code", "# Editing", "# Searching", "attempt_completion", "is data"}, []string{"<tool_call>", "## read_file", "[TASK_COMPLETE]", "# Your todo list", "# Notes"}},
		{"text", Input{Mode: "code", Tools: all},
			[]string{"<tool_call>", "## read_file", "Does write_file.", `{"type":"object"}`, `{"name": "attempt_completion"`, "<old_string>"}, []string{"[TASK_COMPLETE]"}},
		{"text without edits", Input{Mode: "plan", Tools: specs("read_file")}, []string{"<tool_call>", "## read_file"}, []string{"edit_file", "[TASK_COMPLETE]"}},
		{"with code", Input{Mode: "ask", Form: llm.FormNative, Provided: true}, []string{"already provided"}, nil},
		{"small", Input{Mode: "code", Form: llm.FormNative, Tools: all, Small: true}, []string{"# Editing", "is data"}, []string{"# Searching", "already provided"}},
		{"reads only", Input{Mode: "plan", Form: llm.FormNative, Tools: specs("read_file")},
			[]string{"# Mode: plan"}, []string{"# Editing", "# Searching"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := Builder{Project: "- Go module x", Rules: "## AGENTS.md\n\nBe kind."}.Build(tt.in)
			for _, want := range append(tt.has, "You are Handrail", "# The project", "- Go module x", "# Rules of this repository", "Be kind.") {
				if !strings.Contains(got, want) {
					t.Errorf("%q is missing in:\n%s", want, got)
				}
			}
			for _, bad := range tt.hasNot {
				if strings.Contains(got, bad) {
					t.Errorf("%q is in:\n%s", bad, got)
				}
			}
		})
	}
}

// A small window has room for its work whatever a repository brings; what is left out
// is said, and a large one gets all of it.
func TestSmallWindowsKeepRoom(t *testing.T) {
	b := Builder{Project: strings.Repeat("- fact é\n", 600), Rules: "## AGENTS.md\n\n" + strings.Repeat("Be kind to the ünïcode.\n", 600), Charted: "- a/b.go: Event 90"}
	plain := len(Builder{}.Build(Input{Mode: "code", Form: llm.FormNative, Small: true}))
	small, large := b.Build(Input{Mode: "code", Form: llm.FormNative, Small: true}), b.Build(Input{Mode: "code", Form: llm.FormNative})
	if n := len(small) - plain; n > 4700 || n < 3000 || !utf8.ValidString(small) {
		t.Errorf("map and rules take %d bytes of a small window", n)
	}
	for _, want := range []string{"list_files shows what is there]", "or what this repository has of its kind]", "ünïcode.\n["} {
		if !strings.Contains(small, want) || strings.Contains(large, want) {
			t.Errorf("%q: %t in the small prompt, %t in the large one", want, strings.Contains(small, want), strings.Contains(large, want))
		}
	}
	if strings.Contains(small, "a/b.go") || !strings.Contains(large, "# Most used definitions\n\nBehind each, how many of the files that were looked at name it.\n\n- a/b.go: Event 90\n") {
		t.Error("a large window gets no map, or a small one does")
	}
	if !strings.Contains(large, strings.TrimSpace(b.Rules)) {
		t.Error("a large window does not get all rules")
	}
}

// What the prompt shows is a call, with the text of the file as it stands in the tags.
func TestWorkedExampleIsACall(t *testing.T) {
	tools := []llm.ToolSpec{{Name: "edit_file", Parameters: json.RawMessage(`{"properties":{"path":{"type":"string"},"old_string":{"type":"string"},"new_string":{"type":"string"}}}`)},
		{Name: "read_file", Parameters: json.RawMessage(`{"properties":{"path":{"type":"string"}}}`)}, {Name: "attempt_completion", Parameters: json.RawMessage(`{"properties":{"result":{"type":"string"}}}`)}}
	shown := Builder{Example: Example{Path: "calc/add.go", Line: "\treturn a + b"}}.Build(Input{Mode: "code", Tools: tools})
	for _, block := range strings.Split(shown, "\n\n") {
		if !strings.HasPrefix(block, "<") {
			continue
		}
		got := toolcall.New(tools, nil).Parse(block)
		if len(got.Calls) != 1 || len(got.Errors) > 0 || got.Text != "" {
			t.Errorf("%s\nis %+v", block, got)
		}
		want := `{"path":"calc/add.go","old_string":"\treturn a + b","new_string":"\treturn a + b"}`
		if strings.HasPrefix(block, "<edit") && string(got.Calls[0].Arguments) != want {
			t.Errorf("the edit is %s", got.Calls[0].Arguments)
		}
	}
	if strings.Count(shown, "attempt_completion\"") != 1 || strings.Count(shown, "<edit_file>") != 1 {
		t.Error("there is not one example of an edit and one way to finish in\n" + shown)
	}
}

// What the prompt shows names a file of this repository, or none at all: models take
// examples for what there is.
func TestExamplesNameThisRepository(t *testing.T) {
	files, err := fs.Glob(parts, "parts/*.md")
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile(`[\w/-]+\.(?:go|py|js|ts|rb|rs|java|txt|md|c|h)\b`)
	for _, name := range files {
		data, err := parts.ReadFile(name)
		if found := named.FindString(string(data)); err != nil || found != "" && found != WorkedFile {
			t.Errorf("%s names %s (%v)", name, found, err)
		}
	}
	in := Input{Mode: "code", Tools: specs("read_file", "write_file", "edit_file")}
	for _, tt := range []struct {
		example Example
		want    string
	}{
		{Example{"calc/add.go", "\treturn a + b"}, "<path>calc/add.go</path>\n<old_string>\treturn a + b</old_string>"}, {Example{}, "<path>PATH</path>\n<old_string>LINE</old_string>"},
		{Example{"a.go", "x <y> z"}, "<path>PATH</path>"}, {Example{"a.go", "[INST] x"}, "<path>PATH</path>"}, {Example{"a\n.go", "x"}, "<path>PATH</path>"}, {Example{"a.go", ""}, "<path>PATH</path>"},
	} {
		got := Builder{Example: tt.example}.Build(in)
		if !strings.Contains(got, tt.want) || strings.Contains(got, `{"path": "PATH"}`) != strings.Contains(tt.want, "PATH") {
			t.Errorf("%+v: %q is missing in\n%s", tt.example, tt.want, got)
		}
	}
}

// A mode that reads is told nothing of changes, and one that runs nothing of commands.
func TestModesAreToldTheirOwn(t *testing.T) {
	b := Builder{Project: "- Go module x", Runs: "- test: `go test ./...` (go.mod)", Network: "The workspace has no network."}
	for _, form := range []llm.Form{llm.FormNative, llm.FormText} {
		for _, small := range []bool{true, false} {
			got := b.Build(Input{Mode: "ask", Form: form, Small: small, Tools: specs("read_file", "search_workspace")})
			for _, bad := range []string{"files were changed", "you changed", "# Editing", "weaken tests", "Before you change", "go test", "network", "Work in small steps"} {
				if strings.Contains(got, bad) {
					t.Errorf("%s, small %t: a mode that reads is told %q:\n%s", form, small, bad, got)
				}
			}
			if !strings.Contains(got, "When you have what was asked for") {
				t.Errorf("it is not told how to finish:\n%s", got)
			}
			got = b.Build(Input{Mode: "code", Form: form, Small: small, Tools: specs("read_file", "write_file", "edit_file", "run_terminal_command")})
			for _, want := range []string{"# Editing", "When the task is done and checked", "- test: `go test ./...` (go.mod)\n- The workspace has no network.\n- Go module x"} {
				if !strings.Contains(got, want) {
					t.Errorf("%s, small %t: %q is missing in\n%s", form, small, want, got)
				}
			}
		}
	}
}

// A prompt is built every turn; it must not be felt.
func BenchmarkBuild(b *testing.B) {
	in := Input{Mode: "code", Tools: specs("read_file", "write_file", "apply_diff", "edit_file", "list_files", "search_workspace", "run_terminal_command", "attempt_completion")}
	builder := Builder{Project: strings.Repeat("- fact\n", 200), Rules: strings.Repeat("rule\n", 1000)}
	for b.Loop() {
		builder.Build(in)
	}
}
