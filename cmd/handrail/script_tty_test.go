package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"
)

// scriptTTY runs a command on a terminal of its own, with a person at it, and prints what
// the terminal was sent, without its control codes. What the person does is in a file, a
// line each: "until PATTERN" waits until the screen shows that, "type TEXT" types a line,
// "exec COMMAND" runs a shell's command, "key C" presses Ctrl-C, "stalled" waits until the model stalls in an answer, which "release"
// has go on.
func scriptTTY(t *testing.T) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		if len(args) < 2 {
			ts.Fatalf("usage: tty FILE COMMAND…")
		}
		pty, tty, err := openTerminal()
		ts.Check(err)
		defer pty.Close()
		path, err := exec.LookPath(args[1])
		ts.Check(err)
		cmd := exec.CommandContext(t.Context(), path, args[2:]...)
		cmd.Dir = ts.MkAbs(".")
		cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
		for _, name := range []string{"PATH", "HOME", "TMPDIR", "XDG_STATE_HOME", "OLLAMA_HOST", "HANDRAIL_MODEL", "GIT_CONFIG_NOSYSTEM", "NO_COLOR"} {
			cmd.Env = append(cmd.Env, name+"="+ts.Getenv(name))
		}
		cmd.Env = append(cmd.Env, "TERM=xterm")
		ts.Check(cmd.Start())
		ts.Check(tty.Close())
		s := &shown{more: make(chan struct{}, 1), dir: cmd.Dir}
		if st, ok := ts.Value(stageKey{}).(*stage); ok && st.model != nil {
			s.model = st.model
		}
		read := make(chan struct{})
		s.over = read
		go func() { defer close(read); _, _ = io.Copy(s, pty) }() // EIO when the program has ended
		for step := range strings.Lines(ts.ReadFile(args[0])) {
			if err := s.do(pty, strings.TrimSpace(step)); err != nil {
				_ = cmd.Process.Kill()
				ts.Fatalf("%s: %v; the screen had:\n%s", step, err, s.last())
			}
		}
		err = cmd.Wait()
		<-read
		fmt.Fprint(ts.Stdout(), s.text())
		if neg == (err == nil) {
			ts.Fatalf("%s ended with %v; the screen had:\n%s", args[1], err, s.last())
		}
	}
}

// shown is what a terminal was sent.
type shown struct {
	mu   sync.Mutex
	all  bytes.Buffer
	seen int // up to where the person has read
	more chan struct{}
	over <-chan struct{} // closed when all was sent

	model *front // nil without one
	dir   string // of the story
}

func (s *shown) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all.Write(p)
	select {
	case s.more <- struct{}{}:
	default:
	}
	return len(p), nil
}

// text returns it without control codes.
func (s *shown) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.ReplaceAll(ansi.Strip(s.all.String()), "\r", "")
}

// last is the end of it, for an error.
func (s *shown) last() string {
	text := s.text()
	return text[max(0, len(text)-2000):]
}

func (s *shown) do(pty *os.File, step string) error {
	verb, rest, _ := strings.Cut(step, " ")
	switch verb {
	case "until":
		return s.until(rest)
	case "type":
		_, err := pty.WriteString(rest + "\n")
		return err
	case "stalled", "release":
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if verb == "stalled" {
			return s.model.stalled(ctx)
		}
		return s.model.release(ctx)
	case "exec":
		cmd := exec.CommandContext(context.Background(), "sh", "-c", rest)
		cmd.Dir = s.dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	case "key":
		_, err := pty.Write([]byte{rest[0] & 0x1f})
		return err
	case "":
		return nil
	}
	return errors.New("it is neither until, type, exec, key, stalled nor release")
}

func (s *shown) until(pattern string) error {
	re, err := regexp.Compile("(?m)" + pattern)
	if err != nil {
		return err
	}
	late := time.After(patience)
	for ended := false; ; {
		text := s.text()
		if at := re.FindStringIndex(text[min(s.seen, len(text)):]); at != nil {
			s.seen += at[1]
			return nil
		}
		if ended {
			return errors.New("it was not shown")
		}
		select {
		case <-s.more:
		case <-s.over:
			ended = true // and there may be more of it
		case <-late:
			return errors.New("it was not shown")
		}
	}
}

// openTerminal returns the two ends of a terminal of 100 columns.
func openTerminal() (pty, tty *os.File, err error) {
	if pty, err = os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		return nil, nil, err
	}
	n, err := unix.IoctlGetInt(int(pty.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(pty.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(int(tty.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 40, Col: 100})
	}
	if err != nil {
		return nil, nil, errors.Join(err, pty.Close())
	}
	return pty, tty, nil
}
