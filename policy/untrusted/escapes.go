package untrusted

import (
	"strings"

	"github.com/charmbracelet/x/ansi/parser"
)

// StripEscapes removes terminal escape sequences (colors, cursor moves,
// titles, links and every other string a terminal would swallow) from valid
// UTF-8, whole or cut off at the end. Control characters outside of sequences
// stay. The state machine is the library's; its width tables, which cost
// every start 50 ms, are not linked in.
func StripEscapes(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return r == 0x1B || r >= 0x80 && r <= 0x9F }) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	state := parser.GroundState
	for _, r := range s {
		if r > 0x9F {
			// Text outside of a sequence; swallowed inside a string.
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
