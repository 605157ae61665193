package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/handrail-bot/handrail/agent/compact"
	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/llm/toolcall"
	"github.com/handrail-bot/handrail/agent/prompt"
	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/speech"
	"github.com/handrail-bot/handrail/agent/tools"
	"github.com/handrail-bot/handrail/policy"
)

// model is the language model of a session.
type model struct {
	*journal
	llm            llm.Model
	words          llm.Model // answers questions outside of the conversation
	retry          llm.Retry
	configuredForm llm.Form // the operator's choice
	forms          Forms    // experience with models, or nil
	form           llm.Form // the current form, valid once learned is set
	parser         *toolcall.Parser
	writes         func(tool string, arguments json.RawMessage) string // the file that a call writes
	means          func(tool string, arguments json.RawMessage) string // the tool meant by an unknown name
	may            func(m policy.Mode, tool, command string) bool      // see Agent.may
	now            func() time.Time

	maxAnswerTime time.Duration // limit of an answer, from its first word on; negative means no limit
	server        string        // address of its server for display, or ""

	caps    llm.Capabilities
	learned bool // caps and form are known
}

// TriesAgain is the log message for a retry, which [Live] describes in its Title.
const TriesAgain = "model failed, trying again"

// retrying calls f until it succeeds, fails permanently, or the attempts are used up. A
// broken answer leaves no trace, so the turn is repeated from the last complete one.
func (m *model) retrying(ctx context.Context, f func() error) error {
	for n, until := 1, time.Now().Add(m.retry.Patience); ; n++ {
		err := f()
		if err == nil || ctx.Err() != nil {
			return errors.Join(err, ctx.Err())
		}
		kind := llm.KindOf(err)
		waits := llm.Away(kind) && !m.retry.Park && time.Now().Before(until) //control:patient-run
		if !kind.Temporary() || n >= m.retry.Attempts && !waits ||
			m.retry.Park && kind == llm.Unreachable && n >= llm.ParkAfter {
			return err
		}
		wait, title := m.retry.After(n, err), fmt.Sprintf("%s; trying again (%d of %d)", userMessage(err), n+1, m.retry.Attempts)
		if n >= m.retry.Attempts {
			title = fmt.Sprintf("%s; waiting for the model server, at most until %s", userMessage(err), until.Format("15:04"))
		}
		m.logger.WarnContext(ctx, TriesAgain, "session", m.Task.Session, "attempt", n, "wait", wait, "err", err)
		m.live(Live{Title: title, Stall: cause(err)})
		if err := llm.Pause(ctx, wait); err != nil {
			return err
		}
	}
}

// cause describes a failure of the model for the user, within a sentence.
func cause(err error) string {
	var me *llm.Error
	if !errors.As(err, &me) || me.Public == "" {
		return "the model failed"
	}
	return me.Public
}

// userMessage is cause at the beginning of a sentence.
func userMessage(err error) string {
	text := cause(err)
	first, size := utf8.DecodeRuneInString(text)
	if strings.HasPrefix(text, "model ") || strings.HasPrefix(text, "the ") {
		return string(unicode.ToUpper(first)) + text[size:]
	}
	return text
}

// learn asks for the capabilities of the model, once.
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

// answer streams one answer, with retries if they can help.
func (m *model) answer(ctx context.Context, req llm.Request) (session.Answer, error) {
	req.Temperature = cmp.Or(m.lost.Temperature(), m.claims.temperature(), req.Temperature)
	var out session.Answer
	err := m.retrying(ctx, func() error {
		s := speech.New(speech.Config{
			Parser:   m.callParser(),
			Writes:   m.writes,
			Means:    m.means,
			Now:      m.now,
			Seen:     shownIn(req),
			Form:     m.form,
			View:     m.talk.view(),
			Sample:   sampleIn(req),
			Function: m.talk.hidden,
			Offered:  tools.Names(req.Tools),
			Prose:    m.mode.Writes() && (m.form == llm.FormFiles || m.Content() == m.claims.from),
			Line:     m.talk.asked(),
			Asked:    m.form == llm.FormFiles && m.claims.tries() > 0,
			Show: func(sh speech.Shown) {
				m.live(Live{Thinking: sh.Thinking, Content: sh.Content, Title: sh.Title, Speed: sh.Speed})
			},
		})
		err := m.streamInto(ctx, req, s)
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

// callParser returns the parser of calls in an answer. If calls travel as text, it also
// accepts the call formats of other programs, for tools of the current mode.
func (m *model) callParser() *toolcall.Parser {
	if !m.text() { //control:forms-in-text
		return m.parser
	}
	return m.parser.Forms(speech.Foreign(), func(tool, command string) bool { return m.may(m.mode, tool, command) })
}

// longTemplate is the length above which a template omits the arguments.
const longTemplate = 2000

// template shows a call in the format that the model has to use.
func (m *model) template(name, args string) string {
	if len(args) > longTemplate {
		args = "{… as you wrote them …}"
	}
	if m.text() {
		return fmt.Sprintf(`<tool_call>{"name": %q, "arguments": %s}</tool_call>`, name, args)
	}
	return name + " with the arguments " + args
}

// streamInto streams an answer into s until it ends, repeats itself, or exceeds its time limit.
// The text up to that point counts as the answer.
func (m *model) streamInto(ctx context.Context, req llm.Request, s *speech.Stream) error {
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

// sampleIn returns the path of the worked task's file if a request shows it, or "".
func sampleIn(req llm.Request) string {
	task := prompt.Worked()[0].Content
	if slices.ContainsFunc(req.Messages, func(m llm.Message) bool { return m.Content == task }) {
		return prompt.WorkedFile
	}
	return ""
}

// shownIn returns a function that reports whether a request contains a text.
func shownIn(req llm.Request) func(text string) bool {
	return func(text string) bool {
		return slices.ContainsFunc(req.Messages, func(m llm.Message) bool { return strings.Contains(m.Content, text) })
	}
}

// handleLosses reports the lost parts of the last answer to the model, switches to another form
// if native calls do not arrive, and ends the session if there is no prospect of success.
func (r *run) handleLosses(ctx context.Context) (*session.Outcome, error) {
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
	if r.model.form == llm.FormFiles {
		return nil, nil // see [finisher.inFiles]
	}
	if say := r.lost.Reminder(r.requests.tools.names()); say != "" {
		return nil, r.tell(ctx, session.NoteReminder, say)
	}
	return nil, nil
}

// askOnce asks the model a question outside of the conversation and returns its words, or ""
// if it failed. There is no retry: callers have a fallback.
func (m *model) askOnce(ctx context.Context, req llm.Request) string {
	text, _, err := m.outside(ctx, req, math.MaxInt)
	if err != nil {
		m.logger.WarnContext(ctx, "model gave no summary", "session", m.Task.Session, "err", err)
		return ""
	}
	return speech.Words(m.parser, text)
}

// errTooMuch means that an answer is longer than the longest correct one.
var errTooMuch = errors.New("the answer is too long")

// outside asks the model a question outside of the conversation, once. It returns the text, and
// the counts of tokens in the last part of the answer; one of more than most bytes ends with
// errTooMuch.
func (m *model) outside(ctx context.Context, req llm.Request, most int) (text string, last llm.Part, err error) {
	var b strings.Builder
	err = m.attend(ctx, partsOf(m.words, req), answering, func(p llm.Part) bool {
		b.WriteString(p.Content)
		if p.Done {
			last = p
		}
		return b.Len() <= most
	})
	if err == nil && b.Len() > most { //control:merge-is-bounded
		err = errTooMuch
	}
	return b.String(), last, err
}

// disable turns off a capability that the model lacks. It reports whether the capability
// was on, so that another attempt makes sense.
func (m *model) disable(what llm.Capability) bool {
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

// advice returns the closing words of a session after a failure of the model, with the
// possible remedy.
func advice(me *llm.Error) string {
	text := strings.TrimRight(userMessage(me), ".")
	if me.Kind.Temporary() {
		return text + ". Several attempts failed. Nothing is lost: ask again to continue from here."
	}
	return text + "."
}
