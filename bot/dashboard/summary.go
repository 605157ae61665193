package dashboard

import (
	"context"
	"sync"
	"time"

	"github.com/handrail-bot/handrail/agent/session"
)

// view is the folded state of a session without its long texts, so that its memory does
// not grow with them.
type view struct {
	mu    sync.Mutex
	state present
	used  time.Time
}

// views keeps the views of sessions that were looked at last.
type views struct {
	mu    sync.Mutex
	known map[string]*view
}

const (
	maxViews  = 200     // sessions kept
	maxKept   = 300_000 // events that the kept views were made of, together
	pageLimit = 500     // events per read
	maxWords  = 4 << 10 // bytes kept of a message
)

// get returns the view of a session, and drops the oldest ones beyond the limits.
func (vs *views) get(id string, now time.Time) *view {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	v := vs.known[id]
	if v == nil {
		v = &view{state: present{State: session.NewState()}}
	}
	v.used = now
	vs.known[id] = v
	for vs.size() > maxKept || len(vs.known) > maxViews {
		oldest := ""
		for other, o := range vs.known {
			if other != id && (oldest == "" || o.used.Before(vs.known[oldest].used)) {
				oldest = other
			}
		}
		if oldest == "" {
			break
		}
		delete(vs.known, oldest)
	}
	return v
}

func (vs *views) size() (n int64) {
	for _, v := range vs.known {
		if v.mu.TryLock() {
			n += v.state.Seq
			v.mu.Unlock()
		}
	}
	return n
}

// summary returns the state of a session at the end of its log. The caller must not
// change it, and calls done when it has read it.
func (s *Server) summary(ctx context.Context, id string) (state *present, done func(), err error) {
	v := s.views.get(id, s.cfg.Now())
	v.mu.Lock()
	for {
		events, err := s.cfg.Pages(ctx, id, v.state.Seq, pageLimit)
		if err != nil {
			v.mu.Unlock()
			return nil, nil, err
		}
		for _, e := range events {
			v.take(e)
		}
		if len(events) == 0 {
			return &v.state, v.mu.Unlock, nil
		}
	}
}

// take folds one event. An unreadable one is skipped: its story says so.
func (v *view) take(e session.Event) {
	if e.Type == session.TypeTask {
		switch inner, _ := e.Unwrap(); inner.Type {
		case session.TypeAsked, session.TypeResolved, session.TypeCheckpoint:
		default:
			v.state.Seq = e.Seq
			return
		}
	}
	payload, err := session.Payload(e)
	if err != nil {
		v.state.Seq = e.Seq
		return
	}
	strip(payload)
	v.state.Take(e, payload)
	v.state.note(payload)
	if n := len(v.state.Timeline); n > 64 { // only the last moments tell the present
		v.state.Timeline = append([]session.Moment(nil), v.state.Timeline[n-8:]...)
	}
	if e.Type == session.TypeResolved {
		for _, r := range v.state.Requests {
			if !r.Approval.IsPending() {
				r.Display, r.Effects = "", nil
			}
		}
	}
}

// strip removes the long texts of a payload.
func strip(payload any) {
	switch p := payload.(type) {
	case *session.Opened:
		p.Task.Text, p.Task.Context, p.Task.Images = first(p.Task.Text), nil, nil
	case *session.Message:
		p.Text, p.Context, p.Images = first(p.Text), nil, nil
	case *session.Answer:
		p.Thinking, p.Content, p.Raw, p.Again = "", "", "", ""
		for i := range p.Calls {
			p.Calls[i].Arguments = nil
		}
	case *session.Result:
		p.Content, p.Output, p.Images = "", "", nil
	case *session.Prompt:
		p.System = ""
	case *session.Note:
		p.Text, p.Items = first(p.Text), nil
	case *session.Checkpoint:
		p.Content = nil
	}
}

func first(s string) string { return s[:min(len(s), maxWords)] }
