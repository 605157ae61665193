package patch

import (
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"
)

// unifiedParser reads unified diffs as git, diff and models write them.
type unifiedParser struct {
	lines []line
	i     int
	edits []Edit
	open  bool // the last edit still accepts hunks
}

func parseUnified(lines []line) ([]Edit, error) {
	if transportCRLF(lines) {
		for i := range lines {
			lines[i].eol = "\n"
		}
	}
	p := &unifiedParser{lines: lines}
	for p.i < len(p.lines) {
		if err := p.step(); err != nil {
			return nil, err
		}
	}
	if len(p.edits) == 0 {
		p.bare()
	}
	return p.edits, nil
}

// transportCRLF reports whether all lines of the diff end in CRLF. The endings then
// say nothing about the file.
func transportCRLF(lines []line) bool {
	for i, l := range lines {
		if l.eol == "\n" || l.eol == "" && i < len(lines)-1 {
			return false
		}
	}
	return len(lines) > 1
}

func (p *unifiedParser) step() error {
	s := p.lines[p.i].text
	if p.fileHeader(s) {
		return nil
	}
	switch {
	case strings.HasPrefix(s, "@@"):
		p.hunk()
		return nil
	case strings.HasPrefix(s, "GIT binary patch"), strings.HasPrefix(s, "Binary files "):
		return errors.New("parse edit: binary files cannot be changed by a diff")
	case p.open && len(p.lastEdit().hunks) == 0 && isOp(s):
		p.addHunk(p.loose(hunk{source: p.i + 1}, false))
		return nil
	}
	p.meta(s)
	p.i++
	return nil
}

func isOp(s string) bool { return s != "" && (s[0] == '+' || s[0] == '-' || s[0] == ' ') }

// fileHeader parses the file header that begins at s, and reports whether there is
// one.
func (p *unifiedParser) fileHeader(s string) bool {
	if rest, ok := strings.CutPrefix(s, "diff --git "); ok {
		e := Edit{}
		if i := strings.Index(rest, " b/"); i >= 0 {
			e.Path = headerPath(rest[:i])
		}
		p.begin(e)
		p.i++
		return true
	}
	for _, v := range [...]struct {
		prefix         string
		create, remove bool
	}{{"*** Update File:", false, false}, {"*** Add File:", true, false}, {"*** Delete File:", false, true}} {
		if rest, ok := strings.CutPrefix(s, v.prefix); ok {
			p.begin(Edit{Path: headerPath(rest), Create: v.create, Delete: v.remove})
			p.i++
			return true
		}
	}
	if !p.isFilePair(p.i) {
		return false
	}
	from := headerPath(p.lines[p.i].text[4:])
	to := headerPath(p.lines[p.i+1].text[4:])
	p.i += 2
	e := p.lastEdit()
	if e == nil || len(e.hunks) > 0 || e.Path != "" && e.Path != from && from != devNull {
		p.begin(Edit{})
		e = p.lastEdit()
	}
	p.open = true
	switch {
	case from == devNull && to != devNull:
		e.Path, e.Create = to, true
	case to == devNull:
		e.Path, e.Delete = from, true
	case sameFile(from, to):
		e.Path = to
	default:
		e.Path = from // a rename has header lines of its own
	}
	return true
}

const devNull = "/dev/null"

// sameFile reports whether a pair of header paths names one file. Models omit
// directories, or name the old file with ".orig".
func sameFile(from, to string) bool {
	return from == to || path.Base(from) == path.Base(to) && (strings.HasSuffix(from, "/"+to) || strings.HasSuffix(to, "/"+from)) ||
		strings.TrimSuffix(from, ".orig") == to || from == "" ||
		to == ""
}

// isFilePair reports whether a "---" line and a "+++" line begin at i.
func (p *unifiedParser) isFilePair(i int) bool {
	return i+1 < len(p.lines) && strings.HasPrefix(p.lines[i].text, "--- ") && strings.HasPrefix(p.lines[i+1].text, "+++ ")
}

func (p *unifiedParser) begin(e Edit) {
	p.edits = append(p.edits, e)
	p.open = true
}

func (p *unifiedParser) lastEdit() *Edit {
	if len(p.edits) == 0 {
		return nil
	}
	return &p.edits[len(p.edits)-1]
}

func (p *unifiedParser) meta(s string) {
	e := p.lastEdit()
	switch {
	case strings.HasPrefix(s, "```"), strings.HasPrefix(s, "*** End Patch"):
		p.open = false
	case strings.HasPrefix(s, "+++ ") && p.i+1 < len(p.lines) && strings.HasPrefix(p.lines[p.i+1].text, "@@"),
		strings.HasPrefix(s, "--- ") && p.i+1 < len(p.lines) && strings.HasPrefix(p.lines[p.i+1].text, "@@"):
		p.begin(Edit{Path: headerPath(s[4:])})
	case e == nil:
	case strings.HasPrefix(s, "rename from "):
		e.Path = headerPath(s[len("rename from "):])
	case strings.HasPrefix(s, "rename to "):
		e.To = headerPath(s[len("rename to "):])
	case strings.HasPrefix(s, "*** Move to:"):
		e.To = headerPath(s[len("*** Move to:"):])
	case strings.HasPrefix(s, "new file mode"):
		e.Create = true
	case strings.HasPrefix(s, "deleted file mode"):
		e.Delete = true
	}
}

// headerPath parses a path in a header: unquoted, without a/ or b/, and without the
// time that diff appends after a tab.
func headerPath(s string) string {
	s = strings.TrimSpace(strings.TrimRight(s, "\r"))
	if i := strings.IndexByte(s, '\t'); i >= 0 {
		s = s[:i]
	}
	if len(s) > 1 && s[0] == '"' {
		if u, err := strconv.Unquote(s); err == nil {
			s = u
		}
	}
	s = strings.Trim(s, "`")
	if s == devNull {
		return s
	}
	if len(s) > 2 && s[1] == '/' && (s[0] == 'a' || s[0] == 'b') {
		s = s[2:]
	}
	return s
}

// hunk reads one hunk, including its header.
func (p *unifiedParser) hunk() {
	h, old, added, counted := hunkHeader(p.lines[p.i].text)
	h.source = p.i + 1
	p.i++
	for p.i < len(p.lines) && strings.HasPrefix(p.lines[p.i].text, "@@") && h.section != "" {
		more, _, _, _ := hunkHeader(p.lines[p.i].text)
		more.source = h.source
		h, counted = more, false
		p.i++
	}
	if counted {
		if strict, next, ok := p.strict(h, old, added); ok {
			p.i = next
			p.addHunk(strict)
			return
		}
	}
	p.addHunk(p.loose(h, true))
}

func (p *unifiedParser) addHunk(h hunk) {
	changes := false
	for _, l := range h.lines {
		changes = changes || l.op != ' '
	}
	if !changes {
		return
	}
	if p.lastEdit() == nil || !p.open && len(p.lastEdit().hunks) == 0 {
		p.begin(Edit{})
	}
	e := p.lastEdit()
	e.hunks = append(e.hunks, h)
}

// hunkHeader parses "@@ -1,2 +3,4 @@ section" and its variants by models.
func hunkHeader(s string) (h hunk, old, added int, counted bool) {
	rest := strings.TrimPrefix(s, "@@")
	inner, section, closed := strings.Cut(rest, "@@")
	f := strings.Fields(inner)
	if len(f) == 0 || !strings.HasPrefix(f[0], "-") {
		if closed && section != "" {
			inner = section
		}
		h.section = strings.TrimSpace(inner)
		if n, err := strconv.Atoi(strings.TrimPrefix(strings.ToLower(h.section), "line ")); err == nil && n > 0 {
			h.start, h.section = n, ""
		}
		return h, 0, 0, false
	}
	h.section = strings.TrimSpace(section)
	start, old, ok1 := span(f[0][1:])
	h.start = start
	h.zero = ok1 && old == 0
	if len(f) < 2 || !strings.HasPrefix(f[1], "+") {
		return h, 0, 0, false
	}
	_, added, ok2 := span(f[1][1:])
	return h, old, added, ok1 && ok2
}

func span(s string) (start, count int, ok bool) {
	a, b, two := strings.Cut(s, ",")
	start, err := strconv.Atoi(a)
	if err != nil || start < 0 {
		return 0, 0, false
	}
	if !two {
		return start, 1, true
	}
	count, err = strconv.Atoi(b)
	return start, count, err == nil && count >= 0
}

// strict reads as many lines as the header counts, if the counts are consistent.
func (p *unifiedParser) strict(h hunk, old, added int) (hunk, int, bool) {
	i := p.i
	for old > 0 || added > 0 || i < len(p.lines) && strings.HasPrefix(p.lines[i].text, `\`) {
		if i >= len(p.lines) {
			return h, 0, false
		}
		l := p.lines[i]
		i++
		op := byte(' ')
		if l.text != "" {
			op = l.text[0]
		}
		switch op {
		case ' ':
			old, added = old-1, added-1
		case '-':
			old--
		case '+':
			added--
		case '\\':
			endLine(&h)
			continue
		default:
			return h, 0, false
		}
		if old < 0 || added < 0 {
			return h, 0, false
		}
		h.lines = append(h.lines, opLine(l, op))
	}
	if i < len(p.lines) && isOp(p.lines[i].text) && !p.isFilePair(i) && !strings.HasPrefix(p.lines[i].text, "-- ") {
		return h, 0, false
	}
	return h, i, true
}

func opLine(l line, op byte) hunkLine {
	text := l.text
	if text != "" {
		text = text[1:]
	}
	return hunkLine{op: op, text: text, cr: l.eol == "\r\n"}
}

// endLine marks the last line as unterminated.
func endLine(h *hunk) {
	if n := len(h.lines); n > 0 {
		l := &h.lines[n-1]
		l.noEOL = true
		if l.cr {
			l.text, l.cr = l.text+"\r", false
		}
	}
}

// loose reads lines up to the next header and ignores the counts. Lines without a
// first column are context that lost its leading space.
func (p *unifiedParser) loose(h hunk, header bool) hunk {
	h.zero = false
	lastOp := 0 // number of lines up to the last one with a first column
	for ; p.i < len(p.lines); p.i++ {
		l := p.lines[p.i]
		if p.ends(l.text) {
			break
		}
		switch {
		case l.text == "":
			h.lines = append(h.lines, hunkLine{op: ' ', cr: l.eol == "\r\n", raw: true})
		case strings.HasPrefix(l.text, `\ `):
			endLine(&h)
		case isOp(l.text):
			h.lines = append(h.lines, opLine(l, l.text[0]))
			lastOp = len(h.lines)
		default:
			h.lines = append(h.lines, hunkLine{op: ' ', text: l.text, cr: l.eol == "\r\n", raw: true})
		}
	}
	for i := range h.lines {
		h.lines[i].raw = h.lines[i].raw && i >= lastOp
	}
	if !header && lastOp < len(h.lines) {
		h.lines = h.lines[:lastOp]
	}
	return h
}

func (p *unifiedParser) ends(s string) bool {
	return strings.HasPrefix(s, "@@") || strings.HasPrefix(s, "diff --git ") || strings.HasPrefix(s, "```") ||
		strings.HasPrefix(s, "*** ") && (strings.HasSuffix(s, "Patch") || strings.Contains(s, " File")) || p.isFilePair(p.i)
}

// bare parses a text in which every line begins with -, + or a space.
func (p *unifiedParser) bare() {
	from, to := trimEnds(p.lines, func(l line) bool {
		return strings.TrimSpace(l.text) == "" || strings.HasPrefix(l.text, "```")
	})
	lines, changes := p.lines[from:to], false
	for _, l := range lines {
		if l.text != "" && !isOp(l.text) {
			return
		}
		changes = changes || l.text != "" && l.text[0] != ' '
	}
	if changes {
		p.lines, p.i = lines, 0
		p.begin(Edit{})
		p.addHunk(p.loose(hunk{source: 1}, false))
	}
}

// describe returns the name of a hunk for a message.
func (h hunk) describe(index, total int) string {
	what := "hunk"
	if h.block {
		what = "block"
	}
	if total <= 1 {
		return "the " + what
	}
	return fmt.Sprintf("%s %d of %d", what, index, total)
}
