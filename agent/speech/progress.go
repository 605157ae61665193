package speech

import (
	"hash/maphash"
	"strings"

	"github.com/handrail-bot/handrail/agent/session"
)

// progress is how long a session has had nothing new: no result that it had not seen, and
// no change that it had not made. Numbers that commands print do not count as news: times
// differ from run to run.
type progress struct {
	seen    map[uint64]bool
	stale   int // turns with calls since the last news
	counted int // the last of them
	newsIn  int // the turn of the last news
}

// exitCode is in the result of each command.
const exitCode = "[Exit code "

// noOutput begins the result of a command that prints nothing. What was run counts then:
// it says nothing of another command.
const noOutput = "(no output)"

// awaits is the tool whose calls wait for something: that nothing has come yet is no circle.
const awaits = "read_output"

// take takes in what a call came to.
func (p *progress) take(seed maphash.Seed, c *session.CallState) {
	if c.Result.Complete || c.Result.Cut || c.Name == awaits {
		return
	}
	if p.isNews(seed, c) { //control:news-is-progress
		p.stale, p.newsIn = 0, c.Turn
		return
	}
	if c.Turn != p.newsIn && c.Turn != p.counted {
		p.stale, p.counted = p.stale+1, c.Turn
	}
}

func (p *progress) isNews(seed maphash.Seed, c *session.CallState) bool {
	if !c.Result.OK || c.Result.Mistake {
		return false
	}
	key, asked := c.Name+"\x00", callKey{raw: c.Arguments}.canonical()
	content := c.Result.Content
	if strings.Contains(content, exitCode) {
		content = withoutDigits(content)
	}
	switch {
	case len(c.Result.Changes) > 0:
		key += asked
	case strings.HasPrefix(content, noOutput):
		key += asked + "\x00" + content
	default:
		key += content
	}
	digest := maphash.String(seed, key)
	if p.seen[digest] {
		return false
	}
	if p.seen == nil {
		p.seen = map[uint64]bool{}
	}
	p.seen[digest] = true
	return true
}

func withoutDigits(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return -1
		}
		return r
	}, s)
}

// Stale returns in how many turns with calls, up to now, nothing was new.
func (h *Habits) Stale() int { return h.progress.stale }
