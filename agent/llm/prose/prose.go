// Package prose reads the answers of models that call no tools: text with whole files,
// SEARCH/REPLACE blocks and diffs in code fences, each under the path of its file, and
// requests for more (READ path, SEARCH words, a command in a sh fence).
//
// A block is accepted only if its file is known. Examples, blocks without a path and
// superseded versions of a file are not accepted, and the answer reports them. The
// package does not access the workspace: [View] holds the files visible to the model.
package prose

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/policy/pattern"
)

// Kind is a kind of action.
type Kind string

// The kinds of actions.
const (
	Whole  Kind = "whole"  // Text is the new content of the file at Path, or a definition of it
	Blocks Kind = "blocks" // Text is SEARCH/REPLACE blocks or a unified diff for the file at Path
	Read   Kind = "read"   // a request to read the file at Path
	Search Kind = "search" // a request to search for the words in Text
	Run    Kind = "run"    // a request to run the command in Text
)

// Act is one action in an answer.
type Act struct {
	Kind Kind
	Path string
	Text string
	Cut  bool // the answer ended inside its fence
}

// edits reports whether the act changes a file.
func (a Act) edits() bool { return a.Kind == Whole || a.Kind == Blocks }

// File is a file visible to the model.
type File struct {
	Path, Text string
	Part       bool // Text is some of its functions
}

// View is the files visible to the model, in the order shown.
type View []File

// Answer is a parsed answer. Text is the answer without its accepted blocks. Doubts
// explain the rejected ones.
type Answer struct {
	Acts   []Act
	Text   string
	Doubts []string
}

// Edits reports whether the answer changes a file.
func (a Answer) Edits() bool { return slices.ContainsFunc(a.Acts, Act.edits) }

// Parse parses an answer. Its time is linear in the length of text, and it never panics.
func Parse(text string, view View) Answer {
	r := reader{view: view, lines: strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")}
	plainMarks(r.lines)
	r.read()
	if !slices.ContainsFunc(r.acts, Act.edits) {
		r.unfenced()
	}
	return r.answer()
}

// reader walks through the lines of an answer.
type reader struct {
	view  View
	lines []string
	at    int

	outer  string // marks of an enclosing fence around the whole answer that is still open
	quoted *File  // the last block, if it is only lines of a file in view; Text is these lines
	acts   []Act
	words  []string // lines outside of actions
	doubts []string
}

func (r *reader) read() {
	for r.at < len(r.lines) {
		line := r.lines[r.at]
		switch {
		case r.fence():
		case strings.HasPrefix(strings.TrimSpace(line), searchMark):
			r.bareBlocks()
		case r.bareDiff():
		case r.request(line):
			r.at++
		default:
			r.words = append(r.words, line)
			r.at++
		}
	}
}

// block is a code fence.
type block struct {
	info string
	body []string
	cut  bool // the answer ended inside it
}

// maxIndent is the maximum indentation of a fence, for example in a list.
const maxIndent = 12

// fence reads a fenced block at the current line.
func (r *reader) fence() bool {
	marks, info, indent, ok := openFence(r.lines[r.at])
	if !ok {
		return false
	}
	if r.outer != "" && closesFence(r.lines[r.at], r.outer) || r.wraps(marks, info) {
		r.at++
		return true
	}
	b := block{info: info, cut: true}
	nested, i := 0, r.at+1
	markdown := isMarkdown(r.heading(info)) || slices.Contains(extensions[language(info)], ".md")
	for ; i < len(r.lines); i++ {
		line := r.lines[i]
		if m, inner, _, ok := openFence(line); ok && markdown && inner != "" && m[0] == marks[0] && len(m) >= len(marks) {
			nested++
		} else if closesFence(line, marks) {
			switch deeper := len(indentation(line)) > indent; {
			case nested > 0:
				nested--
			case markdown && deeper: // a fence in an item of a list
				nested++
			default:
				b.cut = false
			}
			if !b.cut {
				break
			}
		}
		b.body = append(b.body, unindent(line, indent))
	}
	if n := len(b.body) - 1; b.cut && n >= 0 && strings.HasSuffix(strings.TrimSpace(b.body[n]), marks) {
		b.body[n], b.cut = strings.TrimSuffix(strings.TrimSpace(b.body[n]), marks), false // its end has no line of its own
	}
	if !markdown && r.split(b) {
		r.at = min(i+1, len(r.lines))
		return true
	}
	r.take(b)
	r.at = min(i+1, len(r.lines))
	return true
}

// wraps reports whether the fence at the current line encloses the whole answer: it
// contains a path and a fence instead of text. An odd number of fences below means that
// its end is among them.
func (r *reader) wraps(marks, info string) bool {
	r.outer = ""
	at := r.at + 1
	for at < len(r.lines) && strings.TrimSpace(r.lines[at]) == "" {
		at++
	}
	if at+1 >= len(r.lines) || pathLike(r.lines[at]) == "" || isMarkdown(r.heading(info)) {
		return false
	}
	if inner, _, _, ok := openFence(r.lines[at+1]); !ok || inner[0] != marks[0] {
		return false
	}
	below := 0
	for _, line := range r.lines[at:] {
		if m, _, _, ok := openFence(line); ok && m[0] == marks[0] {
			below++
		}
	}
	if below%2 == 1 {
		r.outer = marks
	}
	return true
}

// openFence returns the marks, the info string and the indentation of an opening fence.
func openFence(line string) (marks, info string, indent int, ok bool) {
	s := strings.TrimLeft(line, " ")
	if indent = len(line) - len(s); indent > maxIndent || s == "" || s[0] != '`' && s[0] != '~' {
		return "", "", 0, false
	}
	n := len(s) - len(strings.TrimLeft(s, s[:1]))
	info = strings.TrimSpace(s[n:])
	if n < 3 || s[0] == '`' && strings.Contains(info, "`") {
		return "", "", 0, false
	}
	return s[:n], info, indent, true
}

// closesFence reports whether a line closes a fence; a stop word of the model may follow.
func closesFence(line, marks string) bool {
	s, _, _ := strings.Cut(strings.TrimSpace(line), "<|")
	return len(s) >= len(marks) && strings.Trim(s, marks[:1]) == ""
}

func unindent(line string, n int) string {
	for n > 0 && strings.HasPrefix(line, " ") {
		line, n = line[1:], n-1
	}
	return line
}

// SEARCH/REPLACE marks, as in merge conflicts.
const (
	searchMark  = "<<<<<<< SEARCH"
	replaceMark = ">>>>>>> REPLACE"
)

// take handles a fenced block.
func (r *reader) take(b block) {
	body := b.body
	for len(body) > 0 && strings.TrimSpace(body[len(body)-1]) == "" {
		body = body[:len(body)-1]
	}
	if len(body) == 0 {
		return
	}
	text := strings.Join(body, "\n") + "\n"
	lang := language(b.info)
	name := r.heading(b.info)
	isDiff := lang == "diff" || lang == "patch" || strings.HasPrefix(body[0], "--- ") || strings.HasPrefix(body[0], "@@")
	isBlocks := strings.Contains(text, searchMark)
	switch {
	case r.asks(body):
	case isDiff && !isBlocks:
		r.edit(Act{Kind: Blocks, Path: first(name, diffPath(body), r.only(lang)), Text: text, Cut: b.cut})
	case isBlocks:
		if p := inComment(body[0]); name == "" && !strings.HasPrefix(body[0], searchMark) {
			name = first(p, pathLike(body[0]))
		}
		at := strings.Index(text, searchMark)
		r.edit(
			Act{
				Kind: Blocks,
				Path: first(name, r.only(lang)),
				Text: text[at:],
				Cut:  b.cut || !strings.Contains(text, replaceMark),
			},
		)
	case name == "" && isShell(lang):
		r.command(body)
	default:
		r.whole(b, body, name, lang)
	}
}

// split takes the parts of a block with several files in view, each below a line with its path alone.
func (r *reader) split(b block) bool {
	var parts []block
	for i, line := range b.body {
		p := first(inComment(line), pathLike(line))
		f, ok := r.view.File(r.resolvePath(p))
		if p != "" && ok && !hasLine(f.Text, strings.TrimSpace(line)) && (i == 0 || strings.TrimSpace(b.body[i-1]) == "") {
			lang := language(b.info)
			parts = append(parts, block{info: lang + " file=" + f.Path, cut: b.cut})
		} else if len(parts) > 0 {
			parts[len(parts)-1].body = append(parts[len(parts)-1].body, line)
		} else if strings.TrimSpace(line) != "" {
			return false
		}
	}
	if len(parts) < 2 {
		return false
	}
	for _, part := range parts {
		r.take(block{info: part.info, body: trimBlank(part.body), cut: part.cut})
	}
	return true
}

// undiffed returns a whole file without the marks of a diff in it: it has old lines behind a minus, and the
// new ones behind a plus.
func undiffed(had string, body []string) (out []string) {
	lines, old := strings.Split(had, "\n"), false
	for _, line := range body {
		rest, minus := strings.CutPrefix(line, "-")
		switch {
		case slices.Contains(lines, line):
		case minus && strings.TrimSpace(rest) != "" && slices.Contains(lines, rest):
			old = true
			continue
		case strings.HasPrefix(line, "+"):
			line = line[1:]
		}
		out = append(out, line)
	}
	if !old {
		return body
	}
	return out
}

// whole accepts a block as the content of a file.
func (r *reader) whole(b block, body []string, name, lang string) {
	if p := strings.TrimSpace(body[0]); name == "" && len(body) > 1 && pathLike(p) == p {
		if had, ok := r.view.File(r.resolvePath(p)); ok && firstLine(had.Text) != p {
			name, body = p, trimBlank(body[1:])
		}
	}
	if p := inComment(body[0]); p != "" && (name == "" || r.resolvePath(p) == r.resolvePath(name)) {
		name = first(name, p)
		if had, ok := r.view.File(r.resolvePath(name)); !ok || firstLine(had.Text) != body[0] {
			body = trimBlank(body[1:])
		}
	}
	if len(body) == 0 {
		return
	}
	if had, ok := r.view.File(r.resolvePath(name)); ok && name != "" {
		body = undiffed(had.Text, body)
	}
	text := strings.Join(body, "\n") + "\n"
	if name == "" && !r.announcesExample() {
		name = first(r.view.closestFile(text, lang), r.view.partOf(body, lang))
	}
	old, named := r.quoted, name
	if name != "" {
		named = r.resolvePath(name)
	}
	r.quoted = r.view.quotes(body, named)
	switch {
	case old != nil && (named == "" || named == old.Path) && r.replaces(*old, body):
		return
	case r.announcesExample() && name == "":
		r.doubts = append(r.doubts, "a block that is shown as an example was not taken")
	case name == "":
		r.doubts = append(r.doubts, "a block without the path of its file was not taken")
	case strings.TrimSpace(text) == "":
		r.doubts = append(r.doubts, fmt.Sprintf("an empty block for %s was not taken", name))
	default:
		r.edit(Act{Kind: Whole, Path: name, Text: text, Cut: b.cut})
		return
	}
	r.words = append(r.words, "```"+b.info)
	r.words = append(append(r.words, body...), "```")
}

// edit adds a change of a file. It replaces an earlier whole version of the same file. Different
// parts of a file are one change.
func (r *reader) edit(a Act) {
	if a.Path == "" {
		r.doubts = append(r.doubts, "an edit without the path of its file was not taken")
		return
	}
	a.Path = r.resolvePath(a.Path)
	if a.Kind == Whole {
		before := len(r.acts)
		if f, ok := r.view.File(a.Path); ok && strings.TrimSpace(f.Text) == strings.TrimSpace(a.Text) && r.changes(a.Path) {
			r.words = append(r.words, a.Text) // how it was before
			return
		}
		if a.Cut && r.repeats(a) { //control:cut-repetition
			return
		}
		r.acts = slices.DeleteFunc(r.acts, func(old Act) bool {
			if old.Kind != Whole || old.Path != a.Path {
				return false
			}
			if r.view.areParts(a.Path, old.Text, a.Text) {
				a.Text = old.Text + "\n" + a.Text
				before--
			}
			return true
		})
		if len(r.acts) < before {
			r.doubts = append(r.doubts, fmt.Sprintf("there were two versions of %s; the last one was taken", a.Path))
		}
	}
	r.dropHeading()
	r.acts = append(r.acts, a)
}

// repeats reports whether a block that was cut off is the beginning of an earlier version of its file, up
// to white space: a model without an end writes its answer again and again.
func (r *reader) repeats(a Act) bool {
	return slices.ContainsFunc(r.acts, func(old Act) bool {
		return old.Kind == Whole && old.Path == a.Path && !old.Cut && strings.HasPrefix(unspaced(old.Text), unspaced(a.Text))
	})
}

func unspaced(s string) string { return strings.Join(strings.Fields(s), "") }

// changes reports whether there is a whole version of a file so far.
func (r *reader) changes(name string) bool {
	return slices.ContainsFunc(r.acts, func(a Act) bool { return a.Kind == Whole && a.Path == name })
}

// dropHeading removes the line that only names a file from the words.
func (r *reader) dropHeading() {
	for n := len(r.words); n > 0; n-- {
		line := r.words[n-1]
		if strings.TrimSpace(line) == "" {
			continue
		}
		if pathLike(line) != "" {
			r.words = r.words[:n-1]
		}
		return
	}
}

// bareBlocks reads SEARCH/REPLACE blocks outside of fences.
func (r *reader) bareBlocks() {
	name, from := r.heading(""), r.at
	cut := true
	for ; r.at < len(r.lines); r.at++ {
		if strings.HasPrefix(strings.TrimSpace(r.lines[r.at]), replaceMark) {
			r.at++
			cut = false
			break
		}
	}
	r.edit(Act{Kind: Blocks, Path: first(name, r.only("")), Text: strings.Join(r.lines[from:r.at], "\n") + "\n", Cut: cut})
}

var (
	readLine   = pattern.Lazy("^[\\s>*-]*`?READ:?\\s+(\\S.*)$")
	searchLine = pattern.Lazy("^[\\s>*-]*`?SEARCH:?\\s+(\\S.*)$")
)

// request accepts a line that asks for a file or for a search.
func (r *reader) request(line string) bool {
	if m := readLine().FindStringSubmatch(line); m != nil {
		found := false
		for _, w := range strings.FieldsFunc(m[1], func(c rune) bool { return c == ' ' || c == ',' || c == '`' }) {
			if p := strings.Trim(w, "\"'*."); p != "" && looksLikePath(w) {
				r.acts = append(r.acts, Act{Kind: Read, Path: r.resolvePath(p)})
				found = true
			}
		}
		return found
	}
	if m := searchLine().FindStringSubmatch(line); m != nil {
		r.acts = append(r.acts, Act{Kind: Search, Text: strings.Trim(m[1], "`\"' ")})
		return true
	}
	return false
}

// asks accepts a block that consists of requests.
func (r *reader) asks(body []string) bool {
	n := len(r.acts)
	for _, line := range body {
		if strings.TrimSpace(line) != "" && !r.request(line) {
			r.acts = r.acts[:n]
			return false
		}
	}
	return true
}

// command accepts a block of shell lines. If there are prompts, the other lines are
// output.
func (r *reader) command(body []string) {
	var prompted []string
	for _, line := range body {
		if rest, ok := strings.CutPrefix(strings.TrimSpace(line), "$ "); ok {
			prompted = append(prompted, rest)
		}
	}
	if len(prompted) > 0 {
		body = prompted
	}
	if r.announcesExample() {
		return
	}
	r.acts = append(r.acts, Act{Kind: Run, Text: strings.TrimSpace(strings.Join(body, "\n"))})
}

// answer returns the result. Requests beside an edit are dropped: the tests run after an
// edit anyway.
func (r *reader) answer() Answer {
	a := Answer{Acts: r.acts, Doubts: r.doubts, Text: strings.TrimSpace(strings.Join(r.words, "\n"))}
	if a.Edits() {
		a.Acts = slices.DeleteFunc(a.Acts, func(x Act) bool { return x.Kind == Run || x.Kind == Search || x.Kind == Read })
	}
	return a
}

func first(names ...string) string {
	for _, n := range names {
		if n != "" {
			return n
		}
	}
	return ""
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

// Has reports whether the file at a path is in view.
func (v View) Has(name string) bool {
	_, ok := v.File(name)
	return ok
}

// EndsLike reports whether a text has the same last line as the file in view at a path.
// It returns true if the file is not in view.
func (v View) EndsLike(name, text string) bool {
	f, ok := v.File(name)
	return !ok || lastLine(f.Text) == lastLine(text)
}

func lastLine(s string) string {
	s = strings.TrimSpace(s)
	return s[strings.LastIndexByte(s, '\n')+1:]
}

// File returns the file in view at a path.
func (v View) File(name string) (File, bool) {
	for _, f := range v {
		if f.Path == name {
			return f, true
		}
	}
	return File{}, false
}

func isMarkdown(name string) bool {
	return slices.Contains([]string{".md", ".markdown", ".mdx"}, strings.ToLower(path.Ext(name)))
}
