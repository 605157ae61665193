package style

import (
	"html"
	"strings"

	"github.com/handrail-bot/handrail/agent/patch/compare"
)

// speller writes typographic quotes, dashes and HTML entities of new lines as the file
// has them, when the old lines of the edit fit only after those were made plain. A model
// that copied plain quotes as typographic ones writes the new lines like that, too.
type speller struct {
	old, region string
	entities    bool
	fancy       bool
	whole       string
}

func newSpeller(doc, old, file []string) *speller {
	s := &speller{old: strings.Join(old, "\n"), region: strings.Join(file, "\n")}
	s.entities = html.UnescapeString(s.old) != s.old && html.UnescapeString(s.region) == s.region
	if s.fancy = strings.ContainsFunc(s.old, s.foreign); s.fancy {
		s.whole = strings.Join(doc, "\n")
	}
	return s
}

// foreign reports whether a sign is a typographic one that the file does not have there.
func (s *speller) foreign(r rune) bool {
	return compare.PlainSign(r) != r && !strings.ContainsRune(s.region, r)
}

func (s *speller) plain(text string) string {
	if s.entities {
		text = html.UnescapeString(text)
	}
	if !s.fancy {
		return text
	}
	return strings.Map(func(r rune) rune {
		if s.foreign(r) && (strings.ContainsRune(s.old, r) || !strings.ContainsRune(s.whole, r)) {
			return compare.PlainSign(r)
		}
		return r
	}, text)
}
