// Package decode undoes the encodings that hide a text in a program. It is
// pure.
package decode

import (
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
)

// Text returns the text that an encoding hides: base64, UTF-16 in base64,
// base32 in both alphabets, hex, bits, a line of uuencode, UTF-7, rot13, bytes
// in pairs the other way round (swab), or all of it backwards.
func Text(how, s string) (string, bool) {
	switch how {
	case "base64":
		return fromBase64(s)
	case "utf-16": // little-endian, in base64
		raw, ok := fromBase64(s)
		units := make([]uint16, len(raw)/2)
		for i := range units {
			units[i] = uint16(raw[2*i]) | uint16(raw[2*i+1])<<8
		}
		return string(utf16.Decode(units)), ok && len(raw) > 0 && len(raw)%2 == 0
	case "hex":
		b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
		return string(b), err == nil
	case "base32":
		return fromBase32(base32.StdEncoding, s)
	case "base32hex":
		return fromBase32(base32.HexEncoding, s)
	case "bits":
		return fromBits(s)
	case "uuencode":
		return fromUU(s)
	case "utf-7":
		return fromUTF7(s), true
	case "swab":
		b := []byte(s)
		for i := 0; i+1 < len(b); i += 2 {
			b[i], b[i+1] = b[i+1], b[i]
		}
		return string(b), true
	case "rot13":
		return strings.Map(rot13, s), true
	case "reverse":
		runes := []rune(s)
		slices.Reverse(runes)
		return string(runes), true
	}
	return "", false
}

func fromBase64(s string) (string, bool) {
	s = strings.NewReplacer("-", "+", "_", "/", "\n", "", " ", "").Replace(strings.TrimRight(s, "=\n "))
	b, err := base64.RawStdEncoding.DecodeString(s)
	return string(b), err == nil
}

func rot13(c rune) rune {
	switch {
	case c >= 'a' && c <= 'z':
		return 'a' + (c-'a'+13)%26
	case c >= 'A' && c <= 'Z':
		return 'A' + (c-'A'+13)%26
	}
	return c
}

func fromBase32(e *base32.Encoding, s string) (string, bool) {
	b, err := e.WithPadding(base32.NoPadding).DecodeString(strings.TrimRight(s, "=\n "))
	return string(b), err == nil
}

// fromBits reads bits, eight to a character, the first the most worth.
func fromBits(s string) (string, bool) {
	s = strings.Join(strings.Fields(s), "")
	var out []byte
	for ; len(s) >= 8; s = s[8:] {
		v, err := strconv.ParseUint(s[:8], 2, 8)
		if err != nil {
			return "", false
		}
		out = append(out, byte(v))
	}
	return string(out), s == "" && len(out) > 0
}

// fromUU reads a line of uuencode: a length, then three characters in four.
func fromUU(s string) (string, bool) {
	if len(s) < 5 || s[0] <= ' ' || s[0] > 'M' {
		return "", false
	}
	n, out := int(s[0]-' '), []byte{}
	for s = s[1:]; len(s) >= 4 && len(out) < n; s = s[4:] {
		v := 0
		for i := range 4 {
			if s[i] < ' ' || s[i] > '`' {
				return "", false
			}
			v = v<<6 | int(s[i]-' ')&63
		}
		out = append(out, byte(v>>16), byte(v>>8), byte(v))
	}
	if len(out) < n {
		return "", false
	}
	return string(out[:n]), true
}

// fromUTF7 reads what stands between + and - as UTF-16 in base64.
func fromUTF7(s string) string {
	var b strings.Builder
	for {
		plain, rest, ok := strings.Cut(s, "+")
		b.WriteString(plain)
		if !ok {
			return b.String()
		}
		end := strings.IndexFunc(rest, func(r rune) bool {
			return (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '+' && r != '/'
		})
		if end < 0 {
			end = len(rest)
		}
		raw, _ := fromBase64(rest[:end])
		for i := 0; i+1 < len(raw); i += 2 {
			b.WriteRune(rune(raw[i])<<8 | rune(raw[i+1]))
		}
		s = strings.TrimPrefix(rest[end:], "-")
	}
}
