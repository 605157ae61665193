package shell

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// target is the destination of a redirection.
type target struct {
	path string
	runs []*syntax.Stmt // statements that read the output instead of a file
}

// redirected follows a command with redirections.
func (w *walk) redirected(s *syntax.Stmt) string {
	in, quiet, filed := w.in, w.quiet, w.filed
	defer func() { w.in, w.quiet, w.filed = in, quiet, filed }()
	var to []target
	for _, rd := range s.Redirs {
		to = w.redirect(to, rd, s.Cmd)
	}
	own := movesOwn(s.Cmd)
	for _, t := range to {
		if own && t.runs != nil { // they read all output from now on
			w.subshell(func() string { w.in = &input{text: unknown}; return w.stmts(t.runs) })
		}
	}
	if own {
		in, to = w.in, nil
	}
	if len(to) > 0 {
		w.quiet, w.filed = true, true
	}
	given := w.in != in && w.in != nil && strings.Contains(w.in.text, secret)
	out := w.clause(s.Cmd)
	switch {
	case s.Cmd == nil && w.in != nil && w.in != in: // $(< file)
		out = w.in.text
	case given && !w.quiet && strings.Contains(out, secret):
		w.found.hit("secret-shown", "")
	}
	for _, t := range to {
		w.deliver(t, out)
	}
	if len(to) > 0 {
		return ""
	}
	return out
}

// movesOwn reports whether redirections apply permanently to the shell itself, as in an
// exec without a program.
func movesOwn(c syntax.Command) bool {
	call, ok := c.(*syntax.CallExpr)
	return ok && len(call.Args) > 0 && len(call.Args) < 3 && call.Args[len(call.Args)-1].Lit() == "exec"
}

// redirect follows one redirection of a command.
func (w *walk) redirect(to []target, rd *syntax.Redirect, c syntax.Command) []target {
	w.found.step(0)
	switch rd.Op {
	case syntax.Hdoc, syntax.DashHdoc:
		w.read(rd, w.hereDocument(rd))
		return to
	case syntax.WordHdoc:
		w.read(rd, w.wordText(rd.Word)+"\n")
		return to
	case syntax.DplIn:
		if n := w.wordText(rd.Word); n != "0" && n != "0-" && n != "-" { // a descriptor opened elsewhere
			w.read(rd, unknown)
		}
		return to
	}
	if len(rd.Word.Parts) == 1 {
		if p, ok := rd.Word.Parts[0].(*syntax.ProcSubst); ok && p.Op == syntax.CmdOut {
			return append(to, target{runs: p.Stmts})
		}
	}
	name := ""
	for _, a := range w.fields(rd.Word) {
		name = a.s
		for _, p := range w.places(a) {
			w.opened(rd, p, c)
		}
	}
	switch {
	case rd.Op == syntax.RdrIn:
		w.read(rd, w.readFile(name))
		return to
	case rd.Op == syntax.DplOut && descriptor(name):
		return to
	case rd.Op == syntax.RdrInOut:
		w.read(rd, w.readFile(name))
	}
	if rd.N != nil && rd.N.Value != "1" {
		w.store(w.resolve(name), "")
		return to
	}
	return append(to, target{path: w.resolve(name)})
}

func (w *walk) read(rd *syntax.Redirect, text string) {
	if rd.N == nil || rd.N.Value == "0" {
		w.in = &input{text: text}
	}
}

func descriptor(s string) bool { return s == "-" || strings.Trim(s, "0123456789-") == "" }

func isSocket(p string) bool {
	return strings.HasPrefix(p, "/dev/tcp/") || strings.HasPrefix(p, "/dev/udp/")
}

func (w *walk) opened(rd *syntax.Redirect, name string, c syntax.Command) {
	switch {
	case isSocket(name):
		w.found.network = true
		w.found.hit("socket", name)
		if talksShell(c) {
			w.found.hit("reverse-shell", name)
		}
	case rd.Op == syntax.RdrIn, rd.Op == syntax.DplOut && descriptor(name):
	default:
		w.write(name)
	}
}

func talksShell(c syntax.Command) bool {
	call, ok := c.(*syntax.CallExpr)
	if !ok {
		return c != nil
	}
	for i, w := range call.Args {
		lit := w.Lit()
		if inList("shells", path.Base(lit)) || lit == "exec" || lit == "" && i == 0 {
			return true
		}
	}
	return false
}

func (w *walk) hereDocument(rd *syntax.Redirect) string {
	if rd.Hdoc == nil {
		return ""
	}
	raw := slices.ContainsFunc(rd.Word.Parts, func(part syntax.WordPart) bool {
		lit, ok := part.(*syntax.Lit)
		return !ok || strings.Contains(lit.Value, "\\")
	})
	text := ""
	if raw {
		text = rd.Hdoc.Lit()
	} else {
		text = w.document(rd.Hdoc)
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

// opens is the prefix of the name of a process substitution.
const opens = "/dev/fd/"

func (w *walk) openProcess(p *syntax.ProcSubst) string {
	name := opens + strconv.Itoa(60+len(w.made))
	w.made[name] = ""
	if p.Op == syntax.CmdOut {
		text := unknown
		if w.in != nil {
			text = w.in.text
		}
		w.subshell(func() string { w.in = &input{text: text}; return w.stmts(p.Stmts) })
		return name
	}
	w.made[name] = w.subshell(func() string { w.filed = false; return w.stmts(p.Stmts) })
	return name
}

// deliver writes a command's output to a redirection target.
func (w *walk) deliver(t target, out string) {
	switch {
	case t.runs != nil:
		w.subshell(func() string { w.in = &input{text: out}; return w.stmts(t.runs) })
		return
	case isSocket(t.path):
		if strings.Contains(out, secret) {
			w.found.hit("secret-sent", t.path)
		}
		return
	case strings.Contains(out, secret) && strings.HasPrefix(t.path, runnerFiles):
		w.found.hit("secret-sent", t.path) // step outputs are visible
	case strings.Contains(out, secret) && zoneOf(t.path) != nowhere:
		w.found.hit("secret-stored", t.path)
	}
	w.store(t.path, out)
}

func (w *walk) store(name, text string) {
	w.found.step(len(text))
	w.made[name] = of(text)
	if strings.Contains(text, secret) && zoneOf(name) == workspace && secretOf(name) == noSecret {
		w.found.leaked = true
	}
	if strings.Contains(text, remote) && zoneOf(name) == startup {
		w.found.hit("remote-code", name)
	}
}

func (w *walk) link(name, to string) { w.links[w.resolve(name)] = w.resolve(to) }

func (w *walk) resolve(p string) string {
	at := w.place(p)
	if len(w.links) == 0 {
		return at
	}
	for dir := at; dir != "." && dir != "/" && dir != "~"; dir = path.Dir(dir) {
		if to, ok := w.links[dir]; ok && (dir != at || strings.HasSuffix(p, "/")) { //control:followed-links
			return clean(to + at[len(dir):])
		}
	}
	return at
}

func (w *walk) place(p string) string {
	if p == "" || strings.HasPrefix(p, "/") || strings.HasPrefix(p, "~") || len(p) > 1 && p[1] == ':' {
		return clean(p)
	}
	cwd, ok := w.get("PWD")
	if !ok || len(cwd) == 0 || cwd[0] == "." {
		return clean(p)
	}
	return clean(cwd[0] + "/" + p)
}

func (w *walk) places(a arg) []string {
	out := []string{w.resolve(a.s)}
	if a.pat != "" {
		out = append(out, couldBe(w.resolve(a.pat))...)
		if strings.HasPrefix(a.pat, "/") && strings.Count(path.Clean(a.pat), "/") == 1 &&
			strings.Trim(a.pat[1:], "*?/") == "" {
			out = append(out, "/")
		}
	}
	return out
}

func (w *walk) zoneOf(a arg) zone { return zoneOf(w.resolve(a.s)) }

func (w *walk) write(p string) {
	at := w.resolve(p)
	if to, ok := w.links[at]; ok {
		at = to
	}
	w.found.write(at)
}

func (w *walk) remove(a arg, recursive bool) {
	for _, p := range w.places(a) {
		w.found.remove(p, recursive)
	}
	if bare := strip(a.s); recursive && bare != a.s && bare != "" && zoneOf(w.resolve(bare)) == vital {
		w.found.hit("delete-vital", a.s)
	}
}

func globIn(s string) string {
	if strings.ContainsAny(s, "*?[") {
		return s
	}
	return ""
}

// readFile returns the content of a file, as marks. It rates reading a credential.
func (w *walk) readFile(name string) string {
	p := w.resolve(name)
	if rest, ok := strings.CutPrefix(p, "/proc/self/fd/"); ok {
		p = opens + rest
	}
	if text, ok := w.made[p]; ok {
		if strings.HasPrefix(p, opens) {
			return text
		}
		return of(text + unknown)
	}
	switch {
	case p == "/dev/null":
		return ""
	case p == "/dev/stdin" || p == "/dev/fd/0":
		return w.stdin()
	case strings.HasPrefix(p, "/dev/tcp/"):
		return remote
	case zoneOf(p) == device && !endlessDevice(p) && (strings.ContainsAny(p[5:], "0123456789") || strings.HasPrefix(p, "/dev/sd") || strings.HasPrefix(p, "/dev/mem")):
		w.found.hit("read-device", p)
	}
	return w.readSecret(p) + filed
}

func endlessDevice(p string) bool { return oneOf(p, "/dev/zero", "/dev/urandom", "/dev/random") }

// remoteDir marks a downloaded directory.
const remoteDir = remote + "/"

func (w *walk) readSecret(p string) string {
	switch secretOf(p) {
	case machineSecret:
		w.found.hit("secret-read", p)
		return secret
	case ownSecret:
		w.found.hit("secret-file", p)
		return secret
	}
	if w.downloaded(p) {
		return remote
	}
	return unknown
}

func (w *walk) downloaded(p string) bool {
	if len(w.made) == 0 || len(p) > 4096 { // not a valid path
		return false
	}
	for ; p != "/" && p != ""; p = path.Dir(p) {
		if strings.HasPrefix(w.made[p], remote) {
			return true
		}
		if p == "." {
			break
		}
	}
	return false
}

// runsFile rates a file that a shell or an interpreter runs: a downloaded one, or one
// that the line itself wrote.
func (c *command) runsFile(p string) {
	marks, own := c.made[p]
	switch {
	case c.downloaded(p):
		c.hit("remote-code") //control:downloaded-code
	case own && strings.Contains(marks, hidden):
		c.hit("hidden-code")
	case own:
		c.hit("own-script") //control:own-script
	case c.found.wrote[p]:
		c.unsure = true
	case zoneOf(p) == temp && !under(p, "~/go", "~/.cache"), under(p, "~/Downloads", "/srv", "/mnt", "/media"):
		c.hit("outside-code") //control:outside-code
	}
}

func (w *walk) given() bool { return w.in != nil }

func (w *walk) waiting() string {
	if w.in == nil {
		return ""
	}
	return w.in.text[w.in.pos:]
}

func (w *walk) stdin() string {
	if w.in == nil {
		return unknown
	}
	text := w.waiting()
	w.in.pos = len(w.in.text)
	return text
}

func (w *walk) givenText() string {
	if w.in == nil {
		return ""
	}
	return w.stdin()
}

func (w *walk) stdinProgram() string { return w.nested(w.givenText()) }
