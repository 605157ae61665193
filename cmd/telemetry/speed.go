package telemetry

import (
	"sync"
	"time"

	"github.com/handrail-bot/handrail/agent/llm"
)

// Speeds keeps how fast models answer, since the start of the process. The zero value is
// ready; it is safe for concurrent use.
type Speeds struct {
	mu    sync.Mutex
	known map[string]*speed
}

// speed sums up the answers of a model.
type speed struct {
	answers, tokens int
	first, took     time.Duration // until the first word, and from it to the end
}

// minTook is the minimum time of answers for a meaningful speed.
const minTook = 50 * time.Millisecond

// Of returns the number of a model's whole answers, their tokens per second, and the mean
// wait for a first word. A figure is 0 if it is unknown.
func (s *Speeds) Of(model string) (answers int, perSecond float64, first time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.known[model]
	if k == nil {
		return 0, 0, 0
	}
	if k.took >= minTook {
		perSecond = float64(k.tokens) / k.took.Seconds()
	}
	return k.answers, perSecond, k.first / time.Duration(k.answers)
}

// take adds an answer that was complete after all, with the first part after first.
func (s *Speeds) take(model string, last llm.Part, first, all time.Duration) {
	if s == nil || !last.Done || first == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known == nil {
		s.known = map[string]*speed{}
	}
	k := s.known[model]
	if k == nil {
		if len(s.known) >= maxModels {
			return
		}
		k = &speed{}
		s.known[model] = k
	}
	k.answers++
	k.first += first
	if last.AnswerTokens > 0 {
		k.tokens, k.took = k.tokens+last.AnswerTokens, k.took+all-first
	}
}
