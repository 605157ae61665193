// Package visible says what a reader of GitHub sees of a Markdown text: it is
// parsed by the rules of GitHub's own parser, made HTML, and read as GitHub's
// published filters read it. What they drop is not in the text; it is no list of
// what can be hidden.
//
//	parse.go     the parser and how HTML is made of its tree
//	block.go, list.go, inline.go, link.go, emphasis.go, table.go, footnote.go  where GitHub's rules are its own
//	tags.go      HTML as the filters read it
//	write.go     the text that is left
//	place.go     in what a piece of the text stands
package visible

import (
	"bytes"
	"strings"

	"github.com/yuin/goldmark/parser"
)

// Seen is what a reader sees of a text, and how much they do not.
type Seen struct {
	Text        string   // Markdown where that shows the same; code byte for byte
	Links       []string // where links lead
	Comments    int      // HTML comments, instructions, document types
	Attributes  int      // tags that have attributes
	AltTexts    int      // texts of pictures
	Titles      int      // titles of links and pictures
	Addresses   int      // of links whose text is another one
	Definitions int      // of links; footnotes that nothing refers to, cells beyond a table's header, words behind a fence
	Collapsed   int      // collapsed blocks, which are marked and stay
}

// Read returns what a reader of GitHub sees of a comment, a description or a
// review. It reports false for a text that nobody wrote by hand and that would take
// unreasonable time.
func Read(markdown string) (s Seen, ok bool) {
	defer func() {
		if recover() != nil { // in the parser: nothing is known of the text
			s, ok = Seen{}, false
		}
	}()
	markdown = strings.TrimPrefix(strings.ToValidUTF8(dropMarks(markdown), "\ufffd"), "\ufeff")
	markdown = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\x00", string(nothing)).Replace(markdown)
	if tooSlow(markdown) {
		return Seen{}, false
	}
	if markdown, ok = closed(markdown); !ok {
		return Seen{}, false
	}
	ctx := parser.NewContext()
	var html bytes.Buffer
	if err := readingFor(markdown).Convert([]byte(markdown), &html, parser.WithContext(ctx)); err != nil {
		return Seen{}, false
	}
	w := &writer{}
	var within struct { // the link that is open
		strings.Builder
		links int
	}
	z := scanner{src: html.String(), text: func(text string) {
		within.WriteString(text)
		w.text(text)
	}, tag: func(t tag) {
		if t.name == "a" && t.end && len(s.Links) > within.links {
			if to, _ := strings.CutPrefix(s.Links[len(s.Links)-1], "http://"); to != strings.TrimPrefix(within.String(), "http://") {
				s.Addresses++
			}
		}
		if t.name == "a" {
			within.Reset()
			within.links = len(s.Links)
		}
		s.count(t)
		w.tag(t)
	}}
	z.run()
	s.Text, s.Comments, s.Collapsed = w.whole(), z.comments, w.hidden
	s.Definitions = len(ctx.References()) + *hiddenIn(ctx) + w.words
	return s, true
}

// count adds what a tag hides.
func (s *Seen) count(t tag) {
	if strings.Contains(t.raw, " title=") {
		s.Titles++
	}
	if strings.Contains(t.raw, " alt=") && !strings.Contains(t.raw, ` alt=""`) {
		s.AltTexts++
	}
	switch t.name {
	case "a":
		if v, ok := t.attr("href"); ok && v != "" && !strings.HasPrefix(v, "#fn") {
			s.Links = append(s.Links, v)
		}
	case "img", "code", "ol", "sup":
	default:
		if t.raw != "<li "+taskAttribute+`="">` && strings.ContainsAny(strings.TrimRight(t.raw, " \t\n/>"), " \t\n") {
			s.Attributes++
		}
	}
}

var hiddenKey = parser.NewContextKey()

// hiddenIn counts what the parser leaves out of the tree.
func hiddenIn(pc parser.Context) *int {
	return pc.ComputeIfAbsent(hiddenKey, func() any { return new(int) }).(*int)
}
