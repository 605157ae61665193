package untrusted

import (
	"regexp"
	"slices"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"
)

// OutputOptions say where a text goes.
type OutputOptions struct {
	Repo        string   // "owner/name" of the thread; references to other repositories are made inert
	Images      []string // beginnings of addresses from which images may be shown; none by default
	NeutralKeys bool     // make "fixes #1" inert too
}

// maxOutputPasses is how often [CleanOutput] repeats its cleaning at most.
const maxOutputPasses = 12

// CleanOutput makes Markdown that a model wrote safe to post: it mentions
// nobody, starts no bot or runner command, links no other repository's
// timeline, fetches no image, holds no HTML and no terminal or invisible
// characters, and leaves no code fence open. What would have had an effect is
// shown as code, so a reader sees what was meant. Code keeps its content,
// except for lines that a bot or a runner would take as a command. Cleaning
// twice changes nothing more.
func CleanOutput(s string, o OutputOptions) string {
	s, _ = CleanPlain(s)
	for range maxOutputPasses {
		next := closeFence(o.pass(s))
		if next == s {
			return s
		}
		s = next
	}
	return asCode(s)
}

// asCode shows a text as it is, whatever it contains.
func asCode(s string) string {
	longest := 2
	for _, run := range regexp.MustCompile("`+").FindAllString(s, -1) {
		longest = max(longest, len(run))
	}
	fence := strings.Repeat("`", longest+1)
	return fence + "\n" + codeLines(strings.TrimSuffix(s, "\n")) + "\n" + fence
}

// pass cleans once: prose by its own rules, code only line by line.
func (o OutputOptions) pass(s string) string {
	var b strings.Builder
	at := 0
	for _, c := range codeRanges(s) {
		if c.start > at {
			b.WriteString(o.prose(s[at:c.start], newline(s, at), c.start < len(s) && s[c.start] == '`'))
		}
		code := s[max(at, c.start):max(at, c.end)]
		if newline(s, c.start) || strings.Contains(code, "\n") {
			code = codeLines(code)
		}
		b.WriteString(code)
		at = max(at, c.end)
	}
	b.WriteString(o.prose(s[at:], newline(s, at), false))
	return b.String()
}

func newline(s string, i int) bool { return i == 0 || s[i-1] == '\n' }

// codeRanges returns the code of a Markdown text with its delimiters, in
// order. In a text the parser cannot take there is no code.
func codeRanges(s string) []span {
	if !strings.ContainsAny(s, "`~") && !strings.Contains(s, "    ") && !strings.Contains(s, "\t") {
		return nil
	}
	lay := readLayout(s)
	var out []span
	for _, c := range lay.code {
		start, end := c.start, c.end
		for start > 0 && s[start-1] == ' ' {
			start--
		}
		for start > 0 && s[start-1] == '`' {
			start--
		}
		for end < len(s) && s[end] == ' ' {
			end++
		}
		for end < len(s) && s[end] == '`' {
			end++
		}
		out = append(out, span{start, end})
	}
	out = append(out, lay.fences...)
	slices.SortFunc(out, func(a, b span) int { return a.start - b.start })
	return out
}

var (
	botCommand    = lazily(`(?m)^/([A-Za-z][\w-]*(?:[ \t]|$))`)
	runnerInCode  = lazily(`(?m)^([ \t]*)(::[\w-]+(?:[ \t][^:\n]*)?::)`)
	runnerInProse = lazily(`(?m)^([ \t]*)(::)`)
	slashInProse  = lazily(`(?m)^([ \t>*+-]*(?:\d+[.)][ \t]+)?)/([A-Za-z])`)
)

// codeLines makes lines of code that look like commands inert.
func codeLines(s string) string {
	s = botCommand().ReplaceAllString(s, " /$1")
	s = runnerInCode().ReplaceAllString(s, `$1\$2`)
	return strings.ReplaceAll(s, "##[", "## [")
}

var runnerLine = lazily(`(^|[\r\n])([\t\v\f\p{Z}\x{85}\x{feff}]*)(::)`)

// NoRunnerCommands makes lines inert that an Actions runner would take for a
// command if it ever saw them. It changes nothing else.
func NoRunnerCommands(s string) string {
	if !strings.Contains(s, "::") && !strings.Contains(s, "##[") {
		return s
	}
	s = runnerLine().ReplaceAllString(s, `$1$2\$3`) //control:runner-commands
	return strings.ReplaceAll(s, "##[", "## [")
}

var (
	htmlStart = lazily(`<([A-Za-z/!?])`)
	autolink  = lazily(`^<https?://[^\s<>` + "`" + `]*>`)
	reference = lazily(`&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});`)
	// inert lists what is shown as code, one alternative after the other:
	// addresses on GitHub and elsewhere, closing keywords, references to
	// other repositories, mentions.
	inert = lazily(`(?i)(https?://[^\s<>"'` + "`" + `)\]]+)` +
		`|(\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?):?[ \t]+)((?:[\w.-]+/[\w.-]+)?#\d+|GH-\d+)\b` +
		`|([\w.-]+/[\w.-]+#\d+)` +
		`|(^|[^A-Za-z0-9])(@[A-Za-z0-9][A-Za-z0-9-]*(?:/[A-Za-z0-9.-]+)?)`)
	threadURL = lazily(`(?i)^https?://(?:[\w-]+\.)*github[\w.-]*(?::\d+)?/([\w.-]+/[\w.-]+)/(?:issues|pull|discussions|commit|compare)\b`)
)

// prose cleans text outside code. lineStart is true for text that begins a line,
// beforeCode for text that a code span follows at once.
func (o OutputOptions) prose(s string, lineStart, beforeCode bool) string {
	s = decodeOutput(s)
	s = escapeHTML(s)
	s = escapeBackticks(s)
	s = o.images(s)
	s = o.wrap(s, beforeCode)
	first := ""
	if !lineStart {
		if k := strings.IndexByte(s, '\n'); k >= 0 {
			first, s = s[:k+1], s[k+1:]
		} else {
			first, s = s, ""
		}
	}
	s = slashInProse().ReplaceAllString(s, `$1\/$2`)
	s = runnerInProse().ReplaceAllString(s, `$1\$2`)
	return strings.ReplaceAll(first+s, "##[", "## [")
}

// decodeOutput decodes character references, so that none hides an @ or a
// slash. Those of < > and & stay: they are how plain text writes them.
func decodeOutput(s string) string {
	return reference().ReplaceAllStringFunc(s, func(ref string) string {
		decoded, end := decodeReference(ref, 0)
		switch {
		case end == 0 || hasHidden(decoded):
			return ref
		case decoded == "<":
			return "&lt;"
		case decoded == ">":
			return "&gt;"
		case decoded == "&":
			return "&amp;"
		}
		return decoded
	})
}

func hasHidden(s string) bool { return strings.ContainsFunc(s, hidden) }

func escapeHTML(s string) string {
	var b strings.Builder
	at := 0
	for _, m := range htmlStart().FindAllStringIndex(s, -1) {
		if autolink().MatchString(s[m[0]:]) {
			continue
		}
		b.WriteString(s[at:m[0]] + "&lt;")
		at = m[0] + 1
	}
	return b.String() + s[at:]
}

// escapeBackticks escapes every backtick of prose. A single one could otherwise pair
// with one that cleaning adds.
func escapeBackticks(s string) string {
	var b strings.Builder
	slashes := 0
	for i := 0; i < len(s); i++ {
		if s[i] == '`' && slashes%2 == 0 {
			b.WriteByte('\\')
		}
		if s[i] == '\\' {
			slashes++
		} else {
			slashes = 0
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// images turns images into links, unless their address is one of ours.
func (o OutputOptions) images(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '!' {
			k := i
			for k < len(s) && s[k] == '!' {
				k++
			}
			if k == len(s) || s[k] != '[' || o.ownImage(s[k:]) {
				b.WriteString(s[i:k])
			}
			i = k - 1
			continue
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

func (o OutputOptions) ownImage(s string) bool {
	_, rest, ok := strings.Cut(s, "](")
	return ok && slices.ContainsFunc(o.Images, func(p string) bool { return p != "" && strings.HasPrefix(rest, p) })
}

// wrap shows what would have an effect as code.
func (o OutputOptions) wrap(s string, beforeCode bool) string {
	var b strings.Builder
	at := 0
	for _, m := range inert().FindAllStringSubmatchIndex(s, -1) {
		start, end := o.inertPart(s, m)
		if start < 0 {
			continue
		}
		head := s[at:start]
		if trimmed := strings.TrimRight(head, `\`); (len(head)-len(trimmed))%2 == 1 {
			head = head[:len(head)-1]
		}
		b.WriteString(head)
		if h := b.String(); strings.HasSuffix(h, "`") || at == 0 && head == "" && start == 0 {
			b.WriteByte(' ')
		}
		b.WriteString("`" + s[start:end] + "`")
		at = end
		if end == len(s) && beforeCode {
			b.WriteByte(' ')
		}
	}
	return b.String() + s[at:]
}

// inertPart returns the part of a match that is to be shown as code, or -1.
func (o OutputOptions) inertPart(s string, m []int) (start, end int) {
	switch {
	case m[2] >= 0:
		url := s[m[2]:m[3]]
		if t := threadURL().FindStringSubmatch(url); t != nil && !strings.EqualFold(t[1], o.Repo) {
			return m[2], m[3]
		}
	case m[4] >= 0:
		if o.NeutralKeys {
			return m[6], m[7]
		}
		if ref := s[m[6]:m[7]]; strings.Contains(ref, "/") && !o.ownRepo(ref) {
			return m[6], m[7]
		}
	case m[8] >= 0:
		if !o.ownRepo(s[m[8]:m[9]]) {
			return m[8], m[9]
		}
	case m[12] >= 0:
		return m[12], m[13]
	}
	return -1, -1
}

func (o OutputOptions) ownRepo(ref string) bool {
	repo, _, _ := strings.Cut(ref, "#")
	return strings.EqualFold(repo, o.Repo)
}

// closeFence ends a code fence that the text leaves open, so that text added behind it
// is not shown as code.
func closeFence(s string) string {
	if !strings.Contains(s, "```") && !strings.Contains(s, "~~~") || len(s) > maxMarkdown {
		return s
	}
	tries := []string{""}
	for _, run := range regexp.MustCompile("`{3,}|~{3,}").FindAllString(s, 64) {
		if t := "\n" + run; !slices.Contains(tries, t) {
			tries = append(tries, t)
		}
	}
	for _, t := range tries {
		if endsOpen(s + t) {
			continue
		}
		return s + t
	}
	return asCode(s)
}

// endsOpen reports whether a paragraph written behind s would be code.
func endsOpen(s string) bool {
	src := []byte(s + "\n\nx")
	doc := goldmark.DefaultParser().Parse(text.NewReader(src))
	last := doc.LastChild()
	return last == nil || last.Kind() != ast.KindParagraph
}
