package shell

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/handrail-bot/handrail/policy/shell/argv"
	"github.com/handrail-bot/handrail/policy/shell/mark"
	"github.com/handrail-bot/handrail/policy/shell/word"
	"github.com/handrail-bot/handrail/policy/shell/zone"
)

// target is where a redirection sends what a command prints.
type target struct {
	path string
	add  bool
	proc *syntax.ProcSubst
}

// redirected follows a command with redirections.
func (w *walk) redirected(s *syntax.Stmt) string {
	in, quiet, filed := w.in, w.quiet, w.filed
	defer func() { w.in, w.quiet, w.filed = in, quiet, filed }()
	var to []target
	here := false // the line itself holds the input
	for _, rd := range s.Redirs {
		to = w.redirect(to, rd, s.Cmd)
		here = here || rd.Op == syntax.Hdoc || rd.Op == syntax.DashHdoc || rd.Op == syntax.WordHdoc
	}
	w.quiet, w.filed = quiet || len(to) > 0, filed || len(to) > 0
	given := here && w.in != in && w.in != nil && strings.Contains(w.in.text, secret)
	out := w.clause(s.Cmd)
	if given && !w.quiet && strings.Contains(out, secret) {
		w.f.hit("secret-shown", "")
	}
	for _, t := range to {
		w.deliver(t, out)
	}
	if len(to) > 0 {
		return ""
	}
	return out
}

// redirect follows one redirection of a command.
func (w *walk) redirect(to []target, rd *syntax.Redirect, c syntax.Command) []target {
	w.f.step(0)
	switch rd.Op {
	case syntax.Hdoc, syntax.DashHdoc:
		w.in = &input{text: hereDocument(w, rd)}
		return to
	case syntax.WordHdoc:
		w.in = &input{text: word.Text(w, rd.Word) + "\n"}
		return to
	case syntax.DplIn:
		word.Text(w, rd.Word)
		return to
	}
	if rd.Word != nil && len(rd.Word.Parts) == 1 {
		if p, ok := rd.Word.Parts[0].(*syntax.ProcSubst); ok && p.Op == syntax.CmdOut {
			return append(to, target{proc: p})
		}
	}
	var last string
	for _, a := range word.Fields(w, rd.Word) {
		for _, name := range w.places(a) {
			opened(w, rd, name, c)
		}
		last = a.S
	}
	switch {
	case rd.Op == syntax.RdrIn:
		w.in = &input{text: w.readFile(last)}
		return to
	case rd.N != nil && rd.N.Value != "1" && rd.N.Value != "" || rd.Op == syntax.DplOut && descriptor(last):
		return to
	case rd.Op == syntax.RdrInOut:
		w.in = &input{text: w.readFile(last)}
	}
	return append(to, target{path: w.resolve(last), add: rd.Op == syntax.AppOut || rd.Op == syntax.AppAll || rd.Op == syntax.AppClob})
}

func descriptor(s string) bool {
	return s == "-" || strings.Trim(s, "0123456789") == "" || strings.HasSuffix(s, "-") && strings.Trim(s, "0123456789-") == ""
}

func isSocket(p string) bool {
	return strings.HasPrefix(p, "/dev/tcp/") || strings.HasPrefix(p, "/dev/udp/")
}

// opened rates a file that a redirection opens.
func opened(w *walk, rd *syntax.Redirect, name string, c syntax.Command) {
	switch {
	case isSocket(name):
		w.f.network = true
		w.f.hit("socket", name)
		if talksShell(c) {
			w.f.hit("reverse-shell", name)
		}
	case rd.Op == syntax.RdrIn, rd.Op == syntax.DplOut && descriptor(name):
	default:
		w.f.write(name)
	}
}

// talksShell reports whether a command with a socket as its input or output
// is a shell, or the shell itself.
func talksShell(c syntax.Command) bool {
	call, ok := c.(*syntax.CallExpr)
	if !ok {
		return c != nil
	}
	for i, w := range call.Args {
		lit := w.Lit()
		if in("shells", path.Base(lit)) || lit == "exec" || lit == "" && i == 0 {
			return true
		}
	}
	return false
}

func hereDocument(w *walk, rd *syntax.Redirect) string {
	if rd.Hdoc == nil {
		return ""
	}
	raw := slices.ContainsFunc(rd.Word.Parts, func(part syntax.WordPart) bool {
		switch p := part.(type) {
		case *syntax.SglQuoted, *syntax.DblQuoted:
			return true
		case *syntax.Lit:
			return strings.Contains(p.Value, "\\")
		}
		return false
	})
	text := ""
	if raw {
		text = rd.Hdoc.Lit()
	} else {
		text = word.Document(w, rd.Hdoc)
	}
	if rd.Op == syntax.DashHdoc {
		lines := strings.Split(text, "\n")
		for i, l := range lines {
			lines[i] = strings.TrimLeft(l, "\t")
		}
		text = strings.Join(lines, "\n")
	}
	return text
}

// openProcess follows a process substitution.
func (w *walk) openProcess(p *syntax.ProcSubst) string {
	name := "/dev/fd/" + strconv.Itoa(60+len(w.content))
	w.content[name] = ""
	if p.Op == syntax.CmdOut {
		text := unknown
		if w.in != nil {
			text = w.in.text
		}
		w.subshell(func() string { w.in = &input{text: text}; return w.stmts(p.Stmts) })
		return name
	}
	w.content[name] = w.subshell(func() string { return w.stmts(p.Stmts) })
	return name
}

// deliver writes what a command printed to where it was redirected.
func (w *walk) deliver(t target, out string) {
	switch {
	case t.proc != nil:
		w.subshell(func() string { w.in = &input{text: out}; return w.stmts(t.proc.Stmts) })
		return
	case isSocket(t.path):
		if strings.Contains(out, secret) {
			w.f.hit("secret-sent", t.path)
		}
		return
	case strings.Contains(out, secret) && zone.Of(t.path) != zone.Nowhere:
		w.f.hit("secret-stored", t.path)
	}
	w.store(t.path, out, t.add)
}

// store remembers what the program wrote to a file.
func (s *files) store(name, text string, add bool) {
	if add {
		text = s.content[name] + text
	}
	if len(text) > maxText {
		s.f.exhaust()
	}
	s.f.step(len(text))
	s.content[name] = text
	if strings.Contains(text, remote) && zone.Of(name) == zone.Startup {
		s.f.hit("remote-code", name)
	}
}

// resolve is a path from where the program is at that point.
func (s *files) resolve(p string) string {
	if p == "" || strings.HasPrefix(p, "/") || strings.HasPrefix(p, "~") || len(p) > 1 && p[1] == ':' {
		return zone.Clean(p)
	}
	cwd, ok := s.get("PWD")
	if !ok || len(cwd) == 0 || cwd[0] == "." {
		return zone.Clean(p)
	}
	return zone.Clean(cwd[0] + "/" + p)
}

// places are the clean paths an argument may name.
func (s *files) places(a argv.Word) []string {
	out := []string{s.resolve(a.S)}
	if a.Pat != "" {
		out = append(out, zone.CouldBe(s.resolve(a.Pat))...)
		if strings.HasPrefix(a.Pat, "/") && strings.Count(path.Clean(a.Pat), "/") == 1 && strings.Trim(a.Pat[1:], "*?/") == "" {
			out = append(out, "/")
		}
	}
	return out
}

// zoneOf says where an argument lies.
func (s *files) zoneOf(a argv.Word) zone.Zone { return zone.Of(s.resolve(a.S)) }

// write rates that a file is written.
func (s *files) write(p string) { s.f.write(s.resolve(p)) }

// remove rates that what an argument names is deleted.
func (s *files) remove(a argv.Word, recursive bool) {
	for _, p := range s.places(a) {
		s.f.remove(p, recursive)
	}
	if bare := mark.Strip(a.S); recursive && bare != a.S && bare != "" && zone.Of(s.resolve(bare)) == zone.Vital {
		s.f.hit("delete-vital", a.S)
	}
}

func globIn(s string) string {
	if strings.ContainsAny(s, "*?[") {
		return s
	}
	return ""
}

// file is what the program wrote to a file.
func (s *files) file(name string) (string, bool) {
	text, ok := s.content[s.resolve(name)]
	return text, ok
}

// readFile is the content of a file: what the program wrote to it, or marks.
// Reading a credential is a finding.
func (s *files) readFile(name string) string {
	p := s.resolve(name)
	if text, ok := s.content[p]; ok {
		return text
	}
	switch {
	case p == "/dev/null":
		return ""
	case p == "/dev/stdin" || p == "/dev/fd/0" || p == "/proc/self/fd/0":
		return s.stdin()
	case strings.HasPrefix(p, "/dev/tcp/"):
		return remote
	case zone.Of(p) == zone.Device && !endlessDevice(p) && (strings.ContainsAny(p[5:], "0123456789") || strings.HasPrefix(p, "/dev/sd") || strings.HasPrefix(p, "/dev/mem")):
		s.f.hit("read-device", p)
	}
	return s.readSecret(p)
}

func endlessDevice(p string) bool { return oneOf(p, "/dev/zero", "/dev/urandom", "/dev/random") }

// remoteDir marks a directory that was downloaded as a whole.
const remoteDir = remote + "/"

// readSecret is what a clean path holds, as far as its name says.
func (s *files) readSecret(p string) string {
	switch zone.SecretOf(p) {
	case zone.MachineSecret:
		s.f.hit("secret-read", p)
		return secret
	case zone.OwnSecret:
		s.f.hit("secret-file", p)
		return secret
	}
	if len(p) > 4096 { // longer than any path
		return unknown
	}
	for dir := p; dir != "/" && dir != ""; dir = path.Dir(dir) {
		if s.content[dir] == remoteDir {
			return remote
		}
		if dir == "." {
			break
		}
	}
	return unknown
}

// given reports whether the program itself supplies the standard input.
func (s *files) given() bool { return s.in != nil }

// waiting is what is left of the standard input that is given, unread.
func (s *files) waiting() string {
	if s.in == nil {
		return ""
	}
	return s.in.text[s.in.pos:]
}

// stdin takes everything that is left of the standard input.
func (s *files) stdin() string {
	if s.in == nil {
		return unknown
	}
	text := s.waiting()
	s.in.pos = len(s.in.text)
	return text
}

// givenText takes the standard input that is given, or nothing.
func (s *files) givenText() string {
	if s.in == nil {
		return ""
	}
	return s.stdin()
}

// stdinProgram follows the standard input as the text of a program.
func (w *walk) stdinProgram() string {
	text := w.givenText()
	if strings.Contains(text, remote) {
		w.f.hit("remote-code", "")
	}
	if strings.ContainsAny(text, unknown+secret) {
		w.f.hit("opaque-code", "")
	}
	w.f.step(len(text))
	return w.subshell(func() string { return w.program(text) })
}
