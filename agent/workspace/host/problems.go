package host

import (
	"bytes"
	"context"
	"io"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/handrail-bot/handrail/agent/lsp"
	"github.com/handrail-bot/handrail/agent/workspace"
)

// Limits of reports about problems.
const (
	maxReported = 20 // files of one report
	maxProblems = 200
)

// problems reports the problems of files, with those before to compare.
func (s *servers) problems(ctx context.Context, q workspace.ProblemsQuery) ([]workspace.FileProblems, error) {
	if err := s.refresh(ctx); err != nil {
		return nil, err
	}
	paths, before := q.Paths, map[string][]byte{}
	s.mu.Lock()
	if q.Changed {
		paths = nil
		for p := range s.fresh {
			paths = append(paths, p)
		}
		before = s.before
		s.before, s.fresh = map[string][]byte{}, map[string]bool{}
	}
	s.mu.Unlock()
	slices.Sort(paths)
	ctx, cancel := context.WithTimeout(ctx, max(q.Within, time.Second)+10*time.Second)
	defer cancel()
	until := time.Now().Add(max(q.Within, time.Millisecond))
	paths = paths[:min(len(paths), maxReported)]
	var inBase map[string][]workspace.Problem
	var back []string
	if q.Base {
		inBase, back = s.problemsInBase(ctx, paths, until)
	}
	s.mu.Lock()
	disk := s.disk
	s.mu.Unlock()
	var out []workspace.FileProblems
	for _, p := range paths {
		if q.Changed && time.Now().After(until) {
			break
		}
		rel, err := s.h.clean(p)
		if err != nil {
			return nil, err
		}
		text, err := survey{s.h}.source(rel)
		if err != nil {
			if !q.Changed {
				return nil, err
			}
			continue // it is gone, or no source code
		}
		if q.Parse {
			if f := (workspace.FileProblems{Path: rel}); s.parse(ctx, &f, text, nil, false, until) {
				out = append(out, f)
			}
			continue
		}
		was, had := before[rel]
		if q.Base || !had {
			was, had = s.h.baseText(rel)
		}
		s.mu.Lock()
		_, told := s.told[rel]
		s.mu.Unlock()
		f := s.check(ctx, rel, text, was, had, until, inBase)
		if len(disk) == 0 || had && (q.Base || !told) { // the server may have been told a state in between
			s.seeBase(&f, was, disk, back)
		}
		if f.State != string(lsp.None) || !q.Changed {
			out = append(out, f)
		}
	}
	return out, nil
}

// seeBase takes the problems before as those of the base if they are: the file had the text of the
// base, and all files of disk, which differ from it now, were set back.
func (s *servers) seeBase(f *workspace.FileProblems, was []byte, disk map[string]stamp, back []string) {
	if f.State == string(lsp.Fresh) && f.Left == 0 && len(disk) == 0 {
		f.Base, f.OfBase = f.Items, true
		return
	}
	base, ok := s.h.baseText(f.Path)
	if !f.Known || !ok || len(base) == 0 || !bytes.Equal(was, base) {
		return
	}
	for rel := range disk {
		if rel != f.Path && !slices.Contains(back, rel) { //control:base-of-no-other-file
			return
		}
	}
	f.Base, f.OfBase = f.Before, true
}

// baseText returns the text of a file in the base; a new file was empty. ok is false if it is unknown.
func (h *host) baseText(rel string) (text []byte, ok bool) {
	if h.base.base == nil {
		return nil, false
	}
	f, err := h.base.base.Open(rel)
	if err != nil {
		return nil, true
	}
	defer f.Close()
	text, err = io.ReadAll(io.LimitReader(f, maxSource))
	return text, err == nil
}

// problemsInBase returns the problems that files had in the base, where all of them were as in the
// base: the change of one file may bring an error into another one. Files with an unknown state are
// left out. back lists the files that were set back.
func (s *servers) problemsInBase(
	ctx context.Context, paths []string, until time.Time,
) (out map[string][]workspace.Problem, back []string) {
	type changed struct {
		rel, abs string
		client   *lsp.Client
		was, now []byte
	}
	var list []changed
	for _, p := range paths {
		rel, err := s.h.clean(p)
		if err != nil {
			continue
		}
		now, err := survey{s.h}.source(rel)
		was, had := s.h.baseText(rel)
		if err != nil || !had || len(was) == 0 {
			continue
		}
		if v, why, ok := s.serverBy(rel, until); ok && v != nil && why == "" {
			if client := v.client.Load(); client != nil {
				list = append(list, changed{rel, path.Join(s.h.cfg.Root, rel), client, was, now})
			}
		}
	}
	for _, c := range list { //control:base-of-all-files
		_ = c.client.Sync(ctx, c.abs, c.was) // fails only if the server is gone
		back = append(back, c.rel)
	}
	out = map[string][]workspace.Problem{}
	for _, c := range list {
		if d := c.client.Diagnose(ctx, c.abs, time.Until(until)); d.State == lsp.Fresh && leftOf(d) == 0 {
			out[c.rel] = problemsOf(d, c.was)
		}
	}
	for _, c := range list {
		_ = c.client.Sync(ctx, c.abs, c.now) // likewise
	}
	return out, back
}

// check checks one file with its server, or with a program that only parses. inBase has the problems in
// the base; nil means that the last known state is compared with.
func (s *servers) check(
	ctx context.Context, rel string, text, was []byte, had bool, until time.Time,
	inBase map[string][]workspace.Problem,
) workspace.FileProblems {
	f := workspace.FileProblems{Path: rel}
	v, why, ok := s.serverBy(rel, until)
	if !ok {
		f.State, f.Why = string(lsp.Settling), "the language server is starting"
		return f
	}
	client := (*lsp.Client)(nil)
	if v != nil {
		client = v.client.Load()
	}
	if why != "" || client == nil {
		if s.parse(ctx, &f, text, was, had, until) {
			return f
		}
		f.State, f.Why = string(lsp.None), why
		return f
	}
	f.Source = v.Name
	abs := path.Join(s.h.cfg.Root, rel)
	s.mu.Lock()
	told, known := s.told[rel]
	s.mu.Unlock()
	switch {
	case inBase != nil:
		f.Before, f.Known = inBase[rel]
	case known:
		f.Before, f.Known = told, true
	}
	if !f.Known && had {
		switch {
		case len(was) == 0:
			f.Known = true
		case inBase == nil && client.Sync(ctx, abs, was) == nil:
			d := client.Diagnose(ctx, abs, time.Until(until))
			f.Before, f.Known = problemsOf(d, was), d.State == lsp.Fresh && leftOf(d) == 0
		}
	}
	if err := client.Sync(ctx, abs, text); err != nil {
		f.State, f.Why = string(lsp.None), "the language server has ended"
		return f
	}
	d := client.Diagnose(ctx, abs, max(time.Until(until), 100*time.Millisecond))
	f.State, f.Why, f.Items, f.Left = string(d.State), d.Why, problemsOf(d, text), leftOf(d)
	if d.State == lsp.Fresh && inBase == nil {
		s.mu.Lock()
		if s.told[rel] = f.Items; f.Left > 0 { //control:part-of-a-list-is-not-compared
			delete(s.told, rel)
		}
		s.mu.Unlock()
	}
	return f
}

// leftOf returns the number of problems that [problemsOf] leaves out.
func leftOf(d lsp.Diagnosis) int { return d.Left + max(0, len(d.Items)-maxProblems) }

// serverBy returns the running server for a file, and starts it if it has to, within a time limit. A server
// that is late goes on starting; ok is false then.
func (s *servers) serverBy(rel string, until time.Time) (v *server, why string, ok bool) {
	type found struct {
		v   *server
		why string
	}
	done := make(chan found, 1)
	s.starting.Go(func() {
		v, why := s.kindFor(rel) // the files were looked at before
		if v != nil {
			why = s.start(s.ctx, v)
		}
		done <- found{v, why}
	})
	t := time.NewTimer(time.Until(until))
	defer t.Stop()
	select {
	case f := <-done:
		return f.v, f.why, true
	case <-t.C:
		return nil, "", false
	}
}

func problemsOf(d lsp.Diagnosis, text []byte) (out []workspace.Problem) {
	for _, i := range d.Items[:min(len(d.Items), maxProblems)] {
		out = append(out, workspace.Problem{
			Line:     i.Line,
			Column:   i.Column,
			Severity: i.Severity,
			Code:     i.Code,
			Message:  i.Message,
			Text:     textOf(text, i.Line),
		})
	}
	return out
}

func textOf(text []byte, line int) string {
	l, _ := lsp.LineAt(text, line-1)
	return strings.ToValidUTF8(string(l[:min(len(l), 200)]), "\uFFFD")
}

// parseProgram is a program that parses a file from its input and runs none of it.
type parseProgram struct {
	argv []string
	line *regexp.Regexp // its message: the line, and the text
}

// parserOf returns the parser for files of a name.
func parserOf(name string) (p parseProgram, ok bool) {
	switch strings.ToLower(path.Ext(name)) {
	case ".py", ".pyi":
		const program = "import ast,sys\ntry: ast.parse(sys.stdin.buffer.read())\n" +
			"except SyntaxError as e: print('line %s: %s' % (e.lineno, e.msg))"
		return parseProgram{[]string{"python3", "-I", "-c", program}, regexp.MustCompile(`^line (\d+): (.*)`)}, true
	case ".rb":
		return parseProgram{[]string{"ruby", "-c", "-"}, regexp.MustCompile(`^-:(\d+): (.*)`)}, true
	case ".php":
		return parseProgram{[]string{"php", "-l"}, regexp.MustCompile(`^()PHP Parse error: +(.*)`)}, true
	case ".js", ".cjs":
		return parseProgram{[]string{"node", "--check", "-"}, regexp.MustCompile(`^\[stdin\]:(\d+)()`)}, true
	case ".sh", ".bash":
		return parseProgram{[]string{"bash", "-n"}, regexp.MustCompile(`line (\d+): (.*)`)}, true
	}
	return parseProgram{}, false
}

// parseTime is the time that a parser has at least.
const parseTime = 2 * time.Second

// parse checks a file with the parser of its language. It returns false if there is none.
func (s *servers) parse(
	ctx context.Context, f *workspace.FileProblems, text, was []byte, had bool, until time.Time,
) bool {
	p, ok := parserOf(f.Path)
	if !ok || s.program(lsp.Server{Argv: p.argv[:1]}) == "" {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, max(parseTime, time.Until(until)))
	defer cancel()
	if f.Items, ok = s.parsed(ctx, p, text); !ok {
		return false
	}
	f.State, f.Source = string(lsp.Fresh), strings.Join(p.argv[:2], " ")
	if had {
		f.Before, f.Known = s.parsed(ctx, p, was)
	}
	return true
}

func (s *servers) parsed(ctx context.Context, p parseProgram, text []byte) (out []workspace.Problem, ok bool) {
	argv := append([]string{"sh", "-c", `exec "$@" 2>&1`, "sh"}, p.argv...)
	pr, from, err := s.h.spawn(workspace.Program{Argv: argv}, s.h.cfg.Root)
	if err != nil {
		return nil, false
	}
	stop := context.AfterFunc(ctx, func() { s.h.procs.killAll(pr.family()) })
	defer stop()
	go func() {
		_, _ = pr.stdin.Write(text) // a parser may end before it has read everything
		pr.stdin.Close()
	}()
	said, _ := io.ReadAll(io.LimitReader(from, 64<<10)) // cut if it is killed, which is seen below
	_ = s.h.ended(pr, from)                             // the exit code says less than the output
	if ctx.Err() != nil {
		return nil, false
	}
	for line := range bytes.Lines(said) {
		m := p.line.FindSubmatch(bytes.TrimSpace(line))
		if m == nil {
			continue
		}
		n, _ := strconv.Atoi(string(m[1])) // 0 if it is unknown
		message := strings.ToValidUTF8(string(m[2]), "\uFFFD")
		if message == "" {
			message = "syntax error"
		}
		out = append(out, workspace.Problem{Line: max(n, 1), Severity: 1, Message: message, Text: textOf(text, max(n, 1))})
		break
	}
	return out, true
}
