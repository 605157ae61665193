package command

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/handrail-bot/handrail/bot/render/usage"
	"github.com/handrail-bot/handrail/policy/pattern"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

// The functions below depend on GitHub's rendering of comments.

// shownOn returns the text of a comment as a reader of GitHub's page sees it.
func shownOn(markdown string) string {
	text, _ := untrusted.Clean(markdown, "")
	return text
}

// placesOn returns the places of the words at some offsets on GitHub's page. It reports
// false for a text that takes too long to parse.
func placesOn(markdown string, at []int) ([]untrusted.Place, bool) {
	return untrusted.Places(markdown, at)
}

// mention is a line of a text that begins with the command word.
type mention struct {
	start, at, end int             // offsets of the line, of the command word, and after it
	isCommand      bool            // shown as the beginning of a line of a paragraph
	where          untrusted.Place // otherwise its place
}

// maxText is the maximum length of a text, in bytes. GitHub allows 65,536 characters.
const maxText = 256 << 10

var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\x00", "\ufffd")

// lines returns a text as valid UTF-8 with line feeds at the ends of lines.
func lines(body string) string { return lineEnds.Replace(strings.ToValidUTF8(body, "\ufffd")) }

// mentions finds the lines of body that begin with the command word or one of names, in
// order, and the place of each as a reader sees it.
func mentions(body string, names ...string) []mention {
	out := linesFor(body, names)
	if len(out) == 0 {
		return nil
	}
	at := make([]int, len(out))
	for i, m := range out {
		at[i] = m.at
	}
	places, ok := placesOn(body, at)
	if !ok { //control:tangled-text
		for i := range out {
			out[i].where = usage.TooDeep
		}
		return out
	}
	for i := range places {
		m := &out[i]
		m.isCommand, m.where = places[i] == untrusted.Paragraph, places[i] //control:said-in-a-paragraph
		switch {
		case strings.Contains(body[m.start:m.at], ">"):
			m.isCommand, m.where = false, untrusted.Quotation
		case m.where == untrusted.Quotation:
			m.where += usage.LazyLine
		}
	}
	rejectDoubtful(body, out)
	p := markedIn(body, out)
	begins := p.confirmed(shownOn(p.body))
	for i := range out {
		if m := &out[i]; m.isCommand && !begins[i] { //control:begins-its-line
			m.isCommand, m.where = false, usage.BeginsElse
		}
	}
	return out
}

// rejectDoubtful rejects commands in texts with characters that only some parsers take for
// space, and after the end of HTML that began in another paragraph.
func rejectDoubtful(body string, list []mention) {
	controls := strings.ContainsAny(body, "\v\f")
	ends, done := 0, 0
	for i := range list {
		m := &list[i]
		part := body[done:m.start]
		if done = m.start; strings.Contains(part, "\n\n") {
			ends, part = 0, part[strings.LastIndex(part, "\n\n"):]
		}
		ends += 2*strings.Count(part, "</") - strings.Count(part, "<")
		switch {
		case m.isCommand && controls:
			m.isCommand, m.where = false, usage.Controls
		case m.isCommand && ends > 0:
			m.isCommand, m.where = false, untrusted.HTML
		}
	}
}

// maybeMeant reports whether a line may have been meant as a command although it is none.
func (m mention) maybeMeant() bool {
	return !m.isCommand && m.where != untrusted.Code && m.where != untrusted.Nowhere && m.where != untrusted.Quotation
}

// marked is a text with a mark in place of each command's word.
type marked struct {
	body  string
	word  string // beginning of the marks
	count int    // number of commands
}

func (p marked) mark(i int) string { return fmt.Sprintf("%s%dz", p.word, i) }

// markedIn marks the commands of a list in a text.
func markedIn(body string, list []mention) marked {
	p := marked{word: "agentword", count: len(list)}
	for strings.Contains(strings.ToLower(body), p.word) {
		p.word += "q"
	}
	var b strings.Builder
	done := 0
	for i, m := range list {
		if m.isCommand {
			b.WriteString(body[done:m.at] + p.mark(i))
			done = m.end
		}
	}
	p.body = b.String() + body[done:]
	return p
}

// begins returns the index of the command that begins a line, and the rest of the line.
func (p marked) begins(line string) (i int, rest string, ok bool) {
	line, ok = strings.CutPrefix(line, p.word)
	number, rest, end := strings.Cut(line, "z")
	i, err := strconv.Atoi(number)
	return i, rest, ok && end && err == nil && i < p.count
}

// confirmed returns the commands that begin a line of a shown text, outside of code.
func (p marked) confirmed(shown string) map[int]bool {
	out := map[int]bool{}
	var f fence
	for line := range strings.Lines(shown) {
		if i, _, ok := p.begins(line); !f.inside(line) && ok {
			out[i] = true
		}
	}
	return out
}

// plain replaces the marks with the command word.
func (p marked) plain(text string) string {
	for i := range p.count {
		text = strings.ReplaceAll(text, p.mark(i), prefix)
	}
	return strings.TrimSpace(text)
}

// beside returns the first line of a comment that a reader sees besides quotations and
// commands, or "". A command that grants something must have only its arguments on its
// line.
func (t Table) beside(text string, list []mention, cmds []Command) string {
	p := markedIn(text, list)
	for line := range strings.Lines(shownOn(unquoted(p.body))) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		i, rest, ok := p.begins(line)
		if !ok || i >= len(cmds) {
			return p.plain(line)
		}
		if c := cmds[i]; t.grants(c) {
			seen, err := t.parse(rest)
			if err != nil || seen.Name != c.Name || seen.All != c.All || seen.Count != c.Count ||
				!slices.Equal(seen.IDs, c.IDs) {
				return p.plain(line)
			}
		}
	}
	return ""
}

// unquoted returns a text without its quoted lines.
func unquoted(text string) string {
	_, above, below := quotation(text)
	return above + "\n" + below
}

// Inert returns text with a backslash before each command, and before each line that may
// have been meant as one. Everything else stays.
func Inert(text string) string { return inert(text) }

// InertFor is [Inert] for mentions of any account.
func InertFor(text string) string {
	var names []string
	for _, m := range accounts().FindAllStringSubmatch(text, -1) {
		names = append(names, m[1])
	}
	slices.Sort(names)
	return inert(text, slices.Compact(names)...)
}

var accounts = pattern.Lazy(`@([\w-]+(?:\[bot\])?)`)

func inert(text string, names ...string) string {
	text = lines(text)
	var out strings.Builder
	done := 0
	for _, m := range mentions(text, names...) {
		if m.isCommand || m.maybeMeant() { //control:own-words-inert
			out.WriteString(text[done:m.at] + `\`)
			done = m.at
		}
	}
	return out.String() + text[done:]
}
