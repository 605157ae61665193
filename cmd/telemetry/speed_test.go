package telemetry

import (
	"context"
	"fmt"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"github.com/handrail-bot/handrail/agent/llm"
)

// slow is a model that thinks for a second and takes two for ten tokens.
type slow struct {
	llm.Model
	ends bool
}

func (slow) Name() string { return "slow" }

func (s slow) Stream(context.Context, llm.Request) iter.Seq2[llm.Part, error] {
	return func(yield func(llm.Part, error) bool) {
		<-time.After(time.Second)
		if !yield(llm.Part{Content: "well"}, nil) || !s.ends {
			return
		}
		<-time.After(2 * time.Second)
		yield(llm.Part{Done: true, AnswerTokens: 10}, nil)
	}
}

// TestSpeeds: whole answers tell a model's speed; others, and models beyond the limit, do
// not.
func TestSpeeds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &Speeds{}
		if n, per, first := s.Of("slow"); n != 0 || per != 0 || first != 0 {
			t.Errorf("an unknown model: %d answers, %v tokens/s, %s", n, per, first)
		}
		for _, ends := range []bool{true, false, true} {
			for range Model(slow{ends: ends}, nil, nil, s).Stream(t.Context(), llm.Request{}) {
				continue
			}
		}
		if n, per, first := s.Of("slow"); n != 2 || per != 5 || first != time.Second {
			t.Errorf("%d answers, %v tokens/s, first word after %s", n, per, first)
		}
		for i := range 2 * maxModels {
			s.take(fmt.Sprint(i), llm.Part{Done: true}, 1, 1)
		}
		if len(s.known) != maxModels {
			t.Errorf("%d models are kept", len(s.known))
		}
	})
}
