package untrusted

import (
	"bytes"
	"html"
	"net/url"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"
	extended "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"

	"github.com/handrail-bot/handrail/policy/pattern"
)

// OutputOptions describe the destination of a text.
type OutputOptions struct {
	Repo string // "owner/name" of the thread; references to other repositories are made inert
	Home string // URL of the repository; links to its commits may be shown as the commit

	// Inert makes the bot's own commands inert. A nil Inert changes nothing.
	Inert func(string) string
}

// CleanOutput makes Markdown safe to post, regardless of its author: the result mentions
// no account, closes no issue, starts no bot or runner command, creates no link in
// another repository's timeline, shows the destination of each link, fetches no image,
// contains no HTML and no terminal or invisible characters, and leaves no code fence
// open. Text that would have had an effect is shown as code or as plain text, so that its
// intent remains visible. Code keeps its content, except for text that a bot, a runner or
// a merge would act on.
//
// The text is parsed, and rewritten from the allowed nodes of its tree. Ambiguous
// constructs are written such that all renderers agree. A text that takes too long to
// parse is shown as code.
func CleanOutput(s string, o OutputOptions) string {
	s, _ = CleanPlain(s)
	if isAsCode(s) {
		return s
	}
	out, ok := o.write(s)
	if !ok {
		return asCode(s)
	}
	if o.Inert != nil {
		out = o.Inert(out)
	}
	return NoRunnerCommands(out)
}

// asCode shows any text unchanged as a code block.
func asCode(s string) string {
	fence := strings.Repeat("`", max(3, longestRun(s)+1))
	return fence + "\n" + cleanCode(strings.Trim(s, "\n")) + "\n" + fence
}

// isAsCode reports whether s is a result of asCode.
func isAsCode(s string) bool {
	fence := s[:len(s)-len(strings.TrimLeft(s, "`"))]
	inner, begins := strings.CutPrefix(s, fence+"\n")
	inner, ends := strings.CutSuffix(inner, "\n"+fence)
	return len(fence) > 2 && begins && ends && asCode(inner) == s
}

var (
	botCommand = pattern.Lazy(`(?m)^/([A-Za-z][\w-]*(?:[ \t]|$))`)
	runnerLine = pattern.Lazy(`(^|[\r\n])([\t\v\f\p{Z}\x{85}\x{feff}]*)(::)`)
)

// cleanCode disables text that has an effect even in code: bot and runner commands, and
// words that close an issue if the text becomes a commit message.
func cleanCode(s string) string {
	s = botCommand().ReplaceAllString(s, " /$1")
	return NoRunnerCommands(spaceClosing(s))
}

// NoRunnerCommands makes lines inert that an Actions runner would interpret as commands.
// It changes nothing else.
func NoRunnerCommands(s string) string {
	if !strings.Contains(s, "::") && !strings.Contains(s, "##[") {
		return s
	}
	s = runnerLine().ReplaceAllString(s, `$1$2\$3`) //control:runner-commands
	return strings.ReplaceAll(s, "##[", "## [")
}

// write rewrites a text from its tree. It reports false if the text cannot be parsed.
func (o OutputOptions) write(s string) (out string, ok bool) {
	defer func() {
		if recover() != nil { // a bug in the parser: the text is unknown
			out, ok = "", false
		}
	}()
	if tooSlow(s) {
		return "", false
	}
	w := writer{OutputOptions: o, src: []byte(s), used: map[string]bool{}, notes: map[int]string{}}
	w.tokens = make([]token, 0, len(s))
	doc := markdownOf(s).Parser().Parse(text.NewReader(w.src))
	w.survey(doc)
	w.blocks(doc, false)
	w.neutralize()
	out = strings.TrimRight(strings.TrimLeft(w.print(), "\n"), " \n")
	if strings.HasSuffix(s, "\n") && out != "" {
		out += "\n"
	}
	return out, true
}

// kind is the kind of a token.
type kind int

const (
	prose   kind = iota // one visible character
	markup              // not part of the words
	code                // a code span
	address             // a visible URL that is also the destination
	newline             // the end of a line or a block
)

// token is a piece of the output.
type token struct {
	kind  kind
	out   string // output; "" for prose, which depends on its neighbors
	seen  string // text visible to a reader
	src   string // original spelling of an escaped character
	begin bool   // first token of a line of a paragraph
	cell  bool   // in a table
	space bool   // a space follows
}

// writer writes the allowed nodes of a tree as Markdown.
type writer struct {
	OutputOptions
	src     []byte
	used    map[string]bool // link destinations
	notes   map[int]string  // footnote labels
	prefix  string          // prefix of each line
	cell    bool
	heading bool
	begin   bool // the next token begins a line
	tokens  []token
}

// survey collects link destinations and footnote labels.
func (w *writer) survey(doc ast.Node) {
	_ = ast.Walk(doc, func(n ast.Node, _ bool) (ast.WalkStatus, error) { // cannot fail
		switch n := n.(type) {
		case *ast.Link:
			w.used[string(n.Destination)] = true
		case *ast.Image:
			w.used[string(n.Destination)] = true
		case *extended.Footnote:
			w.notes[n.Index] = strconv.Itoa(n.Index)
			if label := string(n.Ref); noteLabel().MatchString(label) {
				w.notes[n.Index] = label
			}
		}
		return ast.WalkContinue, nil
	})
}

// host matches a URL after its scheme, limited to characters on which all renderers
// agree.
const host = `[A-Za-z0-9][A-Za-z0-9.-]*(?::\d+)?(?:[/?#][A-Za-z0-9\-._~/?#=&%+:,;@$!'()*]*)?`

var (
	noteLabel    = pattern.Lazy(`^[A-Za-z0-9_-]{1,64}$`)
	angleAddress = pattern.Lazy(`^https?://` + host + `$`)
	bareAddress  = pattern.Lazy(`^(?:https?://|www\.)` + host)
	entity       = pattern.Lazy(`&(?:#|[A-Za-z][A-Za-z0-9]*;)`)
	plainMail    = pattern.Lazy(`^[A-Za-z0-9._+-]*[A-Za-z0-9]@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+$`)
	addressLike  = pattern.Lazy(`^(?:[A-Za-z][A-Za-z0-9+.-]*:|[#/.])|^<|\w\.\w`)
	relative     = pattern.Lazy(`^(?:\.{1,2}/)*[A-Za-z0-9_][A-Za-z0-9_./-]*$`)
	threadURL    = pattern.Lazy(`(?i)^(?:https?://(?:[^\s/]*@)?(?:www\.)?|www\.)([\w.-]+)(?::\d+)?/([\w.-]+/[\w.-]+)/` +
		`(?:issues|pull|discussions|commit|compare)\b`)
	gitHubHost   = pattern.Lazy(`(?i)(?:^|\.)github`)
	languageWord = pattern.Lazy(`^[\w+#./-]+$`)
	// drawn matches the words after a fence that GitHub renders as drawings.
	drawn = pattern.Lazy(`^(?i:mermaid|math|geojson|topojson|stl)$`)
)

func (w *writer) add(k kind, out, seen string) {
	w.tokens = append(w.tokens, token{kind: k, out: out, seen: seen, begin: w.begin, cell: w.cell})
	w.begin = false
}

func (w *writer) markup(out string) { w.add(markup, out, "\x01") }

// line begins a line, after an empty line if blank is set.
func (w *writer) line(blank bool) {
	out := "\n"
	if blank {
		out += strings.TrimRight(w.prefix, " ") + "\n"
	}
	w.add(newline, out+w.prefix, "\n")
}

// within writes a mark, and then a block with a prefix on its further lines.
func (w *writer) within(mark, prefix string, write func()) {
	w.add(newline, mark, "\n")
	before := w.prefix
	w.prefix += prefix
	write()
	w.prefix = before
}

// blocks writes the child blocks of a node, without empty lines between them if tight is
// set.
func (w *writer) blocks(parent ast.Node, tight bool) {
	first := true
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		if w.unseen(n) { //control:post-references
			continue
		}
		if !first {
			empty := n.FirstChild() != nil && n.Kind() == ast.KindList && n.FirstChild().FirstChild() == nil
			w.line(!tight || empty)
		}
		first = false
		w.block(n, parent)
	}
}

// unseen reports whether a block shows nothing: a definition with an address that its
// links show, or the link back from a footnote.
func (w *writer) unseen(n ast.Node) bool {
	if def, is := n.(*ast.LinkReferenceDefinition); is {
		return w.used[string(def.Destination)] || addressLike().Match(def.Destination)
	}
	if n.Kind() == extended.KindFootnote {
		for c := n.FirstChild(); c != nil; c = c.NextSibling() {
			if !w.unseen(c) {
				return false
			}
		}
		return true
	}
	return n.FirstChild() != nil && n.FirstChild().Kind() == extended.KindFootnoteBacklink
}

func (w *writer) block(n, parent ast.Node) {
	switch n := n.(type) {
	case *ast.Heading:
		if n.Level <= 2 && n.Lines().Len() > 1 { // only setext headings have several lines
			w.inlines(n)
			w.line(false)
			w.add(newline, map[int]string{1: "===", 2: "---"}[n.Level], "\n")
			return
		}
		w.add(newline, strings.Repeat("#", n.Level)+" ", "\n")
		w.heading = true
		w.inlines(n)
		w.heading = false
		w.endHeading()
	case *ast.Blockquote:
		w.within("> ", "> ", func() { w.blocks(n, false) })
	case *ast.List:
		w.list(n)
	case *ast.ThematicBreak:
		w.add(newline, map[bool]string{true: "___", false: "---"}[parent.Kind() == ast.KindListItem], "\n")
	case *ast.CodeBlock:
		w.fence("", n)
	case *ast.FencedCodeBlock:
		lang := html.UnescapeString(string(n.Language(w.src)))
		switch {
		case drawn().MatchString(lang): //control:post-drawings
			lang = "text"
		case !languageWord().MatchString(lang):
			lang = ""
		}
		w.fence(lang, n)
	case *extended.Table:
		w.table(n)
	case *extended.FootnoteList:
		w.blocks(n, false)
	case *extended.Footnote:
		w.within("[^"+w.notes[n.Index]+"]: ", "    ", func() { w.blocks(n, false) })
	case *ast.HTMLBlock:
		lines := n.Lines().Value(w.src)
		if n.HasClosure() {
			lines = append(bytes.Clone(lines), n.ClosureLine.Value(w.src)...)
		}
		w.begin = true
		w.literal(string(lines))
	case *ast.LinkReferenceDefinition:
		w.begin = true
		w.literal(string(n.Lines().Value(w.src)))
	default: // a paragraph
		w.begin = true
		w.inlines(n)
	}
}

// endHeading escapes a number sign at the end of a heading, which would end it.
func (w *writer) endHeading() {
	if last := &w.tokens[len(w.tokens)-1]; last.kind == prose && last.seen == "#" {
		last.src = `\#`
	}
}

func (w *writer) list(n *ast.List) {
	number := n.Start
	for item := n.FirstChild(); item != nil; item = item.NextSibling() {
		if item.PreviousSibling() != nil {
			w.line(!n.IsTight)
		}
		mark := string(n.Marker) + " "
		if n.IsOrdered() {
			mark = strconv.Itoa(number) + mark
			number++
		}
		if item.FirstChild() == nil {
			w.add(newline, strings.TrimSpace(mark), "\n")
			continue
		}
		w.within(mark, strings.Repeat(" ", len(mark)), func() { w.blocks(item, n.IsTight) })
	}
}

// fence writes a code block.
func (w *writer) fence(lang string, n ast.Node) {
	var b strings.Builder
	for _, line := range n.Lines().Sliced(0, n.Lines().Len()) {
		b.Write(line.Value(w.src))
	}
	content := cleanCode(b.String())
	mark := strings.Repeat("`", max(3, longestRun(content)+1))
	var out strings.Builder
	out.WriteString(mark + lang + "\n")
	for line := range strings.Lines(content) {
		if line == "\n" {
			out.WriteString(strings.TrimRight(w.prefix, " ") + line)
			continue
		}
		out.WriteString(w.prefix)
		out.WriteString(line)
	}
	if content != "" && !strings.HasSuffix(content, "\n") {
		out.WriteString("\n")
	}
	w.add(code, out.String()+w.prefix+mark, "\n\x00\n")
}

var alignments = map[extended.Alignment]string{
	extended.AlignLeft: ":---|", extended.AlignRight: "---:|", extended.AlignCenter: ":---:|", extended.AlignNone: "---|",
}

func (w *writer) table(n *extended.Table) {
	w.cell = true
	for row := n.FirstChild(); row != nil; row = row.NextSibling() {
		if row.PreviousSibling() != nil {
			w.line(false)
		}
		for cell := row.FirstChild(); cell != nil; cell = cell.NextSibling() {
			w.add(newline, map[bool]string{true: "| ", false: " | "}[cell.PreviousSibling() == nil], "\n")
			w.inlines(cell)
		}
		w.add(newline, " |", "\n")
		if row.Kind() == extended.KindTableHeader {
			w.line(false)
			rule := "|"
			for _, a := range n.Alignments {
				rule += alignments[a]
			}
			w.add(newline, rule, "\n")
		}
	}
	w.cell = false
}

func (w *writer) inlines(parent ast.Node) {
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		w.inline(n)
	}
}

func (w *writer) inline(n ast.Node) {
	switch n := n.(type) {
	case *ast.Text:
		w.text(string(n.Segment.Value(w.src)))
		switch breaks := n.SoftLineBreak() || n.HardLineBreak(); { // GitHub shows both in the same way
		case !breaks || w.begin:
		case w.heading:
			w.add(prose, "", " ")
		default:
			w.line(false)
			w.begin = true
		}
	case *ast.String:
		w.text(string(n.Value))
	case *ast.CodeSpan:
		w.codeSpan(n)
	case *ast.Emphasis:
		mark := "*"
		if at := n.Pos(); at >= 0 && at < len(w.src) && w.src[at] == '_' {
			mark = "_"
		}
		w.around(n, strings.Repeat(mark, n.Level))
	case *extended.Strikethrough:
		w.around(n, "~~")
	case *ast.Link:
		w.link(n, string(n.Destination), false)
	case *ast.Image:
		w.link(n, string(n.Destination), true) //control:post-images
	case *ast.AutoLink:
		w.autoLink(n)
	case *ast.RawHTML:
		w.literal(string(n.Segments.Value(w.src))) //control:post-html
	case *extended.FootnoteLink:
		w.markup("[^" + w.notes[n.Index] + "]")
	case *extended.TaskCheckBox:
		w.markup(map[bool]string{true: "[x] ", false: "[ ] "}[n.IsChecked])
	}
}

func (w *writer) around(n ast.Node, mark string) {
	w.markup(mark)
	w.inlines(n)
	w.markup(mark)
}

// text writes words, resolving backslash escapes and entities.
func (w *writer) text(s string) {
	for s != "" {
		src, ref := "", ""
		r, size := utf8.DecodeRuneInString(s)
		if r == '&' {
			ref = reference().FindString(s)
		}
		switch {
		case r == '\\' && size < len(s) && punctuation(s[1]):
			src, r, size = s[:2], rune(s[1]), 2
		case ref != "" && html.UnescapeString(ref) != ref:
			r, _ = utf8.DecodeRuneInString(html.UnescapeString(ref))
			src, size = ref, len(ref)
			if r < ' ' || hidden(r) || unicode.IsSpace(r) && r != '\u00a0' {
				src, r = "", ' '
			}
		}
		w.add(prose, "", string(r))
		w.tokens[len(w.tokens)-1].src = src
		s = s[size:]
	}
}

func punctuation(b byte) bool { return b > ' ' && b < 0x7f && !alnum(b) }

// literal writes text that is not Markdown, so that it is shown unchanged.
func (w *writer) literal(s string) {
	wrote := false
	for line := range strings.Lines(s) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		if wrote {
			w.line(false)
			w.begin = true
		}
		wrote = true
		for _, r := range line {
			w.add(prose, "", string(r))
			if strings.ContainsRune("*_~", r) {
				w.tokens[len(w.tokens)-1].src = `\` + string(r)
			}
		}
	}
}

func (w *writer) codeSpan(n ast.Node) {
	var b strings.Builder
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		b.Write(c.(*ast.Text).Segment.Value(w.src)) // a code span has no other children
	}
	w.code(spaceClosing(strings.ReplaceAll(b.String(), "\n", " ")))
}

// code writes a code span.
func (w *writer) code(s string) { w.add(code, span(s, w.cell), "\x00") }

// span formats a text as an inline code span.
func span(s string, cell bool) string {
	if cell {
		s = strings.ReplaceAll(strings.ReplaceAll(s, `\|`, "|"), "|", `\|`)
	}
	mark := strings.Repeat("`", longestRun(s)+1)
	if s == "" || len(mark) > 1 || s[0] == ' ' && s[len(s)-1] == ' ' && strings.TrimSpace(s) != "" {
		s = " " + s + " "
	}
	return mark + s + mark
}

// link writes a link, or an image as a link. A link is kept only if its text shows its
// destination; an image never does.
func (w *writer) link(n ast.Node, to string, image bool) {
	begin := len(w.tokens)
	w.markup("[")
	w.inlines(n)
	var shown strings.Builder
	for _, t := range w.tokens[begin+1:] {
		switch t.kind {
		case code:
			shown.WriteString(strings.Trim(t.out, "` "))
		case markup:
		default:
			shown.WriteString(t.seen)
		}
	}
	if !image && w.showsItself(shown.String(), to) { //control:post-links
		w.markup("](" + to + ")")
		return
	}
	w.tokens[begin].out, w.tokens[begin].seen = "", "" // no bracket
	if words := shown.String(); words == "" || words == to {
		w.tokens = w.tokens[:begin+1]
		w.destination(to)
		return
	}
	if to != "" {
		w.markup(" (")
		w.destination(to)
		w.markup(")")
	}
}

// showsItself reports whether a link can be kept: its text shows its destination, or
// names a commit of the repository.
func (w *writer) showsItself(shown, to string) bool {
	commit, ok := strings.CutPrefix(to, w.Home+"/commit/")
	if ok && w.Home != "" && len(shown) >= 7 && strings.HasPrefix(commit, shown) {
		return strings.Trim(commit, "0123456789abcdef") == ""
	}
	if strings.Contains(to, "://") {
		shown, to = strings.TrimSuffix(shown, "/"), strings.TrimSuffix(to, "/") // a trailing slash does not matter
	}
	return relative().MatchString(shown) && (to == shown || to == "https://"+shown || to == "http://"+shown)
}

// destination writes a URL so that all of it is visible.
func (w *writer) destination(to string) {
	switch {
	case to == "":
	case angleAddress().MatchString(to):
		w.add(address, "<"+to+">", to)
	default:
		w.code(spaceClosing(to))
	}
}

func (w *writer) autoLink(n *ast.AutoLink) {
	to := string(n.Label(w.src))
	angle := n.Pos() >= 0 && n.Pos() < len(w.src) && w.src[n.Pos()] == '<'
	switch {
	case n.AutoLinkType == ast.AutoLinkEmail && plainMail().MatchString(to):
		if angle {
			w.add(address, "<"+to+">", to)
			return
		}
		w.add(address, to, to)
	case angle && !angleAddress().MatchString(to):
		w.literal("<" + to + ">")
	case angle:
		w.destination(to)
	default:
		bare := bareAddress().FindString(to)
		if ref := entity().FindStringIndex(bare); ref != nil { // it ends there for all renderers
			bare = bare[:ref[0]]
		}
		switch {
		case bare == "":
		case strings.ContainsAny(bare, "@#"): // renderers disagree about its end
			w.destination(bare)
		default:
			w.add(address, bare, bare)
		}
		w.text(to[len(bare):])
	}
}

// elsewhere reports whether a URL creates a link in another repository's timeline.
func (o OutputOptions) elsewhere(address string) bool {
	m := threadURL().FindStringSubmatch(address)
	return m != nil && !strings.EqualFold(m[2], o.Repo) && (gitHubHost().MatchString(m[1]) || o.own(m[1]))
}

// own reports whether a host is the destination's own GitHub server, which need not have
// GitHub in its name.
func (o OutputOptions) own(host string) bool {
	home, err := url.Parse(o.Home)
	return err == nil && strings.EqualFold(home.Hostname(), strings.TrimSuffix(host, ".")) //control:own-host
}

var reference = pattern.Lazy(`^&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});`)

// print concatenates the tokens.
func (w *writer) print() string {
	var b []byte
	last := func() byte {
		if len(b) == 0 {
			return 0
		}
		return b[len(b)-1]
	}
	for i, t := range w.tokens {
		out := t.out
		if t.kind == prose && out == "" {
			out = w.spelling(i)
		}
		if strings.HasPrefix(out, "\n") {
			b = bytes.TrimRight(b, " \t")
		}
		if t.kind == code && t.seen == "\x00" && w.behindAddress(i) || strings.HasPrefix(out, "`") && last() == '`' {
			b = append(b, ' ')
		}
		if b = append(b, out...); t.space {
			b = append(b, ' ')
		}
	}
	return string(b)
}

// behindAddress reports whether token i directly follows a URL, so that it would be read
// as a part of it.
func (w *writer) behindAddress(i int) bool {
	var word strings.Builder
	for k := i - 1; k >= 0 && i-k < 2048; k-- {
		t := w.tokens[k]
		if t.kind == address && !strings.HasPrefix(t.out, "<") {
			return true
		}
		if t.kind == address || t.kind == newline || strings.TrimSpace(t.seen) != t.seen {
			break
		}
		word.WriteString(t.seen)
	}
	backwards := strings.ToLower(word.String())
	return strings.Contains(backwards, "//:") || strings.Contains(backwards, ".www")
}

// next returns the visible text after a token on its line, up to other tokens than prose.
func (w *writer) next(i int) string {
	var b strings.Builder
	for _, t := range w.tokens[i+1:] {
		if b.Len() >= 40 || t.kind != prose && t.seen != "" {
			break
		}
		b.WriteString(t.seen)
	}
	return b.String()
}

// after returns the first byte written after a token, or a newline at the end.
func (w *writer) after(i int) byte {
	for k := i + 1; k < len(w.tokens); k++ {
		switch t := w.tokens[k]; {
		case t.out != "":
			return t.out[0]
		case t.seen != "":
			return t.seen[0]
		}
	}
	return '\n'
}

var (
	// lineMark matches the beginning of a line that could begin a block or be a bot command.
	lineMark = pattern.Lazy(`^(?:#{1,6}(?:[\s\[]|$)|[-+*](?:\s|$)|>|[=-]+\s*$|(?:[*_-][ \t]*){3,}$|~~~|` +
		`[|:\-][|:\- \t]*$|/[A-Za-z])`)
	lineNumber = pattern.Lazy(`^\d{1,9}[.)](?:\s|$)`)
)

// spelling returns a character such that every renderer shows it unchanged.
func (w *writer) spelling(i int) string {
	t := w.tokens[i]
	r, _ := utf8.DecodeRuneInString(t.seen)
	if !t.begin && t.src == "" && (r == ' ' || r < 0x80 && alnum(byte(r))) {
		return t.seen
	}
	next := w.after(i)
	bare := t.src == "" || letter(byte(r)) || strings.ContainsRune("0123456789@/:.-#", r) && r < 0x80
	switch {
	case r == '`':
		return "&#96;" //control:post-backticks
	case r == '<' && (t.src != "" || letter(next) || strings.IndexByte("/!?", next) >= 0):
		return "&lt;"
	case r == '&' && (t.src == `\&` || reference().MatchString("&"+w.next(i))):
		return "&amp;"
	case r == '|' && t.cell:
		return `\|`
	case t.begin && lineMark().MatchString(t.seen+w.next(i)):
		return `\` + t.seen
	case (r == '.' || r == ')') && w.endsNumber(i):
		return `\` + t.seen
	case !bare:
		return t.src
	case t.src == `\#` && (next < '0' || next > '9'), t.src == `\:`, t.src == `\.`, t.src == `\-`:
		return t.src
	case r == '\\' && (punctuation(next) || next == '\n'):
		return `\\`
	case r == '!' && next == '[':
		return `\!`
	case (r == '(' || r == ':') && i > 0 && w.tokens[i-1].seen == "]": //control:post-doubtful-links
		return `\` + t.seen
	case r == '[' && next == '^':
		return `\[`
	}
	return t.seen
}

// endsNumber reports whether a character ends a list number at the beginning of a line.
func (w *writer) endsNumber(i int) bool {
	k := i
	for k > 0 && !w.tokens[k].begin && strings.Trim(w.tokens[k-1].seen, "0123456789") == "" && i-k < 10 {
		k--
	}
	return k < i && w.tokens[k].begin && lineNumber().MatchString(w.tokens[k].seen+w.next(k))
}
