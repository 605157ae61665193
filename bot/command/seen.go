package command

import (
	"fmt"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/bot/render/usage"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

// Show tells how a reader sees a text: Page is GitHub's HTML of it, "" if unknown, and
// Clean reads a text with its HTML.
type Show struct {
	Page  string
	Clean func(body, page string) string
}

// AsShown returns an error that asks back if the commands of a text differ from the lines
// that its page shows as commands in a paragraph.
func AsShown(body, page string, names ...string) *Error {
	_, n := untrusted.MarkLines(page, beginning(names), func(int) string { return "" })
	for _, m := range mentions(lines(body), names...) {
		if m.isCommand {
			n--
		}
	}
	if page == "" || n == 0 { //control:commands-as-shown
		return nil
	}
	return &Error{Public: fmt.Sprintf(usage.NotSaid, prefix, usage.ShownElse) + fmt.Sprintf(usage.ListIs, prefix)}
}

// beginning returns a function for the length of the command word at a line's beginning.
func beginning(names []string) func(string) int {
	return func(line string) int {
		m := mentionPattern(names).FindStringSubmatchIndex(line)
		if m == nil || strings.TrimSpace(line[:max(m[2], m[4])]) != "" {
			return 0
		}
		return max(m[3], m[5])
	}
}

// shownMarked returns body as a reader sees it, with its commands marked. The text around a
// command matters: a definition above it can turn words into a link with an invisible
// target. names are those that body was parsed with.
func shownMarked(body string, show Show, names []string) (p marked, text string) {
	all := lines(body)
	p = markedIn(all, slices.DeleteFunc(mentions(all, names...), func(m mention) bool { return !m.isCommand }))
	if page, n := untrusted.MarkLines(show.Page, beginning(names), p.mark); show.Page != "" && n == p.count {
		return p, show.Clean(body, page)
	}
	return p, show.Clean(p.body, "")
}

// ShownText returns the free text of a command as a reader sees it. The command was parsed
// from body. It reports false if there is no such command.
func (t Table) ShownText(body string, c Command, show Show, names ...string) (string, bool) {
	s, text := shownMarked(body, show, names)
	if c.Place >= s.count {
		return "", false
	}
	if _, behind, ok := strings.Cut(text, s.mark(c.Place)); ok {
		text, _, _ = strings.Cut(behind, s.mark(c.Place+1))
	}
	text = s.plain(text)
	if seen, err := t.parse(text); err == nil && seen.Name == c.Name {
		return seen.Text, true
	}
	return text, true
}

// Above returns the text above the first command of body as a reader sees it.
func Above(body string, show Show, names ...string) string {
	s, text := shownMarked(body, show, names)
	above, _, ok := strings.Cut(text, s.mark(0))
	if !ok {
		return ""
	}
	return s.plain(above)
}
