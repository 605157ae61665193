package policy

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Size is a number of bytes, written as "512m" or "4g".
type Size int64

var sizeUnits = [...]struct {
	suffix string
	bytes  int64
}{
	{"gib", 1 << 30}, {"mib", 1 << 20}, {"kib", 1 << 10},
	{"gb", 1 << 30}, {"mb", 1 << 20}, {"kb", 1 << 10},
	{"g", 1 << 30}, {"m", 1 << 20}, {"k", 1 << 10}, {"b", 1},
}

// String returns the size in the largest unit that divides it.
func (s Size) String() string {
	for _, u := range []struct {
		suffix string
		bytes  Size
	}{{"g", 1 << 30}, {"m", 1 << 20}, {"k", 1 << 10}} {
		if s != 0 && s%u.bytes == 0 {
			return strconv.FormatInt(int64(s/u.bytes), 10) + u.suffix
		}
	}
	return strconv.FormatInt(int64(s), 10)
}

// MarshalText writes the size as [Size.String] does.
func (s Size) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText parses an integer with an optional unit k, m or g, each 1,024 times the
// previous one.
func (s *Size) UnmarshalText(text []byte) error {
	word, unit := strings.ToLower(strings.TrimSpace(string(text))), int64(1)
	for _, u := range sizeUnits {
		if rest, ok := strings.CutSuffix(word, u.suffix); ok {
			word, unit = strings.TrimSpace(rest), u.bytes
			break
		}
	}
	n, err := strconv.ParseInt(word, 10, 64)
	if err != nil || n < 0 || n > math.MaxInt64/unit {
		return fmt.Errorf("parse size: %q is not a number of bytes such as 512m or 4g", text)
	}
	*s = Size(n * unit)
	return nil
}
