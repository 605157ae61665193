// Package untrusted makes foreign text safe to read and our text safe to post. [Clean]
// and [CleanPlain] remove text that readers of the page do not see, [Fence] marks foreign
// text, [CleanOutput] makes a model's text inert on GitHub. The package is pure.
//
//	read.go   the text of a page
//	page.go   a substitute for GitHub's page
//	lines.go  marks on lines of a page
//	place.go  the Markdown around a piece of a text
//	write.go, closing.go  a text rewritten from its tree
//	post.go   whole posts, titles and messages
//	chars.go, invisible.go, screen.go, escapes.go, inert.go  characters
package untrusted

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"github.com/handrail-bot/handrail/policy/pattern"
)

// Removed holds the number of removed parts in each category.
type Removed struct {
	Tags        int `json:"tags,omitempty"`        // tag characters
	Selectors   int `json:"selectors,omitempty"`   // variation selectors
	Bidi        int `json:"bidi,omitempty"`        // bidirectional controls
	ZeroWidth   int `json:"zero_width,omitempty"`  // zero-width and other invisible characters
	Controls    int `json:"controls,omitempty"`    // control characters, terminal sequences, invalid UTF-8
	Comments    int `json:"comments,omitempty"`    // HTML comments, declarations, processing instructions
	Attributes  int `json:"attributes,omitempty"`  // HTML tags with attributes
	AltTexts    int `json:"alt_texts,omitempty"`   // alternative texts of images
	Titles      int `json:"titles,omitempty"`      // titles of links and images
	Addresses   int `json:"addresses,omitempty"`   // destinations of links with another text
	Definitions int `json:"definitions,omitempty"` // link definitions, unused footnotes, cells beyond a table, words after a fence
	Collapsed   int `json:"collapsed,omitempty"`   // collapsed blocks, which are marked, not removed
}

// Total returns the number of removed parts.
func (n Removed) Total() int {
	return n.Tags + n.Selectors + n.Bidi + n.ZeroWidth + n.Controls + n.Comments +
		n.Attributes + n.AltTexts + n.Titles + n.Addresses + n.Definitions
}

// Plus returns the sum of two counts.
func (n Removed) Plus(m Removed) Removed {
	return Removed{
		Tags:        n.Tags + m.Tags,
		Selectors:   n.Selectors + m.Selectors,
		Bidi:        n.Bidi + m.Bidi,
		ZeroWidth:   n.ZeroWidth + m.ZeroWidth,
		Controls:    n.Controls + m.Controls,
		Comments:    n.Comments + m.Comments,
		Attributes:  n.Attributes + m.Attributes,
		AltTexts:    n.AltTexts + m.AltTexts,
		Titles:      n.Titles + m.Titles,
		Definitions: n.Definitions + m.Definitions,
		Addresses:   n.Addresses + m.Addresses,
		Collapsed:   n.Collapsed + m.Collapsed,
	}
}

// String lists the non-zero categories, for a log or a label.
func (n Removed) String() string {
	var parts []string
	for _, c := range []struct {
		n    int
		name string
	}{
		{n.Tags, "tag characters"}, {n.Selectors, "variation selectors"}, {n.Bidi, "bidi controls"},
		{n.ZeroWidth, "invisible characters"}, {n.Controls, "control characters"}, {n.Comments, "HTML comments"},
		{n.Attributes, "HTML attributes"}, {n.AltTexts, "image texts"}, {n.Titles, "link titles"}, {n.Addresses, "link addresses"}, {n.Definitions, "hidden definitions"},
	} {
		if c.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", c.n, c.name))
		}
	}
	if len(parts) == 0 {
		return "nothing"
	}
	return strings.Join(parts, ", ")
}

// leftOutText replaces an artificial text that cannot be read in reasonable time.
const leftOutText = "[This text is left out: it is built so that reading it takes too long, and its visible part is not known.]"

// Clean returns the text that a reader of the rendered page sees of s, which is untrusted
// Markdown. It removes invisible characters too, and marks collapsed blocks. Code is kept
// byte for byte, except for invisible characters. page is GitHub's HTML of s; if it is
// empty, [Page] is used instead.
func Clean(s, page string) (string, Removed) {
	root, hidden, ok := rendered(s)
	var got seen
	switch {
	case page != "": //control:page-of-github
		got = readPage(page)
	case ok:
		got = read(root) //control:what-a-reader-sees
	default:
		got.text = leftOutText
	}
	text, n := CleanPlain(got.text)
	return text, n.Plus(hidden)
}

// Links returns the destinations of the links in s, which [Clean] removes.
func Links(s, page string) []string {
	if page == "" {
		page = Page(s)
	}
	return readPage(page).links
}

// maxPasses is the maximum number of cleaning passes. Honest text needs two.
const maxPasses = 24

// CleanPlain removes only invisible and control characters. It is for file content and
// tool output, in which markup is data and must not change.
func CleanPlain(s string) (string, Removed) {
	var n Removed
	for range maxPasses {
		next := cleanChars(s, &n)
		if next == s {
			return s, n
		}
		s = next
	}
	return strings.Map(func(r rune) rune {
		if hidden(r) {
			n.count(r)
			return -1
		}
		return r
	}, s), n
}

var fenceWord = pattern.Lazy(`(?i)<(\s*/?\s*untrusted)`)

// Fence puts untrusted text between marks that contain the session's nonce. The text
// cannot close them: invisible characters are removed, look-alikes of the marks are
// broken, and the nonce is replaced. A nonce of fewer than eight letters or digits is
// replaced by a digest of the text. label describes the text, for example "issue body".
func Fence(nonce, label, text string) string {
	text, _ = CleanPlain(text)
	if !goodNonce(nonce) {
		sum := sha256.Sum256([]byte(label + "\x00" + text))
		nonce = hex.EncodeToString(sum[:8])
	}
	secret := regexp.MustCompile(`(?i)` + regexp.QuoteMeta(nonce))
	text = secret.ReplaceAllString(text, "[nonce]")
	text = fenceWord().ReplaceAllString(text, "‹$1")
	label = strings.Map(func(r rune) rune {
		if r == '"' || r == '<' || r == '>' || unicode.IsControl(r) || Invisible(r) {
			return ' '
		}
		return r
	}, secret.ReplaceAllString(label, ""))
	return fmt.Sprintf("<untrusted %s %q>\n%s\n</untrusted %s>", nonce, label, text, nonce)
}

func goodNonce(s string) bool {
	for _, r := range s {
		if r >= 0x80 || !letter(byte(r)) && (r < '0' || r > '9') {
			return false
		}
	}
	return len(s) >= 8
}

func letter(b byte) bool { return b|0x20 >= 'a' && b|0x20 <= 'z' }
