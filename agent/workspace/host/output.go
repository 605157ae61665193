package host

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/handrail-bot/handrail/policy/untrusted"
)

const (
	outHead = 512 << 10
	outTail = 512 << 10
)

// sink stores the beginning and the end of a command's output, and passes on its
// lines as they come. It is used by one writer and one reader.
type sink struct {
	mu       sync.Mutex
	head     []byte
	tail     []byte // ring, once it is full
	at       int
	dropped  int64
	line     []byte
	sent     int
	progress func(string)
}

func (s *sink) write(p []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.follow(p)
	if room := outHead - len(s.head); room > 0 {
		n := min(room, len(p))
		s.head = append(s.head, p[:n]...)
		p = p[n:]
	}
	if room := outTail - len(s.tail); room > 0 {
		n := min(room, len(p))
		s.tail = append(s.tail, p[:n]...)
		p = p[n:]
	}
	s.dropped += int64(len(p))
	p = p[max(0, len(p)-outTail):]
	for len(p) > 0 {
		n := copy(s.tail[s.at:], p)
		s.at = (s.at + n) % outTail
		p = p[n:]
	}
}

// maxPending bounds a line that is not complete yet in progress.
const maxPending = 8 << 10

// maxProgress is how much one command can send as progress. The result has more.
const maxProgress = 512 << 10

// follow passes on complete lines.
func (s *sink) follow(p []byte) {
	if s.progress == nil {
		return
	}
	if s.sent += len(p); s.sent > maxProgress {
		s.progress("[more output follows, shown at the end]\n")
		s.progress, s.line = nil, nil
		return
	}
	end := bytes.LastIndexByte(p, '\n')
	if end >= 0 {
		s.progress(plain(append(s.line, p[:end+1]...)))
		s.line, p = s.line[:0], p[end+1:]
	}
	if room := maxPending - len(s.line); room > 0 {
		s.line = append(s.line, p[:min(room, len(p))]...)
	}
}

// result returns the output as text, and how many bytes are missing in it.
func (s *sink) result() (string, int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.progress != nil && len(s.line) > 0 {
		s.progress(plain(s.line))
	}
	s.progress, s.line = nil, nil
	tail := append(append([]byte(nil), s.tail[s.at:]...), s.tail[:s.at]...)
	if s.dropped == 0 {
		return plain(append(s.head, tail...)), 0
	}
	for i := 0; i < utf8.UTFMax && len(tail) > 0 && !utf8.RuneStart(tail[0]); i++ {
		tail = tail[1:]
	}
	return plain(s.head) + fmt.Sprintf("\n[%d bytes of output left out]\n", s.dropped) + plain(tail), s.dropped
}

// plain turns what a terminal would be sent into the text it would show:
// without escape sequences, with the last state of lines that were written
// over, in valid UTF-8.
func plain(p []byte) string {
	text := strings.ToValidUTF8(string(p), "\uFFFD")
	if !strings.ContainsFunc(text, isControl) {
		return text
	}
	text = untrusted.StripEscapes(text)
	text = strings.ReplaceAll(text, "\r\n", "\n")
	var out strings.Builder
	out.Grow(len(text))
	for line := range strings.Lines(text) {
		out.WriteString(overwritten(line))
	}
	return out.String()
}

func isControl(r rune) bool { return (r < ' ' && r != '\n' && r != '\t') || (r >= 0x7f && r < 0xa0) }

// overwritten resolves carriage returns and backspaces in one line.
func overwritten(line string) string {
	if !strings.ContainsFunc(line, isControl) {
		return line
	}
	body, end := strings.CutSuffix(line, "\n")
	body = strings.TrimRight(body, "\r")
	if i := strings.LastIndexByte(body, '\r'); i >= 0 {
		body = body[i+1:]
	}
	var out []rune
	for _, r := range body {
		switch {
		case r == '\b':
			if len(out) > 0 {
				out = out[:len(out)-1]
			}
		case !isControl(r):
			out = append(out, r)
		}
	}
	if end {
		out = append(out, '\n')
	}
	return string(out)
}

// validName returns a file name as valid text.
func validName(name string) string { return strings.ToValidUTF8(name, "\uFFFD") }
