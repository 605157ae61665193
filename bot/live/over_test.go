package live

import (
	"slices"
	"testing"

	"github.com/handrail-bot/handrail/agent/session"
)

// Somebody works on a session, or a person is waited for, or it is over: one of these, so
// that none is forgotten and none is deleted at work.
func TestOver(t *testing.T) {
	t.Parallel()
	for _, p := range session.Phases() {
		works, waits := slices.Contains(Unsettled, p), p.Waits()
		if one := map[bool]int{true: 1}; one[works]+one[waits]+one[p.Over()] != 1 {
			t.Errorf("a session that is %s: it is worked on: %t, it waits for a person: %t, it is over: %t", p, works, waits, p.Over())
		}
	}
	if p := session.Phase("a word of a later version"); p.Over() {
		t.Errorf("a session that is %s may be deleted", p)
	}
}
