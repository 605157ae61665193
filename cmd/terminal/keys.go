package terminal

import (
	"io"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

// keyWait is the time between two looks at the keyboard, and the longest that an end of
// the listening waits.
const keyWait = 50 // ms

// listen reads the keyboard while the terminal shows other things. It calls typing with
// the beginning of a line at each key, and typed with each line that Enter ends, both one
// at a time. Ctrl-C stays a signal. A prompt of the editor goes before it: the
// beginning of a line is kept meanwhile. stop ends the listening and restores the
// terminal; the next prompt goes on with the beginning of a line.
func (e *Editor) listen(typing, typed func(string)) (stop func(), err error) {
	before, err := unix.IoctlGetTermios(e.fd, getTermios)
	if err != nil {
		return nil, err
	}
	quiet := *before
	quiet.Lflag &^= unix.ICANON | unix.ECHO
	quiet.Cc[unix.VMIN], quiet.Cc[unix.VTIME] = 0, 0
	if err := unix.IoctlSetTermios(e.fd, setTermios, &quiet); err != nil {
		return nil, err
	}
	end := make(chan struct{})
	var ended sync.WaitGroup
	var line keys
	ended.Go(func() {
		for {
			select {
			case <-end:
				return
			default:
			}
			got, ok := e.pressed()
			if !ok {
				return
			}
			for _, whole := range line.press(got) {
				typed(whole)
			}
			if len(got) > 0 {
				typing(string(line.text))
			}
		}
	})
	return func() {
		close(end)
		ended.Wait()
		e.begun.add(line.text)
		_ = unix.IoctlSetTermios(e.fd, setTermios, before) // it was set a moment ago
	}, nil
}

// pressed returns the keys that were pressed, if any; ok is false if the keyboard is gone.
func (e *Editor) pressed() (got []byte, ok bool) {
	e.reading.Lock()
	defer e.reading.Unlock()
	if e.waiting != nil { // a prompt that was answered elsewhere still reads
		<-time.After(keyWait * time.Millisecond)
		return nil, true
	}
	poll := []unix.PollFd{{Fd: int32(e.fd), Events: unix.POLLIN}}
	if n, err := unix.Poll(poll, keyWait); n <= 0 {
		return nil, err == nil || err == unix.EINTR
	}
	if poll[0].Revents&unix.POLLIN == 0 {
		return nil, false
	}
	got = make([]byte, 1<<10)
	n, err := unix.Read(e.fd, got)
	return got[:max(n, 0)], n > 0 || err == unix.EINTR || err == unix.EAGAIN // no bytes: it hung up
}

// begun reads the beginning of a line before the keyboard.
type begun struct {
	mu   sync.Mutex
	text []byte
	io.Reader
}

func (b *begun) add(text []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.text = append(b.text, text...)
}

// Read implements [io.Reader].
func (b *begun) Read(p []byte) (int, error) {
	b.mu.Lock()
	n := copy(p, b.text)
	b.text = b.text[n:]
	b.mu.Unlock()
	if n > 0 || len(p) == 0 {
		return n, nil
	}
	return b.Reader.Read(p)
}

// maxTyped is the maximum length of a line, in bytes.
const maxTyped = 16 << 10

// keys is the line that is being typed.
type keys struct {
	text   []byte
	escape int // position in the sequence of a special key: 0 is outside, 2 after ESC [
}

// press takes the bytes of keys, and returns the lines that they end. Special keys do
// nothing, but Backspace, Ctrl-U and Ctrl-W, which delete.
func (k *keys) press(got []byte) (lines []string) {
	for _, b := range got {
		switch {
		case k.escape == 1 && (b == '[' || b == 'O'):
			k.escape = 2
		case k.escape == 1, k.escape == 2 && b >= 0x40 && b <= 0x7e:
			k.escape = 0
		case k.escape == 2:
		case b == 0x1b:
			k.escape = 1
		case b == '\r', b == '\n':
			if line := strings.TrimSpace(strings.ToValidUTF8(string(k.text), "")); line != "" {
				lines = append(lines, line)
			}
			k.text = nil
		case b == 0x7f, b == '\b':
			_, size := utf8.DecodeLastRune(k.text)
			k.text = k.text[:len(k.text)-size]
		case b == 'U'&0x1f:
			k.text = nil
		case b == 'W'&0x1f:
			s := strings.TrimRightFunc(string(k.text), unicode.IsSpace)
			k.text = k.text[:strings.LastIndexFunc(s, unicode.IsSpace)+1]
		case b >= ' ' && len(k.text) < maxTyped:
			k.text = append(k.text, b)
		}
	}
	return lines
}
