package policy

import (
	"fmt"
	"time"
)

// Share is a budget shared by several sessions: those of a thread, or those of a user on
// one day. Used is the sum over all of them.
type Share struct {
	Of           string // subject of a sentence for messages: "This thread"
	Limits, Used Limits
}

// ReachedLimit describes the first limit that was reached, or returns "".
func (s Share) ReachedLimit() string {
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
		return fmt.Sprintf(
			"%s has used %s of time, %s were allowed",
			s.Of,
			time.Duration(s.Used.Time).Round(time.Second),
			s.Limits.Time,
		)
	}
	return ""
}

// Usage is the usage of a session: in total, and on its last day of work.
type Usage struct {
	Total Limits `json:"total,omitzero"`
	Day   string `json:"day,omitempty"` // UTC
	Today Limits `json:"today,omitzero"`
}

// On returns the usage on a day, which is zero unless the session last worked then.
func (u Usage) On(day string) Limits {
	if u.Day != day {
		return Limits{}
	}
	return u.Today
}

// Advance returns u after work that increased the session's totals to now.
func (u Usage) Advance(now Limits, day string) Usage {
	more := Limits{
		Turns: now.Turns - u.Total.Turns, Tokens: now.Tokens - u.Total.Tokens, Time: now.Time - u.Total.Time,
		Edits: now.Edits - u.Total.Edits, Lines: now.Lines - u.Total.Lines,
	}
	return Usage{Total: now, Day: day, Today: u.On(day).Plus(more)}
}

// Plus returns the sum of both.
func (l Limits) Plus(m Limits) Limits {
	return Limits{
		Turns:  l.Turns + m.Turns,
		Tokens: l.Tokens + m.Tokens,
		Time:   l.Time + m.Time,
		Edits:  l.Edits + m.Edits,
		Lines:  l.Lines + m.Lines,
	}
}
