package render

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/handrail-bot/handrail/agent/session"
)

// Ending returns the message about the end of a session's last run. It is a comment of
// its own, because GitHub sends no notifications for edits. It omits the contents of
// the progress comment, whose address is progress, or empty if there is none. pull is
// the pull request with the work, or 0.
func Ending(s *session.State, progress string, pull int, note string) string {
	if s.Outcome == nil {
		return ""
	}
	var b strings.Builder
	how := cmp.Or(wishes[s.Outcome.Wish], fmt.Sprintf("%s **%s**", icons[s.Phase], s.Phase)) //control:nothing-is-not-done
	b.WriteString(how + endsWith(s, pull) + "\n\n")
	said := *s.Outcome
	if said.Wish != "" {
		said.Reason = "" // of an earlier end
	}
	outcome(&b, &said)
	locateWork(&b, s.Sent, "this thread")
	if progress == "" {
		files(&b, s.Files, since(s))
	}
	if note != "" {
		b.WriteString(note + "\n\n")
	}
	if how = next(s); progress == "" || how != goOn { // the progress comment says so already
		b.WriteString(how + "\n")
	}
	return strings.TrimRight(b.String(), "\n") + "\n" + toProgress(progress)
}

// wishes are the first words for the end of a run about checkpoints only.
var wishes = map[session.TakeBackKind]string{
	session.Undo: "↩️ **undone**", session.Redo: "↪️ **redone**", session.Rebase: "🔀 **base merged**",
	session.Keep: "⏹️ **no changes**",
}

// endsWith returns a short list of the results.
func endsWith(s *session.State, pull int) string {
	parts := modeOf(s)
	wish := s.Outcome.Wish
	switch {
	case wish == session.Keep:
	case len(s.Files) == 0 && wish != "":
		parts = append(parts, "no changes left")
	case len(s.Files) > 0 && s.Phase != session.PhaseNoChanges:
		parts = append(parts, plural(len(s.Files), "file")+" changed "+counts(total(s.Files)))
	}
	if pull > 0 {
		parts = append(parts, fmt.Sprintf("pull request #%d", pull))
	}
	if len(parts) == 0 {
		return ""
	}
	return " · " + strings.Join(parts, " · ")
}
