package main

import (
	"context"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/agent"
	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/llm/toolcall"
	"github.com/handrail-bot/handrail/agent/prompt"
	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/tools"
	"github.com/handrail-bot/handrail/agent/tools/builtin"
	"github.com/handrail-bot/handrail/policy"
)

// known are the tools that need no workspace.
func known() *tools.Registry {
	r, err := tools.NewRegistry(builtin.Tools(tools.Config{})...)
	if err != nil {
		panic(err)
	}
	return r
}

// specs are the tools that an agent of this program has.
func specs() []llm.ToolSpec {
	list := tools.ForModel(known().Specs())
	for _, name := range []string{"read_file", "edit_file"} {
		list = append(list, llm.ToolSpec{Name: name, Parameters: []byte(`{"type":"object","properties":{"path":{"type":"string"},"content":{"type":"string"}}}`)})
	}
	return list
}

// BenchmarkParse takes calls out of an answer: one of 4 KB with prose around
// it, and hostile texts of 10 MB.
func BenchmarkParse(b *testing.B) {
	p := toolcall.New(specs(), known().Canonical)
	content := strings.Repeat("some text of the file with \\\"quotes\\\"\\n", 104)
	call := "I will write it now.\n<tool_call>\n{\"name\":\"edit_file\",\"arguments\":{\"path\":\"a.go\",\"content\":\"" + content + "\"}}\n</tool_call>\nThat is all."
	if got := p.Parse(call); len(got.Calls) != 1 || len(call) < 3800 {
		b.Fatalf("%d calls in %d bytes: %v", len(got.Calls), len(call), got.Errors)
	}
	const size = 10 << 20
	fill := func(s string) string { return strings.Repeat(s, size/len(s)) }
	for _, c := range []struct{ name, text string }{
		{"4KB", call},
		{"prose10MB", fill("Nothing to see here. ")},
		{"open10MB", fill("<tool_call>")},
		{"brace10MB", fill("{")},
		{"object10MB", fill(`{"name":"read_file","arguments":{`)},
		{"quote10MB", `<tool_call>{"name":"edit_file","arguments":{"content":"` + fill(`\"`)},
		{"angle10MB", fill("<")},
		{"fence10MB", fill("```json\n")},
		{"function10MB", fill("<function=read_file><parameter=path>")},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(c.text)))
			for b.Loop() {
				p.Parse(c.text)
			}
		})
	}
}

// BenchmarkPrompt builds a system prompt with tools described in it.
func BenchmarkPrompt(b *testing.B) {
	builder := prompt.Builder{Project: strings.Repeat("a fact about the project\n", 100), Rules: strings.Repeat("a rule\n", 50)}
	in := prompt.Input{Mode: "code", Tools: specs()}
	for b.Loop() {
		if builder.Build(in) == "" {
			b.Fatal("no prompt")
		}
	}
}

// silent is a model that must not be asked.
type silent struct{}

func (silent) Name() string { return "silent" }
func (silent) Capabilities(context.Context) (llm.Capabilities, error) {
	return llm.Capabilities{}, nil
}
func (silent) Stream(context.Context, llm.Request) iter.Seq2[llm.Part, error] {
	return func(yield func(llm.Part, error) bool) { yield(llm.Part{}, fmt.Errorf("asked: %w", os.ErrInvalid)) }
}

// BenchmarkReplay reads the log of a session of some 200 turns from its file, with
// its chain verified, and rebuilds the session from it.
func BenchmarkReplay(b *testing.B) {
	p, repo := build(b), benchRepo(b)
	again(b, readsOf(200, 40), func(host string) {
		p.run(b, host, "run", "--repo", repo, "--workspace", "local", "--turns", "300", "--task", "spell out line seven")
	})
	logs, err := filepath.Glob(filepath.Join(p.dir, "state/handrail/sessions/*.jsonl"))
	if err != nil || len(logs) != 1 {
		b.Fatalf("logs are %v, %v", logs, err)
	}
	rules, err := policy.New(policy.DefaultConfig())
	if err != nil {
		b.Fatal(err)
	}
	a, err := agent.New(agent.Config{Model: silent{}, Policy: rules, Checkpoints: noSaves{}})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		log, err := session.OpenFile(logs[0])
		if err != nil {
			b.Fatal(err)
		}
		out, err := a.Run(b.Context(), session.Task{}, log)
		if err != nil || out.Turns < 200 {
			b.Fatalf("%+v, %v", out, err)
		}
		if err := log.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// noSaves is for a session in which nothing happens any more.
type noSaves struct{ agent.Checkpointer }
