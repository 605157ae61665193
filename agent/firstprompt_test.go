package agent

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/agent/compact"
	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/llm/llmtest"
	"github.com/handrail-bot/handrail/agent/project"
	"github.com/handrail-bot/handrail/agent/prompt"
	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/tools"
	"github.com/handrail-bot/handrail/agent/tools/github"
	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/longtest"
)

// emptyProject describes an empty repository on a machine with many programs.
const emptyProject = "- Programs here: bash, git, rg, python3, python, pip, pytest, go, node, npm, cargo, java, mvn, gcc, make, ruby, curl, jq\n" +
	"- The repository is empty.\n- Branch: agent/issue-123, from commit 1111111111"

// fewTools are those of a small window: one to edit, one to write, and what matters most.
const fewTools = "[read_file write_file edit_file list_files search_workspace run_terminal_command attempt_completion]"

// The first prompt is small: tools included, in every mode, for an empty repository
// and a task of one line. Tokens are counted as the program estimates them.
func TestFirstPromptIsSmall(t *testing.T) {
	longtest.Leave(t)
	for _, m := range policy.Modes() {
		for _, tt := range []struct{ window, most int }{{8192, 1500}, {16384, 1500}, {32768, 2500}} {
			for _, native := range []bool{true, false} {
				b := newBench(t, fmt.Sprintf("model: {name: m, tools: %t, context: %d}\nturns:\n- {say: \"It is empty. [TASK_COMPLETE]\", repeat: true}\n", native, tt.window), nil)
				b.task.Mode, b.task.Text = m.Name, "what is here?"
				b.more = github.Tools(nil, "")
				b.cfg.Prompt.Project = emptyProject
				if _, err := b.run(t.Context()); err != nil {
					t.Fatal(err)
				}
				r := b.model.Requests()[0]
				got := firstTokens(r)
				t.Logf("%s, %d: %d", m.Name, tt.window, got)
				if offered := tools.Names(r.Tools); m.Name == "code" && native && tt.most == 1500 && fmt.Sprint(offered) != fewTools {
					t.Errorf("a window of %d: the tools are %s, want %s, those with Essential in their sheet", tt.window, offered, fewTools)
				}
				if got > tt.most {
					t.Errorf("%s, window of %d, native %t: %d tokens with %d tools, want %d: shorten a tool's description, drop the Doc of optional parameters, or make it Untold", m.Name, tt.window, native, got, len(r.Tools), tt.most)
				}
			}
		}
	}
}

// A model of less than 8B gets a short prompt, however long the rules and the facts of the
// project are: at most eight tools, one to edit and one to write, and 1,200 tokens before
// the request.
func TestFirstPromptOfASmallModel(t *testing.T) {
	longtest.Leave(t)
	for _, m := range policy.Modes() {
		for _, native := range []bool{true, false} {
			for _, size := range []int64{1_777_088_000, 8_030_000_000} {
				b := newBench(t, fmt.Sprintf("model: {name: m, tools: %t, context: 131072, parameters: %d}\nturns:\n- {say: \"It is empty. [TASK_COMPLETE]\", repeat: true}\n", native, size), nil)
				b.task.Mode, b.task.Text, b.cfg.Form = m.Name, "", llm.FormText
				if native {
					b.cfg.Form = llm.FormNative
				}
				b.more = github.Tools(nil, "")
				b.cfg.Prompt = prompt.Builder{Project: strings.Repeat("- a fact of the project\n", 100), Runs: emptyProject, Rules: strings.Repeat("Be kind to your readers.\n", 100), Network: "The workspace has no network: nothing can be downloaded or installed.",
					Charted: strings.Repeat("- a/b.go: Event 90\n", 100), Example: prompt.Example{Path: "internal/calc/add.go", Line: "\treturn a + b"}}
				if _, err := b.run(t.Context()); err != nil {
					t.Fatal(err)
				}
				r := b.model.Requests()[0]
				got, small := firstTokens(r), size < 8_000_000_000
				system := r.Messages[0].Content
				offered := len(r.Tools)
				if !native {
					offered = strings.Count(system, "\n## ") - strings.Count(system, "\n## AGENTS.md")
				}
				if small != (got <= 1200) || small && offered > 8 {
					t.Errorf("%s, native %t, %d parameters: %d tokens with %d tools", m.Name, native, size, got, offered)
				}
				for _, name := range []string{"edit_file", "write_file"} {
					if has := strings.Contains(system+fmt.Sprint(tools.Names(r.Tools)), name); has != m.Writes() {
						t.Errorf("%s, native %t: offered %s: %t", m.Name, native, name, has)
					}
				}
				if has := strings.Contains(system, "internal/calc/add.go"); has == native {
					t.Errorf("%s, native %t: an example stands there: %t", m.Name, native, has)
				}
			}
		}
	}
}

// firstTokens is what a request has, tools included, as the program estimates it.
func firstTokens(r *llmtest.Request) int {
	n := 0
	for _, msg := range r.Messages {
		n += compact.MessageSize(msg)
	}
	for _, tool := range r.Tools {
		n += len(tool.Name) + len(tool.Description) + len(tool.Parameters) + 8
	}
	return (compact.Ratio{}).Tokens(n)
}

// large is a project of 50,000 files with a long README and 200 kB of instructions.
type large struct{}

func (large) ReadAll(_ context.Context, name string, _ int64) ([]byte, fs.FileMode, error) {
	for file, line := range map[string]string{"README.md": "A line about the project.\n", "AGENTS.md": "- Keep things as they are.\n", "CLAUDE.md": "- Be kind to readers.\n"} {
		if name == file {
			return bytes.Repeat([]byte(line), 200_000/len(line)), 0o644, nil
		}
	}
	return nil, 0, fs.ErrNotExist
}

func (large) List(_ context.Context, _ string, _ bool, limit int) (workspace.Listing, error) {
	l := workspace.Listing{Base: ".", Entries: []workspace.Entry{{Path: "README.md"}, {Path: "AGENTS.md"}, {Path: "CLAUDE.md"}}}
	for i := range 50_000 {
		l.Entries = append(l.Entries, workspace.Entry{Path: fmt.Sprintf("directory%03d/sub%02d/file%05d.go", i/400, i/20%20, i)})
	}
	l.Left = len(l.Entries) - limit
	l.Entries = l.Entries[:limit]
	return l, nil
}

// However large a project is, its first prompt is bounded: what is known of it and its
// instructions have limits of their own.
func TestFirstPromptOfALargeProject(t *testing.T) {
	longtest.Leave(t)
	facts, err := project.Discover(t.Context(), large{})
	if err != nil {
		t.Fatal(err)
	}
	rules, err := (&project.Rules{Files: large{}}).Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ window, most int }{{8192, 2700}, {32768, 7300}} {
		b := newBench(t, fmt.Sprintf("model: {name: m, tools: true, context: %d}\nturns:\n- {say: \"It is large. [TASK_COMPLETE]\"}\n", tt.window), nil)
		b.task.Text, b.task.Mode = "what is here?", "ask"
		b.cfg.Prompt = prompt.Builder{Project: facts.String(), Rules: rules, Charted: strings.Repeat("- a/b.go: Event 90\n", 3400/19)}
		b.must(session.StatusAnswered)
		got := firstTokens(b.model.Requests()[0])
		t.Logf("a window of %d: %d tokens", tt.window, got)
		if got > tt.most || got < 1500 {
			t.Errorf("a window of %d: %d tokens, want at most %d", tt.window, got, tt.most)
		}
	}
}
