package secret

import (
	"bytes"
	"compress/bzip2"
	"compress/gzip"
	"compress/zlib"
	"encoding/base64"
	"html"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/handrail-bot/handrail/policy/pattern"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

// view is a text made from another one. from[i] and to[i] are where the byte
// i of the view begins and ends in the original; both nil means it is the
// original.
type view struct {
	text     string
	from, to []int32
}

func (v view) start(i int) int {
	if v.from == nil {
		return i
	}
	return int(v.from[i])
}

func (v view) end(i int) int {
	if v.to == nil {
		return i + 1
	}
	return int(v.to[i])
}

func (v *view) put(from, to int) {
	v.from = append(v.from, int32(from))
	v.to = append(v.to, int32(to))
}

// joinedStrings matches what stands between two halves of a string in code.
var joinedStrings = pattern.Lazy("^[\"'`]\\s*(?:\\+|\\.\\.?|&|,|\\\\)?\\s*[\"'`]")

// squeeze returns s without what secrets are split with: space, quotes,
// string joins, backslashes, invisible characters.
func squeeze(s string) view { return view{text: s}.squeezed() }

func (v view) squeezed() view {
	if !strings.ContainsFunc(v.text, splitter) {
		return v
	}
	out := view{from: make([]int32, 0, len(v.text)), to: make([]int32, 0, len(v.text))}
	var b strings.Builder
	for i := 0; i < len(v.text); {
		if c := v.text[i]; c == '"' || c == '\'' || c == '`' {
			if m := joinedStrings().FindStringIndex(v.text[i:min(len(v.text), i+256)]); m != nil {
				i += m[1]
				continue
			}
		}
		r, size := utf8.DecodeRuneInString(v.text[i:])
		if !splitter(r) || r == utf8.RuneError {
			for k := i; k < i+size; k++ {
				b.WriteByte(v.text[k])
				out.put(v.start(k), v.end(k))
			}
		}
		i += size
	}
	out.text = b.String()
	return out
}

// gutter is what viewers put before each line: its number, a sign of a diff
// or of a quotation.
var gutter = pattern.Lazy(`\n[ \t]*(?:[0-9]+[ \t]*[|:\t]|[-+>|])[ \t]?`)

// withoutGutters joins lines that were numbered or quoted.
func withoutGutters(s string) (view, bool) {
	list := gutter().FindAllStringIndex(s, -1)
	if len(list) == 0 {
		return view{}, false
	}
	return replaced(s, list, func(string) string { return "" }), true
}

// replaced is the view of s in which the spans of list are what with makes of
// them.
func replaced(s string, list [][]int, with func(string) string) view {
	var out view
	var b strings.Builder
	at := 0
	for _, m := range append(list, []int{len(s), len(s)}) {
		for ; at < m[0]; at++ {
			b.WriteByte(s[at])
			out.put(at, at+1)
		}
		for _, c := range []byte(with(s[m[0]:m[1]])) {
			b.WriteByte(c)
			out.put(m[0], m[1])
		}
		at = m[1]
	}
	out.text = b.String()
	return out
}

func splitter(r rune) bool {
	if r < 0x80 {
		return r <= ' ' || r == '"' || r == '\'' || r == '`' || r == '\\' || r == 0x7F
	}
	return r == 0xA0 || r >= 0x2000 && r <= 0x200F || r == 0x3000 || untrusted.Invisible(r)
}

var escapes = pattern.Lazy(`^(?:%[0-9a-fA-F]{2}|\\x[0-9a-fA-F]{2}|\\u00[0-9a-fA-F]{2}|\\[0-3][0-7]{2}|&#[0-9]{1,7};|&#[xX][0-9a-fA-F]{1,6};|&[a-z]{2,6};|=[0-9A-F]{2})`)

// unescapeAll decodes percent, backslash, entity and quoted-printable escapes.
func unescapeAll(s string) (view, bool) {
	var list [][]int
	for i := 0; i < len(s); i++ {
		if strings.IndexByte(`%\&=`, s[i]) < 0 {
			continue
		}
		if m := escapes().FindStringIndex(s[i:min(len(s), i+12)]); m != nil {
			list = append(list, []int{i, i + m[1]})
			i += m[1] - 1
		}
	}
	if len(list) == 0 {
		return view{}, false
	}
	return replaced(s, list, decodeEscape), true
}

func decodeEscape(e string) string {
	if e == "" {
		return ""
	}
	digits, base := e[1:], 16
	switch {
	case e[0] == '&':
		return html.UnescapeString(e)
	case e[0] == '\\' && e[1] == 'x', e[0] == '\\' && e[1] == 'u':
		digits = e[len(e)-2:]
	case e[0] == '\\':
		base = 8
	}
	n, err := strconv.ParseUint(digits, base, 8)
	if err != nil {
		return e
	}
	return string([]byte{byte(n)})
}

// hexPrefix returns the length of what announces hex digits at the start of
// s, such as 0x, and 0 without it.
func hexPrefix(s string) int {
	switch {
	case len(s) < 2:
		return 0
	case s[0] == '0' && s[1] == 'x', s[0] == '\\' && s[1] == 'x':
		return 2
	case s[0] == '\\' && strings.HasPrefix(s, `\u00`):
		return 4
	}
	return 0
}

// hexDigits returns the hex digits of s in lower case and nothing else.
// Digits that are farther apart than prefixes and separators reach do not
// belong together.
func hexDigits(s string) view {
	var out view
	var b strings.Builder
	last := -1
	for i := 0; i < len(s); i++ {
		c := s[i]
		if k := hexPrefix(s[i:]); k > 0 {
			i += k - 1
			continue
		}
		if c >= 'A' && c <= 'F' {
			c |= 0x20
		}
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			continue
		}
		if last >= 0 && i-last > 8 {
			b.WriteByte('.')
			out.put(i, i)
		}
		last = i
		b.WriteByte(c)
		out.put(i, i+1)
	}
	out.text = b.String()
	return out
}

var (
	rowBreak = pattern.Lazy(`["'\\]{0,3}(?:\\n|\r?\n)[ \t"'>|]*`)
	wholeGap = pattern.Lazy(`^["'\\]{0,3}(?:\\n|\r?\n)[ \t"'>|]*$`)
)

// encoded returns the runs of base64, compressed or not, and the lists of
// byte values that hold a secret once they are decoded.
func (r *Redactor) encoded(s string, depth int) []span {
	var found []span
	rows := span{-1, -1}
	flush := func() {
		if rows.start < 0 {
			return
		}
		if at := r.rowsHold(s[rows.start:rows.end], depth); at >= 0 {
			found = append(found, span{rows.start + at, rows.end})
		}
		rows = span{-1, -1}
	}
	last := span{-1, -1}
	for _, run := range base64Runs(s) {
		if run.end-run.start >= 16 && r.runHolds(s[run.start:run.end], depth) {
			found = append(found, run)
		}
		if gap := run.start - last.end; last.end >= 0 && gap <= 24 && wholeGap().MatchString(s[last.end:run.start]) {
			if rows.start < 0 {
				rows.start = last.start
			}
			rows.end = run.end
		} else {
			flush()
		}
		last = run
	}
	flush()
	for _, list := range byteLists(s) {
		for _, base := range []int{10, 8} {
			if len(r.find(bytesOf(s[list.start:list.end], base), depth+1)) > 0 {
				found = append(found, list)
			}
		}
	}
	return found
}

// base64Runs returns the runs of four and more characters of base64.
func base64Runs(s string) []span {
	var out []span
	start := -1
	for i := 0; i <= len(s); i++ {
		if i < len(s) && (wordByte(s[i]) || s[i] == '+' || s[i] == '/' || s[i] == '-') {
			if start < 0 {
				start = i
			}
			continue
		}
		if start >= 0 && i-start >= 4 {
			out = append(out, span{start, i})
		}
		start = -1
	}
	return out
}

// byteLists returns the lists of eight and more numbers of up to three
// digits with up to four other characters between them.
func byteLists(s string) []span {
	var out []span
	start, end, count := -1, -1, 0
	flush := func() {
		if count >= 8 {
			out = append(out, span{start, end})
		}
		start, count = -1, 0
	}
	for i := 0; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			if start >= 0 && (i-end > 4 || s[i] == '\n' && i-end > 1) {
				flush()
			}
			continue
		}
		k := i
		for k < len(s) && s[k] >= '0' && s[k] <= '9' {
			k++
		}
		if k-i > 3 {
			flush()
		} else {
			if start < 0 {
				start = i
			}
			count++
		}
		end, i = k, k-1
	}
	flush()
	return out
}

// bytesOf returns the bytes that a list of numbers of a base spells.
func bytesOf(list string, base int) string {
	var b []byte
	for _, word := range strings.FieldsFunc(list, func(r rune) bool { return r < '0' || r > '9' }) {
		if n, err := strconv.ParseUint(word, base, 8); err == nil {
			b = append(b, byte(n))
		}
	}
	return string(b)
}

// rowsHold returns the index in rows at which a run of base64 with a secret begins, or
// -1. It also tries the next few rows as the first, since a word in front may only
// look like base64.
func (r *Redactor) rowsHold(rows string, depth int) int {
	at := 0
	for range 4 {
		if r.runHolds(rowBreak().ReplaceAllString(rows[at:], ""), depth) {
			return at
		}
		next := rowBreak().FindStringIndex(rows[at:])
		if next == nil {
			break
		}
		at += next[1]
	}
	return -1
}

// runHolds reports whether a run of base64 holds a secret. It decodes the run from its
// beginning, and from where a compressed stream begins.
func (r *Redactor) runHolds(run string, depth int) bool {
	compact := strings.NewReplacer("-", "+", "_", "/", "=", "").Replace(run)
	starts := []int{0}
	for _, magic := range []string{"H4sI", "eJ", "eN", "eA", "eF", "QlpoO"} {
		if k := strings.Index(compact, magic); k > 0 {
			starts = append(starts, k)
		}
	}
	for _, k := range starts {
		part := compact[k:]
		if len(part)%4 == 1 {
			part = part[:len(part)-1]
		}
		if data, err := base64.RawStdEncoding.DecodeString(part); err == nil && r.dataHolds(data, depth) {
			return true
		}
	}
	return false
}

// dataHolds reports whether decoded data, compressed or not, holds a secret.
func (r *Redactor) dataHolds(data []byte, depth int) bool {
	if len(data) < minPiece {
		return false
	}
	if wide := bytes.Count(data, []byte{0}); wide > 0 && wide*3 > len(data) {
		data = bytes.ReplaceAll(data, []byte{0}, nil) // UTF-16
	}
	if plain := inflate(data); plain != nil && len(r.find(string(plain), depth+1)) > 0 {
		return true
	}
	return depth < 2 && mostlyText(data) && len(r.find(string(data), depth+1)) > 0
}

// mostlyText reports whether decoded data is worth a search. Any word decodes to
// something, mostly to random bytes.
func mostlyText(data []byte) bool {
	odd := 0
	for _, c := range data {
		if c >= 0x7F || c < ' ' && c != '\n' && c != '\t' && c != '\r' {
			odd++
		}
	}
	return odd*4 <= len(data)
}

// inflate decompresses gzip or zlib data as far as it goes, up to 1 MiB.
func inflate(data []byte) []byte {
	var src io.Reader
	var err error
	switch {
	case len(data) > 2 && data[0] == 0x1F && data[1] == 0x8B:
		src, err = gzip.NewReader(bytes.NewReader(data))
	case bytes.HasPrefix(data, []byte("BZh")):
		src = bzip2.NewReader(bytes.NewReader(data))
	case len(data) > 2 && data[0] == 0x78:
		src, err = zlib.NewReader(bytes.NewReader(data))
	default:
		return nil
	}
	if err != nil {
		return nil
	}
	plain, _ := io.ReadAll(io.LimitReader(src, 1<<20)) // a stream that was cut still shows its beginning
	return plain
}
