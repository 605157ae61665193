package agent

import (
	"context"
	"fmt"
	"path"
	"strings"
	"time"
	"unicode"

	"github.com/handrail-bot/handrail/agent/compact"
	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/llm/toolcall"
	"github.com/handrail-bot/handrail/agent/session"
)

// completeMark is how a model without the completion tool says that it is
// done. It is a signal and never shown.
const completeMark = "[TASK_COMPLETE]"

// showEvery limits how often growing text is shown; firstWords is how much
// must be there before anything is, so that no fragment like "**What" flashes.
const (
	showEvery  = 32 * time.Millisecond
	firstWords = 8
)

// stream puts one answer together from its parts.
type stream struct {
	parser *toolcall.Parser
	now    func() time.Time
	show   func(Live)

	thinking, content strings.Builder
	calls             []llm.ToolCall
	thinkStart        time.Time
	thinkEnd          time.Time
	thought           bool // the end of thinking was announced
	shownAt           time.Time
	shown             bool
	done              llm.Part
}

// take adds one part.
func (s *stream) take(p llm.Part) {
	if p.Thinking != "" {
		s.thinkEnd = s.now()
		if s.thinkStart.IsZero() {
			s.thinkStart = s.thinkEnd
		}
		s.thinking.WriteString(p.Thinking)
	}
	s.content.WriteString(p.Content)
	if len(p.Calls) > 0 {
		s.announce(p.Calls[0])
		s.calls = append(s.calls, p.Calls...)
	}
	if p.Done {
		s.done = p
	}
	s.display(p.Done)
}

// announce tells at the first call that thinking is over and for how long it
// went on. Servers hold back the whole of a call, so without this the reader
// sees "thinking" while a file is being written.
func (s *stream) announce(c llm.ToolCall) {
	if s.thought {
		return
	}
	s.thought = true
	if d := s.thinkTime(); d > 0 {
		s.show(Live{Title: fmt.Sprintf("Thought for %s", roundSeconds(d))})
	}
	name, _ := s.parser.Canonical(c.Name)
	if p := pathArgument(c.Arguments); p != "" && name == "write_file" {
		s.show(Live{Title: fmt.Sprintf("Writing %s…", path.Base(p))})
	}
}

func (s *stream) thinkTime() time.Duration { return s.thinkEnd.Sub(s.thinkStart) }

func roundSeconds(d time.Duration) string {
	return fmt.Sprintf("%ds", max(1, int(d.Round(time.Second).Seconds())))
}

// display shows what has grown, not too often and never a fragment of a
// control word or of a call.
func (s *stream) display(last bool) {
	now := s.now()
	if !last && now.Sub(s.shownAt) < showEvery {
		return
	}
	content := s.content.String()
	content = stripComplete(content[:s.parser.Partial(content)])
	if !s.shown && wordRunes(content) < firstWords && !last {
		content = ""
	}
	thinking := stripComplete(s.thinking.String())
	if content == "" && thinking == "" {
		return
	}
	s.shown = s.shown || content != ""
	s.shownAt = now
	s.show(Live{Thinking: thinking, Content: content})
}

func wordRunes(s string) int {
	n := 0
	for _, r := range s {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' {
			n++
		}
	}
	return n
}

// stripComplete removes the completion mark in any case, and a beginning of it at the
// end of the text.
func stripComplete(s string) string {
	s, _ = cutComplete(s)
	for n := min(len(s), len(completeMark)-1); n > 0; n-- {
		if strings.EqualFold(s[len(s)-n:], completeMark[:n]) {
			return strings.TrimRight(s[:len(s)-n], " \t\n")
		}
	}
	return s
}

// cutComplete removes every completion mark and reports whether there was one.
func cutComplete(s string) (string, bool) {
	found := false
	for i := 0; i+len(completeMark) <= len(s); {
		j := strings.IndexByte(s[i:], '[')
		if j < 0 || i+j+len(completeMark) > len(s) {
			break
		}
		i += j
		if strings.EqualFold(s[i:i+len(completeMark)], completeMark) {
			s, found = s[:i]+s[i+len(completeMark):], true
			continue
		}
		i++
	}
	if found {
		s = strings.TrimSpace(s)
	}
	return s, found
}

// answer streams one answer, retrying where that can help.
func (r *run) answer(ctx context.Context, req llm.Request) (session.Answer, error) {
	var out session.Answer
	err := r.retrying(ctx, func() error {
		s := &stream{parser: r.calls, now: r.cfg.Now, show: r.live}
		for part, err := range r.cfg.Model.Stream(ctx, req) {
			if err != nil {
				return err
			}
			s.take(part)
		}
		if !s.done.Done {
			return &llm.Error{Kind: llm.Cut, Public: "the model's answer broke off"}
		}
		out = r.finishAnswer(s)
		out.PromptBytes = compact.Size(req)
		return nil
	})
	return out, err
}

// finishAnswer takes a whole answer apart: thinking that stands inline or is
// echoed, calls that were printed, the completion mark.
func (r *run) finishAnswer(s *stream) session.Answer {
	thinking, content := splitThinking(s.thinking.String(), s.content.String())
	content = dropEcho(thinking, content)
	a := session.Answer{
		ThinkingMillis: s.thinkTime().Milliseconds(),
		PromptTokens:   s.done.PromptTokens,
		AnswerTokens:   s.done.AnswerTokens,
	}
	a.Thinking, _ = cutComplete(thinking)
	raw := strings.TrimSpace(content)
	cut := s.done.DoneReason == "length"
	if len(s.calls) > 0 {
		a.Content, a.Complete = cutComplete(raw)
		r.nativeCalls(&a, s.calls, cut)
	} else {
		parsed := r.calls.Parse(raw)
		a.Content, a.Complete = cutComplete(parsed.Text)
		a.Errors = parsed.Errors
		r.textCalls(&a, parsed.Calls)
	}
	if raw != a.Content {
		a.Raw = raw
	}
	return a
}

func (r *run) nativeCalls(a *session.Answer, calls []llm.ToolCall, cut bool) {
	for i, c := range calls {
		args, repaired, err := r.calls.Object(c.Arguments)
		if err != nil {
			a.Errors = append(a.Errors, fmt.Sprintf("call to %s: %v", c.Name, err))
			continue
		}
		name, _ := r.calls.Canonical(c.Name)
		a.Calls = append(a.Calls, session.Call{
			ID: r.callID(len(a.Calls)), Name: name, Arguments: args,
			Repaired: repaired, Truncated: repaired && cut && i == len(calls)-1,
		})
	}
}

func (r *run) textCalls(a *session.Answer, calls []toolcall.Call) {
	for _, c := range calls {
		a.Calls = append(a.Calls, session.Call{
			ID: r.callID(len(a.Calls)), Name: c.Name, Arguments: c.Arguments,
			Truncated: c.Truncated, Repaired: c.Repaired, Text: true,
		})
	}
}

// callID names the n-th call of the coming turn. Servers number calls
// differently or not at all, so the session numbers them itself.
func (r *run) callID(n int) string { return fmt.Sprintf("c%d-%d", r.state.turn+1, n+1) }

// thinkTags are the ways in which models write thinking into their content.
var thinkTags = [][2]string{{"<think>", "</think>"}, {"<thinking>", "</thinking>"}, {"<|START_THINKING|>", "<|END_THINKING|>"}}

// splitThinking moves inline thinking out of content, so that no call that
// stands in it is ever run. Thinking that was never closed is all thinking.
// Only a block at the start counts: later ones are quotations.
func splitThinking(thinking, content string) (string, string) {
	for _, tag := range thinkTags {
		rest := strings.TrimLeft(content, " \t\r\n")
		inner, ok := strings.CutPrefix(rest, tag[0])
		if !ok {
			// Some templates swallow the opening tag.
			i := strings.Index(content, tag[1])
			if i < 0 || strings.Contains(content[:i], tag[0]) {
				continue
			}
			return join(thinking, content[:i]), strings.TrimLeft(content[i+len(tag[1]):], "\r\n ")
		}
		in, after, _ := strings.Cut(inner, tag[1])
		return join(thinking, in), strings.TrimLeft(after, "\r\n ")
	}
	return thinking, content
}

func join(a, b string) string {
	b = strings.TrimSpace(b)
	if a == "" || b == "" {
		return a + b
	}
	return a + "\n" + b
}

// dropEcho removes thinking that the model repeats at the start of its
// answer.
func dropEcho(thinking, content string) string {
	t := strings.TrimSpace(thinking)
	if t == "" {
		return content
	}
	if rest, ok := strings.CutPrefix(strings.TrimSpace(content), t); ok {
		return strings.TrimLeft(rest, "\r\n ")
	}
	return content
}
