package render

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/policy/phrase"
)

// Ending returns the comment on the end of a session's last run, for a requester who no
// longer watches the progress comment. It is short: the result is in that comment, whose
// address is progress. pull is the pull request with the work, or 0.
func Ending(s *session.State, progress string, pull int) string {
	if s.Outcome == nil {
		return ""
	}
	how := cmp.Or(wishOf(s), takenBack(s), fmt.Sprintf("%s **%s**", icons[s.Phase], s.Phase))
	parts := append(modeOf(s), results(s)...)
	if pull > 0 {
		parts = append(parts, fmt.Sprintf("pull request #%d", pull))
	}
	return strings.Join(append([]string{how}, parts...), " · ") + "\n\nMore: " + progress + "\n"
}

// wishes are the first words for the end of a run about checkpoints only.
var wishes = map[session.TakeBackKind]string{
	session.Undo: "↩️ **undone**", session.Redo: "↪️ **redone**", session.Rebase: "🔀 **base merged**",
	session.Keep: "⏹️ **no changes**",
}

// wishOf returns the first words for the end of a run about checkpoints, or "".
func wishOf(s *session.State) string {
	if !s.Over() {
		return ""
	}
	return wishes[s.Outcome.Wish]
}

// withdrawn names the end of a request that its requester took back.
const withdrawn = "withdrawn"

// takenBack returns the first words for the end of a request that its requester took back,
// or "".
func takenBack(s *session.State) string {
	if s.Outcome != nil && s.Outcome.Withdrawn && s.Phase == session.PhaseStopped {
		return icons[s.Phase] + " **" + withdrawn + "**"
	}
	return ""
}

// results lists the results of an ended session in short.
func results(s *session.State) []string {
	switch {
	case !s.Over() || s.Outcome.Wish == session.Keep || !changed(s):
	case len(s.Files) == 0 && s.Outcome.Wish != "":
		return []string{"no changes left"}
	case len(s.Files) > 0 && s.Phase != session.PhaseNoChanges:
		return []string{phrase.Count(len(s.Files), "file") + " changed " + counts(total(s.Files))}
	}
	return nil
}
