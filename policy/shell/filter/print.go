package filter

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"mvdan.cc/sh/v3/expand"

	"github.com/handrail-bot/handrail/policy/shell/argv"
)

// maxRounds is how often a format or a sequence is continued.
const maxRounds = 256

// Printf is the output of printf: the format is used again as long as there
// are arguments. It reports false when the output is not known.
func Printf(args []string) (string, bool) {
	if len(args) == 0 {
		return "", true
	}
	format, rest := strings.NewReplacer("%q", "%s", "%Q", "%s").Replace(args[0]), slices.Clone(args[1:])
	if strings.Contains(format, "%b") {
		format = strings.ReplaceAll(format, "%b", "%s")
		for i, s := range rest {
			rest[i] = Unescape(s, true)
		}
	}
	if wide(format) {
		return "", false
	}
	var b strings.Builder
	cfg := &expand.Config{} // without one the library takes one for all that run at once, and mixes their texts
	for range maxRounds {
		out, n, err := expand.Format(cfg, format, rest)
		if err != nil {
			return "", false
		}
		b.WriteString(out)
		if n == 0 || n >= len(rest) {
			break
		}
		rest = rest[n:]
	}
	return b.String(), true
}

// wide reports whether a format asks for padding without a limit.
func wide(format string) bool {
	digits := 0
	for _, c := range format {
		if c < '0' || c > '9' {
			digits = 0
			continue
		}
		if digits++; digits > 3 {
			return strings.Contains(format, "%")
		}
	}
	return false
}

// Sequence is the output of seq, up to a limit.
func Sequence(args argv.List) (string, bool) {
	lo, step := 1, 1
	start := slices.IndexFunc(args, func(a argv.Word) bool { return strings.Trim(a.S, "-0123456789") == "" && a.S != "--" })
	if start < 0 || args[:start].Has("s", "f", "separator", "format") {
		return "", false
	}
	nums := make([]int, len(args)-start)
	for i, a := range args[start:] {
		n, err := strconv.Atoi(a.S)
		if err != nil {
			return "", false
		}
		nums[i] = n
	}
	switch len(nums) {
	case 2:
		lo = nums[0]
	case 3:
		lo, step = nums[0], nums[1]
	}
	var b strings.Builder
	hi := nums[len(nums)-1]
	for i, n := lo, 0; n < maxRounds && (step > 0 && i <= hi || step < 0 && i >= hi); i, n = i+step, n+1 {
		b.WriteString(strconv.Itoa(i) + "\n")
	}
	return b.String(), true
}

// Unescape decodes backslash escapes as $'…', printf and echo -e do. In the
// echo form octal numbers start with a zero and \c ends the text.
func Unescape(s string, echo bool) string {
	if !strings.ContainsRune(s, '\\') {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 >= len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		n, stop := oneEscape(&b, s[i:], echo)
		if stop {
			break
		}
		i += n - 1
	}
	return b.String()
}

// oneEscape decodes the escape at the start of s, after its backslash, and
// returns how many bytes it took.
func oneEscape(b *strings.Builder, s string, echo bool) (n int, stop bool) {
	const letters, values = "abeEfnrtv", "\a\b\x1b\x1b\f\n\r\t\v"
	c := s[0]
	if at := strings.IndexByte(letters, c); at >= 0 {
		b.WriteByte(values[at])
		return 1, false
	}
	switch {
	case c == 'c' && echo:
		return 0, true
	case c == 'c' && len(s) > 1:
		b.WriteByte(s[1] & 0x1f)
		return 2, false
	case c == 'x':
		return numberEscape(b, s, 16, 2), false
	case c == 'u':
		return numberEscape(b, s, 16, 4), false
	case c == 'U':
		return numberEscape(b, s, 16, 8), false
	case c == '0' && echo:
		return numberEscape(b, s, 8, 3), false
	case c >= '0' && c <= '7':
		return numberEscape(b, "o"+s, 8, 3) - 1, false
	case strings.IndexByte(`\'"?`, c) >= 0:
		b.WriteByte(c)
		return 1, false
	}
	b.WriteByte('\\')
	b.WriteByte(c)
	return 1, false
}

func numberEscape(b *strings.Builder, s string, base, limit int) int {
	end := 1
	for end < len(s) && end <= limit && digitBelow(s[end], base) {
		end++
	}
	n, err := strconv.ParseUint(s[1:end], base, 32)
	if err != nil {
		b.WriteString("\\" + s[:1])
		return 1
	}
	if limit > 3 {
		b.WriteString(string(utf8.AppendRune(nil, rune(n&0x1fffff))))
	} else {
		b.WriteByte(byte(n))
	}
	return end
}

func digitBelow(c byte, base int) bool {
	switch {
	case c >= '0' && c <= '9':
		return int(c-'0') < base
	case c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F':
		return base == 16
	}
	return false
}
