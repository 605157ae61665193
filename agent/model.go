package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/handrail-bot/handrail/agent/compact"
	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/llm/toolcall"
	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/speech"
	"github.com/handrail-bot/handrail/agent/tools"
	"github.com/handrail-bot/handrail/policy"
)

// model is the language model as a session uses it.
type model struct {
	*journal
	llm    llm.Model
	retry  llm.Retry
	wanted llm.Form // that the operator chose
	forms  Forms    // what is known of models; nil for nothing
	form   llm.Form // in which the model is asked, once it is learned
	parser *toolcall.Parser
	writes func(tool string, arguments json.RawMessage) string // the file that a call writes
	means  func(tool string, arguments json.RawMessage) string // the tool that is meant by a name that is none
	may    func(m policy.Mode, tool, command string) bool      // see Agent.may
	now    func() time.Time

	longest time.Duration // that an answer may take from its first word on, negative for no limit
	server  string        // its address for people to read, "" for none

	caps    llm.Capabilities
	learned bool // caps are known
}

// TriesAgain is what is logged where [Live] says it in words.
const TriesAgain = "model failed, trying again"

// retrying calls f until it succeeds, fails for good, or the attempts are
// used up. A broken answer leaves nothing behind, so the turn is simply asked
// again from the last complete one.
func (m *model) retrying(ctx context.Context, f func() error) error {
	for n, until := 1, time.Now().Add(m.retry.Patience); ; n++ {
		err := f()
		if err == nil || ctx.Err() != nil {
			return errors.Join(err, ctx.Err())
		}
		kind := llm.KindOf(err)
		waits := llm.Away(kind) && !m.retry.Park && time.Now().Before(until) //control:patient-run
		if !kind.Temporary() || n >= m.retry.Attempts && !waits || m.retry.Park && kind == llm.Unreachable && n >= llm.ParkAfter {
			return err
		}
		wait, title := m.retry.After(n, err), fmt.Sprintf("%s; trying again (%d of %d)", userMessage(err), n+1, m.retry.Attempts)
		if n >= m.retry.Attempts {
			title = fmt.Sprintf("%s; waiting for the model server, at most until %s", userMessage(err), until.Format("15:04"))
		}
		m.logger.WarnContext(ctx, TriesAgain, "session", m.Task.Session, "attempt", n, "wait", wait, "err", err)
		m.live(Live{Title: title})
		if err := llm.Pause(ctx, wait); err != nil {
			return err
		}
	}
}

// userMessage returns what a person is told of a failure of the model.
func userMessage(err error) string {
	var me *llm.Error
	if !errors.As(err, &me) || me.Public == "" {
		return "The model failed"
	}
	first, size := utf8.DecodeRuneInString(me.Public)
	if strings.HasPrefix(me.Public, "model ") || strings.HasPrefix(me.Public, "the ") || strings.HasPrefix(me.Public, "what ") {
		return string(unicode.ToUpper(first)) + me.Public[size:]
	}
	return me.Public
}

// learn asks once what the model can do.
func (m *model) learn(ctx context.Context) error {
	if m.learned {
		return nil
	}
	err := m.retrying(ctx, func() error {
		return m.attend(ctx, func(ctx context.Context, _ func(llm.Part) bool) (err error) {
			m.caps, err = m.llm.Capabilities(ctx)
			return err
		}, loading, nil)
	})
	if err != nil {
		return err
	}
	m.learned, m.form = true, m.choose()
	return nil
}

// answer streams one answer, retrying where that can help.
func (m *model) answer(ctx context.Context, req llm.Request) (session.Answer, error) {
	req.Temperature = cmp.Or(m.lost.Temperature(), m.claims.temperature(), req.Temperature)
	var out session.Answer
	err := m.retrying(ctx, func() error {
		s := speech.New(speech.Config{Parser: m.reads(), Writes: m.writes, Means: m.means, Now: m.now, Seen: shownIn(req),
			Form: m.form, View: m.talk.view(), Offered: tools.Names(req.Tools), Prose: m.mode.Writes() && (m.form == llm.FormFiles || m.Content() == m.claims.from), Show: func(sh speech.Shown) {
				m.live(Live{Thinking: sh.Thinking, Content: sh.Content, Title: sh.Title, Speed: sh.Speed})
			}})
		err := m.hear(ctx, req, s)
		switch {
		case llm.KindOf(err) == llm.Garbled:
			out = s.Answer(m.Turns + 1)
			out.Errors = append(out.Errors, err.Error())
			out.Complete, out.Lost = false, session.LostUnread
		case llm.KindOf(err) == llm.Cut && s.Stuttered(), err == nil:
			out = s.Answer(m.Turns + 1)
		default:
			return err
		}
		out.PromptBytes = compact.Size(req)
		return nil
	})
	return out, err
}

// reads returns what finds the calls in an answer. Where they travel as text, what other
// programs take for calls is one too, of tools that the mode has.
func (m *model) reads() *toolcall.Parser {
	if !m.text() { //control:forms-in-text
		return m.parser
	}
	return m.parser.Forms(speech.Foreign(), func(tool, command string) bool { return m.may(m.mode, tool, command) })
}

// longTemplate is the length from which a template does not repeat the arguments.
const longTemplate = 2000

// template shows a call as this model is to send it.
func (m *model) template(name, args string) string {
	if len(args) > longTemplate {
		args = "{… as you wrote them …}"
	}
	if m.text() {
		return fmt.Sprintf(`<tool_call>{"name": %q, "arguments": %s}</tool_call>`, name, args)
	}
	return name + " with the arguments " + args
}

// hear streams an answer into s, to its end, until it goes round in circles, or until it
// has taken as long as it may: what came of it counts.
func (m *model) hear(ctx context.Context, req llm.Request, s *speech.Stream) error {
	err := m.attend(ctx, m.parts(req), answering, func(part llm.Part) bool {
		s.Take(part)
		return !s.Circles()
	})
	switch {
	case errors.Is(err, errLate):
		s.Stop()
		return nil
	case err == nil && !s.Whole() && !s.Circles():
		return &llm.Error{Kind: llm.Cut, Public: "the model's answer broke off"}
	}
	return err
}

// shownIn returns what reports whether a text stands in a request.
func shownIn(req llm.Request) func(text string) bool {
	return func(text string) bool {
		return slices.ContainsFunc(req.Messages, func(m llm.Message) bool { return strings.Contains(m.Content, text) })
	}
}

// heed tells the model what of its last answer was lost, and changes to text calls
// where native ones do not arrive. Where it is of no use to go on, the session ends.
func (r *run) heed(ctx context.Context) (*session.Outcome, error) {
	n := len(r.talk.entries)
	if n == 0 || r.talk.entries[n-1].answer == nil {
		return nil, nil
	}
	if _, complete := completion(r.talk.entries[n-1]); complete {
		return nil, nil
	}
	if why := r.lost.End(); why != "" {
		return failed(why), nil
	}
	if why := r.lost.TextCalls(); why != "" && !r.model.text() { //control:text-after-two
		r.model.form = r.model.belowNative()
		return nil, r.stepTo(ctx, r.model.form, why)
	}
	if say := r.lost.Reminder(r.requests.tools.names()); say != "" {
		return nil, r.tell(ctx, session.NoteReminder, say)
	}
	return nil, nil
}

// say asks the model something beside the conversation and returns its
// words, or the empty string when it could not say anything. It asks once:
// whoever calls has another way.
func (m *model) say(ctx context.Context, req llm.Request) string {
	var b strings.Builder
	err := m.attend(ctx, m.parts(req), answering, func(p llm.Part) bool {
		b.WriteString(p.Content)
		return true
	})
	if err != nil {
		m.logger.WarnContext(ctx, "model gave no summary", "session", m.Task.Session, "err", err)
		return ""
	}
	return speech.Words(m.parser, b.String())
}

// without turns off what the model lacks. It reports whether that was on: if
// so, another try makes sense.
func (m *model) without(what llm.Capability) bool {
	switch {
	case what == llm.CallTools && !m.text():
		m.form, m.caps.Tools = m.belowNative(), false
	case what == llm.Think && m.caps.Thinking:
		m.caps.Thinking = false
	case what == llm.SeeImages && m.caps.Vision:
		m.caps.Vision = false
	default:
		return false
	}
	return true
}

// advice is the sentence that ends a session whose model failed, with what
// can be done about it.
func advice(me *llm.Error) string {
	text := strings.TrimRight(userMessage(me), ".")
	if me.Kind.Temporary() {
		return text + ". It was tried several times. Nothing is lost: ask again to go on from here."
	}
	return text + "."
}
