package compact

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/handrail-bot/handrail/agent/llm"
)

func TestRatio(t *testing.T) {
	var r Ratio
	if got := r.Tokens(3850); got != 1001 {
		t.Errorf("3850 bytes are %d tokens", got)
	}
	for _, lie := range [][2]int{{100, 50}, {10000, 0}, {10000, 100}, {10000, 9000}} {
		if r.Learn(lie[0], lie[1]); r != (Ratio{}) {
			t.Errorf("learned from %d bytes and %d tokens", lie[0], lie[1])
		}
	}
	r.Learn(10000, 5000)
	if got := r.Tokens(4000); got != 2001 {
		t.Errorf("after learning, 4000 bytes are %d tokens", got)
	}
	if got := r.Bytes(2000); got != 4000 {
		t.Errorf("after learning, 2000 tokens are %d bytes", got)
	}
}

func TestTail(t *testing.T) {
	for _, tt := range []struct {
		name  string
		sizes []int
		keep  int
		want  int
	}{
		{"nothing to leave out", []int{10, 10}, 5, 2},
		{"what fits stays", []int{10, 10, 10, 10, 10}, 25, 3},
		{"the last stays however long", []int{10, 10, 10, 1000}, 25, 3},
		{"something must go", []int{10, 10, 10, 10}, 1000, 2},
	} {
		if got := Tail(tt.sizes, tt.keep); got != tt.want {
			t.Errorf("%s: %d, want %d", tt.name, got, tt.want)
		}
	}
}

func TestShorten(t *testing.T) {
	long := strings.Repeat("größe ", 5000)
	messages := []llm.Message{
		{Role: llm.RoleSystem, Content: "system " + long},
		{Role: llm.RoleUser, Content: "task " + long},
		{Role: llm.RoleAssistant, Thinking: long, Content: "short", Calls: []llm.ToolCall{{Name: "write_file", Arguments: json.RawMessage(`{"content":"` + long + `"}`)}}},
		{Role: llm.RoleTool, Content: "old " + long},
		{Role: llm.RoleTool, Content: "new " + long},
	}
	before := fmt.Sprint(messages)
	for _, c := range Cuts {
		out := slices.Clone(messages)
		Shorten(out, c)
		for i, m := range out {
			if n := MessageSize(m); n > 2*c+200 || !utf8.ValidString(m.Content) {
				t.Errorf("to %d bytes: message %d has %d, text %t", c, i, n, utf8.ValidString(m.Content))
			}
			for _, c := range m.Calls {
				if !json.Valid(c.Arguments) {
					t.Errorf("arguments %.80s", c.Arguments)
				}
			}
		}
	}
	if fmt.Sprint(messages) != before {
		t.Error("the calls of the given messages were changed")
	}
	Shorten(nil, 1)
}

// A summary that says nothing is none.
func TestEmpty(t *testing.T) {
	for text, want := range map[string]bool{
		"": true, "\n \n": true, "ok": true, "Done.": true,
		"Read a.go; f is wrong.": false, "1. Read a.go\n2. Read b.go\n3. Ran the tests": false,
	} {
		if Empty(text) != want {
			t.Errorf("%.40q: %t", text, !want)
		}
	}
}

func TestMiddle(t *testing.T) {
	if got := Middle("short", 100); got != "short" {
		t.Error(got)
	}
	s := strings.Repeat("ü", 3000)
	for limit := 1; limit < 300; limit += 7 {
		got := Middle(s, limit)
		if !utf8.ValidString(got) || len(got) > limit+60 || !strings.Contains(got, "bytes left out") {
			t.Errorf("limit %d: %d bytes, %.60q", limit, len(got), got)
		}
	}
}

func TestTranscriptAndFallback(t *testing.T) {
	messages := []llm.Message{
		{Role: llm.RoleAssistant, Content: "I look.", Calls: []llm.ToolCall{{Name: "read_file", Arguments: json.RawMessage(`{"path":"a.go"}`)}}},
		{Role: llm.RoleTool, ToolName: "read_file", Content: "1 | package a\n2 | more"},
	}
	want := "assistant: I look.\n  call read_file {\"path\":\"a.go\"}\ntool: [read_file] 1 | package a\n2 | more\n"
	if d := cmp.Diff(want, Transcript(messages, 10000)); d != "" {
		t.Error(d)
	}
	want = "Earlier steps, shortened:\n- called read_file {\"path\":\"a.go\"}\n- assistant: I look.\n- tool: 1 | package a\n"
	if d := cmp.Diff(want, Fallback(messages, 10000)); d != "" {
		t.Error(d)
	}
	if got := Transcript(nil, 10); got != "" {
		t.Errorf("%q", got)
	}
	var many []llm.Message
	for range 500 {
		many = append(many, llm.Message{Role: llm.RoleTool, Content: strings.Repeat("x", 5000)})
	}
	if n := len(Transcript(many, 20000)); n > 21000 {
		t.Errorf("a transcript of %d bytes, at most 20000 were asked for", n)
	}
}
