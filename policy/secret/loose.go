package secret

import (
	"encoding/ascii85"
	"encoding/base64"
	"encoding/hex"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/handrail-bot/handrail/policy/pattern"
	"golang.org/x/text/unicode/norm"
)

// A secret that is only recognised by its letters and digits must have this many:
// fewer stand in ordinary text.
const minLoose = 10

// tag matches markup between two characters.
var tag = pattern.Lazy(`<[^<>\n]{0,80}>|\]\([^()\n]{0,80}\)`)

// loose returns the letters and digits of s, in lower case and plain: wide, bold and
// circled ones as what they stand for. Those that are far apart do not belong
// together.
func loose(s string) view {
	whole := view{text: s}
	if list := tag().FindAllStringIndex(s, -1); len(list) > 0 {
		whole = replaced(s, list, func(string) string { return "" })
	}
	out := view{from: make([]int32, 0, len(whole.text)), to: make([]int32, 0, len(whole.text))}
	b := make([]byte, 0, len(whole.text))
	last := -1
	for i := 0; i < len(whole.text); {
		c, size := plainLetter(whole.text[i:])
		if c != 0 {
			if last >= 0 && i-last > 12 {
				b = append(b, '.')
				out.put(whole.start(i), whole.start(i))
			}
			last = i
			b = append(b, c)
			out.put(whole.start(i), whole.end(i+size-1))
		}
		i += size
	}
	out.text = string(b)
	return out
}

// plainLetter returns the letter or digit that s begins with, 0 for anything else,
// and the bytes that it takes.
func plainLetter(s string) (byte, int) {
	c, size := s[0], 1
	if c >= utf8.RuneSelf {
		_, size = utf8.DecodeRuneInString(s)
		folded := norm.NFKC.String(s[:size])
		if len(folded) != 1 {
			return 0, size
		}
		c = folded[0]
	}
	switch {
	case c >= 'A' && c <= 'Z':
		return c | 0x20, size
	case c >= 'a' && c <= 'z', c >= '0' && c <= '9':
		return c, size
	}
	return 0, size
}

// strided returns every n-th byte of v, beginning with the one at first.
func (v view) strided(first, n int) view {
	size := len(v.text)/n + 1
	out := view{from: make([]int32, 0, size), to: make([]int32, 0, size)}
	b := make([]byte, 0, size)
	for i := first; i < len(v.text); i += n {
		b = append(b, v.text[i])
		out.put(v.start(i), v.end(i))
	}
	out.text = string(b)
	return out
}

// looseMatches returns where the letters and digits of s are those of a secret, and
// where every second or third character of it is.
func (r *Redactor) looseMatches(s string) []span {
	found := matches(loose(s), r.loosePieces)
	v := squeeze(s)
	for n := 2; n <= 3; n++ {
		for first := range n {
			found = append(found, matches(v.strided(first, n), r.pieces)...)
		}
	}
	return found
}

// rareForms returns the spellings of a value in encodings that programs seldom write
// and every language has.
func rareForms(raw string) []string {
	out := []string{turned47(raw)}
	wide := utf16.Encode([]rune(raw))
	var little, big []byte
	for _, u := range wide {
		little, big = append(little, byte(u), byte(u>>8)), append(big, byte(u>>8), byte(u))
	}
	std := block{base64.RawStdEncoding.EncodeToString, 3, 4}
	for shift := range 3 {
		out = append(out, std.aligned(string(little), shift), std.aligned(string(big), shift))
	}
	uu := block{base64.NewEncoding(" !\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_").WithPadding(base64.NoPadding).EncodeToString, 3, 4}
	for shift := range 3 {
		form := uu.aligned(raw, shift)
		out = append(out, form, strings.ReplaceAll(form, " ", "`"))
	}
	return append(out, base85(raw)...)
}

// base85 returns the value in the three alphabets that are in use, at every
// alignment. Four bytes become five characters, and each depends on all four.
func base85(raw string) []string {
	const adobe = "!\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstu"
	const git = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"
	const z85 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
	var out []string
	for skip := range 4 {
		if skip >= len(raw) {
			break
		}
		part := raw[skip:]
		part = part[:len(part)/4*4]
		encoded := make([]byte, ascii85.MaxEncodedLen(len(part)))
		encoded = encoded[:ascii85.Encode(encoded, []byte(part))]
		for _, alphabet := range []string{adobe, git, z85} {
			form := make([]byte, 0, len(encoded))
			for _, c := range encoded {
				if i := strings.IndexByte(adobe, c); i >= 0 {
					form = append(form, alphabet[i])
				}
			}
			out = append(out, string(form))
		}
	}
	return out
}

func turned47(s string) string {
	return strings.Map(func(r rune) rune {
		if r > ' ' && r < 0x7F {
			return '!' + (r-'!'+47)%94
		}
		return r
	}, s)
}

// digitRuns returns the runs of at least least digits below base, with up to gap other
// characters between two of them.
func digitRuns(s string, base byte, least, gap int) []span {
	var out []span
	start, end, count := -1, -1, 0
	for i := 0; i <= len(s); i++ {
		if i < len(s) && digit(s[i]) < base {
			if start < 0 {
				start = i
			}
			end, count = i+1, count+1
			continue
		}
		if start >= 0 && (i == len(s) || i-end >= gap || digit(s[i]) < 16) {
			if count >= least {
				out = append(out, span{start, end})
			}
			start, count = -1, 0
		}
	}
	return out
}

// digit returns the value of a hex digit, and 255 for anything else.
func digit(c byte) byte {
	switch {
	case c >= '0' && c <= '9':
		return c - '0'
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return c | 0x20 - 'a' + 10
	}
	return 255
}

// fromBits returns what a run of zeros and ones spells, eight a byte.
func fromBits(run string) string {
	var out []byte
	n, have := byte(0), 0
	for i := range len(run) {
		if d := digit(run[i]); d < 2 {
			n, have = n<<1|d, have+1
		}
		if have == 8 {
			out, n, have = append(out, n), 0, 0
		}
	}
	return string(out)
}

// fromHex returns the bytes of a run of hex digits.
func fromHex(run string) []byte {
	digits := make([]byte, 0, len(run))
	for i := range len(run) {
		if digit(run[i]) < 16 {
			digits = append(digits, run[i])
		}
	}
	out := make([]byte, len(digits)/2)
	n, err := hex.Decode(out, digits[:len(out)*2])
	if err != nil {
		return nil
	}
	return out[:n]
}

// spelled returns the runs of bits, and of hex digits, that hold a secret once they
// are decoded.
func (r *Redactor) spelled(s string, depth int) []span {
	var found []span
	for _, run := range digitRuns(s, 2, 8*minPiece, 4) {
		if len(r.find(fromBits(s[run.start:run.end]), depth+1)) > 0 {
			found = append(found, run)
		}
	}
	for _, run := range digitRuns(s, 16, 32, 0) {
		if r.dataHolds(fromHex(s[run.start:run.end]), depth) {
			found = append(found, run)
		}
	}
	return found
}
