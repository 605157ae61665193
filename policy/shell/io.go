package shell

import (
	"path"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// target is where a redirection sends what a command prints.
type target struct {
	path string
	add  bool
	proc *syntax.ProcSubst
}

// redirect follows one redirection of a command.
func (m *machine) redirect(to []target, rd *syntax.Redirect, c syntax.Command) []target {
	m.r.step(0)
	switch rd.Op {
	case syntax.Hdoc, syntax.DashHdoc:
		m.in = &input{text: m.hereDocument(rd)}
		return to
	case syntax.WordHdoc:
		m.in = &input{text: m.text(rd.Word) + "\n"}
		return to
	case syntax.DplIn:
		m.text(rd.Word)
		return to
	}
	if p, ok := singlePart(rd.Word).(*syntax.ProcSubst); ok && p.Op == syntax.CmdOut {
		return append(to, target{proc: p})
	}
	var last string
	for _, a := range m.fields([]*syntax.Word{rd.Word}) {
		for _, name := range m.places(a) {
			m.oneRedirect(rd, name, c)
		}
		last = a.s
	}
	if rd.Op == syntax.RdrIn {
		m.in = &input{text: m.readFile(last)}
		return to
	}
	if rd.N != nil && rd.N.Value != "1" && rd.N.Value != "" || rd.Op == syntax.DplOut && descriptor(last) {
		return to
	}
	if rd.Op == syntax.RdrInOut {
		m.in = &input{text: m.readFile(last)}
	}
	return append(to, target{path: m.resolve(last), add: rd.Op == syntax.AppOut || rd.Op == syntax.AppAll || rd.Op == syntax.AppClob})
}

func descriptor(s string) bool {
	return s == "-" || strings.Trim(s, "0123456789") == "" || strings.HasSuffix(s, "-") && strings.Trim(s, "0123456789-") == ""
}

func singlePart(w *syntax.Word) syntax.WordPart {
	if w == nil || len(w.Parts) != 1 {
		return nil
	}
	return w.Parts[0]
}

func (m *machine) oneRedirect(rd *syntax.Redirect, name string, c syntax.Command) {
	if strings.HasPrefix(name, "/dev/tcp/") || strings.HasPrefix(name, "/dev/udp/") {
		m.r.network = true
		m.r.hit("socket", name)
		if talksShell(c) {
			m.r.hit("reverse-shell", name)
		}
		return
	}
	if rd.Op == syntax.RdrIn {
		return
	}
	if rd.Op == syntax.DplOut && descriptor(name) {
		return
	}
	m.write(name)
}

// talksShell reports whether a command with a socket as its input or output
// is a shell, or the shell itself.
func talksShell(c syntax.Command) bool {
	call, ok := c.(*syntax.CallExpr)
	if !ok {
		return c != nil && !ok
	}
	for _, w := range call.Args {
		lit := w.Lit()
		if name := path.Base(lit); isShell(name) || lit == "exec" || lit == "" && len(call.Args) > 0 && w == call.Args[0] {
			return true
		}
	}
	return false
}

func (m *machine) hereDocument(rd *syntax.Redirect) string {
	if rd.Hdoc == nil {
		return ""
	}
	raw := false
	for _, p := range rd.Word.Parts {
		switch p := p.(type) {
		case *syntax.SglQuoted, *syntax.DblQuoted:
			raw = true
		case *syntax.Lit:
			raw = raw || strings.Contains(p.Value, "\\")
		}
	}
	text := ""
	if raw {
		text = rd.Hdoc.Lit()
	} else {
		text = m.document(rd.Hdoc)
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

// deliver writes what a command printed to where it was redirected.
func (m *machine) deliver(t target, out string) {
	if t.proc != nil {
		m.subshell(func() string { m.in = &input{text: out}; return m.stmts(t.proc.Stmts) })
		return
	}
	if strings.HasPrefix(t.path, "/dev/tcp/") || strings.HasPrefix(t.path, "/dev/udp/") {
		m.sendOut(out, t.path)
		return
	}
	if strings.Contains(out, secret) && placeOf(t.path) != placeNowhere {
		m.r.hit("secret-stored", t.path)
	}
	m.store(t.path, out, t.add)
}

// sendOut checks text that goes out to the network.
func (m *machine) sendOut(text, where string) {
	if strings.Contains(text, secret) {
		m.r.hit("secret-sent", where)
	}
}

// store remembers what the program wrote to a file.
func (m *machine) store(name, text string, add bool) {
	if add {
		text = m.files[name] + text
	}
	if len(text) > maxText {
		m.r.exhaust()
	}
	m.r.step(len(text))
	m.files[name] = text
	if strings.Contains(name, runnerFiles) || placeOf(name) != placeNowhere {
		m.carry(name, text)
	}
}

// carry checks text that is left for someone else to run or to read.
func (m *machine) carry(name, text string) {
	if strings.Contains(text, remote) && placeOf(name) == placeStartup {
		m.r.hit("remote-code", name)
	}
}

// readFile is the content of a file: what the program wrote to it, or marks.
// Reading a credential is a finding.
func (m *machine) readFile(name string) string {
	p := m.resolve(name)
	if text, ok := m.files[p]; ok {
		return text
	}
	switch {
	case p == "/dev/null":
		return ""
	case p == "/dev/stdin" || p == "/dev/fd/0" || p == "/proc/self/fd/0":
		return m.stdin()
	case strings.HasPrefix(p, "/dev/tcp/"):
		return remote
	case placeOf(p) == placeDevice && !endlessDevice(p) && (strings.ContainsAny(p[5:], "0123456789") || strings.HasPrefix(p, "/dev/sd") || strings.HasPrefix(p, "/dev/mem")):
		m.r.hit("read-device", p)
	}
	return m.readSecret(p)
}

func (m *machine) readSecret(p string) string {
	switch secretPath(p) {
	case Critical:
		m.r.hit("secret-read", p)
		return secret
	case High:
		m.r.hit("secret-file", p)
		return secret
	}
	if len(p) > 4096 { // longer than any path
		return unknown
	}
	for dir := p; dir != "/" && dir != ""; dir = path.Dir(dir) {
		if m.files[dir] == remoteDir {
			return remote
		}
		if dir == "." {
			break
		}
	}
	return unknown
}

// remoteDir marks a directory that was downloaded as a whole.
const remoteDir = remote + "/"

// stdin takes everything that is left of the standard input.
func (m *machine) stdin() string {
	if m.in == nil {
		return unknown
	}
	text := m.in.text[m.in.pos:]
	m.in.pos = len(m.in.text)
	return text
}

// given reports whether the program itself supplies the standard input.
func (m *machine) given() bool { return m.in != nil }
