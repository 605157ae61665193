package ghapp

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/handrail-bot/handrail/policy/pattern"
)

// markerRoom is the maximum length of the hidden marker at the end of a body, in
// characters.
const markerRoom = 256

var keyRE = pattern.Lazy(`^[A-Za-z0-9][A-Za-z0-9._:/-]{0,199}$`)

// checkKey refuses keys that are not valid inside an HTML comment.
func checkKey(key string) error {
	if !keyRE().MatchString(key) || strings.Contains(key, "--") || strings.HasSuffix(key, "-") {
		return fmt.Errorf("key %q cannot stand in a marker; use letters, digits and . _ : / -", key)
	}
	return nil
}

// Digest derives a short stable name from parts. It is a valid part of a key.
func Digest(parts ...string) string {
	h := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(h[:8]))
}

// marker returns the hidden end of a body, by which a write is found again. With sum,
// it proves that the body came from this server.
func marker(key, sum string) string {
	if sum != "" {
		key += " " + sum
	}
	return "<!-- handrail:" + key + " -->"
}

// sum binds a body and a key to this server's secret. It normalizes the body as GitHub
// does, and returns "" if there is no secret.
func (a *App) sum(body, key string) string {
	body = strings.TrimSpace(strings.ReplaceAll(body, "\r\n", "\n"))
	return a.cfg.Own.Sign(key + "\x00" + body)
}

// mark appends the marker to a body and checks the length.
func (c *Client) mark(w Write, body string) (string, error) {
	out := body + "\n\n" + marker(w.Key, c.app.sum(body, w.Key))
	if n := utf8.RuneCountInString(out); n > maxBody {
		return "", &Error{
			Op:  "write " + string(w.Kind),
			Err: fmt.Errorf("the text has %d characters with its marker, GitHub takes %d; split it", n, maxBody),
		}
	}
	return out, nil
}

var markerRE = pattern.Lazy(`<!-- handrail:([^\s<>]+)(?: ([0-9a-f]{64}))? -->\s*$`)

// Written reports whether this server wrote a body in exactly this form, by the
// checksum in its marker. key is the marker's unverified key, "" if there is no marker:
// markers can be copied.
func (a *App) Written(body string) (ours bool, key string) {
	m := markerRE().FindStringSubmatchIndex(body)
	if m == nil {
		return false, ""
	}
	key = body[m[2]:m[3]]
	return m[4] >= 0 && hmac.Equal([]byte(body[m[4]:m[5]]), []byte(a.sum(body[:m[0]], key))), key //control:own-marker
}

// HasMarker reports whether a text ends with a marker, whether genuine or copied.
func HasMarker(body string) bool { return markerRE().MatchString(body) }

// hasMarkerOf reports whether body ends with the marker of key. A marker further up is a
// quotation and does not count.
func hasMarkerOf(body, key string) bool {
	m := markerRE().FindStringSubmatch(body)
	return m != nil && m[1] == key
}
