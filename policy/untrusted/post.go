package untrusted

import (
	"fmt"
	"html"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/handrail-bot/handrail/policy/pattern"
)

// The maximum lengths of texts on GitHub, in characters. A body leaves room for the
// hidden mark that identifies it.
const (
	maxPost  = 65536 - 256
	maxTitle = 256
)

// Post is a text for GitHub with additions that only the bot itself may make, never the
// text of a model: mentions, closing an issue, links to threads of other repositories, and
// HTML.
type Post struct {
	Mentions []string // accounts and teams ("org/team") to notify
	Text     string
	Closes   int      // the issue to close; 0 means none
	With     []string // threads ("owner/name#12") that it belongs with; GitHub links both
	Folds    []Fold
}

// Fold is a collapsed part of a post.
type Fold struct {
	Title string `json:"title"`
	Text  string `json:"text"`
}

// Post returns the text to send to GitHub: cut to the maximum length, then cleaned. Every
// Markdown text of the bot passes through it last. It is idempotent.
func (o OutputOptions) Post(p Post) string {
	var end strings.Builder
	if p.Closes > 0 {
		fmt.Fprintf(&end, "\n\nFixes #%d", p.Closes)
	}
	end.WriteString(belongs(p.With))
	const tail = "\n\n</details>"
	var heads []string
	whom := mentions(p.Mentions) //control:mentions-behind-the-gate
	room := maxPost - utf8.RuneCountInString(whom+end.String())
	for _, f := range p.Folds {
		heads = append(heads, "\n\n<details><summary>"+html.EscapeString(Title(f.Title))+"</summary>\n\n")
		room -= utf8.RuneCountInString(heads[len(heads)-1] + tail)
	}
	text := o.fit(p.Text, room)
	if len(heads) > 0 {
		text = strings.TrimRight(text, "\n")
	}
	room -= utf8.RuneCountInString(text)
	for i, f := range p.Folds {
		folded := strings.TrimRight(o.fit(f.Text, room), "\n")
		room -= utf8.RuneCountInString(folded)
		end.WriteString(heads[i] + folded + tail)
	}
	return whom + text + end.String()
}

// maxMentions is the maximum number of mentions in a post.
const maxMentions = 20

var account = pattern.Lazy(`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}(?:/[A-Za-z0-9][A-Za-z0-9_.-]{0,99})?$`)

// mentions returns the line that mentions accounts and teams, each once. Invalid names
// are left out.
func mentions(list []string) string {
	var out []string
	for _, name := range list {
		at := "@" + strings.ToLower(name)
		if account().MatchString(name) && !slices.Contains(out, at) && len(out) < maxMentions { //control:mention-names
			out = append(out, at)
		}
	}
	if len(out) == 0 {
		return ""
	}
	return strings.Join(out, " ") + "\n\n"
}

var threadName = pattern.Lazy(`^[A-Za-z0-9][A-Za-z0-9-]{0,63}/[A-Za-z0-9._-]{1,100}#[1-9][0-9]{0,9}$`)

// belongs returns the line that links threads of other repositories. Invalid names are left
// out.
func belongs(list []string) string {
	list = slices.DeleteFunc(slices.Clone(list), func(name string) bool {
		return !threadName().MatchString(name) //control:thread-names
	})
	if len(list) == 0 {
		return ""
	}
	return "\n\nBelongs with " + strings.Join(list, ", ") + "."
}

const cutNote = "\n\n… (cut here: the rest is longer than a comment)\n"

// fit cleans s and cuts it to at most room characters. It cleans last, because cleaning
// can make a text longer, and half of a clean text need not be clean.
func (o OutputOptions) fit(s string, room int) string {
	out := CleanOutput(s, o)
	if utf8.RuneCountInString(out) > room && !isAsCode(out) {
		s = out // the part cut off may be link definitions
	}
	for n := room; utf8.RuneCountInString(out) > room && n > 0; {
		n -= utf8.RuneCountInString(cutNote) + 16
		out = CleanOutput(firstRunes(s, n), o)
		over := utf8.RuneCountInString(out) + utf8.RuneCountInString(cutNote) - room
		if over > 0 {
			n -= over
			continue
		}
		return CleanOutput(out+cutNote, o)
	}
	if utf8.RuneCountInString(out) > room {
		return ""
	}
	return out
}

// firstRunes returns at most n characters of s, up to a line end if there is one nearby.
func firstRunes(s string, n int) string {
	at := 0
	for i := range s {
		if n <= 0 {
			at = i
			break
		}
		n--
		at = len(s)
	}
	if k := strings.LastIndexByte(s[:at], '\n'); at < len(s) && k > max(0, at-500) {
		at = k
	}
	return s[:at]
}

var plainMention = pattern.Lazy(`(^|[^A-Za-z0-9])@([A-Za-z0-9])`)

var otherRepo = pattern.Lazy(`([\w.-]+/[\w.-]+#)(\d)`)

// Message makes a commit message safe to push. Messages have no markup, so a space
// disables mentions, closing words and references to other repositories.
func Message(s string) string {
	s, _ = CleanPlain(s)
	s = plainMention().ReplaceAllString(s, "$1@ $2") //control:post-message
	s = otherRepo().ReplaceAllString(spaceClosing(s), "$1 $2")
	return NoRunnerCommands(s)
}

// Title makes a plain-text line safe for GitHub: the title of an issue, a pull request or
// a check run, which a merge may use as commit message.
func Title(s string) string {
	s, _ = CleanPlain(s)
	s = Message(strings.Join(strings.Fields(s), " "))
	if utf8.RuneCountInString(s) > maxTitle {
		s = strings.TrimSpace(firstRunes(s, maxTitle-1)) + "…"
	}
	return s
}
