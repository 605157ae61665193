package live

import (
	"testing"

	"github.com/handrail-bot/handrail/agent/session"
)

// TestOver: only what the bot takes for over may be deleted. A session that waits for a
// push is over for the bot, and is kept all the same.
func TestOver(t *testing.T) {
	t.Parallel()
	for _, p := range session.Phases() {
		if p.Over() && !IsOver(p) {
			t.Errorf("a session that is %s may be deleted, and is not over", p)
		}
	}
}
