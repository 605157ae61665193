package untrusted

import (
	"html"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/handrail-bot/handrail/policy/pattern"
)

// inline cleans prose that is read as one in every reading, mostly one line. Whether
// lines belong together can depend on the renderer, so each part is made safe alone: no
// backtick is left that could pair with one in another, or in another cell of a table.
type inline struct {
	OutputOptions
	s     string
	table bool // the line may be a row of a table, whose cells end at any pipe
	notes bool // footnotes keep their definitions
	first bool // the line begins the text

	i       int
	out     []byte
	address bool         // since the last blank an address began; renderers differ in where it ends
	begun   int          // where in out it began
	open    []int        // brackets in out
	alone   map[int]bool // lengths of runs of backticks that have no second one
}

var (
	addressStart = pattern.Lazy(`^(?i)(?:https?://|ftp://|www\.)`)
	angleAddress = pattern.Lazy("^<(https?://[A-Za-z0-9][A-Za-z0-9.-]*(?::\\d+)?(?:[/?#][A-Za-z0-9\\-._~/?#=&%+:,;@$!'()*]*)?)>")
	angleMail    = pattern.Lazy(`^<[A-Za-z0-9._+-]*[A-Za-z0-9]@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+>`)
	relative     = pattern.Lazy(`^(?:\.{1,2}/)*[A-Za-z0-9_][A-Za-z0-9_./-]*$`)
	bareAddress  = pattern.Lazy("^https?://[A-Za-z0-9][A-Za-z0-9.-]*(?::\\d+)?(?:[/?#][A-Za-z0-9\\-._~/?#=&%+:,;@$!'()*]*)?")
	onGitHub     = pattern.Lazy("(?i)^(?:https?://|www\\.)[^\\s<>\"'`)\\]]+")
	mentioned    = pattern.Lazy(`^@[A-Za-z0-9][A-Za-z0-9-]*(?:/[A-Za-z0-9._-]+)?`)
	// linkTarget is the second half of a link that all renderers read alike.
	linkTarget = pattern.Lazy("^\\([ \\t]*(?:<([^\\s<>()`\\\\]*)>|((?:[^\\s<>()`\\\\]|\\([^\\s<>()`\\\\]*\\))*))(?:[ \\t]+(?:\"[^\"`\\\\<>]*\"|'[^'`\\\\<>]*'))?[ \\t]*\\)")
	reference  = pattern.Lazy(`^&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});`)
	otherIssue = pattern.Lazy(`[\w.\-\\*~]+/[\w.\-\\*~]+$`)
	noteLabel  = pattern.Lazy(`^\^[A-Za-z0-9_-]{1,64}\]`)
	digits     = pattern.Lazy(`^\d+`)
	threadURL  = pattern.Lazy(`(?i)^(?:https?://(?:[^\s/]*@)?(?:www\.)?|www\.)([\w.-]+)(?::\d+)?/([\w.-]+/[\w.-]+)/(?:issues|pull|discussions|commit|compare)\b`)
	gitHubHost = pattern.Lazy(`(?i)(?:^|\.)github`)
)

func (p *inline) clean() string {
	p.out = make([]byte, 0, len(p.s)+16)
	for p.i < len(p.s) {
		p.step()
	}
	out := tildeFence().ReplaceAllString(string(p.out), `$1\$2`)
	return slashInProse().ReplaceAllString(out, `$1\/$2`)
}

// longest is how far ahead and back a construct is read. What is longer is taken apart.
const longest = 2048

// ahead is what comes next.
func (p *inline) ahead() string { return p.s[p.i:min(len(p.s), p.i+longest)] }

// last returns the last byte written, 0 for none.
func (p *inline) last() byte {
	if len(p.out) == 0 {
		return 0
	}
	return p.out[len(p.out)-1]
}

// step cleans what begins at p.i.
func (p *inline) step() {
	switch c := p.s[p.i]; c {
	case ' ', '\t', '\n':
		p.address = false
		p.keep(1)
	case '`':
		p.backtick()
	case '\\':
		p.backslash()
	case '<':
		p.angle()
	case '&':
		p.entity()
	case '[':
		p.open = append(p.open, len(p.out))
		p.keep(1)
		if strings.HasPrefix(p.s[p.i:], "^") && !noteLabel().MatchString(p.ahead()) { // in a footnote's name nothing is code
			p.replace(0, " ")
		}
	case ']':
		p.bracket()
	case '@':
		p.mention()
	case '#':
		p.issue()
	case 'h', 'H', 'f', 'F', 'w', 'W':
		p.web()
	default:
		p.keep(1)
	}
}

// keep takes n bytes as they are.
func (p *inline) keep(n int) {
	p.out = append(p.out, p.s[p.i:p.i+n]...)
	p.i += n
}

// replace writes text in place of n bytes.
func (p *inline) replace(n int, text string) {
	p.out = append(p.out, text...)
	p.i += n
}

// show writes text as code in place of n bytes. A backtick beside it would become part
// of its delimiters.
func (p *inline) show(n int, text string) {
	if len(p.out) == 0 && p.first || p.last() == '`' {
		p.out = append(p.out, ' ')
	}
	p.replace(n, "`"+text+"`")
	if strings.HasPrefix(p.s[p.i:], "`") {
		p.out = append(p.out, ' ')
	}
	p.address = false
}

// code returns the length of the code span that begins here in every reading, 0 for
// none: it ends in this part and in this cell, and no address before it swallows its
// beginning.
func (p *inline) code() int {
	run := len(p.s[p.i:]) - len(strings.TrimLeft(p.s[p.i:], "`"))
	if p.address || p.last() == '`' || p.alone[run] {
		return 0
	}
	n := codeSpan(p.s[p.i:])
	if n == 0 {
		if p.alone == nil {
			p.alone = map[int]bool{}
		}
		p.alone[run] = true
	}
	if p.table && unescapedPipe(p.s[p.i:p.i+n]) {
		return 0
	}
	return n
}

// codeSpan returns the length of the code span that a line begins with, 0 for none.
func codeSpan(s string) int {
	n := len(s) - len(strings.TrimLeft(s, "`"))
	for at := n; ; {
		k := strings.IndexByte(s[at:], '`')
		if k < 0 {
			return 0
		}
		at += k
		run := len(s[at:]) - len(strings.TrimLeft(s[at:], "`"))
		at += run
		if run == n {
			return at
		}
	}
}

func unescapedPipe(s string) bool {
	for i := range len(s) {
		if s[i] == '|' && (i == 0 || s[i-1] != '\\') {
			return true
		}
	}
	return false
}

func (p *inline) backtick() {
	if n := p.code(); n > 0 {
		p.replace(n, parted(p.s[p.i:p.i+n]))
		return
	}
	p.strayTicks()
}

// strayTicks writes backticks that delimit nothing so that they never do.
func (p *inline) strayTicks() {
	n := len(p.s[p.i:]) - len(strings.TrimLeft(p.s[p.i:], "`"))
	p.replace(n, strings.Repeat("&#96;", n)) //control:post-backticks
}

// backslash takes an escape. Inside an address there are none, so what must not be
// taken for markup is written in another way.
func (p *inline) backslash() {
	if p.i+1 == len(p.s) {
		p.keep(1)
		return
	}
	switch next := p.s[p.i+1]; next {
	case '`':
		p.i++
		p.strayTicks()
	case '<', '@', '#', '/', '&':
		if next == '/' && len(p.out) < longest && strings.Trim(string(p.out), " \t>*+-0123456789.)") == "" || next == '#' && !digits().MatchString(p.s[p.i+2:]) {
			p.keep(2)
			return
		}
		p.i++
		if next == '&' {
			p.replace(1, "&amp;")
		}
	case '\\':
		p.keep(2)
	default:
		p.keep(1)
	}
}

// angle takes a <: an address, or text.
func (p *inline) angle() {
	rest := p.ahead()
	if m := angleMail().FindString(rest); m != "" {
		p.keep(len(m))
		return
	}
	if m := angleAddress().FindStringSubmatch(rest); m != nil {
		p.address = false
		if p.elsewhere(m[1]) {
			p.show(len(m[0]), m[1])
			return
		}
		p.keep(len(m[0]))
		return
	}
	if len(rest) > 1 && (letter(rest[1]) || strings.IndexByte("/!?", rest[1]) >= 0) {
		p.replace(1, "&lt;") //control:post-html
		return
	}
	p.keep(1)
}

// entity decodes a reference to what could be part of a name, a number or an address.
// Markup stays encoded.
func (p *inline) entity() {
	ref := reference().FindString(p.ahead())
	r, n := utf8.DecodeRuneInString(html.UnescapeString(ref))
	if ref == "" || n != len(html.UnescapeString(ref)) || !letter(byte(r)) && !strings.ContainsRune("0123456789@#/:.-", r) || r > 0x7f {
		p.keep(1)
		return
	}
	p.s = p.s[:p.i] + string(r) + p.s[p.i+len(ref):]
}

// bracket takes a ]. A link stays only if it shows where it leads; an image never does.
func (p *inline) bracket() {
	rest := p.s[p.i+1 : min(len(p.s), p.i+1+longest)]
	start := -1
	if k := len(p.open); k > 0 {
		start, p.open = p.open[k-1], p.open[:k-1]
	}
	switch {
	case strings.HasPrefix(rest, ":"):
		if p.notes && start == 0 && footnote().MatchString(string(p.out)+"]:") {
			if mark, ok := noteOnly(rest[1:]); ok {
				p.replace(2, "]:"+mark)
				return
			}
		}
		p.replace(2, `]\:`) // no definition of a link
	case strings.HasPrefix(rest, "("):
		m := linkTarget().FindStringSubmatch(rest)
		if m == nil || start < 0 || p.address && p.begun < start {
			p.replace(1, "] ") //control:post-doubtful-links
			return
		}
		p.i += 1 + len(m[0])
		p.link(start, m[1]+m[2])
	default:
		p.keep(1)
	}
}

// noteOnly returns what is put before the text of a footnote so that, where there are no
// footnotes, it is no definition of a link either: an address, maybe a title, and no more.
// It reports false for a note that begins on another line.
func noteOnly(text string) (mark string, ok bool) {
	text, _, _ = strings.Cut(text, "\n")
	words := strings.Fields(text)
	title := func(w string) bool { return strings.IndexByte("\"'(", w[0]) >= 0 }
	switch {
	case len(words) == 0:
		return "", false
	case title(words[0]) && len(words) == 1, title(words[0]) && title(words[1]):
		return " – –", true
	case len(words) == 1 || title(words[1]):
		return " –", true
	}
	return "", true
}

// showsItself reports whether a link may stay as it is: its text says where it leads, or
// names a commit of the repository.
func (p *inline) showsItself(text, to string) bool {
	shown := strings.Trim(text, "`")
	if commit, ok := strings.CutPrefix(to, p.Home+"/commit/"); ok && p.Home != "" && len(shown) >= 7 && strings.HasPrefix(commit, shown) && hexWord(commit) {
		return true
	}
	if strings.Contains(to, "://") {
		shown, to = strings.TrimSuffix(shown, "/"), strings.TrimSuffix(to, "/") // the same page with it
	}
	return relative().MatchString(shown) && (to == shown || to == "https://"+shown || to == "http://"+shown)
}

// link writes a link whose text begins in out behind the bracket at start.
func (p *inline) link(start int, to string) {
	text := string(p.out[start+1:])
	p.address = false
	image := start > 0 && p.out[start-1] == '!'
	if !image && p.showsItself(text, to) { //control:post-images
		p.out = append(p.out, "]("+to+")"...)
		return
	}
	if image {
		start--
	}
	before := p.out[:start]
	if len(before) > 0 && before[len(before)-1] == '`' && strings.HasPrefix(text, "`") {
		before = append(before, ' ')
	}
	p.out = before
	address := p.destination(to)
	if text == to || text == address {
		text = ""
	}
	p.out = append(p.out, text...)
	switch {
	case text == "":
		if p.last() == '`' {
			p.out = append(p.out, ' ')
		}
		p.out = append(p.out, address...)
		if p.last() == '`' && strings.HasPrefix(p.s[p.i:], "`") {
			p.out = append(p.out, ' ')
		}
	case address != "":
		p.out = append(p.out, " ("+address+")"...)
	}
}

// destination writes an address so that a reader sees all of it.
func (p *inline) destination(to string) string {
	switch {
	case to == "":
		return ""
	case angleAddress().FindString("<"+to+">") != "" && !p.elsewhere(to):
		return "<" + to + ">"
	}
	return "`" + to + "`"
}

func hexWord(s string) bool { return strings.Trim(s, "0123456789abcdef") == "" }

// elsewhere reports whether an address makes a note in the timeline of something in
// another repository.
func (p *inline) elsewhere(address string) bool {
	m := threadURL().FindStringSubmatch(address)
	return m != nil && !strings.EqualFold(m[2], p.Repo) && (gitHubHost().MatchString(m[1]) || p.own(m[1]))
}

// own reports whether a host is the one that a text goes to: it need not have
// GitHub in its name.
func (p *inline) own(host string) bool {
	home, err := url.Parse(p.Home)
	return err == nil && strings.EqualFold(home.Hostname(), strings.TrimSuffix(host, ".")) //control:own-host
}

// mention takes an @.
func (p *inline) mention() {
	name := mentioned().FindString(p.ahead())
	word := p.behind()
	word = word[strings.LastIndexAny(word, " \t\n")+1:]
	inWord := word != "" && alnum(word[len(word)-1]) && !strings.ContainsAny(word, "@#")
	switch {
	case name == "" || inWord:
		p.keep(1)
	case p.address:
		p.replace(1, "%40")
	default:
		p.show(len(name), name) //control:post-mentions
	}
}

// behind is what was written last.
func (p *inline) behind() string { return string(p.out[max(0, len(p.out)-longest/8):]) }

func alnum(b byte) bool { return letter(b) || b >= '0' && b <= '9' }

// issue takes a #, which may belong to a reference to another repository.
func (p *inline) issue() {
	n := len(digits().FindString(p.s[p.i+1:]))
	word := strings.TrimLeft(otherIssue().FindString(p.behind()), `\*~`)
	switch {
	case n == 0 || !strings.Contains(word, "/") || strings.EqualFold(word, p.Repo):
		p.keep(1)
	case p.address || strings.ContainsAny(word, `\*~`):
		p.replace(1, "# ")
	default:
		p.out = p.out[:len(p.out)-len(word)]
		p.show(1+n, word+p.s[p.i:p.i+1+n])
	}
}

// web takes the beginning of an address, or a letter.
func (p *inline) web() {
	rest := p.ahead()
	if !addressStart().MatchString(rest) {
		p.keep(1)
		return
	}
	if u := onGitHub().FindString(rest); u != "" && p.elsewhere(u) {
		if p.address {
			k := max(strings.Index(u, "//")+2, len("www."))
			p.replace(k, u[:k]+" ")
			return
		}
		p.show(len(u), u)
		return
	}
	run := rest
	if k := strings.IndexAny(rest, " \t\n<"); k >= 0 {
		run = rest[:k]
	}
	if u := strings.TrimRight(bareAddress().FindString(run), "?!.,:*_~'\";)"); !p.address && strings.ContainsAny(strings.ReplaceAll(u, "&#", ""), "@#") && strings.Trim(run[len(u):], "?!.,:*_~'\";)]") == "" && !strings.HasPrefix(run[len(u):], "](") {
		p.replace(len(u), "<"+u+">")
		return
	}
	if !p.address {
		p.address, p.begun = true, len(p.out)
	}
	p.keep(1)
}
