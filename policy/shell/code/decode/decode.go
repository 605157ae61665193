// Package decode undoes the encodings that hide a text in a program. It is
// pure.
package decode

import (
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strings"
	"unicode/utf16"
)

// Text returns the text that an encoding hides: base64, UTF-16 in
// base64, hex, rot13 or reverse.
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
