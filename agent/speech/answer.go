package speech

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/llm/toolcall"
	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

// Answer parses the whole answer: inline or echoed thinking, printed calls, the
// completion mark. Calls are numbered by turn and position, since servers number them
// inconsistently or not at all.
func (s *Stream) Answer(turn int) session.Answer {
	thinking, content := splitThinking(s.thinking.String(), s.content.String())
	content = dropEcho(thinking, content)
	a := session.Answer{
		ThinkingMillis: s.thinkTime().Milliseconds(),
		PromptTokens:   s.done.PromptTokens,
		AnswerTokens:   s.done.AnswerTokens,
		Inner:          s.done.Inner,
	}
	if a.Lost = s.lost(); (s.circles || s.late) && a.AnswerTokens == 0 {
		a.AnswerTokens = (len(thinking) + len(content)) / bytesPerToken // the server did not report a count
	}
	a.Thinking, _ = cutComplete(thinking)
	a.Thinking = cutBroken(a.Thinking)
	raw := strings.TrimSpace(content)
	if s.Form == llm.FormFiles && len(s.calls) == 0 && s.files(&a, turn, raw) {
		return mendAnswer(a)
	}
	parsed := s.Parser.Parse(raw)
	a.Content, a.Complete = cutComplete(parsed.Text)
	a.Content = cutBroken(a.Content)
	if len(s.calls) > 0 {
		s.nativeCalls(&a, turn)
		parsed.Calls = dropDuplicates(parsed.Calls, a.Calls)
	} else {
		a.Errors = parsed.Errors
	}
	textCalls(&a, turn, parsed.Calls)
	if len(a.Calls) == 0 && s.Prose {
		s.unnamed(&a, turn, raw)
	}
	if raw != a.Content {
		a.Raw = raw
	}
	a.Again = s.again(raw, a.Content, parsed.Calls)
	for i := range a.Calls {
		a.Calls[i] = s.translate(a.Calls[i])
	}
	return mendAnswer(a)
}

// again returns the form in which the model is shown its own text calls in later
// turns. "" means as written; otherwise it is the canonical form, which always
// parses. Special marks of model families are broken in the shown text.
func (s *Stream) again(raw, content string, calls []toolcall.Call) string {
	if len(calls) == 0 {
		return ""
	}
	shown := s.Parser.Parse(untrusted.BreakAnswer(untrusted.MendMarks(raw), s.Parser.IsTag)).Calls
	same := slices.EqualFunc(shown, calls, func(a, b toolcall.Call) bool {
		return a.Name == b.Name && bytes.Equal(untrusted.MendMarksInJSON(a.Arguments), untrusted.MendMarksInJSON(b.Arguments))
	})
	if same { //control:shown-as-written
		return ""
	}
	var b strings.Builder
	b.WriteString(content)
	for _, c := range calls {
		fmt.Fprintf(&b, "\n\n<tool_call>{\"name\": %q, \"arguments\": %s}</tool_call>", c.Name, c.Arguments)
	}
	return strings.TrimSpace(b.String())
}

// lost returns the kind of loss from the answer, or "".
func (s *Stream) lost() string {
	switch {
	case s.circles: //control:stopped-circles
		return session.LostLoop
	case s.late: //control:late-is-told
		return session.LostTime
	case s.done.DoneReason == "length": //control:cut-is-told
		return session.LostEnd
	case s.done.Dropped:
		return session.LostCall
	}
	return ""
}

// cutOff reports whether the answer was ended before the model finished it.
func (s *Stream) cutOff() bool {
	return s.circles || s.late || s.done.DoneReason == "length" //control:cut-file
}

// mendAnswer restores control marks in an answer. They were broken in the model's input,
// and the model copied them. Tools, the user and the log get the exact text.
func mendAnswer(a session.Answer) session.Answer {
	for _, text := range []*string{&a.Content, &a.Thinking, &a.Raw, &a.Again} {
		*text = untrusted.MendMarks(*text)
	}
	for i := range a.Calls {
		a.Calls[i].Arguments = untrusted.MendMarksInJSON(a.Calls[i].Arguments) //control:marks-mended
	}
	return a
}

// dropDuplicates drops printed calls of tools that the answer also calls natively: they are
// duplicates.
func dropDuplicates(printed []toolcall.Call, native []session.Call) []toolcall.Call {
	return slices.DeleteFunc(printed, func(p toolcall.Call) bool {
		return slices.ContainsFunc(native, func(n session.Call) bool { return n.Name == p.Name })
	})
}

func (s *Stream) nativeCalls(a *session.Answer, turn int) {
	cut := s.done.DoneReason == "length"
	for i, c := range s.calls {
		args, repaired, err := s.Parser.Object(c.Arguments)
		if err != nil {
			a.Errors = append(a.Errors, fmt.Sprintf("call to %s: %v", c.Name, err))
			continue
		}
		name, _ := s.Parser.Canonical(c.Name)
		a.Calls = append(a.Calls, session.Call{
			ID: callID(turn, len(a.Calls)), Name: name, Arguments: args,
			Repaired: repaired, Truncated: repaired && cut && i == len(s.calls)-1,
			Dialect: map[bool]string{true: "native"}[repaired],
		})
	}
}

func textCalls(a *session.Answer, turn int, calls []toolcall.Call) {
	for _, c := range calls {
		a.Calls = append(a.Calls, session.Call{
			ID: callID(turn, len(a.Calls)), Name: c.Name, Arguments: c.Arguments,
			Truncated: c.Truncated, Repaired: c.Repaired, Text: true, Dialect: c.Dialect,
		})
	}
}

func callID(turn, n int) string { return fmt.Sprintf("c%d-%d", turn, n+1) }

// Words returns the words of a model's text that is not a session's turn, without
// thinking, calls and completion marks.
func Words(parser *toolcall.Parser, text string) string {
	return stripComplete(parse(parser, text).Text)
}

// Parse parses a whole answer as a session with these tools does. Calls within
// thinking are ignored, and the text has neither thinking nor completion marks. The
// lists of the result are not nil.
func Parse(specs []llm.ToolSpec, canonical func(string) string, text string) toolcall.Parsed {
	p := parse(toolcall.New(specs, canonical), text)
	p.Calls, p.Errors = append([]toolcall.Call{}, p.Calls...), append([]string{}, p.Errors...)
	return p
}

func parse(parser *toolcall.Parser, text string) toolcall.Parsed {
	_, text = splitThinking("", text)
	p := parser.Parse(strings.TrimSpace(text))
	p.Text, _ = cutComplete(p.Text)
	p.Text = untrusted.MendMarks(cutBroken(p.Text))
	for i := range p.Calls {
		p.Calls[i].Arguments = untrusted.MendMarksInJSON(p.Calls[i].Arguments)
	}
	return p
}
