// Package secret finds and redacts credentials in text: known values, plain or encoded in
// base64, hex or URLs, and well-known token formats. [Scanner] finds more in the changes
// of a commit. The package is pure.
package secret

import (
	"cmp"
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

// Value is a secret. Printing, logging or encoding it yields [Redacted]; only
// [Value.Reveal] returns it.
type Value string

// Reveal returns the secret in plain text.
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

// Lengths in bytes. Secrets shorter than minSecret are ordinary words; redacting them
// would break text. In longer forms, any piece of window bytes counts as the secret.
const (
	minSecret = 6
	window    = 16
	minPiece  = 8
)

// Redactor finds secrets in text, whole or in pieces, plain or encoded. It is immutable
// and safe for concurrent use.
type Redactor struct {
	pieces    pieceSet // forms to find in squeezed text
	hexPieces pieceSet // forms to find in hex digits
	known     bool     // find only these values, no token formats
}

// Known returns a redactor of the same values that ignores token formats. It is for text
// that must not change otherwise, such as the arguments of a call.
func (r *Redactor) Known() *Redactor {
	return &Redactor{pieces: r.pieces, hexPieces: r.hexPieces, known: true}
}

// NewRedactor returns a redactor for the values. It ignores values shorter than six
// bytes. Without values it still finds well-known token formats.
func NewRedactor(values ...Value) *Redactor {
	r := &Redactor{pieces: newPieceSet(), hexPieces: newPieceSet()}
	for _, v := range values {
		raw := strings.TrimSpace(v.Reveal())
		if len(raw) < minSecret {
			continue
		}
		for _, f := range forms(raw) {
			r.pieces.add(squeeze(view{text: f}).text)
		}
		r.hexPieces.add(hex.EncodeToString([]byte(raw)))
	}
	return r
}

// pieceSet is a set of strings to search for. heads is a filter on the first four bytes,
// so that the search skips most of a text with one lookup per byte.
type pieceSet struct {
	bySize map[int]map[string]bool
	heads  *[1 << 16]bool
}

func newPieceSet() pieceSet { return pieceSet{map[int]map[string]bool{}, new([1 << 16]bool)} }

// add adds a form: the whole if it is short, otherwise every window.
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

// head hashes the first four bytes of s.
func head(s string) uint16 {
	n := uint32(s[0]) | uint32(s[1])<<8 | uint32(s[2])<<16 | uint32(s[3])<<24
	return uint16(n * 2654435761 >> 16)
}

// forms returns the encodings of a value that no view of a text decodes: URL query, JSON
// string, and base64 at every alignment.
func forms(raw string) []string {
	out := []string{raw, url.QueryEscape(raw)}
	if quoted, err := json.Marshal(raw); err == nil {
		out = append(out, strings.Trim(string(quoted), `"`))
	}
	for shift := range 3 {
		out = append(out, aligned(base64.RawStdEncoding, raw, shift), aligned(base64.RawURLEncoding, raw, shift))
	}
	return slices.DeleteFunc(out, func(f string) bool { return f != raw && len(f) < minPiece })
}

// aligned encodes value at an offset of shift bytes, without the characters that also
// depend on adjacent bytes.
func aligned(enc *base64.Encoding, value string, shift int) string {
	padded := append(make([]byte, shift), value...)
	encoded := enc.EncodeToString(padded)
	head, tail := (shift*4+2)/3, len(encoded)
	if len(padded)%3 != 0 {
		tail--
	}
	return encoded[min(head, tail):tail]
}

// Redact replaces every secret in s with [Redacted], and returns the number of
// replacements. A secret split over lines or strings counts as one, from its first part
// to its last.
func (r *Redactor) Redact(s string) (string, int) { return replaceSpans(s, r.find(s)) }

// replaceSpans replaces spans of s with [Redacted]. Spans that touch become one.
func replaceSpans(s string, found []span) (string, int) {
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

// Contains reports whether s contains a secret in any form.
func (r *Redactor) Contains(s string) bool { return len(r.find(s)) > 0 }

// find returns the spans of s that contain secrets, unsorted. It searches each view of
// the text once.
func (r *Redactor) find(s string) []span {
	var found []span
	if !r.known {
		found = tokenSpans(s)
	}
	if len(r.pieces.bySize) == 0 {
		return found
	}
	found = append(found, matches(squeeze(view{text: s}), r.pieces)...)
	if decoded, changed := unescape(s); changed {
		found = append(found, matches(squeeze(decoded), r.pieces)...) //control:redact-addresses
	}
	return append(found, matches(hexDigits(s), r.hexPieces)...)
}

// matches returns the occurrences of pieces in a view, as spans of the original.
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
