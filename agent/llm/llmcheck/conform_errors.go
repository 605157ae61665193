package llmcheck

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/llm/llmtest"
)

// conformErrors returns the cases that must end in an error of the right kind. After a
// temporary error, the same request must succeed.
func conformErrors() []conformCase {
	long := strings.Repeat("some words ", 40)
	cases := []conformCase{
		{
			"call off",
			llmtest.Script{Turns: []llmtest.Turn{{Say: "never", Misdo: llmtest.Misdeed{Stall: true}}}},
			checkCallOff,
		},
		{"server gone", llmtest.Script{Turns: []llmtest.Turn{{Say: "never", Optional: true}}}, checkGone},
	}
	for _, c := range []struct {
		name string
		turn llmtest.Turn
		want llm.Kind
	}{
		{"queue full", llmtest.Turn{Misdo: llmtest.Misdeed{Status: 503, RetryAfter: 7}}, llm.Busy},
		{"rate limit", llmtest.Turn{Misdo: llmtest.Misdeed{Status: 429, RetryAfter: 7}}, llm.Busy},
		{"refused", llmtest.Turn{Misdo: llmtest.Misdeed{Status: 401}}, llm.Refused},
		{"forbidden", llmtest.Turn{Misdo: llmtest.Misdeed{Status: 403}}, llm.Refused},
		{"bad gateway", llmtest.Turn{Misdo: llmtest.Misdeed{Status: 502}}, llm.Unreachable},
		{"model missing", llmtest.Turn{Misdo: llmtest.Misdeed{Status: 404, Error: "model 'scripted' not found"}}, llm.NotFound},
		{"no tools", llmtest.Turn{Misdo: llmtest.Misdeed{Status: 400, Error: "scripted does not support tools"}}, llm.Unsupported},
		{"too long", llmtest.Turn{Misdo: llmtest.Misdeed{TooLong: true}}, llm.TooLong},
		{"bad request", llmtest.Turn{Misdo: llmtest.Misdeed{Status: 400, Error: "no such field"}}, llm.Invalid},
		{"dropped", llmtest.Turn{Misdo: llmtest.Misdeed{Drop: true}}, llm.Cut},
		{"died in a line", llmtest.Turn{Say: long, Misdo: llmtest.Misdeed{DieAfter: 40}}, llm.Cut},
		{"died before the end", llmtest.Turn{Say: long, Misdo: llmtest.Misdeed{DieAfter: 600}}, llm.Cut},
		{"no end", llmtest.Turn{Say: long, Misdo: llmtest.Misdeed{NoDone: true}}, llm.Cut},
		{"no end after a call", llmtest.Turn{Calls: []llmtest.Call{{Name: "read_file"}}, Misdo: llmtest.Misdeed{NoDone: true}}, llm.Cut},
		{"error in mid-stream", llmtest.Turn{Say: long, Misdo: llmtest.Misdeed{Error: "an error was encountered while running the model: unexpected EOF"}}, llm.Cut},
		{"too long in mid-stream", llmtest.Turn{Say: long, Misdo: llmtest.Misdeed{Error: "the input length exceeds the context length"}}, llm.TooLong},
		{"call that the server cannot read", llmtest.Turn{Say: long, Misdo: llmtest.Misdeed{Error: "XML syntax error on line 2: element <parameter> closed by </function>"}}, llm.Garbled},
		{"not JSON", llmtest.Turn{Say: long, Misdo: llmtest.Misdeed{WrongJSON: true}}, llm.Invalid},
		{"sent elsewhere", llmtest.Turn{Misdo: llmtest.Misdeed{Redirect: "http://192.0.2.1/v1/chat/completions"}}, llm.Invalid},
	} {
		cases = append(
			cases,
			conformCase{
				c.name,
				llmtest.Script{Chunk: 20, Turns: []llmtest.Turn{c.turn, {Say: "fine"}}},
				checkKind(c.want, c.turn.Misdo.RetryAfter),
			},
		)
	}
	return cases
}

// checkKind expects exactly one error of the given kind at the end of the stream, with a
// sentence for the user, and then an answer.
func checkKind(want llm.Kind, retryAfter int) func(context.Context, *llmtest.Server, llm.Model) error {
	return func(ctx context.Context, _ *llmtest.Server, m llm.Model) error {
		var failed error
		for p, err := range m.Stream(ctx, Ask("hi", readTool())) {
			switch {
			case failed != nil:
				return fmt.Errorf("after the error came %+v, %w", p, orNil(err))
			case p.Done:
				return fmt.Errorf("a broken answer came to an end: %+v", p)
			}
			failed = err
		}
		var e *llm.Error
		if !errors.As(failed, &e) {
			return fmt.Errorf("want an *llm.Error, got %w", orNil(failed))
		}
		wait := time.Duration(retryAfter) * time.Second
		if e.Kind != want || e.RetryAfter != wait {
			return fmt.Errorf("got kind %d after %s, want %d after %s: %w", e.Kind, e.RetryAfter, want, wait, failed)
		}
		if missing := want == llm.Unsupported; missing && e.Lacks != llm.CallTools || !missing && e.Lacks != "" {
			return fmt.Errorf("the model is said to lack %q: %w", e.Lacks, failed)
		}
		if e.Public == "" || e.Err == nil || strings.Contains(e.Public, "127.0.0.1") {
			return fmt.Errorf("public text %q and detail %w: want both, and no address in public", e.Public, orNil(e.Err))
		}
		a, err := Collect(ctx, m, Ask("hi", readTool()))
		if err != nil || a.Content != "fine" {
			return fmt.Errorf("the next request got %+v, %w", a, orNil(err))
		}
		return nil
	}
}

func checkCallOff(ctx context.Context, s *llmtest.Server, m llm.Model) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	failed := make(chan error, 1)
	go func() {
		_, err := Collect(ctx, m, Ask("hi"))
		failed <- err
	}()
	if err := s.WaitStalled(ctx); err != nil {
		return err
	}
	cancel()
	err := <-failed
	if !errors.Is(err, context.Canceled) || llm.KindOf(err).Temporary() {
		return fmt.Errorf("want context.Canceled and nothing to retry, got %w", orNil(err))
	}
	return nil
}

func checkGone(ctx context.Context, s *llmtest.Server, m llm.Model) error {
	s.Close()
	_, err := Collect(ctx, m, Ask("hi"))
	if llm.KindOf(err) != llm.Unreachable {
		return fmt.Errorf("want kind %d, got %w", llm.Unreachable, orNil(err))
	}
	return nil
}
