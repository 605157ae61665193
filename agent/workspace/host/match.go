package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"github.com/handrail-bot/handrail/agent/workspace"
)

const (
	window    = 4 << 20   // bytes of a file that are searched in one piece
	maxFound  = 256 << 20 // bytes of one file that are searched
	shownLine = 1000      // bytes of a line in a result
)

// matcher finds the lines that match a query.
type matcher struct {
	re      *regexp.Regexp // nil for a plain text
	needles needles        // one of them is in every matching line; without texts when unknown
	lines   int            // lines a match may span; 1 unless the pattern has a line break
}

func newMatcher(q workspace.Query) (*matcher, error) {
	if q.Pattern == "" {
		return nil, errors.New("search: the pattern is empty")
	}
	if !q.Regex {
		return &matcher{needles: needles{texts: [][]byte{[]byte(q.Pattern)}}, lines: 1 + strings.Count(q.Pattern, "\n")}, nil
	}
	re, err := regexp.Compile("(?m)" + q.Pattern)
	if err != nil {
		return nil, fmt.Errorf("search: the pattern is not a valid regular expression (RE2 syntax): %w", err)
	}
	m := &matcher{re: re, lines: 1}
	if strings.Contains(q.Pattern, `\n`) || strings.Contains(q.Pattern, "\n") {
		m.lines = 2
		return m, nil
	}
	tree, err := syntax.Parse(q.Pattern, syntax.Perl)
	if err == nil {
		m.needles = needlesOf(tree.Simplify())
	}
	return m, nil
}

// look is a matcher at work on one text.
type look struct {
	*matcher
	buf  []byte
	cr   bool // buf has carriage returns
	hunt *hunt
}

// in begins to look at a text. low is room for a copy of it.
func (m *matcher) in(buf, low []byte) *look {
	l := &look{matcher: m, buf: buf, cr: bytes.IndexByte(buf, '\r') >= 0}
	if len(m.needles.texts) > 0 {
		if h, ok := m.needles.in(buf, low); ok {
			l.hunt = &h
		}
	}
	return l
}

// next finds the first match at or after from and returns the lines it is on
// as offsets: the first line's start, and the end of its last line.
func (l *look) next(from int) (start, end int, ok bool) {
	for from < len(l.buf) {
		lo, hi := l.candidate(from)
		if lo < 0 || lo >= len(l.buf) { // behind the last line break is no line
			return 0, 0, false
		}
		start, end = lineStart(l.buf, lo), lineEnd(l.buf, max(lo, hi-1))
		if l.re == nil || l.lines > 1 || l.re.Match(bytes.TrimSuffix(l.buf[start:end], []byte("\r"))) {
			return start, end, true
		}
		from = lineEnd(l.buf, lo) + 1
	}
	return 0, 0, false
}

// candidate returns where the next match may be: a needle if there are some, else
// what the expression finds.
func (l *look) candidate(from int) (lo, hi int) {
	if l.hunt != nil {
		at, size := l.hunt.at(from)
		return at, at + size
	}
	if l.lines == 1 && l.cr {
		return from, from // "$" does not match before "\r\n": try each line
	}
	loc := l.re.FindIndex(l.buf[from:])
	if loc == nil {
		return -1, -1
	}
	if l.lines == 1 {
		loc[1] = loc[0] + 1
	}
	return from + loc[0], from + loc[1]
}

func lineStart(buf []byte, at int) int { return bytes.LastIndexByte(buf[:at], '\n') + 1 }

func lineEnd(buf []byte, at int) int {
	if i := bytes.IndexByte(buf[at:], '\n'); i >= 0 {
		return at + i
	}
	return len(buf)
}

// room is what one worker reads files into, one after the other.
type room struct{ buf, low []byte }

// file searches one file in windows that end at a line's end.
func (s *searching) file(ctx context.Context, f *searched, r *room) {
	in, size, err := s.open(f)
	if err != nil {
		return // it went away, or nobody may read it
	}
	defer in.Close()
	if want := int(min(size+1, window)); cap(r.buf) < want {
		r.buf = make([]byte, max(want, min(2*cap(r.buf), window)))
		if s.m.needles.fold {
			r.low = make([]byte, len(r.buf))
		}
	}
	buf := r.buf
	w := windowed{s: s, f: f, line: 1, low: r.low}
	var have int
	var total int64
	for ctx.Err() == nil {
		n, err := io.ReadFull(in, buf[have:])
		if total == 0 && isBinary(buf[:min(n, sniffLen)]) {
			return
		}
		total += int64(n)
		have += n
		if i := bytes.IndexByte(buf[:have], 0); i >= 0 { // text that turns binary, such as a sparse file
			have, total = i, maxFound
		}
		last := err != nil || total >= maxFound
		cut := have
		if !last {
			if cut = bytes.LastIndexByte(buf[:have], '\n') + 1; cut == 0 {
				cut = have // one line longer than a window
			}
		}
		w.scan(buf[:cut])
		if last {
			break
		}
		have = copy(buf, buf[cut:have])
	}
}

// rawFile is a file without the runtime's poller, which costs more than reading a
// small file.
type rawFile int

func (r rawFile) Read(p []byte) (int, error) {
	n, err := unix.Read(int(r), p)
	switch {
	case err != nil:
		return 0, err
	case n == 0 && len(p) > 0:
		return 0, io.EOF
	}
	return n, nil
}

// Close closes the file.
func (r rawFile) Close() error { return unix.Close(int(r)) }

func (s *searching) open(f *searched) (io.ReadCloser, int64, error) {
	if f.dir != nil {
		fd, size, err := f.dir.open(path.Base(f.path))
		return rawFile(fd), size, err
	}
	in, info, err := s.h.openFile(f.path)
	if err != nil {
		return nil, 0, err
	}
	return in, info.Size(), nil
}

// windowed counts lines across the windows of a file.
type windowed struct {
	s    *searching
	f    *searched
	line int // number of the window's first line
	low  []byte
}

// scan adds the matches in one window.
func (w *windowed) scan(buf []byte) {
	in := w.s.m.in(buf, w.low)
	at, n := 0, w.line // n is the number of the line at offset at
	for from := 0; ; {
		start, end, ok := in.next(from)
		if !ok {
			break
		}
		n += bytes.Count(buf[at:start], []byte("\n"))
		at = start
		w.hit(buf, start, end, n)
		if from = end + 1; from >= len(buf) {
			break
		}
	}
	w.line += bytes.Count(buf, []byte("\n"))
}

// hit adds the lines of a match, from start to end, with their context.
func (w *windowed) hit(buf []byte, start, end, n int) {
	w.f.hits++
	if w.f.hits > w.s.limit || w.s.full.Load() {
		return
	}
	lo, first := start, n
	for i := 0; i < w.s.context && lo > 0; i++ {
		lo = lineStart(buf, lo-1)
		first--
	}
	hi := end
	for i := 0; i < w.s.context && hi < len(buf)-1; i++ {
		hi = lineEnd(buf, hi+1)
	}
	for at, k := lo, first; at <= hi && at < len(buf); k++ {
		stop := lineEnd(buf, at)
		w.add(k, buf[at:stop], at >= start && at <= end)
		at = stop + 1
	}
}

// add appends a line, or marks one that was context so far.
func (w *windowed) add(n int, line []byte, hit bool) {
	found := w.f.found
	for i := len(found) - 1; i >= 0 && found[i].N >= n; i-- {
		if found[i].N == n {
			found[i].Hit = found[i].Hit || hit
			return
		}
	}
	w.f.found = append(found, workspace.MatchLine{N: n, Text: w.s.m.show(line), Hit: hit})
}

// show returns a line as results show it. Of a long line that is the part around
// the match.
func (m *matcher) show(line []byte) string {
	line = bytes.TrimSuffix(line, []byte("\r"))
	if len(line) <= shownLine {
		return strings.ToValidUTF8(string(line), "\uFFFD")
	}
	at := 0
	if m.re != nil {
		if loc := m.re.FindIndex(line); loc != nil {
			at = loc[0]
		}
	} else if i := bytes.Index(line, m.needles.texts[0]); i > 0 {
		at = i
	}
	lo := max(0, min(at-shownLine/4, len(line)-shownLine))
	hi := min(len(line), lo+shownLine)
	for lo > 0 && !utf8.RuneStart(line[lo]) && lo < hi {
		lo++
	}
	for hi < len(line) && hi > lo && !utf8.RuneStart(line[hi]) {
		hi--
	}
	text := strings.ToValidUTF8(string(line[lo:hi]), "\uFFFD")
	if lo > 0 {
		text = "…" + text
	}
	if hi < len(line) {
		text += "…"
	}
	return text
}
