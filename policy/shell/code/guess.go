package code

import (
	"bytes"
	"cmp"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"io"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/handrail-bot/handrail/policy/pattern"
	"github.com/handrail-bot/handrail/policy/shell/code/decode"
	"github.com/handrail-bot/handrail/policy/shell/code/lex"
	"github.com/handrail-bot/handrail/policy/shell/filter"
)

// The limits of one guess.
const (
	mostTexts   = 192
	mostGuessed = 16 << 10
	mostChosen  = 64
)

var (
	// destroyer is where a command begins that may do what cannot be undone.
	destroyer = pattern.Lazy(`(?:^|[^-\w.$%])(?:/\S*/)?(?:rm|dd|mkfs(?:\.\w+)?|shred|wipefs|shutdown|reboot|poweroff|halt|chmod|chown|chattr|find|mv|kill|killall|pkill|curl|wget|truncate)\b`)
	// begins is a command in a text of which nothing else is known: at its start,
	// or behind what opens a text, a list or a command.
	begins = pattern.Lazy("(?:^|(?m:^)[ \\t]*(?:- +)*(?:[\\w.@-]+\\s*[:=]\\s*)?|[\"'`(\\[{<>|!;&,]\\s*|[=:]|\\s-c\\s+)((?:/[^\\s\"']*/)?(?:rm|dd|mkfs(?:\\.\\w+)?|shred|wipefs|shutdown|reboot|poweroff|halt|chmod|chown|find|mv|kill|killall|sh|bash|sudo|curl|wget)\\s)")
	// removal is a call or a word whose name says that it deletes, before a path
	// from the root or the home directory.
	removal = pattern.Lazy(`(?i)(?:^|[^\w-])[\w.:$]*(?:remove|delete|unlink|rmtree|rm_rf|recursive_rm|rmdir|erase|wipe|deltree)[\w!?]*[\s("'\[{,:]*\w?["'\s(]((?:/|~)[^\s"')\]},;]*)`)
	// absent is a path that is to be gone, as tools that configure machines say it.
	absent = pattern.Lazy(`(?s)(?:path|dest|name)\s*[:=]\s*["']?((?:/|~)[^\s"',}]*).{0,80}?state\s*[:=]\s*["']?absent`)
	// recursive is the arguments of a command that deletes trees, whatever its
	// name is.
	recursive = pattern.Lazy(`(?:^|\s|["'],\s?["'])-(?:-recursive|[a-zA-Z]{0,3}[rR][a-zA-Z]{0,3})(?:\s|["'],)`)
	// format is an option in a format, before what it is for.
	format = pattern.Lazy(`(?:^|\s)-%[a-z0-9]`)
	// bomb is a function that may start itself.
	bomb = pattern.Lazy(`\(\)\s*\{.*\|`)

	encoded = pattern.Lazy(`[A-Za-z0-9+/_-]{10,}={0,2}`)
	hexed   = pattern.Lazy(`(?:[0-9A-Fa-f]{2}[ :]?){6,}`)
	numbers = pattern.Lazy(`(?:\b(?:0[xX][0-9A-Fa-f]{2}|\d{2,3})\b[\s,;]*(?:chr\(|\\)?){5,}`)
	number  = pattern.Lazy(`0[xX][0-9A-Fa-f]{2}|\d{2,3}`)
)

// Guess says what a program text that is not known may be: of the texts of its
// line, those that may destroy something, as they are, in pieces, or encoded.
func Guess(texts []string) []string {
	var out []string
	add := func(text string) {
		for _, c := range commandsIn(text) {
			if len(out) < mostChosen {
				out = append(out, c)
			}
		}
	}
	size := 0
	spelled := texts[:0:0] // each in the spelling in which it says something
	for _, t := range texts[:min(len(texts), mostTexts)] {
		if size += len(t); size > mostGuessed {
			break
		}
		add(t)
		best := t
		for _, d := range Decoded(t) {
			if add(d); len(commandsIn(d)) > 0 && len(commandsIn(t)) == 0 {
				best = d
			}
		}
		spelled = append(spelled, best)
	}
	for i, t := range spelled {
		if at := destroyer().FindStringIndex(t); at == nil || at[0] > 0 {
			continue
		}
		add(strings.Join(spelled[i:], ""))
		add(strings.Join(spelled[i:], " "))
		for _, other := range spelled {
			if strings.HasPrefix(other, "/") || strings.HasPrefix(other, "~") {
				add(strings.TrimSpace(t) + " " + other)
			}
		}
	}
	return out
}

var singleQuotes = pattern.Lazy(`'([^']*)'`)

// Texts are the literals of a program in a language that is not known.
func Texts(text string) []string {
	out := Read(lex.Other, text).Strings
	for _, m := range singleQuotes().FindAllStringSubmatch(text, 64) {
		out = append(out, m[1])
	}
	return out
}

// closers are what ends a text, by what opens it.
var closers = map[byte]string{'"': "\"", '\'': "'", '`': "`", '(': ")", '[': "]", '{': "}", '<': ">"}

// Said are the commands that a text says, if some program runs it: where a
// command may begin, and what is deleted by name.
func Said(text string) []string {
	if len(text) > mostGuessed {
		return nil
	}
	var out []string
	for _, at := range begins().FindAllStringSubmatchIndex(text, 16) {
		said := text[at[2]:]
		if opened := strings.TrimSpace(text[at[0]:at[2]]); opened != "" {
			said, _, _ = strings.Cut(said, cmp.Or(closers[opened[0]], "\n"))
		}
		out = append(out, said)
	}
	for _, expr := range []*regexp.Regexp{removal(), absent()} {
		for _, m := range expr.FindAllStringSubmatch(text, 8) {
			out = append(out, "rm -rf "+m[1])
		}
	}
	return out
}

// commandsIn are the commands in one text, each from where it begins.
func commandsIn(text string) []string {
	var out []string
	for _, at := range destroyer().FindAllStringIndex(text, 8) {
		out = append(out, closed(strings.TrimLeft(text[at[0]:], "\"'`(){}[],;|& \n\t=:!")))
	}
	for _, at := range recursive().FindAllStringIndex(text, 4) {
		out = append(out, closed("rm "+text[at[0]:]))
	}
	for _, at := range format().FindAllStringIndex(text, 4) {
		out = append(out, closed("rm -rf"+text[at[1]:]))
	}
	if bomb().MatchString(text) {
		out = append(out, text)
	}
	return out
}

// closed is a text up to the bracket that was opened before it.
func closed(text string) string {
	depth := 0
	for i, c := range text {
		switch c {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			if depth--; depth < 0 {
				return text[:i]
			}
		}
	}
	return text
}

// Decoded are the texts that a text may be another spelling of.
func Decoded(text string) []string {
	list := []string{filter.Unescape(text, true)}
	for _, how := range []string{"reverse", "rot13", "bits", "utf-7", "swab"} {
		if s, ok := decode.Text(how, text); ok {
			list = append(list, s)
		}
	}
	if s, err := url.PathUnescape(text); err == nil {
		list = append(list, s)
	}
	for _, s := range encoded().FindAllString(text, 8) {
		for _, how := range []string{"base64", "utf-16", "base32", "base32hex"} {
			if d, ok := decode.Text(how, s); ok {
				list = append(list, d, unpacked(d))
			}
		}
	}
	for line := range strings.Lines(text[:min(len(text), 1024)]) {
		if s, ok := decode.Text("uuencode", strings.TrimRight(line, "\n")); ok {
			list = append(list, s)
		}
	}
	for _, s := range hexed().FindAllString(text, 8) {
		if d, ok := decode.Text("hex", strings.NewReplacer(":", "", " ", "").Replace(s)); ok {
			list = append(list, d, unpacked(d))
		}
	}
	if s, ok := base85(text); ok {
		list = append(list, s)
	}
	for _, s := range numbers().FindAllString(text, 4) {
		var b strings.Builder
		for _, n := range number().FindAllString(s, 512) {
			if v, err := strconv.ParseUint(n, 0, 8); err == nil {
				b.WriteByte(byte(v))
			}
		}
		list = append(list, b.String())
	}
	out := list[:0]
	for _, s := range list {
		if s != text && Printable(s) {
			out = append(out, s)
		}
	}
	return out
}

// unpacked is the text that was compressed, or none.
func unpacked(s string) string {
	if len(s) < 8 {
		return ""
	}
	var r io.Reader
	var err error
	switch {
	case strings.HasPrefix(s, "\x1f\x8b"):
		r, err = gzip.NewReader(strings.NewReader(s))
	case s[0] == 'x':
		r, err = zlib.NewReader(strings.NewReader(s))
	default:
		r = flate.NewReader(strings.NewReader(s))
	}
	if err != nil {
		return ""
	}
	var b bytes.Buffer
	_, _ = io.Copy(&b, io.LimitReader(r, mostGuessed)) // what was read before an error counts
	return b.String()
}

// digits85 is the alphabet of base85 as Python writes it.
const digits85 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"

// base85 decodes a text in base85, or in ascii85.
func base85(s string) (string, bool) {
	if len(s) < 5 || len(s) > 1024 || strings.ContainsAny(s, " \n\"'/") {
		return "", false
	}
	for _, digit := range []func(byte) int{
		func(c byte) int { return strings.IndexByte(digits85, c) },
		func(c byte) int { return int(c) - '!' },
	} {
		if out, ok := groups85(s, digit); ok && Printable(out) {
			return out, true
		}
	}
	return "", false
}

// groups85 decodes groups of five digits.
func groups85(s string, digit func(byte) int) (string, bool) {
	var out []byte
	for len(s) > 0 {
		n := min(5, len(s))
		v := uint64(0)
		for i := range 5 {
			d := 84
			if i < n {
				d = digit(s[i])
			}
			if d < 0 || d > 84 {
				return "", false
			}
			v = v*85 + uint64(d)
		}
		if v > 1<<32-1 {
			return "", false
		}
		out = append(out, []byte{byte(v >> 24), byte(v >> 16), byte(v >> 8), byte(v)}[:n-1]...)
		s = s[n:]
	}
	return string(out), true
}

// Printable reports whether a text has only characters that print.
func Printable(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(c rune) bool {
		return c < ' ' && c != '\n' && c != '\t' || c == 0x7f || c == '\uFFFD'
	})
}
