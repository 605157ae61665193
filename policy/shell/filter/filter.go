// Package filter computes what the plain text tools print for an input that
// is known, so that a program hidden in their output is seen. Nothing runs.
package filter

import (
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/handrail-bot/handrail/policy/shell/argv"
)

// tool computes the output of one program. It reports false when it cannot.
type tool func(name string, args argv.List, in string) (string, bool)

// tools lists the programs that are computed.
var tools = map[string]tool{
	"cat": same, "sort": same, "uniq": same, "less": same, "more": same, "bat": same, "pv": same, "sponge": same, "nl": same, "fold": same,
	"dos2unix": same, "strings": same, "grep": same, "egrep": same, "fgrep": same, "rg": same,
	"paste": paste, "tac": reverseLines, "rev": reverseText, "base64": decodeBase, "base32": decodeBase, "xxd": decodeHex, "tr": translate,
	"head": head, "tail": head, "cut": cut, "sed": edit, "gsed": edit, "awk": scan, "gawk": scan, "mawk": scan, "nawk": scan,
}

// Run is what a program prints for its input. It reports false when that is
// not known.
func Run(name string, args argv.List, in string) (string, bool) {
	t, ok := tools[name]
	if !ok {
		return "", false
	}
	return t(name, args, in)
}

func same(_ string, _ argv.List, in string) (string, bool) { return in, true }

func lines(in string) []string { return strings.Split(strings.TrimSuffix(in, "\n"), "\n") }

func eachLine(in string, f func(string) string) (string, bool) {
	list := lines(in)
	for i, l := range list {
		list[i] = f(l)
	}
	return strings.Join(list, "\n") + "\n", true
}

func paste(_ string, args argv.List, in string) (string, bool) {
	if !args.Has("s", "serial") {
		return in, true
	}
	delim, ok := args.Value("d", "delimiters")
	if !ok {
		delim = "\t"
	}
	return strings.Join(lines(in), Unescape(delim, false)) + "\n", true
}

func reverseLines(_ string, _ argv.List, in string) (string, bool) {
	list := lines(in)
	slices.Reverse(list)
	return strings.Join(list, "\n") + "\n", true
}

func reverseText(_ string, _ argv.List, in string) (string, bool) {
	return eachLine(in, func(s string) string {
		r := []rune(s)
		slices.Reverse(r)
		return string(r)
	})
}

func decodeBase(name string, args argv.List, in string) (string, bool) {
	if !args.Has("d", "decode", "D") {
		return "", false
	}
	in = strings.TrimRight(strings.Join(strings.Fields(in), ""), "=")
	out, err := base64.RawStdEncoding.DecodeString(in)
	if name == "base32" {
		out, err = base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(in)
	}
	return string(out), err == nil
}

func decodeHex(_ string, args argv.List, in string) (string, bool) {
	if !args.Has("r") {
		return "", false
	}
	var b strings.Builder
	for line := range strings.SplitSeq(in, "\n") {
		if _, rest, ok := strings.Cut(line, ": "); ok {
			line, _, _ = strings.Cut(rest, "  ")
		}
		out, err := hex.DecodeString(strings.Join(strings.Fields(line), ""))
		if err != nil {
			return "", false
		}
		b.Write(out)
	}
	return b.String(), true
}

// translate is tr.
func translate(_ string, args argv.List, in string) (string, bool) {
	ops := args.OperandsAfter()
	if args.Has("c", "C", "complement") || len(ops) == 0 {
		return "", false
	}
	from := []rune(charSet(ops[0].S))
	var to []rune
	switch {
	case args.Has("d", "delete"):
	case len(ops) < 2:
		return in, true
	default:
		if to = []rune(charSet(ops[1].S)); len(to) == 0 {
			return "", false
		}
	}
	table := map[rune]rune{}
	for i, r := range from {
		if table[r] = -1; len(to) > 0 {
			table[r] = to[min(i, len(to)-1)]
		}
	}
	return strings.Map(func(r rune) rune {
		if to, ok := table[r]; ok {
			return to
		}
		return r
	}, in), true
}

// charSet expands the ranges and classes of an argument of tr.
func charSet(s string) string {
	const lower, upper, digit = "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "0123456789"
	s = strings.NewReplacer("[:lower:]", lower, "[:upper:]", upper, "[:digit:]", digit, "[:alpha:]", upper+lower,
		"[:alnum:]", digit+upper+lower, "[:space:]", " \t\n\v\f\r", "[:blank:]", " \t").Replace(s)
	r := []rune(Unescape(s, false))
	var b strings.Builder
	for i := 0; i < len(r); i++ {
		if i+2 < len(r) && r[i+1] == '-' && r[i+2] >= r[i] && r[i+2]-r[i] < 256 {
			for c := r[i]; c <= r[i+2]; c++ {
				b.WriteRune(c)
			}
			i += 2
			continue
		}
		b.WriteRune(r[i])
	}
	return b.String()
}

// head is head and tail. What tail leaves out by lines is kept: a program in
// it is better seen than missed.
func head(name string, args argv.List, in string) (string, bool) {
	n := 10
	if v, ok := args.Value("n", "lines"); ok {
		n, _ = strconv.Atoi(strings.TrimLeft(v, "+-"))
	} else if v, ok := args.Value("c", "bytes"); ok {
		n, _ = strconv.Atoi(strings.TrimLeft(v, "+-"))
		n = min(n, len(in))
		switch {
		case name == "head":
			return in[:n], true
		case strings.HasPrefix(v, "+"):
			return in[max(0, n-1):], true
		}
		return in[len(in)-n:], true
	} else if v, err := strconv.Atoi(strings.TrimLeft(args.At(0), "-+")); err == nil {
		n = v
	}
	if name != "head" {
		return in, true
	}
	list := strings.SplitAfter(in, "\n")
	return strings.Join(list[:min(max(n, 0), len(list))], ""), true
}

func cut(_ string, args argv.List, in string) (string, bool) {
	if pick, ok := args.Value("f", "fields"); ok {
		delim, ok := args.Value("d", "delimiter")
		if !ok {
			delim = "\t"
		}
		return eachLine(in, func(l string) string {
			if !strings.Contains(l, delim) {
				return l
			}
			return strings.Join(picked(strings.Split(l, delim), pick), delim)
		})
	}
	pick, ok := args.Value("c", "b", "characters")
	if !ok {
		return "", false
	}
	return eachLine(in, func(l string) string { return strings.Join(picked(strings.Split(l, ""), pick), "") })
}

// picked selects by a list of positions such as 1,3-5.
func picked(all []string, list string) []string {
	var out []string
	for part := range strings.SplitSeq(list, ",") {
		from, to, isRange := strings.Cut(part, "-")
		lo, err := strconv.Atoi(from)
		if err != nil {
			lo = 1
		}
		hi := lo
		if isRange {
			if hi, err = strconv.Atoi(to); err != nil {
				hi = len(all)
			}
		}
		for i := max(lo, 1); i <= min(hi, len(all)); i++ {
			out = append(out, all[i-1])
		}
	}
	return out
}

// Script is the program text of a sed command.
func Script(args argv.List) string {
	if v, ok := args.Value("e", "expression"); ok {
		return v
	}
	return args.OperandsAfter("f", "l").At(0)
}

var (
	basicSyntax = strings.NewReplacer(`\(`, "(", `\)`, ")", "(", `\(`, ")", `\)`, `\+`, "+", "+", `\+`, `\|`, "|", "|", `\|`, "{", `\{`, `\{`, "{", "}", `\}`, `\}`, "}")
	group       = regexp.MustCompile(`\\(\d)`)
	ampersand   = regexp.MustCompile(`\\?&`)
)

// edit is sed with a single substitution.
func edit(_ string, args argv.List, in string) (string, bool) {
	s, ok := ParseSubstitution(strings.TrimSpace(Script(args)))
	if !ok {
		return "", false
	}
	expr := s.Pattern
	if !args.Has("E", "r", "regexp-extended") {
		expr = basicSyntax.Replace(expr)
	}
	re, err := regexp.Compile("(?m)" + expr)
	if err != nil {
		return "", false
	}
	with := group.ReplaceAllString(strings.ReplaceAll(s.With, "$", "$$"), "$${$1}")
	with = ampersand.ReplaceAllStringFunc(with, func(s string) string {
		if s == "&" {
			return "${0}"
		}
		return "&"
	})
	with = strings.NewReplacer(`\n`, "\n", `\/`, "/").Replace(with)
	if strings.Contains(s.Flags, "g") {
		return re.ReplaceAllString(in, with), true
	}
	return eachLine(in, func(l string) string {
		at := re.FindStringSubmatchIndex(l)
		if at == nil {
			return l
		}
		return l[:at[0]] + string(re.ExpandString(nil, with, l, at)) + l[at[1]:]
	})
}

// Substitution is the command s/pattern/with/flags of sed.
type Substitution struct{ Pattern, With, Flags string }

// ParseSubstitution takes a substitution apart.
func ParseSubstitution(s string) (Substitution, bool) {
	if len(s) < 4 || s[0] != 's' {
		return Substitution{}, false
	}
	delim, at := s[1], 2
	var parts [2]string
	for i := range parts {
		start := at
		for at < len(s) && s[at] != delim {
			if s[at] == '\\' {
				at++
			}
			at++
		}
		if at >= len(s) {
			return Substitution{}, false
		}
		parts[i] = s[start:at]
		at++
	}
	return Substitution{parts[0], parts[1], s[at:]}, true
}

// Program is the program text of an awk command.
func Program(args argv.List) string {
	if args.Has("f") {
		return ""
	}
	return args.OperandsAfter("F", "v", "f", "i").At(0)
}

var prints = regexp.MustCompile(`^(?:BEGIN\s*)?\{\s*print\s+("[^"]*"|\$\d+(?:\s*,\s*\$\d+)*)\s*;?\s*\}$`)

// scan is awk with a program that prints fields or one string.
func scan(_ string, args argv.List, in string) (string, bool) {
	p := prints.FindStringSubmatch(strings.TrimSpace(Program(args)))
	if p == nil {
		return "", false
	}
	if p[1][0] == '"' {
		return Unescape(strings.Trim(p[1], `"`), false) + "\n", true
	}
	delim, split := args.Value("F")
	return eachLine(in, func(l string) string {
		f := strings.Fields(l)
		if split {
			f = strings.Split(l, delim)
		}
		var out []string
		for one := range strings.SplitSeq(p[1], ",") {
			switch n, _ := strconv.Atoi(strings.TrimSpace(one)[1:]); {
			case n == 0:
				out = append(out, l)
			case n <= len(f):
				out = append(out, f[n-1])
			}
		}
		return strings.Join(out, " ")
	})
}
