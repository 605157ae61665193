package secret

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"testing"
)

const canary = Value("canary/Q9+z7_Kp=2mX.vB4&tRw")

// every returns s with sep after each n bytes.
func every(s string, n int, sep string) string {
	var parts []string
	for len(s) > n {
		parts, s = append(parts, s[:n]), s[n:]
	}
	return strings.Join(append(parts, s), sep)
}

func each(s, format string) string {
	var b strings.Builder
	for i := range len(s) {
		fmt.Fprintf(&b, format, s[i])
	}
	return b.String()
}

// escaped writes each fourth character of s as addresses may.
func escaped(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if i%4 == 1 {
			fmt.Fprintf(&b, "%%%02X", s[i])
		} else {
			b.WriteByte(s[i])
		}
	}
	return b.String()
}

// disguises returns a text that holds the secret, by name.
func disguises(v string) map[string]string {
	std, hexed := base64.StdEncoding.EncodeToString, hex.EncodeToString([]byte(v))
	return map[string]string{
		"plain":             v,
		"base64 std":        std([]byte(v)),
		"base64 shift 1":    std([]byte("x" + v + "yy")),
		"base64 shift 2":    std([]byte("xy" + v + "z")),
		"base64 url raw":    base64.RawURLEncoding.EncodeToString([]byte("ab" + v)),
		"base64 in prose":   std([]byte("dear reader, the key is " + v + " and that is all there is")),
		"base64 in lines":   every(std([]byte("abc"+v)), 8, "\n"),
		"hex lower":         hexed,
		"hex upper":         strings.ToUpper(hexed),
		"hex mixed":         strings.ToUpper(hexed[:20]) + hexed[20:],
		"hex dump":          every(hexed, 4, " "),
		"hex colons":        every(hexed, 2, ":"),
		"hex escapes":       each(v, `\x%02x`),
		"hex list":          each(v, "0x%02x, "),
		"unicode escapes":   each(v, `\u%04x`),
		"url query":         url.QueryEscape(v),
		"url path":          url.PathEscape(v),
		"url all":           each(v, "%%%02x"),
		"url some":          "%63" + v[1:8] + each(v[8:12], "%%%02X") + v[12:],
		"url every fourth":  escaped(v),
		"split by spaces":   every(v, 3, " "),
		"split by newlines": every(v, 5, "\n"),
		"split by quotes":   `"` + every(v, 6, `" + "`) + `"`,
		"split by dots":     `'` + every(v, 6, `' . '`) + `'`,
		"split by zero":     every(v, 2, "\u200b"),
		"split by tags":     every(v, 4, "\U000e0041"),
		"spaced out":        every(v, 1, " "),
		"half":              v[:20],
		"tail":              v[8:],
	}
}

func TestRedactKnownValues(t *testing.T) {
	r := NewRedactor(canary, "x")
	for name, text := range disguises(canary.Reveal()) {
		t.Run(name, func(t *testing.T) {
			in := "before " + text + " after"
			got, n := r.Redact(in)
			if n == 0 || !strings.Contains(got, Redacted) {
				t.Fatalf("nothing was found in %q", in)
			}
			if !strings.HasPrefix(got, "before ") {
				t.Errorf("too much was taken: %q", got)
			}
			if again, m := r.Redact(got); m != 0 || again != got {
				t.Errorf("not stable: %q then %q", got, again)
			}
		})
	}
}

func TestRedactKeepsText(t *testing.T) {
	r := NewRedactor(canary, "hunter2secret")
	for _, s := range []string{
		"", "an ordinary sentence about keys and secrets", "commit 3f786850e387550fdab836ed7e6dc881de23001b",
		"go.sum h1:Ew4xi5S7iQeYcGXAhH0xQZ8Kn9gR3nF5wWZ3kT6Rp2A=", "https://example.org/a?b=c", "1, 2, 3, 4, 5, 6, 7, 8, 9, 10",
		"data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAUA", "func main() { fmt.Println(\"canary\") }", "user@example.org",
	} {
		if got, n := r.Redact(s); n != 0 || got != s {
			t.Errorf("Redact(%q) = %q, %d", s, got, n)
		}
	}
}

func TestRedactTokenShapes(t *testing.T) {
	body := strings.Repeat("aB3", 20)
	for name, token := range map[string]string{
		"installation token":      "ghs_" + body,
		"long installation token": "ghs_123456_" + body + "." + body + "." + body + "-" + body,
		"personal token":          "ghp_" + body[:36],
		"fine-grained token":      "github_pat_" + body,
		"aws":                     "AKIA" + "IOSFODNN7EXAMPLE"[:16],
		"slack":                   "xoxb-123456789012-" + body,
		"google":                  "AIza" + body[:35],
		"stripe":                  "sk_live_" + body,
		"gitlab":                  "glpat-" + body,
		"npm":                     "npm_" + body[:36],
		"private key":             "-----BEGIN OPENSSH PRIVATE KEY-----\n" + body + "\n-----END OPENSSH PRIVATE KEY-----",
		"private key cut off":     "-----BEGIN RSA PRIVATE KEY-----\n" + body,
		"jwt":                     "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0." + body,
		"basic credentials":       "https://user:" + body + "@example.org/x",
		"header":                  "Authorization: Bearer " + body,
	} {
		t.Run(name, func(t *testing.T) {
			got, n := NewRedactor().Redact("a " + token + " b")
			if n != 1 || strings.Contains(got, body[:30]) || !strings.HasPrefix(got, "a ") {
				t.Errorf("Redact(%q) = %q, %d", token, got, n)
			}
		})
	}
}

func TestSecretHidesItself(t *testing.T) {
	var b bytes.Buffer
	slog.New(slog.NewTextHandler(&b, nil)).Info("x", "token", canary)
	fmt.Fprintf(&b, "%s %v %q %#v %+v", canary, canary, canary, canary, struct{ S Value }{canary})
	if err := json.NewEncoder(&b).Encode(map[Value]any{canary: []Value{canary}}); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(b.String(), canary.Reveal()) {
		t.Errorf("the secret is in %q", b.String())
	}
	if canary.Reveal() != string(canary) {
		t.Error("Reveal does not return the value")
	}
}

func FuzzRedact(f *testing.F) {
	f.Add("a", "b", uint8(0))
	f.Add("text %41 \\x41 &#65; ", "H4sIAAAA", uint8(7))
	r := NewRedactor(canary)
	forms := disguises(canary.Reveal())
	names := make([]string, 0, len(forms))
	for n := range forms {
		names = append(names, n)
	}
	f.Fuzz(func(t *testing.T, before, after string, pick uint8) {
		if len(before)+len(after) > 4000 {
			return
		}
		in := before + " " + canary.Reveal() + "\n" + forms[names[int(pick)%len(names)]] + " " + after
		got, n := r.Redact(in)
		if n == 0 || strings.Contains(got, canary.Reveal()) || r.Contains(got) {
			t.Fatalf("Redact(%q) = %q, %d", in, got, n)
		}
	})
}

// TestHostileTextsEnd redacts text that is made to be slow: openings without
// ends, nesting, runs. There is no clock here: one that is not near linear
// makes the test hang.
func TestHostileTextsEnd(t *testing.T) {
	const size = 64 << 10
	r := NewRedactor(canary)
	for name, unit := range map[string]string{
		"base64": "QUFB", "base64 rows": "QUFBQUFB\n", "gzip heads": "H4sI", "numbers": "65, ", "escapes": "%41", "hex": "6a", "quotes joined": "\"+\"",
		"entities": "&amp;", "entity chain": "&", "slashes": "\\", "controls": "\x1b[", "selectors": "\ufe0f", "joiners": "क\u200d", "quotes": "> ", "tables": "|a",
		"comments open": "<!-- ", "ticks": "`` ` ", "keys": "-----BEGIN PRIVATE KEY-----", "jwt": "eyJ", "credentials": "://a:", "urls": "https://a",
	} {
		t.Run(name, func(t *testing.T) {
			s := strings.Repeat(unit, size/len(unit))
			if red, _ := r.Redact(s + canary.Reveal()); r.Contains(red) {
				t.Error("Redact leaves something")
			}
		})
	}
}
