package terminal

import (
	"bufio"
	"bytes"
	"io"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

func TestKeys(t *testing.T) {
	for pressed, want := range map[string][]string{
		"also b\nand c\r":                       {"also b", "and c"},
		"  \n\n":                                nil,
		"halt\b\b\x7flp ä\x7fö\n":               {"hlp ö"},
		"one two three\x17\x17four\n":           {"one four"},
		"gone\x15kept\n":                        {"kept"},
		"a\x1b[A\x1b[1;5C\x1bOP\x1bxb\x00\tc\n": {"abc"},
		"\x7f\x17\x15x\n":                       {"x"},
		"bad \xff byte\n":                       {"bad  byte"},
		"not ended":                             nil,
	} {
		var whole, parts keys
		if diff := gocmp.Diff(want, whole.press([]byte(pressed))); diff != "" {
			t.Errorf("%q: %s", pressed, diff)
		}
		var got []string
		for _, b := range []byte(pressed) {
			got = append(got, parts.press([]byte{b})...)
		}
		if diff := gocmp.Diff(want, got); diff != "" || string(whole.text) != string(parts.text) {
			t.Errorf("%q byte by byte: %s", pressed, diff)
		}
	}
}

// A line that is typed during the work stands below the live lines as it grows. A question
// has its own line, and its answer is not taken for a message; afterwards the beginning of
// the message is there again, also for the prompt behind the work.
func TestTypingDuringTheWork(t *testing.T) {
	pty, tty, err := openPTY(t)
	if err != nil {
		t.Fatal("no pseudo-terminal: ", err)
	}
	defer pty.Close()
	e := NewEditor(EditorConfig{In: tty, Out: tty})
	term := New(Config{Out: tty, Look: Look{Width: 80, Live: true}, In: e})
	screen := bufio.NewReader(pty)
	shows := func(words string) {
		t.Helper()
		var got bytes.Buffer
		for !strings.HasSuffix(got.String(), words) {
			b, err := screen.ReadByte()
			if err != nil {
				t.Fatalf("after %q: %v", got.String(), err)
			}
			got.WriteByte(b)
		}
	}
	press := func(keys string) {
		t.Helper()
		if _, err := io.WriteString(pty, keys); err != nil {
			t.Fatal(err)
		}
	}
	term.Begin(nil)
	got := make(chan string, 10)
	stop := term.Listen(e, func(line string) { got <- line })
	shows("Ctrl-C parks the session\r\n")
	press("also \x1b[Ab")
	shows("> also b▏\r\n")
	press(".txt\n")
	if line := <-got; line != "also b.txt" {
		t.Errorf("typed %q", line)
	}
	press("and the")
	shows("> and the▏\r\n")
	yes := make(chan bool)
	go func() {
		ok, err := term.Confirm(t.Context(), "Sure?")
		yes <- ok && err == nil
	}()
	shows("Sure? [y/N] ")
	press("y\r")
	if !<-yes {
		t.Error("the answer is lost")
	}
	shows("> and the▏\r\n")
	stop()
	term.End()
	line := make(chan string)
	go func() {
		s, err := e.Line(t.Context(), "code> ")
		if err != nil {
			s = err.Error()
		}
		line <- s
	}()
	shows("code> and the")
	press(" rest\r")
	if s := <-line; s != "and the rest" || len(got) > 0 {
		t.Errorf("the next line is %q, and %d more were taken", s, len(got))
	}
}
