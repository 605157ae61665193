package work

import (
	"bytes"
	"context"
	"strings"
	"sync"

	"github.com/handrail-bot/handrail/agent"
	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/policy/phrase"
	"github.com/handrail-bot/handrail/policy/secret"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

// live returns the handler of output that is not an event. Besides OnLive, it feeds
// OnOutput with the output of the running call.
func (j Job) live(r *secret.Redactor) func(agent.Live) {
	if j.OnOutput == nil {
		return j.OnLive
	}
	call, t := "", &tail{}
	return func(l agent.Live) {
		if j.OnLive != nil {
			j.OnLive(l)
		}
		if l.Output == "" {
			return
		}
		if l.Call != call {
			call, t = l.Call, &tail{redactor: r}
		}
		t.add(l.Output)
		j.OnOutput(t.last)
	}
}

// tail is the end of a call's output so far, in whole lines, so that secrets that span
// several lines are found.
type tail struct {
	redactor *secret.Redactor
	mu       sync.Mutex
	text     []byte
}

// Limits of the kept output in bytes, and of the shown last line in characters.
const (
	maxTail     = 32 << 10
	maxLastLine = 200
)

func (t *tail) add(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, text...) // which copies the rest now and then, and not for each piece
	for len(t.text) > maxTail {
		_, rest, more := bytes.Cut(t.text, []byte("\n"))
		if !more || len(rest) == 0 { // a single line: keep its beginning
			t.text = t.text[:maxTail]
			return
		}
		t.text = rest
	}
}

// last returns the last non-empty line, or "", cleaned like a recorded result. It runs
// only when the line is displayed, because each call searches for secrets.
func (t *tail) last() string {
	t.mu.Lock()
	text := string(t.text)
	t.mu.Unlock()
	text, _ = untrusted.CleanPlain(text)
	text, _ = t.redactor.Redact(text) //control:redact-last-line
	text = strings.TrimSpace(text)
	return phrase.Short(strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:]), maxLastLine)
}

// timedOut returns a function that reads the calls of a session that ran out of time.
func timedOut(log session.Log) func(context.Context) ([]session.Call, error) {
	return func(ctx context.Context) ([]session.Call, error) {
		events, err := log.Events(ctx, 0)
		if err != nil {
			return nil, err
		}
		var out []session.Call
		calls := map[string]session.Call{}
		for _, e := range events {
			p, err := session.Payload(e)
			if err != nil {
				return nil, err
			}
			switch p := p.(type) {
			case *session.Answer:
				for _, c := range p.Calls {
					calls[c.ID] = c
				}
			case *session.Result:
				if c, ok := calls[p.Call]; ok && p.Class == session.ClassTimeout {
					out = append(out, c)
				}
			}
		}
		return out, nil
	}
}
