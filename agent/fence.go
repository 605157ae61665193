package agent

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

// nonceOf is the code in the fences of a session. Callers give a random one;
// without it the session's id, which is random on the command line, makes it.
func nonceOf(t session.Task) string {
	if t.Nonce != "" {
		return t.Nonce
	}
	sum := sha256.Sum256([]byte(t.Session + "\x00" + t.Base))
	return hex.EncodeToString(sum[:8])
}

// fenced is told, with what came out of a tool between marks that it cannot
// close. In text mode results travel as words of the user, and without marks
// a file could go on with a turn of its own making. What the engine says
// itself (a refusal, a reminder) stands outside.
func fenced(c *session.CallState, nonce string) string {
	if nonce == "" || c.Result == nil || !c.Started && !c.Result.Mistake {
		return told(c)
	}
	text, tail := told(c), ""
	if c.Reminder != "" {
		tail = "\n\n" + c.Reminder
		text = strings.TrimSuffix(text, tail)
	}
	label := "result of " + c.Name
	if strings.Contains(strings.ToLower(text), "untrusted") || strings.Contains(text, nonce) {
		return untrusted.Fence(nonce, label, text) + tail //control:fence-nonce
	}
	// The text was cleaned when it was recorded; nothing in it looks like a mark.
	return "<untrusted " + nonce + " \"" + label + "\">\n" + text + "\n</untrusted " + nonce + ">" + tail
}
