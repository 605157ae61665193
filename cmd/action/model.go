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
	since time.Time // of the first failure after the last answer
}

// Failed notes that a session could not reach the model.
func (m *ModelWait) Failed(why error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	m.since = cmp.Or(m.since, now)
	if waited := now.Sub(m.since); waited >= m.For { //control:jobs-do-not-wait
		m.GiveUp(&NoModel{For: waited, Why: why})
	}
}

// Event notes that the model answered, if e says so.
func (m *ModelWait) Event(e session.Event) {
	if e.Type == session.TypeAnswer {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.since = time.Time{}
	}
}
