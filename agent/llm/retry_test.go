package llm

import (
	"errors"
	"fmt"
	"testing"
	"time"
)

func TestRetryWaits(t *testing.T) {
	r := Retry{}.WithDefaults()
	for n := 1; n < 10; n++ {
		most := min(r.Base<<(n-1), r.Max)
		for range 50 {
			if d := r.wait(n); d < most/2 || d > most {
				t.Fatalf("attempt %d waits %s, want between %s and %s", n, d, most/2, most)
			}
		}
	}
	asked := fmt.Errorf("stream: %w", &Error{Kind: Busy, RetryAfter: 70 * time.Second})
	if d := r.After(1, asked); d != 70*time.Second {
		t.Errorf("the server asked for 70 s, waits %s", d)
	}
	if d := r.After(1, &Error{RetryAfter: time.Hour}); d != maxServerWait {
		t.Errorf("waits %s for a server that asks for an hour", d)
	}
	if d := r.After(1, errors.New("other")); d > r.Base {
		t.Errorf("waits %s", d)
	}
}
