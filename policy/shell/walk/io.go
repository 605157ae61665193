package walk

import (
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/handrail-bot/handrail/policy/shell/argv"
	"github.com/handrail-bot/handrail/policy/shell/known"
	"github.com/handrail-bot/handrail/policy/shell/mark"
	"github.com/handrail-bot/handrail/policy/shell/word"
	"github.com/handrail-bot/handrail/policy/shell/zone"
)

// redirected follows a command with redirections.
func (w *Walk) redirected(s *syntax.Stmt) string {
	in, quiet, filed, shown := w.In, w.quiet, w.filed, w.shown
	defer func() { w.In, w.quiet, w.filed, w.shown = in, quiet, filed, shown }()
	var to []target
	here := false // the line itself holds the input
	for _, rd := range s.Redirs {
		to = w.redirect(to, rd, s.Cmd)
		here = here || rd.Op == syntax.Hdoc || rd.Op == syntax.DashHdoc || rd.Op == syntax.WordHdoc
	}
	if len(to) > 0 {
		w.quiet, w.filed, w.shown = true, true, nil
	}
	if movesOwn(s.Cmd) { //control:moved-descriptors
		in, shown = w.In, append(w.shown, to...)
		return ""
	}
	given := here && w.In != in && w.In != nil && strings.Contains(w.In.Text, secret)
	out := w.clause(s.Cmd)
	if s.Cmd == nil && w.In != nil && w.In != in { // $(< file)
		out = w.In.Text
	}
	if given && !w.quiet && strings.Contains(out, secret) {
		w.Found.Hit("secret-shown", "")
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
func (w *Walk) redirect(to []target, rd *syntax.Redirect, c syntax.Command) []target {
	w.Found.Step(0)
	if w.fromText(rd) {
		return to
	}
	if rd.Word != nil && len(rd.Word.Parts) == 1 {
		if p, ok := rd.Word.Parts[0].(*syntax.ProcSubst); ok && p.Op == syntax.CmdOut {
			return output(w, to, rd, target{runs: p.Stmts, sent: &strings.Builder{}})
		}
	}
	last := opens(w, rd, c)
	switch t, open := w.open[strings.TrimSuffix(last, "-")]; {
	case rd.Op == syntax.RdrIn:
		if w.parallel > 0 && c != nil && !movesOwn(c) {
			w.readers[w.Resolve(last)] = c
		}
		w.input(rd, w.ReadFile(last))
		if _, own := w.File(last); !own && rd.N == nil {
			w.In.file = true
		}
		return to
	case rd.Op == syntax.DplOut && open:
		return output(w, to, rd, t)
	case rd.Op == syntax.DplOut && descriptor(last):
		return to
	case rd.Op == syntax.RdrInOut:
		w.input(rd, w.ReadFile(last))
	}
	return output(w, to, rd, targetOf(w, last, rd.Op))
}

// opens rates the files that a redirection opens, and returns the last.
func opens(w *Walk, rd *syntax.Redirect, c syntax.Command) (last string) {
	for _, a := range word.Fields(w, rd.Word) {
		for _, name := range w.Places(a) {
			opened(w, rd, name, c)
		}
		last = a.S
	}
	return last
}

// fromText follows a redirection whose input stands in the line itself, or
// was opened before.
func (w *Walk) fromText(rd *syntax.Redirect) bool {
	switch rd.Op {
	case syntax.Hdoc, syntax.DashHdoc:
		w.input(rd, hereDocument(w, rd))
	case syntax.WordHdoc:
		w.input(rd, word.Text(w, rd.Word)+"\n")
	case syntax.DplIn:
		number := strings.TrimSuffix(word.Text(w, rd.Word), "-")
		if text, ok := fromDescriptor(w, number); ok {
			w.input(rd, text)
		} else if number == "0" && w.In != nil {
			w.input(rd, w.Waiting())
		} else if len(number) > 1 || number > "2" { // opened elsewhere
			w.input(rd, unknown)
		}
	default:
		return false
	}
	return true
}

// input gives a command its input, or the program a file under a number.
func (w *Walk) input(rd *syntax.Redirect, text string) {
	number := numberOf(w, rd)
	if number == "" || number == "0" {
		w.In = &Input{Text: text}
		return
	}
	w.Content[descriptors+number] = text
}

func isSocket(p string) bool {
	return strings.HasPrefix(p, "/dev/tcp/") || strings.HasPrefix(p, "/dev/udp/")
}

// opened rates a file that a redirection opens.
func opened(w *Walk, rd *syntax.Redirect, name string, c syntax.Command) {
	switch {
	case isSocket(name):
		w.Found.Network = true
		w.Found.Hit("socket", name)
		if talksShell(c) {
			w.Found.Hit("reverse-shell", name)
		}
	case rd.Op == syntax.RdrIn, rd.Op == syntax.DplOut && descriptor(name):
	case w.links[name] != "":
		w.Found.Write(w.links[name])
	default:
		w.Found.Write(name)
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
		if known.In("shells", path.Base(lit)) || lit == "exec" || lit == "" && i == 0 {
			return true
		}
	}
	return false
}

func hereDocument(w *Walk, rd *syntax.Redirect) string {
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
func (w *Walk) openProcess(p *syntax.ProcSubst) string {
	name := "/dev/fd/" + strconv.Itoa(60+len(w.Content))
	w.Content[name] = ""
	if p.Op == syntax.CmdOut {
		text := unknown
		if w.In != nil {
			text = w.In.Text
		}
		w.subshell(func() string { w.In = &Input{Text: text}; return w.stmts(p.Stmts) })
		return name
	}
	w.Content[name] = w.subshell(func() string { w.filed = false; return w.stmts(p.Stmts) })
	return name
}

// deliver writes what a command printed to where it was redirected.
func (w *Walk) deliver(t target, out string) {
	switch {
	case t.runs != nil:
		t.sent.WriteString(out)
		w.subshell(func() string {
			w.In, w.shown, w.open = &Input{Text: t.sent.String()}, nil, maps.Clone(w.open)
			maps.DeleteFunc(w.open, func(_ string, o target) bool { return o.sent == t.sent }) // it has the former ones
			return w.stmts(t.runs)
		})
		return
	case isSocket(t.path):
		if strings.Contains(out, secret) {
			w.Found.Hit("secret-sent", t.path)
		}
		return
	case strings.Contains(out, secret) && strings.HasPrefix(t.path, zone.RunnerFiles):
		w.Found.Hit("secret-sent", t.path) // what a step says is shown
	case strings.Contains(out, secret) && zone.Of(t.path) != zone.Nowhere:
		w.Found.Hit("secret-stored", t.path)
	}
	w.Store(t.path, out, t.add)
	if c := w.readers[t.path]; c != nil { // it waits for this
		delete(w.readers, t.path)
		w.subshell(func() string { w.In, w.shown = &Input{Text: out}, nil; return w.clause(c) })
	}
}

// Store remembers what the program wrote to a file.
func (s *files) Store(name, text string, add bool) {
	if add {
		text = s.Content[name] + text
	}
	if len(text) > maxText {
		s.Found.Exhaust()
	}
	s.Found.Step(len(text))
	s.Content[name] = text
	if strings.Contains(text, secret) && zone.Of(name) == zone.Workspace && zone.SecretOf(name) == zone.NoSecret {
		s.Found.Leaked = true
	}
	if strings.Contains(text, remote) && zone.Of(name) == zone.Startup {
		s.Found.Hit("remote-code", name)
	}
}

// Link remembers that a path is a link to another.
func (s *files) Link(name, to string) { s.links[s.Resolve(name)] = s.Resolve(to) }

// Resolve is a path from where the program is at that point, behind the links
// that the program made.
func (s *files) Resolve(p string) string {
	at := s.place(p)
	for range min(len(s.links), 4) {
		for dir := at; dir != "." && dir != "/" && dir != "~"; dir = path.Dir(dir) {
			if to, ok := s.links[dir]; ok && (dir != at || strings.HasSuffix(p, "/")) { //control:followed-links
				at = zone.Clean(to + at[len(dir):])
				break
			}
		}
	}
	return at
}

func (s *files) place(p string) string {
	if p == "" || strings.HasPrefix(p, "/") || strings.HasPrefix(p, "~") || len(p) > 1 && p[1] == ':' {
		return zone.Clean(p)
	}
	cwd, ok := s.get("PWD")
	if !ok || len(cwd) == 0 || cwd[0] == "." {
		return zone.Clean(p)
	}
	return zone.Clean(cwd[0] + "/" + p)
}

// Places are the clean paths an argument may name.
func (s *files) Places(a argv.Word) []string {
	out := []string{s.Resolve(a.S)}
	if a.Pat != "" {
		out = append(out, zone.CouldBe(s.Resolve(a.Pat))...)
		if strings.HasPrefix(a.Pat, "/") && strings.Count(path.Clean(a.Pat), "/") == 1 && strings.Trim(a.Pat[1:], "*?/") == "" {
			out = append(out, "/")
		}
	}
	return out
}

// ZoneOf says where an argument lies.
func (s *files) ZoneOf(a argv.Word) zone.Zone { return zone.Of(s.Resolve(a.S)) }

// Write rates that a file is written.
func (s *files) Write(p string) {
	at := s.Resolve(p)
	if to, ok := s.links[at]; ok {
		at = to
	}
	s.Found.Write(at)
}

// Remove rates that what an argument names is deleted.
func (s *files) Remove(a argv.Word, recursive bool) {
	for _, p := range s.Places(a) {
		s.Found.Remove(p, recursive)
	}
	if bare := mark.Strip(a.S); recursive && bare != a.S && bare != "" && zone.Of(s.Resolve(bare)) == zone.Vital {
		s.Found.Hit("delete-vital", a.S)
	}
}

// GlobIn returns a word that holds a pattern, and "" for others.
func GlobIn(s string) string {
	if strings.ContainsAny(s, "*?[") {
		return s
	}
	return ""
}

// File is what the program wrote to a file.
func (s *files) File(name string) (string, bool) {
	text, ok := s.Content[s.Resolve(name)]
	return text, ok
}

// ReadFile is the content of a file: what the program wrote to it, or marks.
// Reading a credential is a finding.
func (s *files) ReadFile(name string) string {
	p := s.Resolve(name)
	if rest, ok := strings.CutPrefix(p, "/proc/self/fd/"); ok {
		p = descriptors + rest
	}
	if text, ok := s.Content[p]; ok {
		return text
	}
	switch {
	case zone.Under(p, "/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/local/bin") && Dangerous(path.Base(p)):
		return systemProgram + path.Base(p)
	case p == "/dev/null":
		return ""
	case p == "/dev/stdin" || p == "/dev/fd/0" || p == "/proc/self/fd/0":
		return s.Stdin()
	case strings.HasPrefix(p, "/dev/tcp/"):
		return remote
	case zone.Of(p) == zone.Device && !EndlessDevice(p) && (strings.ContainsAny(p[5:], "0123456789") || strings.HasPrefix(p, "/dev/sd") || strings.HasPrefix(p, "/dev/mem")):
		s.Found.Hit("read-device", p)
	}
	return s.ReadSecret(p)
}

// EndlessDevice reports whether reading a device never ends.
func EndlessDevice(p string) bool { return OneOf(p, "/dev/zero", "/dev/urandom", "/dev/random") }

// systemProgram stands before the name of a program in what a copy of it
// holds.
const systemProgram = "\x7fELF "

// SystemProgram reports whether a text stands for the file of a system program.
func SystemProgram(text string) bool { return strings.HasPrefix(text, systemProgram) }

// RemoteDir marks a directory that was downloaded as a whole.
const RemoteDir = remote + "/"

// ReadSecret is what a clean path holds, as far as its name says.
func (s *files) ReadSecret(p string) string {
	switch zone.SecretOf(p) {
	case zone.MachineSecret:
		s.Found.Hit("secret-read", p)
		return secret
	case zone.OwnSecret:
		s.Found.Hit("secret-file", p)
		return secret
	}
	if len(p) > 4096 { // longer than any path
		return unknown
	}
	for dir := p; dir != "/" && dir != ""; dir = path.Dir(dir) {
		if text := s.Content[dir]; text == RemoteDir || dir != p && strings.HasPrefix(text, remote) {
			return remote
		}
		if dir == "." {
			break
		}
	}
	return unknown
}

// Given reports whether the program itself supplies the standard input.
func (s *files) Given() bool { return s.In != nil }

// Waiting is what is left of the standard input that is given, unread.
func (s *files) Waiting() string {
	if s.In == nil {
		return ""
	}
	return s.In.Text[s.In.pos:]
}

// Stdin takes everything that is left of the standard input.
func (s *files) Stdin() string {
	if s.In == nil {
		return unknown
	}
	text := s.Waiting()
	s.In.pos = len(s.In.Text)
	return text
}

// GivenText takes the standard input that is given, or nothing.
func (s *files) GivenText() string {
	if s.In == nil {
		return ""
	}
	return s.Stdin()
}

// StdinProgram follows the standard input as the text of a program.
func (w *Walk) StdinProgram() string {
	text := w.GivenText()
	if strings.Contains(text, remote) {
		w.Found.Hit("remote-code", "")
	}
	if strings.ContainsAny(text, unknown+secret) {
		w.Found.Hit("opaque-code", "")
	}
	w.Found.Step(len(text))
	return w.subshell(func() string { return w.Program(text) })
}
