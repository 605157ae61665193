package host

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

// The number of bytes kept from the beginning and the end of a command's output.
const (
	outHead = workspace.MaxOutput / 2
	outTail = workspace.MaxOutput / 2
)

// sink stores the beginning and the end of a command's output, and reports its lines as
// they arrive. It has one writer and one reader.
type sink struct {
	mu       sync.Mutex
	head     []byte
	tail     []byte // a ring buffer once full
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

// maxPending is the maximum length of an incomplete progress line, in bytes.
const maxPending = 8 << 10

// maxProgress is the maximum progress of one command, in bytes. The result holds more.
const maxProgress = 512 << 10

// follow reports complete lines as progress.
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
		s.progress(untrusted.Screen(append(s.line, p[:end+1]...)))
		s.line, p = s.line[:0], p[end+1:]
	}
	if room := maxPending - len(s.line); room > 0 {
		s.line = append(s.line, p[:min(room, len(p))]...)
	}
}

// result returns the output as text, and the number of bytes left out.
func (s *sink) result() (string, int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.progress != nil && len(s.line) > 0 {
		s.progress(untrusted.Screen(s.line))
	}
	s.progress, s.line = nil, nil
	tail := append(append([]byte(nil), s.tail[s.at:]...), s.tail[:s.at]...)
	if s.dropped == 0 {
		return untrusted.Screen(append(s.head, tail...)), 0
	}
	for i := 0; i < utf8.UTFMax && len(tail) > 0 && !utf8.RuneStart(tail[0]); i++ {
		tail = tail[1:]
	}
	return untrusted.Screen(s.head) + fmt.Sprintf("\n[%d bytes of output left out]\n", s.dropped) + untrusted.Screen(tail), s.dropped
}

// validName returns a file name as valid text.
func validName(name string) string { return strings.ToValidUTF8(name, "\uFFFD") }
