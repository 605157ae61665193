package action

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/handrail-bot/handrail/agent/session"
)

// NoModel means that a run ended because the server of its model did not answer for a
// time.
type NoModel struct {
	For time.Duration
	Why error
}

// Error implements error.
func (e *NoModel) Error() string {
	return fmt.Sprintf("the model's server did not answer for %s: %v", e.For.Round(time.Second), e.Why)
}

// Unwrap returns the last failure.
func (e *NoModel) Unwrap() error { return e.Why }

// ModelWait gives up a run whose model does not answer for a time: each minute of a job
// costs. It is safe for concurrent use.
type ModelWait struct {
	For    time.Duration
	GiveUp context.CancelCauseFunc // receives a [NoModel]

	mu    sync.Mutex
	since time.Time // of the request that failed first after the last answer
	last  time.Time // of the last event: the next request to the model follows it
}

// Failed notes that a session could not reach the model.
func (m *ModelWait) Failed(why error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	m.since = cmp.Or(m.since, m.last, now)           //control:silence-is-waiting
	if waited := now.Sub(m.since); waited >= m.For { //control:jobs-do-not-wait
		m.GiveUp(&NoModel{For: waited, Why: why})
	}
}

// Event notes an event of a session.
func (m *ModelWait) Event(e session.Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.last = time.Now(); e.Type == session.TypeAnswer {
		m.since = time.Time{}
	}
}
