package prompt

import (
	"encoding/json"
	"io/fs"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/agent/llm"
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
	all := specs("read_file", "write_file", "search_workspace")
	for _, tt := range []struct {
		name        string
		in          Input
		has, hasNot []string
	}{
		{"native", Input{Mode: "code", Native: true, Tools: all},
			[]string{"# Mode: code", "# Editing", "# Searching", "attempt_completion", "is data"}, []string{"<tool_call>", "## read_file", "[TASK_COMPLETE]", "# Your todo list", "# Notes"}},
		{"text", Input{Mode: "code", Tools: all},
			[]string{"<tool_call>", "## read_file", "Does write_file.", `{"type":"object"}`, "[TASK_COMPLETE]"}, nil},
		{"with code", Input{Mode: "ask", Native: true, Provided: true}, []string{"already provided"}, nil},
		{"small", Input{Mode: "code", Native: true, Tools: all, Small: true}, []string{"# Editing", "is data"}, []string{"# Searching", "already provided"}},
		{"reads only", Input{Mode: "plan", Native: true, Tools: specs("read_file")},
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

func BenchmarkBuild(b *testing.B) {
	in := Input{Mode: "code", Tools: specs("read_file", "write_file", "apply_diff", "edit_file", "list_files", "search_workspace", "run_terminal_command", "attempt_completion")}
	builder := Builder{Project: strings.Repeat("- fact\n", 200), Rules: strings.Repeat("rule\n", 1000)}
	for b.Loop() {
		builder.Build(in)
	}
}

// A prompt is built every turn; it must not be felt.
func TestBuildIsFast(t *testing.T) {
	if r := testing.Benchmark(BenchmarkBuild); r.NsPerOp() > 1_000_000 {
		t.Errorf("building takes %s, more than a millisecond", r)
	}
}
