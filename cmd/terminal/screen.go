package terminal

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// screen is where lines go. Those that were printed stay; below them, where the terminal
// can, stands what goes on now, which is written over. It is safe for concurrent use.
type screen struct {
	out  io.Writer
	look Look
	// now returns the lines below; it is called with mu held. Nil for none.
	now func() []string

	mu    sync.Mutex
	drawn int  // lines below
	held  bool // somebody is asked, and nothing is drawn
	stop  chan struct{}
	ended chan struct{}
}

// tick is how often what goes on is drawn anew.
const tick = 100 * time.Millisecond

// begin has what goes on drawn until end.
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

// end takes what goes on from the screen.
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

// hold leaves the last line to somebody who types, until release.
func (s *screen) hold(yes bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.write(s.clear())
	s.held = yes
}

// print prints lines that stay.
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

// draw draws what goes on.
func (s *screen) draw() {
	if s.held || s.now == nil {
		return
	}
	if s.look.size != nil {
		s.look.Width = s.look.size()
	}
	text := s.clear()
	lines := s.now()
	for _, line := range lines {
		text += line + "\n"
	}
	s.drawn = len(lines)
	s.write(text)
}

// clear returns what takes the lines below from the screen.
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
		_, _ = io.WriteString(s.out, text) // whoever watches is gone; the work goes on
	}
}
