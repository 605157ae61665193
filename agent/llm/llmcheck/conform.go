// Package llmcheck contains test helpers for the scripted model of package llmtest: it
// serves a script for the duration of a test, asks in one line, and checks that an
// adapter fulfills the contract of [llm.Model]. The program does not use it.
package llmcheck

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/llm/llmtest"
)

// Conform checks that the models returned by open fulfill the contract of [llm.Model].
// open gets the address of a server. The model must have the name "scripted" and the key
// "sesame", and be configured with tool calls, thinking and vision.
func Conform(t *testing.T, open func(url string) llm.Model) {
	t.Helper()
	for _, c := range conformance() {
		t.Run(c.name, func(t *testing.T) {
			t.Helper()
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
			defer cancel()
			if c.script.Model.Name == "" {
				c.script.Model = FullModel()
			}
			s := Serve(t, c.script)
			if err := c.check(ctx, s, open(s.URL())); err != nil {
				t.Errorf("%v", err)
			}
		})
	}
}

// FullModel is a model with every capability, named "scripted".
func FullModel() llmtest.ModelSpec {
	return llmtest.ModelSpec{Name: "scripted", Tools: true, Thinking: true, Vision: true, Context: 32768, Key: "sesame"}
}

// Answer is a whole answer, assembled by [Collect].
type Answer struct {
	Thinking, Content string
	Calls             []llm.ToolCall
	Parts             int
	Last              llm.Part // with Done, if it came
}

// Collect reads the whole answer to req.
func Collect(ctx context.Context, m llm.Model, req llm.Request) (Answer, error) {
	var a Answer
	for p, err := range m.Stream(ctx, req) {
		if err != nil {
			return a, err
		}
		a.Parts++
		a.Thinking += p.Thinking
		a.Content += p.Content
		a.Calls = append(a.Calls, p.Calls...)
		if a.Last.Done {
			return a, errors.New("a part came after the one with Done")
		}
		if p.Done {
			a.Last = p
		}
	}
	if !a.Last.Done {
		return a, errors.New("the stream ended without Done and without an error")
	}
	return a, nil
}

type conformCase struct {
	name   string
	script llmtest.Script
	check  func(ctx context.Context, s *llmtest.Server, m llm.Model) error
}

func conformance() []conformCase {
	return append(conformAnswers(), conformErrors()...)
}

// Ask returns a request with one user message.
func Ask(text string, tools ...llm.ToolSpec) llm.Request {
	return llm.Request{
		Messages: []llm.Message{{Role: llm.RoleUser, Content: text}},
		Tools:    tools,
		Think:    true,
		Context:  8192,
	}
}

func readTool() llm.ToolSpec {
	return llm.ToolSpec{Name: "read_file", Description: "Read a file",
		Parameters: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`)}
}

// arg is an object with numbers and an order that are easily damaged in transit.
const arg = `{"path":"größe.go","lines":9007199254740993,"a":{"b":[1,2.50]}}`

func conformAnswers() []conformCase {
	say := func(text string) []llmtest.Turn { return []llmtest.Turn{{Say: text}} }
	return []conformCase{
		{
			"text in pieces",
			llmtest.Script{Chunk: 3, Turns: say("Größe: 世界 is fine.")},
			func(ctx context.Context, _ *llmtest.Server, m llm.Model) error {
				a, err := Collect(ctx, m, Ask("hi"))
				if err != nil || a.Content != "Größe: 世界 is fine." || a.Parts < 6 || a.Last.DoneReason != "stop" {
					return fmt.Errorf("got %+v, %w", a, orNil(err))
				}
				return nil
			},
		},
		{
			"counts",
			llmtest.Script{Turns: []llmtest.Turn{{Say: "x", Tokens: llmtest.Tokens{Prompt: 77, Answer: 5}}}},
			func(ctx context.Context, _ *llmtest.Server, m llm.Model) error {
				a, err := Collect(ctx, m, Ask("hi"))
				if err != nil || a.Last.PromptTokens != 77 || a.Last.AnswerTokens != 5 {
					return fmt.Errorf("got %+v, %w", a, orNil(err))
				}
				return nil
			},
		},
		{
			"thinking, content, equal calls",
			llmtest.Script{Chunk: 4, Turns: []llmtest.Turn{{Think: "I look.", Say: "Reading.", Calls: []llmtest.Call{
				{
					ID:        "c1",
					Name:      "read_file",
					Arguments: arg,
				}, {ID: "c2", Name: "read_file", Arguments: arg}, {ID: "c3", Name: "list"}}}}},
			checkCalls,
		},
		{"history", llmtest.Script{Turns: say("ok")}, checkHistory},
		{"options", llmtest.Script{Turns: say("ok")}, checkOptions},
		{"images", llmtest.Script{Turns: say("a cat")}, checkImages},
		{
			"length",
			llmtest.Script{Turns: []llmtest.Turn{{Say: "and so", Reason: "length"}}},
			func(ctx context.Context, _ *llmtest.Server, m llm.Model) error {
				if a, err := Collect(ctx, m, Ask("hi")); err != nil || a.Last.DoneReason != "length" {
					return fmt.Errorf("got %+v, %w", a, orNil(err))
				}
				return nil
			},
		},
		{
			"empty answer",
			llmtest.Script{Turns: []llmtest.Turn{{Reason: "stop"}}},
			func(ctx context.Context, _ *llmtest.Server, m llm.Model) error {
				_, err := Collect(ctx, m, Ask("hi"))
				return err
			},
		},
		{
			"breaking off cancels",
			llmtest.Script{
				Chunk: 2,
				Turns: []llmtest.Turn{{Say: "again and ", Misdo: llmtest.Misdeed{Loop: true}}, {Say: "next"}},
			},
			checkBreak,
		},
		{
			"two at once",
			llmtest.Script{Turns: []llmtest.Turn{{Say: "one", Misdo: llmtest.Misdeed{Stall: true}}, {Say: "two"}}},
			checkConcurrent,
		},
		{
			"capabilities",
			llmtest.Script{Turns: []llmtest.Turn{{Say: "x", Optional: true}}},
			func(ctx context.Context, _ *llmtest.Server, m llm.Model) error {
				if c, err := m.Capabilities(ctx); err != nil || !c.Tools || !c.Vision || m.Name() != "scripted" {
					return fmt.Errorf("%s: got %+v, %w", m.Name(), c, orNil(err))
				}
				return nil
			},
		},
	}
}

// orNil makes a missing error printable with %w.
func orNil(err error) error {
	if err == nil {
		return errors.New("no error")
	}
	return err
}

func checkCalls(ctx context.Context, _ *llmtest.Server, m llm.Model) error {
	a, err := Collect(ctx, m, Ask("hi", readTool()))
	if err != nil {
		return err
	}
	want := []llm.ToolCall{
		{ID: "c1", Name: "read_file", Arguments: json.RawMessage(arg)},
		{ID: "c2", Name: "read_file", Arguments: json.RawMessage(arg)},
		{ID: "c3", Name: "list", Arguments: json.RawMessage("{}")},
	}
	if a.Thinking != "I look." || a.Content != "Reading." || !reflect.DeepEqual(a.Calls, want) {
		return fmt.Errorf("got %+v\nwith calls %s", a, a.Calls)
	}
	return nil
}

func checkHistory(ctx context.Context, s *llmtest.Server, m llm.Model) error {
	req := Ask("fix it", readTool())
	req.Messages = append([]llm.Message{{Role: llm.RoleSystem, Content: "You are careful."}}, req.Messages...)
	calls := []llm.ToolCall{
		{ID: "c1", Name: "read_file", Arguments: json.RawMessage(arg)},
		{ID: "c2", Name: "read_file", Arguments: json.RawMessage(arg)},
	}
	req.Messages = append(req.Messages,
		llm.Message{Role: llm.RoleAssistant, Thinking: "hm <b>", Content: "I read.", Calls: calls},
		llm.Message{Role: llm.RoleTool, Content: "1 | a", ToolName: "read_file", ToolCallID: "c1"},
		llm.Message{Role: llm.RoleTool, Content: "", ToolName: "read_file", ToolCallID: "c2"},
		llm.Message{Role: llm.RoleAssistant, Calls: calls[:1]},
		llm.Message{Role: llm.RoleTool, Content: "1 | b", ToolName: "read_file", ToolCallID: "c1"})
	if _, err := Collect(ctx, m, req); err != nil {
		return err
	}
	got := s.Requests()[0]
	if !reflect.DeepEqual(got.Messages, req.Messages) {
		return fmt.Errorf("server received %+v\nwant            %+v", got.Messages, req.Messages)
	}
	if len(got.Tools) != 1 || got.Tools[0].Name != "read_file" ||
		!strings.Contains(string(got.Tools[0].Parameters), `"required":["path"]`) {
		return fmt.Errorf("server received tools %s", got.Tools)
	}
	return nil
}

func checkBreak(ctx context.Context, s *llmtest.Server, m llm.Model) error {
	n := 0
	for _, err := range m.Stream(ctx, Ask("hi")) {
		if err != nil {
			return err
		}
		if n++; n == 5 {
			break
		}
	}
	a, err := Collect(ctx, m, Ask("hi"))
	if err != nil || a.Content != "next" {
		return fmt.Errorf("after breaking off got %+v, %w", a, orNil(err))
	}
	return s.Idle(ctx)
}

func checkConcurrent(ctx context.Context, s *llmtest.Server, m llm.Model) error {
	type result struct {
		a   Answer
		err error
	}
	first := make(chan result, 1)
	go func() {
		a, err := Collect(ctx, m, Ask("first"))
		first <- result{a, err}
	}()
	if err := s.WaitStalled(ctx); err != nil {
		return err
	}
	a, err := Collect(ctx, m, Ask("second"))
	if err != nil || a.Content != "two" {
		return fmt.Errorf("second got %+v, %w", a, orNil(err))
	}
	if err := s.Release(ctx); err != nil {
		return err
	}
	if r := <-first; r.err != nil || r.a.Content != "one" {
		return fmt.Errorf("first got %+v, %w", r.a, orNil(r.err))
	}
	return nil
}

func checkOptions(ctx context.Context, s *llmtest.Server, m llm.Model) error {
	zero := 0.0
	req := Ask("hi")
	req.MaxTokens, req.Temperature = 123, &zero
	if _, err := Collect(ctx, m, req); err != nil {
		return err
	}
	got := s.Requests()[0]
	if got.MaxTokens != 123 || got.Temperature == nil || *got.Temperature != 0 || !got.Stream {
		return fmt.Errorf("server received %s", got.Body)
	}
	return nil
}

func checkImages(ctx context.Context, s *llmtest.Server, m llm.Model) error {
	req := Ask("what is it?")
	req.Messages[0].Images = [][]byte{[]byte("\x89PNG\r\n\x1a\n.")}
	if _, err := Collect(ctx, m, req); err != nil {
		return err
	}
	if got := s.Requests()[0].Messages[0]; !reflect.DeepEqual(got.Images, req.Messages[0].Images) ||
		got.Content != "what is it?" {
		return fmt.Errorf("server received %+v", got)
	}
	return nil
}
