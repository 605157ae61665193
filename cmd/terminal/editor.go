package terminal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"

	"golang.org/x/term"
)

// Editor is an [Input] with line editing and a history. Ctrl-C and, on an empty line,
// Ctrl-D end a line with io.EOF.
type Editor struct {
	// OnEnd, if not nil, is called at Ctrl-C or Ctrl-D. Line then returns [context.Canceled].
	OnEnd func()

	fd      int
	out     io.Writer
	t       *term.Terminal
	fresh   func() // recreates t
	log     *Log
	past    *history
	reading sync.Mutex // one reads the keyboard: Line, or listen
	begun   *begun
	waiting chan read // result of a read that outlived its Line
}

// EditorConfig configures an [Editor].
type EditorConfig struct {
	In       *os.File // a terminal
	Out      io.Writer
	History  string                       // file of the history; empty keeps it in memory
	Complete func(before string) []string // returns the continuations of a line
	Log      *Log                         // shares the terminal; may be nil
}

// NewEditor returns an editor.
func NewEditor(c EditorConfig) *Editor {
	e := &Editor{fd: int(c.In.Fd()), out: c.Out, past: openPast(c.History), log: c.Log, begun: &begun{Reader: c.In}}
	e.fresh = func() {
		e.t = term.NewTerminal(struct {
			io.Reader
			io.Writer
		}{e.begun, c.Out}, "")
		e.t.History = e.past
		e.t.AutoCompleteCallback = completer(c.Complete)
	}
	e.fresh()
	return e
}

// completer makes Tab insert the common prefix of all completions.
func completer(complete func(before string) []string) func(string, int, rune) (string, int, bool) {
	return func(line string, pos int, key rune) (string, int, bool) {
		if key != '\t' || complete == nil {
			return "", 0, false
		}
		more := common(complete(line[:pos]))
		return line[:pos] + more + line[pos:], pos + len(more), more != ""
	}
}

// common returns the common prefix of words.
func common(words []string) string {
	if len(words) == 0 {
		return ""
	}
	out := words[0]
	for _, w := range words[1:] {
		for !strings.HasPrefix(w, out) {
			out = out[:len(out)-1]
		}
	}
	return strings.ToValidUTF8(out, "")
}

// Line implements [Input]. Several pasted lines are returned as one.
func (e *Editor) Line(ctx context.Context, prompt string) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	e.reading.Lock()
	defer e.reading.Unlock()
	before, err := term.MakeRaw(e.fd)
	if err != nil {
		return "", fmt.Errorf("edit a line: %w", err)
	}
	if w, h, err := term.GetSize(e.fd); err == nil && w > 0 {
		_ = e.t.SetSize(w, h) // on failure the previous size remains
	}
	e.t.SetPrompt(prompt)
	if e.log != nil {
		e.log.line.Store(e.t)
		defer e.log.line.Store(nil)
	}
	if e.waiting == nil {
		e.waiting = make(chan read, 1)
		e.t.SetBracketedPasteMode(true)
		go func(got chan<- read) { got <- e.lines() }(e.waiting)
	}
	select {
	case <-ctx.Done():
		return "", errors.Join(ctx.Err(), term.Restore(e.fd, before))
	case r := <-e.waiting:
		e.waiting = nil
		e.t.SetBracketedPasteMode(false)
		err := term.Restore(e.fd, before)
		ended := errors.Is(r.err, io.EOF)
		if ended {
			fmt.Fprintln(e.out) // the next words begin a line
			e.fresh()           // the old terminal would read the same key again
		}
		if ended && e.OnEnd != nil {
			e.OnEnd()
			r.err = context.Canceled
		}
		return r.line, errors.Join(r.err, err)
	}
}

func (e *Editor) lines() read {
	var all []string
	for {
		line, err := e.t.ReadLine()
		all = append(all, line)
		if !errors.Is(err, term.ErrPasteIndicator) {
			return read{strings.Join(all, "\n"), err}
		}
	}
}

// Remember adds a line to the history.
func (e *Editor) Remember(line string) error { return e.past.keep(line) }

// history is the history, oldest line first. It implements [term.History], and leaves out
// answers to questions.
type history struct {
	file  string
	lines []string
}

// maxHistory is the maximum number of lines in the history.
const maxHistory = 500

func openPast(file string) *history {
	p := &history{file: file}
	if data, err := os.ReadFile(file); err == nil {
		p.lines = strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	}
	return p
}

// Add implements [term.History].
func (p *history) Add(string) {}

// Len implements [term.History].
func (p *history) Len() int { return len(p.lines) }

// At implements [term.History]; 0 is the newest.
func (p *history) At(n int) string { return p.lines[len(p.lines)-1-n] }

func (p *history) keep(line string) error {
	line = strings.ReplaceAll(strings.TrimSpace(line), "\n", " ")
	if line == "" || len(p.lines) > 0 && p.lines[len(p.lines)-1] == line {
		return nil
	}
	p.lines = append(p.lines, line)
	p.lines = slices.Clone(p.lines[max(0, len(p.lines)-maxHistory):])
	if p.file == "" {
		return nil
	}
	return os.WriteFile(p.file, []byte(strings.Join(p.lines, "\n")+"\n"), 0o600)
}
