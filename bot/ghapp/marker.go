package ghapp

import (
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// markerRoom is the room that the hidden marker takes at the end of a body,
// at most, in characters.
const markerRoom = 256

var keyRE = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:/-]{0,199}$`)

// checkKey refuses keys that could not stand in an HTML comment.
func checkKey(key string) error {
	if !keyRE.MatchString(key) || strings.Contains(key, "--") || strings.HasSuffix(key, "-") {
		return fmt.Errorf("key %q cannot stand in a marker; use letters, digits and . _ : / -", key)
	}
	return nil
}

// Digest makes a short stable name from parts, fit for a key.
func Digest(parts ...string) string {
	h := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(h[:8]))
}

// marker is the hidden end of a body by which a write is found again.
func marker(key string) string { return "<!-- handrail:" + key + " -->" }

// mark appends the marker to a body and checks the length.
func mark(body, key string) (string, error) {
	out := body + "\n\n" + marker(key)
	if n := utf8.RuneCountInString(out); n > maxBody {
		return "", fmt.Errorf("the text has %d characters with its marker, GitHub takes %d; split it", n, maxBody)
	}
	return out, nil
}

// marked reports whether body ends with the marker of key. Only the end
// counts: a quoted marker further up is somebody's quotation.
func marked(body, key string) bool {
	return strings.HasSuffix(strings.TrimRight(body, " \t\r\n"), marker(key))
}
