// Package secret finds credentials in text and takes them out: known values in
// any disguise with [Redactor], well-known tokens by their form, and with
// [Scanner] what a commit would add. It is pure.
package secret

import (
	"cmp"
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"log/slog"
	"net/url"
	"slices"
	"strings"
)

// Redacted replaces a secret in text.
const Redacted = "[redacted]"

// Value is a secret. Printing, logging or encoding it shows [Redacted]; only
// [Value.Reveal] returns it.
type Value string

// Reveal returns the value.
func (s Value) Reveal() string { return string(s) }

// String returns [Redacted].
func (s Value) String() string { return Redacted }

// GoString returns [Redacted], also for %#v.
func (s Value) GoString() string { return Redacted }

// LogValue returns [Redacted] for logs.
func (s Value) LogValue() slog.Value { return slog.StringValue(Redacted) }

// MarshalJSON writes [Redacted].
func (s Value) MarshalJSON() ([]byte, error) { return json.Marshal(Redacted) }

// MarshalText writes [Redacted].
func (s Value) MarshalText() ([]byte, error) { return []byte(Redacted), nil }

// span is a half-open range of bytes.
type span struct{ start, end int }

// Lengths in bytes. Secrets shorter than minSecret are words: to redact them would
// break ordinary text. Of a longer form, any piece of window bytes counts as the
// secret.
const (
	minSecret = 6
	window    = 16
	minPiece  = 8
)

// Redactor finds secrets in text, whole or in pieces, as they are or encoded.
// It does not change after it was made and is safe for concurrent use.
type Redactor struct {
	pieces      pieceSet // forms compared with squeezed text
	hexPieces   pieceSet // lower-case hex digits
	loosePieces pieceSet // letters and digits alone
	known       bool     // only these values, no token shapes
}

// Known returns a redactor of the same values that leaves other tokens alone.
// It is for what must stay as it is, such as the arguments of a call.
func (r *Redactor) Known() *Redactor {
	return &Redactor{pieces: r.pieces, hexPieces: r.hexPieces, loosePieces: r.loosePieces, known: true}
}

// NewRedactor returns a redactor for the values. Values shorter than six
// bytes are left out. Without values it still finds well-known tokens.
func NewRedactor(values ...Value) *Redactor {
	r := &Redactor{pieces: newPieceSet(), hexPieces: newPieceSet(), loosePieces: newPieceSet()}
	for _, v := range values {
		raw := strings.TrimSpace(v.Reveal())
		if len(raw) < minSecret {
			continue
		}
		for _, f := range forms(raw) {
			r.pieces.add(squeeze(f).text)
		}
		for _, f := range []string{raw, backwards(raw)} {
			r.hexPieces.add(hex.EncodeToString([]byte(f)))
		}
		r.hexPieces.add(backwards(hex.EncodeToString([]byte(raw))))
		for _, f := range []string{raw, backwards(raw)} {
			if plain := loose(f).text; len(plain) >= minLoose && !strings.Contains(plain, ".") {
				r.loosePieces.add(plain)
			}
		}
	}
	return r
}

// pieceSet is what is searched for. heads tells of the first four bytes whether a
// piece may begin so: most of a text is passed over with one look.
type pieceSet struct {
	bySize map[int]map[string]bool
	heads  *[1 << 16]bool
}

func newPieceSet() pieceSet { return pieceSet{map[int]map[string]bool{}, new([1 << 16]bool)} }

// add adds a form: whole when it is short, else every window of it.
func (p pieceSet) add(form string) {
	if len(form) < minSecret {
		return
	}
	size := min(len(form), window)
	if p.bySize[size] == nil {
		p.bySize[size] = map[string]bool{}
	}
	for i := 0; i+size <= len(form); i++ {
		p.bySize[size][form[i:i+size]] = true
		p.heads[head(form[i:])] = true
	}
}

// head mixes the first four bytes of s.
func head(s string) uint16 {
	n := uint32(s[0]) | uint32(s[1])<<8 | uint32(s[2])<<16 | uint32(s[3])<<24
	return uint16(n * 2654435761 >> 16)
}

// forms returns the spellings of a value that no view of a text undoes: reversed,
// and encoded at every alignment.
func forms(raw string) []string {
	quoted, err := json.Marshal(raw)
	out := []string{raw, backwards(raw), url.QueryEscape(raw), url.PathEscape(raw), turned13(raw)}
	if err == nil {
		out = append(out, strings.Trim(string(quoted), `"`))
	}
	std := block{base64.RawStdEncoding.EncodeToString, 3, 4}
	web := block{base64.RawURLEncoding.EncodeToString, 3, 4}
	for _, value := range []string{raw, backwards(raw)} {
		for shift := range 3 {
			out = append(out, std.aligned(value, shift), web.aligned(value, shift))
		}
	}
	by5 := block{base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString, 5, 8}
	for shift := range 5 {
		encoded := by5.aligned(raw, shift)
		out = append(out, encoded, strings.ToLower(encoded))
	}
	for _, f := range slices.Clone(out[5:]) {
		out = append(out, backwards(f))
	}
	out = append(out, rareForms(raw)...)
	return slices.DeleteFunc(out, func(f string) bool { return f != raw && len(f) < minPiece })
}

// block is how an encoding works: groups of in bytes become out characters.
type block struct {
	encode  func([]byte) string
	in, out int
}

// aligned encodes value behind shift other bytes and cuts off the characters
// that also depend on bytes before and behind it.
func (e block) aligned(value string, shift int) string {
	padded := append(make([]byte, shift), value...)
	encoded := e.encode(padded)
	head := (shift*e.out + e.in - 1) / e.in
	tail := len(encoded)
	if len(padded)%e.in != 0 {
		tail--
	}
	if head >= tail {
		return ""
	}
	return encoded[head:tail]
}

func backwards(s string) string {
	b := []byte(s)
	slices.Reverse(b)
	return string(b)
}

func turned13(s string) string {
	return strings.Map(func(r rune) rune {
		if letter(byte(r)) && r < 0x80 {
			base := r &^ 0x1F
			return base + 1 + (r-base-1+13)%26
		}
		return r
	}, s)
}

// Redact returns s with every secret replaced by [Redacted], and the number of
// replacements. A secret that is split over lines or strings is one replacement,
// from its first part to its last.
func (r *Redactor) Redact(s string) (string, int) {
	found := r.find(s, 0)
	if len(found) == 0 {
		return s, 0
	}
	slices.SortFunc(found, func(a, b span) int { return cmp.Compare(a.start, b.start) })
	var b strings.Builder
	at, count := 0, 0
	for i := 0; i < len(found); {
		whole := found[i]
		for i++; i < len(found) && found[i].start <= whole.end; i++ {
			whole.end = max(whole.end, found[i].end)
		}
		b.WriteString(s[at:whole.start])
		b.WriteString(Redacted)
		at = whole.end
		count++
	}
	b.WriteString(s[at:])
	return b.String(), count
}

// Contains reports whether s holds a secret in any form.
func (r *Redactor) Contains(s string) bool { return len(r.find(s, 0)) > 0 }

// find returns the spans of s that hold secrets, unsorted.
func (r *Redactor) find(s string, depth int) []span {
	var found []span
	if !r.known {
		found = tokenSpans(s)
	}
	if len(r.pieces.bySize) > 0 {
		found = append(found, matches(squeeze(s), r.pieces)...)
		if joined, changed := withoutGutters(s); changed {
			found = append(found, matches(joined.squeezed(), r.pieces)...)
		}
		if decoded, changed := unescapeAll(s); changed {
			found = append(found, matches(decoded.squeezed(), r.pieces)...)
		}
		found = append(found, matches(hexDigits(s), r.hexPieces)...)
		found = append(found, r.looseMatches(s)...) //control:redact-loose
	}
	if depth < 3 && (len(r.pieces.bySize) > 0 || !r.known) {
		found = append(found, r.encoded(s, depth)...)
		found = append(found, r.spelled(s, depth)...)
	}
	return found
}

// matches returns where a view shows a piece, as spans of the original.
func matches(v view, set pieceSet) []span {
	var found []span
	for i := 0; i+minSecret <= len(v.text); i++ {
		if !set.heads[head(v.text[i:])] {
			continue
		}
		for size, pieces := range set.bySize {
			if i+size <= len(v.text) && pieces[v.text[i:i+size]] {
				found = append(found, span{v.start(i), v.end(i + size - 1)})
			}
		}
	}
	return found
}
