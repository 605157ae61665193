package shell

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Marks represent text of unknown content.
const (
	unknown = "\x01" // unknown text
	secret  = "\x02" // text that is or contains a credential
	remote  = "\x03" // text from the network
	hidden  = "\x04" // decoded text, or a changed literal of the line
	filed   = "\x05" // content of a file, which may not be a number
	all     = unknown + secret + remote + hidden + filed
)

func isKnown(s string) bool { return !strings.ContainsAny(s, all) }

// of returns the marks in a text.
func of(s string) string {
	out := ""
	for _, mark := range all {
		if strings.ContainsRune(s, mark) {
			out += string(mark)
		}
	}
	return out
}

func replaceMarks(s string, by rune) string {
	return strings.Map(func(c rune) rune {
		if c >= 1 && c <= 6 {
			return by
		}
		return c
	}, s)
}

func strip(s string) string { return replaceMarks(s, -1) }

func show(s string) string { return replaceMarks(s, '\u2026') }

// opaqueMarks returns the marks of text that is computed from s in an unknown way: unknown,
// and the other marks of s.
func opaqueMarks(s string) string {
	if m := of(s); strings.Contains(m, unknown) {
		return m
	}
	return unknown + of(s)
}

// arg is one argument after expansion. If it contains an active pattern, pat is the
// pattern, with quoted text escaped.
type arg struct{ s, pat string }

// list holds the arguments of a command, without its name.
type list []arg

func argsOf(words ...string) list {
	out := make(list, len(words))
	for i, w := range words {
		out[i] = arg{s: w}
	}
	return out
}

func (l list) words() []string {
	out := make([]string, len(l))
	for i, a := range l {
		out[i] = a.s
	}
	return out
}

func (l list) from(i int) list { return l[min(max(i, 0), len(l)):] }

func (l list) at(i int) string {
	if i < 0 || i >= len(l) {
		return ""
	}
	return l[i].s
}

// has reports whether an option is present: a single letter also in a cluster such as
// -rf, a long name also abbreviated or with a value.
func (l list) has(names ...string) bool {
	for _, a := range l {
		if a.s == "--" {
			return false
		}
		for _, n := range names {
			if isOption(a.s, n) {
				return true
			}
		}
	}
	return false
}

func isOption(word, name string) bool {
	if len(word) < 2 || word[0] != '-' {
		return false
	}
	if len(name) == 1 {
		return word[1] != '-' && strings.Contains(word[1:], name)
	}
	long := strings.TrimPrefix(strings.TrimPrefix(word, "-"), "-")
	long, _, _ = strings.Cut(long, "=")
	return long == name || len(long) >= 4 && strings.HasPrefix(word, "--") && strings.HasPrefix(name, long)
}

func (l list) exactly(words ...string) bool { return l.index(words...) >= 0 }

func (l list) index(words ...string) int {
	return slices.IndexFunc(l, func(a arg) bool { return slices.Contains(words, a.s) })
}

func (l list) contains(text string) bool {
	return slices.ContainsFunc(l, func(a arg) bool { return strings.Contains(a.s, text) })
}

// option returns the value of an option: -o value, -ovalue, --opt value or --opt=value.
func (l list) option(names ...string) (string, bool) {
	if all := l.options(names...); len(all) > 0 {
		return all[0], true
	}
	return "", false
}

// options returns the values of options, for every occurrence.
func (l list) options(names ...string) (out []string) {
	for i, a := range l {
		for _, n := range names {
			if v, ok := l.valueAt(i, a.s, n); ok {
				out = append(out, v)
				break
			}
		}
	}
	return out
}

func (l list) valueAt(i int, s, name string) (string, bool) {
	dashed, long := "-"+name, len(name) > 1
	if long {
		dashed = "--" + name
	}
	switch {
	case s == dashed || long && s == "-"+name:
		if i+1 < len(l) {
			return l[i+1].s, true
		}
	case long && (strings.HasPrefix(s, dashed+"=") || strings.HasPrefix(s, "-"+name+"=")):
		return s[strings.IndexByte(s, '=')+1:], true
	case long || len(s) < 3 || s[1] == '-':
	case strings.HasPrefix(s, dashed):
		return s[2:], true
	case s[0] == '-' && name != "":
		return l.clustered(i, name)
	}
	return "", false
}

func (l list) clustered(i int, letter string) (string, bool) {
	before, after, ok := strings.Cut(l[i].s[1:], letter)
	if !ok || len(before) > 4 ||
		strings.Trim(before, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") != "" {
		return "", false
	}
	if after == "" && i+1 < len(l) {
		return l[i+1].s, true
	}
	if after != "" && (after[0] < 'A' || after[0] > 'z') {
		return after, true
	}
	return "", false
}

// operandsAfter returns the arguments that are not options. The named options take the
// next argument as their value: of "-o out a b", operandsAfter("o") is a and b, and
// operandsAfter() is out, a and b. takes must not name options without a value, because
// an operand would be lost.
func (l list) operandsAfter(takes ...string) list {
	var out list
	for _, i := range l.operandsAt(takes) {
		out = append(out, l[i])
	}
	return out
}

// operandsAt returns the indexes of the operands.
func (l list) operandsAt(takes []string) (out []int) {
	ended := false
	for i := 0; i < len(l); i++ {
		switch s := l[i].s; {
		case ended, len(s) < 2, s[0] != '-':
			out = append(out, i)
		case s == "--":
			ended = true
		case takesValue(s, takes):
			i++
		}
	}
	return out
}

func takesValue(word string, takes []string) bool {
	for _, t := range takes {
		if len(t) == 1 {
			if word[1] != '-' && strings.HasSuffix(word, t) && !strings.Contains(word[1:len(word)-1], t) {
				return true
			}
			continue
		}
		if word == "--"+t || word == "-"+t {
			return true
		}
	}
	return false
}

// operands returns the operands, by the options with a value in the tables.
func (c *command) operands() list {
	takes, _ := rowOf("takes", c.name)
	return c.operandsAfter(takes[0]...)
}

// command returns the index of the first operand, or -1. A command in the arguments begins
// there.
func (l list) command(takes ...string) int {
	if at := l.operandsAt(takes); len(at) > 0 {
		return at[0]
	}
	return -1
}

// pathsIn lists the parts of an argument that may be paths: all of it, the text after
// each "=", "@", ":" or "<", and the text after a short option.
func pathsIn(s string) []string {
	if !strings.ContainsAny(s, "./~_") || strings.Contains(s, " ") {
		return nil
	}
	out := partsOf(s, len(s))
	if len(s) > 2 && s[0] == '-' && s[1] != '-' {
		out = append(out, s[2:])
	}
	return out
}

func partsOf(s string, limit int) []string {
	out := []string{s}
	for i, c := range s {
		if (c == '=' || c == '@' || c == ':' || c == '<') && i+1 < len(s) && len(out) < limit {
			out = append(out, s[i+1:])
		}
	}
	return out
}

// command is a simple command after expansion, in the context of a walk.
type command struct {
	*walk
	list
	name string // without its directory
	path string // as written
	text string // the whole command, cached if it is long
}

func (c *command) with(name string, args list) *command {
	return &command{walk: c.walk, list: args, name: name, path: name}
}

func (c *command) line() string {
	if c.text != "" {
		return c.text
	}
	return strings.Join(append([]string{c.name}, c.words()...), " ")
}

// acts records and rates an action on the files that arguments may name.
func (c *command) acts(verb string, on ...arg) {
	for _, a := range on {
		for _, p := range c.places(a) {
			c.found.acts(verb, p)
		}
	}
}

func (c *command) hit(rule string) { c.found.hit(rule, c.line()) }

func (c *command) is(names ...string) bool { return oneOf(c.name, names...) }

func oneOf(s string, words ...string) bool { return slices.Contains(words, s) }

func (c *command) says(texts ...string) bool { return holds(c.line(), texts...) }

func (c *command) holdsSecret() bool { return c.contains(secret) }

// asksHelp reports whether a command only prints its help or version. After a program
// text or an inner command, --help belongs to that.
func (c *command) asksHelp() bool {
	n := len(c.list)
	if n == 1 && c.exactly("--help", "-h", "--version", "-V", "help", "version") {
		return true
	}
	limit := n
	switch {
	case inList("help-alone", c.name), inList("shells", c.name), wraps(c.name):
		limit = 1
	case inList("help-behind", c.name):
		limit = 3
	case c.exactly("--"):
		limit = 0
	}
	return n > 0 && n <= limit && c.at(n-1) == "--help"
}

func (c *command) completes() bool {
	return oneOf(c.at(0), "completion", "completions", "generate-shell-completion") && !dangerous(c.name)
}

// versioned matches the names of interpreters with a version.
var versioned = lazily(`^(python|pip|perl|ruby|php|lua|node|nodejs)[\d.-]+$`)

func programName(p string) string {
	name := strings.TrimSuffix(path.Base(strings.ReplaceAll(p, "\\", "/")), ".exe")
	return versioned().ReplaceAllString(name, "$1")
}

func firstWord(text string) string {
	if f := strings.Fields(text); len(f) > 0 {
		return f[0]
	}
	return ""
}

func wraps(name string) bool {
	_, ok := rowOf("wrap", name)
	return ok
}

func dangerous(name string) bool {
	return wraps(name) || inList("dangerous", name) || inList("shells", name) || strings.HasPrefix(name, "mkfs")
}

func render(words []string) string {
	out := make([]string, len(words))
	for i, w := range words {
		w = show(w)
		if i == 0 {
			w = strings.Join(strings.Fields(w), `\ `)
		}
		out[i] = w
	}
	return strings.Join(out, " ")
}

// assignment matches a variable with a value.
var assignment = lazily(`^\w+=`)

func isAssignment(s string) bool { return assignment().MatchString(s) }

// lazily returns a regular expression that is compiled on first use: most runs of the
// program check no command.
func lazily(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
