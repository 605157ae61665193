package policy

import (
	"fmt"
	"time"
)

// Share is a budget that several sessions use: those of a thread, those of one person
// on one day. Used is what all of them have used of it.
type Share struct {
	Of           string // for people, as the beginning of a sentence: "This thread"
	Limits, Used Limits
}

// Over says which of the share's limits is reached, "" for none.
func (s Share) Over() string {
	for _, l := range []struct {
		used, most int
		what       string
	}{
		{s.Used.Turns, s.Limits.Turns, "turns"},
		{s.Used.Tokens, s.Limits.Tokens, "tokens"},
		{s.Used.Edits, s.Limits.Edits, "edits"},
		{s.Used.Lines, s.Limits.Lines, "changed lines"},
	} {
		if l.most > 0 && l.used >= l.most {
			return fmt.Sprintf("%s has used %d %s, %d were allowed", s.Of, l.used, l.what, l.most)
		}
	}
	if s.Limits.Time > 0 && s.Used.Time >= s.Limits.Time {
		return fmt.Sprintf("%s has used %s of time, %s were allowed", s.Of, time.Duration(s.Used.Time).Round(time.Second), s.Limits.Time)
	}
	return ""
}
