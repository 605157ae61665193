package untrusted

import (
	"strings"

	"github.com/charmbracelet/x/ansi/parser"
)

// StripEscapes removes terminal escape sequences (colors, cursor moves, titles, links and
// all other strings that a terminal swallows) from valid UTF-8, complete or cut off at
// the end. Other control characters are kept. It uses only the library's state machine,
// because linking its width tables would add 50 ms to every start.
func StripEscapes(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return r == 0x1B || r >= 0x80 && r <= 0x9F }) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	state := parser.GroundState
	for _, r := range s {
		if r > 0x9F {
			// Text outside of sequences. Inside a string, it is swallowed.
			if state == parser.GroundState {
				b.WriteRune(r)
			}
			continue
		}
		was := state
		next, action := parser.Table.Transition(state, byte(r))
		state = next
		shown := action == parser.PrintAction || action == parser.ExecuteAction && r < 0x80
		if shown && (was == parser.GroundState || action == parser.ExecuteAction) && r != 0x1B {
			b.WriteRune(r)
		}
	}
	return b.String()
}
