package host

import (
	"errors"
	"os"
	"sync"
	"syscall"
	"time"
)

// pump drains the shell's output pipe all the time, so that background processes never
// block, and passes the output to the current sink.
type pump struct {
	f        *os.File
	mu       sync.Mutex
	sink     *sink
	draining chan chan struct{}
	done     chan struct{}
}

func newPump(f *os.File) *pump {
	p := &pump{f: f, draining: make(chan chan struct{}, 1), done: make(chan struct{})}
	go p.loop()
	return p
}

func (p *pump) loop() {
	defer close(p.done)
	buf := make([]byte, 64<<10)
	for {
		n, err := p.f.Read(buf)
		p.give(buf[:n])
		if errors.Is(err, os.ErrDeadlineExceeded) {
			select {
			case drained := <-p.draining:
				p.rest(buf)
				_ = p.f.SetReadDeadline(time.Time{}) // fails only on a closed file, which Read reports
				close(drained)
				continue
			default:
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// rest reads the current content of the pipe. It does not wait for more, so that a chatty
// background process cannot keep it busy.
func (p *pump) rest(buf []byte) {
	raw, err := p.f.SyscallConn()
	if err != nil {
		return
	}
	for range 32 { // twice the largest pipe
		n := 0
		err := raw.Control(func(fd uintptr) { // File.Fd would make the file blocking
			if waitable(int(fd)) {
				n, _ = syscall.Read(int(fd), buf)
			}
		})
		if err != nil || n <= 0 {
			return
		}
		p.give(buf[:n])
	}
}

func (p *pump) give(b []byte) {
	p.mu.Lock()
	s := p.sink
	p.mu.Unlock()
	if s != nil && len(b) > 0 {
		s.write(b)
	}
}

func (p *pump) setSink(s *sink) {
	p.mu.Lock()
	p.sink = s
	p.mu.Unlock()
}

// drain returns when everything written before the call is in the sink.
func (p *pump) drain() {
	drained := make(chan struct{})
	p.draining <- drained
	if p.f.SetReadDeadline(time.Unix(1, 0)) != nil {
		<-p.draining
		return
	}
	select {
	case <-drained:
	case <-p.done:
	}
}

func (p *pump) stop() {
	_ = p.f.SetReadDeadline(time.Unix(1, 0)) // fails only on a closed file
	<-p.done
}

// pipes collects pipe ends so that none is left open.
type pipes struct {
	all   []*os.File
	child []*os.File
	err   error
}

func (p *pipes) pipe() (r, w *os.File) {
	if p.err != nil {
		return nil, nil
	}
	r, w, p.err = os.Pipe()
	if p.err == nil {
		p.all = append(p.all, r, w)
	}
	return r, w
}

func (p *pipes) closeChild() {
	for _, f := range p.child {
		f.Close()
	}
}

func (p *pipes) closeAll() error {
	var err error
	for _, f := range p.all {
		err = errors.Join(err, f.Close())
	}
	return err
}

func newSession() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

func signalOf(st *os.ProcessState) int {
	if ws, ok := st.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return int(ws.Signal())
	}
	return 0
}
