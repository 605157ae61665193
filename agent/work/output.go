package work

import (
	"strings"
	"sync"

	"github.com/handrail-bot/handrail/agent"
	"github.com/handrail-bot/handrail/policy/secret"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

// live shows what is no event: as the job wants it, and of a call at work what it
// printed last.
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

// tail is the end of what a call has printed so far. It is whole lines: a secret that
// is spread over several of them is found.
type tail struct {
	redactor *secret.Redactor
	mu       sync.Mutex
	text     string
}

// Of the output, so much is kept; of its last line, so much is shown.
const (
	maxTail     = 32 << 10
	maxLastLine = 200
)

func (t *tail) add(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text += text
	for len(t.text) > maxTail {
		_, rest, more := strings.Cut(t.text, "\n")
		if !more || rest == "" { // one line, of which the beginning is shown
			t.text = t.text[:maxTail]
			return
		}
		t.text = rest
	}
}

// last returns the last line that is not empty, "" for none, cleaned as a result is
// before it is recorded. It looks for secrets each time: it is called when somebody is
// shown the line, not for each line that comes.
func (t *tail) last() string {
	t.mu.Lock()
	text := t.text
	t.mu.Unlock()
	text, _ = untrusted.CleanPlain(text)
	text, _ = t.redactor.Redact(text) //control:redact-last-line
	text = strings.TrimSpace(text)
	text = strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:])
	if line := []rune(text); len(line) > maxLastLine {
		text = string(line[:maxLastLine-1]) + "…"
	}
	return text
}
