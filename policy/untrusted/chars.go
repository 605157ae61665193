package untrusted

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// cleanChars removes characters that are invisible or reorder others, and counts them by
// category. It keeps those that an emoji or a script needs.
func cleanChars(s string, n *Removed) string {
	s = cleanEscapes(s, n)
	lines := strings.SplitAfter(s, "\n")
	for i, line := range lines {
		if !plainASCII(line) {
			lines[i] = cleanLine(line, n)
		}
	}
	return strings.Join(lines, "")
}

func plainASCII(s string) bool {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c >= 0x7F || c < 0x20 && c != '\n' && c != '\t' {
			return false
		}
	}
	return true
}

// cleanEscapes removes complete terminal sequences, and normalizes line ends and invalid
// UTF-8.
func cleanEscapes(s string, n *Removed) string {
	if !utf8.ValidString(s) {
		n.Controls += strings.Count(strings.ToValidUTF8(s, "\x00"), "\x00")
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	if strings.ContainsRune(s, 0x1B) || strings.ContainsFunc(s, func(r rune) bool { return r >= 0x80 && r <= 0x9F }) {
		before := len(s)
		s = StripEscapes(s)
		if len(s) != before {
			n.Controls++
		}
	}
	if strings.ContainsAny(s, "\r\u2028\u2029\u0085") {
		s = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u2028", "\n", "\u2029", "\n", "\u0085", "\n").Replace(s)
	}
	return s
}

// cleanLine removes all disallowed characters from one line.
func cleanLine(line string, n *Removed) string {
	rs := []rune(line)
	bidi := allowedBidi(rs)
	out := make([]rune, 0, len(rs))
	for i := 0; i < len(rs); i++ {
		r := rs[i]
		if end := flagEnd(rs, i); end > 0 {
			out = append(out, rs[i:end]...)
			i = end - 1
			continue
		}
		if stays := allowedRune(out, rs, i) || bidi[i]; stays {
			out = append(out, r)
			continue
		}
		n.count(r)
	}
	return string(out)
}

// count counts one removed character in its category.
func (n *Removed) count(r rune) {
	switch {
	case r >= 0xE0000 && r <= 0xE007F:
		n.Tags++
	case isSelector(r):
		n.Selectors++
	case isBidi(r):
		n.Bidi++
	case unicode.Is(unicode.Cc, r):
		n.Controls++
	default:
		n.ZeroWidth++
	}
}

func isSelector(r rune) bool {
	return r >= 0xFE00 && r <= 0xFE0F || r >= 0xE0100 && r <= 0xE01EF || r >= 0x180B && r <= 0x180F && r != 0x180E
}

func isBidi(r rune) bool {
	return r >= 0x202A && r <= 0x202E || r >= 0x2066 && r <= 0x2069 || r == 0x200E || r == 0x200F || r == 0x061C
}

// hidden reports whether a character is removed unless its neighbors need it. Visible
// format characters, such as Arabic number signs, are not hidden.
func hidden(r rune) bool {
	switch {
	case r < 0x80:
		return r < 0x20 && r != '\n' && r != '\t' || r == 0x7F
	case r >= 0x0600 && r <= 0x0605,
		r == 0x06DD,
		r == 0x070F,
		r == 0x0890,
		r == 0x0891,
		r == 0x08E2,
		r == 0x110BD,
		r == 0x110CD:
		return false
	case r >= 0xE0000 && r <= 0xE0FFF, isSelector(r):
		return true
	case r == 0x034F,
		r == 0x115F,
		r == 0x1160,
		r == 0x17B4,
		r == 0x17B5,
		r == 0x3164,
		r == 0xFFA0,
		r == 0x2065,
		r >= 0xFFF0 && r <= 0xFFF8:
		return true
	case r >= 0xFDD0 && r <= 0xFDEF, r&0xFFFE == 0xFFFE:
		return true
	}
	return unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Cc, r)
}

// allowedRune reports whether rs[i] is kept after the characters in out.
func allowedRune(out, rs []rune, i int) bool {
	r := rs[i]
	if !hidden(r) {
		return true
	}
	var prev, next rune
	if len(out) > 0 {
		prev = out[len(out)-1]
	}
	if i+1 < len(rs) {
		next = rs[i+1]
	}
	switch r {
	case 0x200D:
		return allowedJoiner(out, prev, next)
	case 0x200C:
		return joiningScript(prev) && joiningScript(next)
	case 0xFE0F, 0xFE0E:
		return emojiBase(prev) || keycapBase(prev) && next == 0x20E3
	}
	return allowedVariant(r, prev)
}

// allowedVariant reports whether a variation selector is kept: prev must have variants.
func allowedVariant(r, prev rune) bool {
	switch {
	case r >= 0xFE00 && r <= 0xFE02:
		return unicode.In(prev, unicode.Han, unicode.Sm, unicode.Myanmar)
	case r >= 0xE0100 && r <= 0xE011F:
		return unicode.Is(unicode.Han, prev)
	case r >= 0x180B && r <= 0x180D || r == 0x180F:
		return unicode.Is(unicode.Mongolian, prev) && !isSelector(prev)
	}
	return false
}

// allowedJoiner reports whether a zero-width joiner is kept: between two emoji, and after
// a letter of a joining script.
func allowedJoiner(out []rune, prev, next rune) bool {
	base := prev
	if prev == 0xFE0F && len(out) > 1 {
		base = out[len(out)-2]
	}
	if (emojiBase(base) || skinTone(base)) && emojiBase(next) {
		return true
	}
	return joiningScript(prev)
}

func skinTone(r rune) bool { return r >= 0x1F3FB && r <= 0x1F3FF }

func keycapBase(r rune) bool { return r >= '0' && r <= '9' || r == '#' || r == '*' }

// emojiBase reports whether r can be the base of an emoji.
func emojiBase(r rune) bool {
	switch {
	case r < 0xA9:
		return false
	case r == 0xA9, r == 0xAE, r == 0x203C, r == 0x2049, r == 0x3030, r == 0x303D:
		return true
	case r >= 0x1F000 && r <= 0x1FAFF:
		return true
	case r >= 0x2100 && r <= 0x2BFF:
		return unicode.Is(unicode.So, r) || unicode.Is(unicode.Sm, r) || unicode.Is(unicode.L, r) || unicode.Is(unicode.P, r)
	}
	return r == 0x3297 || r == 0x3299
}

// joiningScript reports whether r is a letter or mark of a script that uses joiners and
// non-joiners in its spelling.
func joiningScript(r rune) bool {
	if !unicode.IsLetter(r) && !unicode.IsMark(r) {
		return false
	}
	return unicode.In(r, unicode.Arabic, unicode.Syriac, unicode.Mongolian, unicode.Nko, unicode.Mandaic,
		unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi, unicode.Gujarati, unicode.Oriya, unicode.Tamil,
		unicode.Telugu, unicode.Kannada, unicode.Malayalam, unicode.Sinhala, unicode.Khmer, unicode.Myanmar,
		unicode.Tibetan, unicode.Tai_Tham, unicode.Javanese, unicode.Balinese, unicode.Newa, unicode.Adlam)
}

// subdivisions are the regions with flags written as tag sequences: the parts of the
// United Kingdom, the states of the United States and the provinces of Canada.
const subdivisions = " gbeng gbsct gbwls gbnir " +
	"usal usak usaz usar usca usco usct usde usfl usga ushi usid usil usin usia usks usky usla usme usmd usma usmi " +
	"usmn usms usmo usmt usne usnv usnh usnj usnm usny usnc usnd usoh usok usor uspa usri ussc ussd ustn ustx usut " +
	"usvt usva uswa uswv uswi uswy usdc caab cabc camb canb canl cans cant canu caon cape caqc cask cayt "

// flagEnd returns the index after a flag sequence at i: a black flag, the tag letters of
// a known region, a cancel tag. Zero means that there is none.
func flagEnd(rs []rune, i int) int {
	if rs[i] != 0x1F3F4 {
		return 0
	}
	var region strings.Builder
	for j := i + 1; j < len(rs) && j <= i+7; j++ {
		switch r := rs[j]; {
		case r == 0xE007F:
			if region.Len() > 0 && strings.Contains(subdivisions, " "+region.String()+" ") {
				return j + 1
			}
			return 0
		case r > 0xE0060 && r <= 0xE007A:
			region.WriteRune(r - 0xE0000)
		default:
			return 0
		}
	}
	return 0
}

// allowedBidi returns the indexes of the bidirectional controls of a line that are kept.
// On a line with right-to-left letters, marks are kept, and isolates and embeddings if
// all of them are balanced. Overrides are never kept.
func allowedBidi(rs []rune) map[int]bool {
	if !slices.ContainsFunc(rs, rtlLetter) {
		return nil
	}
	balanced := balancedBidi(rs)
	stays := map[int]bool{}
	for i, r := range rs {
		if isBidi(r) && r != 0x202D && r != 0x202E {
			mark := r == 0x200E || r == 0x200F || r == 0x061C
			stays[i] = mark && (i == 0 || rs[i-1] != r) || !mark && balanced
		}
	}
	return stays
}

// balancedBidi reports whether all isolates and embeddings of a line are closed in order,
// at most four deep, and there is no override.
func balancedBidi(rs []rune) bool {
	var open []rune
	for _, r := range rs {
		switch r {
		case 0x202A, 0x202B, 0x2066, 0x2067, 0x2068:
			if open = append(open, r); len(open) > 4 {
				return false
			}
		case 0x202D, 0x202E:
			return false
		case 0x202C, 0x2069:
			if len(open) == 0 || (open[len(open)-1] >= 0x2066) != (r == 0x2069) {
				return false
			}
			open = open[:len(open)-1]
		}
	}
	return len(open) == 0
}

func rtlLetter(r rune) bool {
	return r >= 0x0590 &&
		unicode.In(
			r,
			unicode.Hebrew,
			unicode.Arabic,
			unicode.Syriac,
			unicode.Thaana,
			unicode.Nko,
			unicode.Adlam,
			unicode.Samaritan,
			unicode.Mandaic,
		)
}
