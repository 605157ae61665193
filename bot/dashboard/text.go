package dashboard

import (
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/handrail-bot/handrail/policy/phrase"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

const (
	maxHead = 16 << 10 // bytes shown of the beginning of a long text
	maxTail = 6 << 10  // and of its end
)

// cut leaves out the middle of a long text.
func cut(s string) (short string, left int) {
	if len(s) <= maxHead+maxTail {
		return s, 0
	}
	head, tail := s[:maxHead], s[len(s)-maxTail:]
	for !utf8.ValidString(head[max(0, len(head)-utf8.UTFMax):]) && len(head) > maxHead-utf8.UTFMax {
		head = head[:len(head)-1]
	}
	for tail != "" && !utf8.RuneStart(tail[0]) {
		tail = tail[1:]
	}
	left = len(s) - len(head) - len(tail)
	return fmt.Sprintf("%s\n… %s left out …\n%s", head, bytesOf(left), tail), left
}

// show returns a text without characters that a reader would not see, or that act on the
// page around them.
func show(s string) string {
	s, _ = cut(s)
	return neutral(s)
}

// neutral is [show] for a text of any length.
func neutral(s string) string {
	s, _ = untrusted.CleanPlain(s) //control:dashboard-neutral
	return s
}

// exact returns the text of a request with every hidden character made visible.
func exact(s string) string { return untrusted.EscapeVisible(s) } //control:dashboard-exact

// line returns a text for one line, cut to a number of characters.
func line(s string, most int) string {
	return untrusted.EscapeLine(phrase.Short(phrase.FirstLine(s), most))
}

func bytesOf(n int) string {
	switch {
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%d kB", n>>10)
	}
	return fmt.Sprintf("%d bytes", n)
}

// ago tells an age in one unit.
func ago(d time.Duration) string {
	switch {
	case d < 0:
		return "now"
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", int(d.Hours()))
	}
	return fmt.Sprintf("%d days", int(d.Hours()/24))
}

// count shortens a large number.
func count(n int) string {
	switch {
	case n >= 10_000_000:
		return fmt.Sprintf("%d M", n/1_000_000)
	case n >= 10_000:
		return fmt.Sprintf("%d k", n/1000)
	}
	return fmt.Sprint(n)
}

func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return count(n) + " " + word + "s"
}
