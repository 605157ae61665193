package terminal

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// screen prints permanent lines and, if the terminal supports it, live lines below them
// that are overwritten. It is safe for concurrent use.
type screen struct {
	out  io.Writer
	look Look
	// now returns the live lines; the caller holds mu. If nil, there are none.
	now func() []string

	mu      sync.Mutex
	drawn   int    // number of live lines on the screen
	held    bool   // a prompt is open; nothing is drawn
	listens bool   // lines may be typed
	typed   string // the beginning of a typed line; it is below the live lines
	stop    chan struct{}
	ended   chan struct{}
}

// tick is the time between redraws of the live lines.
const tick = 100 * time.Millisecond

// begin draws the live lines until end.
func (s *screen) begin() {
	if !s.look.Live || s.stop != nil {
		return
	}
	s.stop, s.ended = make(chan struct{}), make(chan struct{})
	go func() {
		defer close(s.ended)
		every := time.NewTicker(tick)
		defer every.Stop()
		for {
			select {
			case <-s.stop:
				return
			case <-every.C:
				s.mu.Lock()
				s.draw()
				s.mu.Unlock()
			}
		}
	}()
}

// end stops drawing and removes the live lines.
func (s *screen) end() {
	if s.stop == nil {
		return
	}
	close(s.stop)
	<-s.ended
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stop = nil
	s.write(s.clear())
}

// hold suspends the live lines for a prompt; hold(false) resumes them.
func (s *screen) hold(yes bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.write(s.clear())
	s.held = yes
}

// listening notes whether lines may be typed.
func (s *screen) listening(yes bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listens, s.typed = yes, ""
}

// hasBegun reports whether the beginning of a line was typed.
func (s *screen) hasBegun() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.typed != ""
}

// print prints permanent lines.
func (s *screen) print(lines ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.printLocked(lines...)
}

func (s *screen) printLocked(lines ...string) {
	if len(lines) > 0 {
		s.write(s.clear() + strings.Join(lines, "\n") + "\n")
	}
}

// draw draws the live lines. The caller holds mu.
func (s *screen) draw() {
	if s.held || s.now == nil {
		return
	}
	if s.look.size != nil {
		s.look.Width = s.look.size()
	}
	text := s.clear()
	lines := s.now()
	if s.typed != "" {
		lines = append(lines, s.look.typing(s.typed))
	}
	for _, line := range lines {
		text += line + "\n"
	}
	s.drawn = len(lines)
	s.write(text)
}

// clear returns the control sequence that removes the live lines.
func (s *screen) clear() string {
	n := s.drawn
	s.drawn = 0
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("\r\x1b[%dA\x1b[J", n)
}

func (s *screen) write(text string) {
	if text != "" {
		_, _ = io.WriteString(s.out, text) // a failed write must not stop the work
	}
}
