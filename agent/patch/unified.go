package patch

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/handrail-bot/handrail/policy/pattern"
)

// unifiedParser reads unified diffs as git, diff and models write them.
type unifiedParser struct {
	lines []line
	i     int
	edits []Edit
	open  bool // the last edit still accepts hunks
}

func parseUnified(lines []line) ([]Edit, error) {
	if len(lines) > 1 && uniform(lines, "\r\n") { // the endings say nothing about the file
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

func (p *unifiedParser) step() error {
	switch s := p.lines[p.i].text; {
	case p.isFilePair(p.i):
		p.filePair()
	case strings.HasPrefix(s, "@@"):
		p.hunk()
	case strings.HasPrefix(s, "GIT binary patch"), strings.HasPrefix(s, "Binary files "):
		return errors.New("parse edit: binary files cannot be changed by a diff")
	case p.open && len(p.lastEdit().hunks) == 0 && isOp(s):
		p.addHunk(p.body(hunk{}, 0))
	default:
		p.header(s)
		p.i++
	}
	return nil
}

func isOp(s string) bool { return s != "" && (s[0] == '+' || s[0] == '-' || s[0] == ' ') }

const devNull = "/dev/null"

// isFilePair reports whether a "---" line and a "+++" line begin at i.
func (p *unifiedParser) isFilePair(i int) bool {
	return i+1 < len(p.lines) && strings.HasPrefix(p.lines[i].text, "--- ") && strings.HasPrefix(p.lines[i+1].text, "+++ ")
}

// filePair reads the "---" and "+++" lines of a file.
func (p *unifiedParser) filePair() {
	from, to := headerPath(p.lines[p.i].text[4:]), headerPath(p.lines[p.i+1].text[4:])
	p.i += 2
	e := p.lastEdit()
	if e == nil || len(e.hunks) > 0 || e.Path != "" && e.Path != from && from != devNull {
		e = p.begin(Edit{})
	}
	p.open = true
	e.Path = from // a rename has header lines of its own
	switch {
	case from == devNull && to != devNull:
		e.Path, e.Create = to, true
	case to == devNull:
		e.Delete = true
	case sameFile(from, to):
		e.Path = to
	}
}

// sameFile reports whether a pair of header paths names one file. Models omit
// directories, or name the old file with ".orig".
func sameFile(from, to string) bool {
	return from == "" || to == "" || strings.TrimSuffix(from, ".orig") == to ||
		strings.HasSuffix(from, "/"+to) || strings.HasSuffix(to, "/"+from)
}

// begin begins an edit of another file.
func (p *unifiedParser) begin(e Edit) *Edit {
	p.edits = append(p.edits, e)
	p.open = true
	return p.lastEdit()
}

func (p *unifiedParser) lastEdit() *Edit {
	if len(p.edits) == 0 {
		return nil
	}
	return &p.edits[len(p.edits)-1]
}

// headers are lines outside hunks that say something about a file. Those with begin are
// the first of its lines.
var headers = [...]struct {
	prefix string
	begin  bool
	set    func(e *Edit, path string)
}{
	{"diff --git ", true, func(e *Edit, paths string) {
		if path, _, ok := strings.Cut(paths, " b/"); ok {
			e.Path = path
		}
	}},
	{"*** Update File:", true, func(e *Edit, path string) { e.Path = path }},
	{"*** Add File:", true, func(e *Edit, path string) { e.Path, e.Create = path, true }},
	{"*** Delete File:", true, func(e *Edit, path string) { e.Path, e.Delete = path, true }},
	{"*** Move to:", false, func(e *Edit, path string) { e.To = path }},
	{"rename from ", false, func(e *Edit, path string) { e.Path = path }},
	{"rename to ", false, func(e *Edit, path string) { e.To = path }},
	{"new file mode", false, func(e *Edit, _ string) { e.Create = true }},
	{"deleted file mode", false, func(e *Edit, _ string) { e.Delete = true }},
}

// header reads a line outside hunks.
func (p *unifiedParser) header(s string) {
	name := strings.HasPrefix(s, "+++ ") || strings.HasPrefix(s, "--- ")
	switch {
	case strings.HasPrefix(s, "```"), strings.HasPrefix(s, "*** End Patch"):
		p.open = false
	case name && p.i+1 < len(p.lines) && strings.HasPrefix(p.lines[p.i+1].text, "@@"):
		p.begin(Edit{Path: headerPath(s[4:])})
	}
	for _, h := range headers {
		rest, ok := strings.CutPrefix(s, h.prefix)
		if ok && h.begin {
			p.begin(Edit{})
		}
		if e := p.lastEdit(); ok && e != nil {
			h.set(e, headerPath(rest))
		}
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
	h, old, added := hunkHeader(p.lines[p.i].text)
	p.i++
	p.addHunk(p.body(h, p.counted(old, added)))
}

// addHunk adds a hunk to the last edit, unless it changes nothing.
func (p *unifiedParser) addHunk(h hunk) {
	if len(h.context()) == len(h.lines) {
		return
	}
	e := p.lastEdit()
	if e == nil || !p.open && len(e.hunks) == 0 {
		e = p.begin(Edit{})
	}
	e.hunks = append(e.hunks, h)
}

// positions matches the numbers in the header of a hunk, as programs and as models write them.
var positions = pattern.Lazy(`^-(\d{1,9})(?:,(\d{1,9}))?(\s+\+\d{1,9}(?:,(\d{1,9}))?)?(?:\s|$)|^(?i:line )?(\d{1,9})$`)

// hunkHeader parses "@@ -1,2 +3,4 @@ section" and its variants by models. The counts are those of old
// and new lines, 0 if there are none.
func hunkHeader(s string) (h hunk, old, added int) {
	inner, section, _ := strings.Cut(strings.TrimPrefix(s, "@@"), "@@")
	inner, h.section = strings.TrimSpace(inner), strings.TrimSpace(section)
	number := func(s string) int { n, _ := strconv.Atoi(cmp.Or(s, "1")); return n }
	switch m := positions().FindStringSubmatch(inner); {
	case m == nil && !strings.HasPrefix(inner, "-"):
		h.section = cmp.Or(h.section, inner)
	case m == nil:
	case m[5] != "":
		h.start = number(m[5])
	default:
		h.start = number(m[1])
		if m[3] != "" {
			old, added = number(m[2]), number(m[4])
			h.zero = old == 0
		}
	}
	return h, old, added
}

// counted returns the end of a hunk with as many old and new lines as its header counts, or 0 if it has others.
func (p *unifiedParser) counted(old, added int) int {
	i, none := p.i, old+added == 0
	for ; i < len(p.lines) && (old > 0 || added > 0 || strings.HasPrefix(p.lines[i].text, `\`)); i++ {
		switch (p.lines[i].text + " ")[0] {
		case ' ':
			old, added = old-1, added-1
		case '-':
			old--
		case '+':
			added--
		case '\\':
		default:
			return 0
		}
	}
	more := i < len(p.lines) && isOp(p.lines[i].text) && !p.isFilePair(i) && !strings.HasPrefix(p.lines[i].text, "-- ")
	if none || old != 0 || added != 0 || more {
		return 0
	}
	return i
}

// endLine marks the last line as unterminated.
func endLine(h *hunk) {
	if n := len(h.lines); n > 0 {
		l := &h.lines[n-1]
		l.text += strings.TrimSuffix(l.eol, "\n") // a carriage return alone ends no line
		l.eol = ""
	}
}

// body reads the lines of a hunk up to the given end, or up to the next header if it is 0. Lines without
// a first column are context that lost its leading space, or prose if no other lines follow.
func (p *unifiedParser) body(h hunk, end int) hunk {
	h.zero = h.zero && end > 0
	lastOp := 0 // number of lines up to the last one with a first column
	for ; p.i < len(p.lines) && (p.i < end || end == 0 && !p.ends(p.lines[p.i].text)); p.i++ {
		switch l := p.lines[p.i]; {
		case strings.HasPrefix(l.text, `\ `):
			endLine(&h)
		case isOp(l.text):
			h.lines = append(h.lines, hunkLine{op: l.text[0], text: l.text[1:], eol: cmp.Or(l.eol, "\n")})
			lastOp = len(h.lines)
		default:
			h.lines = append(h.lines, hunkLine{op: ' ', text: l.text, eol: cmp.Or(l.eol, "\n")})
		}
	}
	if end == 0 {
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
	p.lines, p.i = p.lines[from:to], 0
	if !slices.ContainsFunc(p.lines, func(l line) bool { return l.text != "" && !isOp(l.text) }) {
		p.addHunk(p.body(hunk{}, 0))
	}
}
