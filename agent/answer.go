package agent

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/agent/compact"
	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/llm/toolcall"
	"github.com/handrail-bot/handrail/agent/session"
)

// answer streams one answer, retrying where that can help.
func (m *model) answer(ctx context.Context, req llm.Request) (session.Answer, error) {
	var out session.Answer
	err := m.retrying(ctx, func() error {
		s := &stream{parser: m.parser, writes: m.writes, now: m.now, show: m.live, asked: m.now()}
		for part, err := range m.llm.Stream(ctx, req) {
			if llm.KindOf(err) == llm.Garbled {
				out = m.takeApart(s)
				out.Errors = append(out.Errors, err.Error())
				out.Complete, out.PromptBytes = false, compact.Size(req)
				return nil
			}
			if err != nil {
				return err
			}
			s.take(part)
		}
		if !s.done.Done {
			return &llm.Error{Kind: llm.Cut, Public: "the model's answer broke off"}
		}
		out = m.takeApart(s)
		out.PromptBytes = compact.Size(req)
		return nil
	})
	return out, err
}

// takeApart takes a whole answer apart: thinking that stands inline or is
// echoed, calls that were printed, the completion mark.
func (m *model) takeApart(s *stream) session.Answer {
	thinking, content := splitThinking(s.thinking.String(), s.content.String())
	content = dropEcho(thinking, content)
	a := session.Answer{
		ThinkingMillis: s.thinkTime().Milliseconds(),
		PromptTokens:   s.done.PromptTokens,
		AnswerTokens:   s.done.AnswerTokens,
	}
	a.Thinking, _ = cutComplete(thinking)
	a.Thinking = cutBroken(a.Thinking)
	raw := strings.TrimSpace(content)
	parsed := m.parser.Parse(raw)
	a.Content, a.Complete = cutComplete(parsed.Text)
	a.Content = cutBroken(a.Content)
	if len(s.calls) > 0 {
		m.nativeCalls(&a, s.calls, s.done.DoneReason == "length")
		parsed.Calls = unlike(parsed.Calls, a.Calls)
	} else {
		a.Errors = parsed.Errors
	}
	m.textCalls(&a, parsed.Calls)
	if raw != a.Content {
		a.Raw = raw
	}
	return a
}

// unlike leaves out the printed calls of tools that the answer also calls
// natively: they are the same call, printed on the way.
func unlike(printed []toolcall.Call, native []session.Call) []toolcall.Call {
	return slices.DeleteFunc(printed, func(p toolcall.Call) bool {
		return slices.ContainsFunc(native, func(n session.Call) bool { return n.Name == p.Name })
	})
}

func (m *model) nativeCalls(a *session.Answer, calls []llm.ToolCall, cut bool) {
	for i, c := range calls {
		args, repaired, err := m.parser.Object(c.Arguments)
		if err != nil {
			a.Errors = append(a.Errors, fmt.Sprintf("call to %s: %v", c.Name, err))
			continue
		}
		name, _ := m.parser.Canonical(c.Name)
		a.Calls = append(a.Calls, session.Call{
			ID: m.callID(len(a.Calls)), Name: name, Arguments: args,
			Repaired: repaired, Truncated: repaired && cut && i == len(calls)-1,
		})
	}
}

func (m *model) textCalls(a *session.Answer, calls []toolcall.Call) {
	for _, c := range calls {
		a.Calls = append(a.Calls, session.Call{
			ID: m.callID(len(a.Calls)), Name: c.Name, Arguments: c.Arguments,
			Truncated: c.Truncated, Repaired: c.Repaired, Text: true,
		})
	}
}

// callID names the n-th call of the coming turn. Servers number calls
// differently or not at all, so the session numbers them itself.
func (m *model) callID(n int) string { return fmt.Sprintf("c%d-%d", m.Turns+1, n+1) }
