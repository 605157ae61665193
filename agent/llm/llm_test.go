package llm_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/handrail-bot/handrail/agent/llm"
)

func TestKinds(t *testing.T) {
	for _, c := range []struct {
		kind      llm.Kind
		temporary bool
	}{
		{llm.Unknown, false}, {llm.Unreachable, true}, {llm.Busy, true}, {llm.Cut, true}, {llm.NotFound, false},
		{llm.Unsupported, false}, {llm.TooLong, false}, {llm.Refused, false}, {llm.Invalid, false},
	} {
		t.Run(fmt.Sprint(c.kind), func(t *testing.T) {
			if c.kind.Temporary() != c.temporary {
				t.Errorf("temporary is %t", c.kind.Temporary())
			}
			err := fmt.Errorf("turn 3: %w", &llm.Error{Kind: c.kind, Public: "p"})
			if llm.KindOf(err) != c.kind {
				t.Errorf("kind of %v is %d", err, llm.KindOf(err))
			}
		})
	}
	if llm.KindOf(errors.New("x")) != llm.Unknown || llm.KindOf(nil) != llm.Unknown {
		t.Error("other errors have a kind")
	}
}

func TestErrorText(t *testing.T) {
	cause := errors.New("dial tcp")
	err := &llm.Error{Public: "no answer", Err: cause}
	if err.Error() != "no answer: dial tcp" || !errors.Is(err, cause) {
		t.Errorf("got %q", err)
	}
	if err := (&llm.Error{Public: "no answer"}); err.Error() != "no answer" || errors.Unwrap(err) != nil {
		t.Errorf("got %q", err)
	}
}
