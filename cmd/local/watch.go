package local

import (
	"context"
	"errors"
	"sync"

	"github.com/handrail-bot/handrail/agent"
	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/policy"
)

// watcherName is the approver's name in resolutions of the browser.
const watcherName = "the user in the browser"

// Desk takes answers to requests from elsewhere than the terminal. The first answer
// counts. The zero value is valid; it is safe for concurrent use.
type Desk struct {
	mu    sync.Mutex
	waits map[string]chan session.Resolved
}

// Settle answers an open request, and reports false if there is none with the id.
func (d *Desk) Settle(r session.Resolved) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := d.waits[r.ID]
	if c == nil {
		return false
	}
	delete(d.waits, r.ID)
	r.By = watcherName
	c <- r
	return true
}

// Answer answers the open question with a text, and reports false if there is none.
func (d *Desk) Answer(text string, asked []session.Asked) bool {
	for _, a := range asked {
		if a.Kind == session.AskQuestion {
			return d.Settle(session.Resolved{ID: a.ID, Verdict: policy.Answered, Reason: text})
		}
	}
	return false
}

func (d *Desk) await(id string) <-chan session.Resolved {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.waits == nil {
		d.waits = map[string]chan session.Resolved{}
	}
	c := make(chan session.Resolved, 1)
	d.waits[id] = c
	return c
}

// both asks at the terminal and in the browser. A nil terminal asks in the browser alone.
type both struct {
	terminal agent.Approver
	desk     *Desk
}

// Approve implements agent.Approver.
func (b both) Approve(ctx context.Context, asked []session.Asked) (out []session.Resolved, err error) {
	for _, a := range asked {
		r, err := b.ask(ctx, a)
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, nil
}

// ask returns the first answer. The other place stops asking.
func (b both) ask(ctx context.Context, a session.Asked) (session.Resolved, error) {
	here, stop := context.WithCancel(ctx)
	defer stop()
	elsewhere := b.desk.await(a.ID)
	type answer struct {
		list []session.Resolved
		err  error
	}
	typed := make(chan answer, 1)
	if b.terminal == nil {
		select {
		case r := <-elsewhere:
			return r, nil
		case <-ctx.Done():
			return session.Resolved{}, ctx.Err()
		}
	}
	go func() {
		list, err := b.terminal.Approve(here, []session.Asked{a})
		typed <- answer{list, err}
	}()
	select {
	case r := <-elsewhere:
		stop()
		<-typed
		return r, nil
	case t := <-typed:
		b.desk.mu.Lock()
		delete(b.desk.waits, a.ID)
		b.desk.mu.Unlock()
		if t.err == nil && len(t.list) != 1 {
			t.err = errors.New("the terminal gave no answer")
		}
		if t.err != nil {
			return session.Resolved{}, t.err
		}
		return t.list[0], nil
	}
}
