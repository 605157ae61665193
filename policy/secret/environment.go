package secret

import (
	"math"
	"net/url"
	"slices"
	"strings"
)

// secretWords are words in the names of variables that hold credentials.
var secretWords = []string{
	"KEY", "APIKEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "PASS", "PWD", "CREDENTIAL", "CREDENTIALS", "CREDS",
	"AUTH", "COOKIE", "DSN", "PAT", "SALT", "SIGNATURE", "PRIVATE",
}

// placeWords are final words in the names of variables that hold locations or
// identifiers.
var placeWords = []string{
	"FILE", "PATH", "DIR", "SOCK", "SOCKET", "URL", "URI", "HOST", "ID", "NAME", "USER", "TYPE", "ALGORITHM",
}

// FromEnvironment returns the values that look like credentials: because of a word in the
// variable's name, a password in a URL, or a long and random-looking value. environ has
// the form of [os.Environ].
func FromEnvironment(environ []string) []Value {
	var out []Value
	for _, kv := range environ {
		name, value, _ := strings.Cut(kv, "=")
		if u, err := url.Parse(value); err == nil && u.User != nil {
			if password, ok := u.User.Password(); ok {
				out = append(out, Value(password))
			}
		}
		if len(value) >= minSecret && (secretName(name) || looksRandom(value)) { //control:random-values
			out = append(out, Value(value))
		}
	}
	return out
}

func secretName(name string) bool {
	name = strings.ToUpper(name)
	words := strings.FieldsFunc(name, func(r rune) bool { return (r < 'A' || r > 'Z') && (r < '0' || r > '9') })
	if len(words) == 0 || name == "PWD" || name == "OLDPWD" || slices.Contains(placeWords, words[len(words)-1]) {
		return false
	}
	return slices.ContainsFunc(words, func(w string) bool {
		return slices.ContainsFunc(
			secretWords,
			func(s string) bool { return w == s || len(s) > 4 && strings.HasSuffix(w, s) },
		)
	})
}

// looksRandom reports whether a value is a single long word with the character mix of a
// generated key.
func looksRandom(value string) bool {
	if len(value) < 20 || strings.ContainsAny(value, " \t\n,;:@\\") || strings.HasPrefix(value, "/") ||
		strings.HasPrefix(value, ".") {
		return false
	}
	digits, letters := 0, 0
	var count [256]int
	for i := range len(value) {
		count[value[i]]++
		switch c := value[i]; {
		case c >= '0' && c <= '9':
			digits++
		case letter(c):
			letters++
		}
	}
	if digits < 3 || letters < 3 {
		return false
	}
	bits := 0.0
	for _, n := range count {
		if n > 0 {
			p := float64(n) / float64(len(value))
			bits -= p * math.Log2(p)
		}
	}
	return bits >= 3.3 && !hasWords(value)
}

// hasWords reports whether a value consists mostly of plain words. Names with hyphens and
// numbers are not keys.
func hasWords(value string) bool {
	inWords := 0
	for _, part := range strings.FieldsFunc(value, func(r rune) bool { return strings.ContainsRune("-_./+=", r) }) {
		lower, upper, number := strings.ToLower(part) == part, strings.ToUpper(part) == part, strings.ContainsAny(part, "0123456789")
		if !number && (lower || upper || part[1:] == strings.ToLower(part[1:])) || len(part) <= 3 {
			inWords += len(part) + 1
		}
	}
	return inWords*2 > len(value)
}
