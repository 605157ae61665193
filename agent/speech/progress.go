package speech

import (
	"hash/maphash"
	"strings"

	"github.com/handrail-bot/handrail/agent/session"
)

// progress measures the time without news in a session: neither a new result nor a
// new change. Numbers in command output do not count as news, since times differ from
// run to run.
type progress struct {
	seen    map[uint64]bool
	stale   int // number of turns with calls since the last news
	counted int // the last of these turns
	newsIn  int // the turn of the last news
}

// exitCode is part of the result of each command.
const exitCode = "[Exit code "

// noOutput begins the result of a command without output. The command itself then
// counts as the news.
const noOutput = "(no output)"

// awaits is the tool that waits for output. Its calls without a new result are no
// circle.
const awaits = "read_output"

// take records the result of a call.
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
	key := c.Name + "\x00"
	content := c.Result.Content
	if strings.Contains(content, exitCode) {
		content = withoutDigits(content)
	}
	switch {
	case len(c.Result.Changes) > 0:
		key += callKey{raw: c.Arguments}.canonical()
	case strings.HasPrefix(content, noOutput):
		key += callKey{raw: c.Arguments}.canonical() + "\x00" + content
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

// Stale returns the number of turns with calls since the last news.
func (h *Habits) Stale() int { return h.progress.stale }
