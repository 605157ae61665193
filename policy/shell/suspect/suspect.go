// Package suspect says what a program text that is not known may be: a text
// that stands somewhere in the same line, as it is, in pieces, or encoded. It
// is pure.
package suspect

import (
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/handrail-bot/handrail/policy/shell/code/decode"
	"github.com/handrail-bot/handrail/policy/shell/filter"
)

// The limits of one guess.
const (
	mostTexts  = 256
	mostBytes  = 16 << 10
	mostChosen = 48
)

func lazily(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

var (
	// destroyer is where a command begins that may do what cannot be undone.
	destroyer = lazily(`(?:^|[^-\w.$%])(?:/\S*/)?(?:rm|dd|mkfs(?:\.\w+)?|shred|wipefs|shutdown|reboot|poweroff|halt|chmod|chown|chattr|find|mv|kill|killall|pkill|curl|wget|truncate)\b`)
	// recursive is the arguments of a command that deletes trees, whatever its
	// name is.
	recursive = lazily(`(?:^|\s|["'],\s?["'])-(?:-recursive|[a-zA-Z]{0,3}[rR][a-zA-Z]{0,3})(?:\s|["'],)`)
	// bomb is a function that may start itself.
	bomb = lazily(`\(\)\s*\{.*\|`)

	encoded = lazily(`[A-Za-z0-9+/_-]{10,}={0,2}`)
	hexed   = lazily(`(?:[0-9A-Fa-f]{2}[ :]?){6,}`)
	numbers = lazily(`(?:\b(?:0[xX][0-9A-Fa-f]{2}|\d{2,3})\b[\s,;]*(?:chr\(|\\)?){5,}`)
	number  = lazily(`0[xX][0-9A-Fa-f]{2}|\d{2,3}`)
)

// Commands are the shell texts that the texts of a line may hold, of those
// that may destroy something.
func Commands(texts []string) []string {
	texts = texts[:min(len(texts), mostTexts)]
	size := 0
	var out []string
	add := func(text string) {
		for _, c := range commandsIn(text) {
			if len(out) < mostChosen {
				out = append(out, c)
			}
		}
	}
	for i, t := range texts {
		if size += len(t); size > mostBytes {
			texts = texts[:i]
			break
		}
		add(t)
		for _, d := range decoded(t) {
			add(d)
		}
	}
	if len(texts) > 1 {
		add(strings.Join(texts, ""))
		add(strings.Join(texts, " "))
	}
	return out
}

// commandsIn are the commands in one text, each from where it begins.
func commandsIn(text string) []string {
	var out []string
	for _, at := range destroyer().FindAllStringIndex(text, 8) {
		out = append(out, strings.TrimLeft(text[at[0]:], "\"'`(){}[],;|& \n\t=:"))
	}
	for _, at := range recursive().FindAllStringIndex(text, 4) {
		out = append(out, "rm "+text[at[0]:])
	}
	if bomb().MatchString(text) {
		out = append(out, text)
	}
	return out
}

// decoded are the texts that a text may be another spelling of.
func decoded(text string) []string {
	list := []string{filter.Unescape(text, true)}
	for _, how := range []string{"reverse", "rot13"} {
		if s, ok := decode.Text(how, text); ok {
			list = append(list, s)
		}
	}
	if s, err := url.PathUnescape(text); err == nil {
		list = append(list, s)
	}
	for _, s := range encoded().FindAllString(text, 8) {
		for _, how := range []string{"base64", "utf-16"} {
			if d, ok := decode.Text(how, s); ok {
				list = append(list, d)
			}
		}
	}
	for _, s := range hexed().FindAllString(text, 8) {
		if d, ok := decode.Text("hex", strings.NewReplacer(":", "", " ", "").Replace(s)); ok {
			list = append(list, d)
		}
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
		if s != text && printable(s) {
			out = append(out, s)
		}
	}
	return out
}

// printable reports whether a text has only characters that print.
func printable(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(c rune) bool {
		return c < ' ' && c != '\n' && c != '\t' || c == 0x7f || c == '\uFFFD'
	})
}
