package doctor

import (
	"context"
	"iter"
	"sync"
	"time"

	"github.com/handrail-bot/handrail/agent/llm"
)

// meter is a model that times its answers.
type meter struct {
	llm.Model
	now func() time.Time

	mu     sync.Mutex
	first  time.Duration // longest wait for the first word of an answer
	waited time.Duration // longest wait in which no word came
	tokens int
	took   time.Duration // total time from the first word to the end
}

// Stream implements [llm.Model].
func (m *meter) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Part, error] {
	return func(yield func(llm.Part, error) bool) {
		asked, began := m.now(), time.Time{}
		defer func() {
			m.mu.Lock()
			defer m.mu.Unlock()
			if began.IsZero() {
				m.waited = max(m.waited, m.now().Sub(asked))
			}
		}()
		for p, err := range m.Model.Stream(ctx, req) {
			if began.IsZero() && err == nil && (p.Content != "" || p.Thinking != "" || len(p.Calls) > 0) {
				began = m.now()
				m.mu.Lock()
				m.first = max(m.first, began.Sub(asked))
				m.mu.Unlock()
			}
			if p.Done && !began.IsZero() {
				m.mu.Lock()
				m.tokens, m.took = m.tokens+p.AnswerTokens, m.took+m.now().Sub(began)
				m.mu.Unlock()
			}
			if !yield(p, err) {
				return
			}
		}
	}
}

// mute reports whether a whole task passed without a word: the next one would bring none.
func (m *meter) mute() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.first == 0 && m.waited > 0
}

// minTime is the minimum time for a meaningful speed.
const minTime = 50 * time.Millisecond

// figures returns the tokens per second, 0 if the answers are too short to tell, the
// longest wait for a first word, and the longest wait in which none came. Times are in
// seconds.
func (m *meter) figures() (perSecond, first, waited float64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.took >= minTime {
		perSecond = tenths(float64(m.tokens) / m.took.Seconds())
	}
	return perSecond, tenths(m.first.Seconds()), tenths(m.waited.Seconds())
}

func tenths(f float64) float64 { return float64(int(f*10+0.5)) / 10 }
