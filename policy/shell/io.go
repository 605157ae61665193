package shell

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// redirected follows a command with redirections.
func (w *walk) redirected(s *syntax.Stmt) string {
	in, quiet, filed := w.in, w.quiet, w.filed
	defer func() { w.in, w.quiet, w.filed = in, quiet, filed }()
	var to []string
	for _, rd := range s.Redirs {
		to = w.redirect(to, rd, s.Cmd)
	}
	if strings.TrimSpace(printed(s.Cmd)) == "exec" { // they apply to the shell itself, which reads and prints any text
		in = w.in
		for _, p := range to {
			w.deliver(p, unknown)
		}
		to = nil
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
	for _, p := range to {
		w.deliver(p, out)
	}
	if len(to) > 0 {
		return ""
	}
	return out
}

// redirect follows one redirection of a command.
func (w *walk) redirect(to []string, rd *syntax.Redirect, c syntax.Command) []string {
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
	return append(to, w.resolve(name))
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

// talksShell reports whether a command may start a shell.
func talksShell(c syntax.Command) bool {
	words := strings.Fields(printed(c))
	if _, ok := c.(*syntax.CallExpr); !ok || strings.ContainsAny(words[0], `"'$`) {
		return c != nil
	}
	return slices.ContainsFunc(words, func(s string) bool { return inList("shells", path.Base(s)) || s == "exec" })
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
		text = w.joined(rd.Hdoc, true)
	}
	if rd.Op == syntax.DashHdoc {
		text = tabs().ReplaceAllString(text, "")
	}
	return text
}

// tabs matches the tabs that begin lines.
var tabs = lazily(`(?m)^\t+`)

// opens is the prefix of the name of a process substitution.
const opens = "/dev/fd/"

func (w *walk) openProcess(p *syntax.ProcSubst) string {
	name := opens + strconv.Itoa(60+len(w.made))
	w.made[name] = ""
	if p.Op == syntax.CmdOut {
		text := opaqueMarks(w.waiting())
		w.subshell(func() string { w.in = &input{text: text}; return w.stmts(p.Stmts) })
		return name
	}
	w.made[name] = w.subshell(func() string { w.filed = false; return w.stmts(p.Stmts) })
	return name
}

// deliver writes a command's output to the target of a redirection.
func (w *walk) deliver(p, out string) {
	if strings.Contains(out, secret) {
		switch {
		case isSocket(p), strings.HasPrefix(p, runnerFiles): // step outputs are visible
			w.found.hit("secret-sent", p)
		case zoneOf(p) != nowhere:
			w.found.hit("secret-stored", p)
		}
	}
	w.store(p, out)
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
	w.found.acts("write", at)
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
	if text, ok := w.made[p]; ok {
		if strings.HasPrefix(p, opens) {
			return text
		}
		return of(text + unknown)
	}
	switch {
	case p == "/dev/null":
		return ""
	case p == "-" || p == "/dev/stdin" || p == "/dev/fd/0":
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
		if strings.Contains(w.made[p], remote) {
			return true
		}
		if p == "." {
			break
		}
	}
	return false
}

// script rates the file that a shell or an interpreter runs. It returns the text of a stream,
// which is known.
func (c *command) script(name string) (text string, stream bool) {
	switch p := c.resolve(name); {
	case strings.Contains(name, remote), strings.Contains(name, "://"), !isKnown(name) && c.downloaded(p):
		c.found.network = true
		c.hit("remote-code")
	case !isKnown(name):
		c.hit("unknown-code")
	case globIn(name) != "" && (!c.is("node") || !c.exactly("--test")): // made for several files
		c.hit("many-scripts")
	case startsWith(p, "/dev/", "/proc/"):
		return c.readFile(p), true
	case secretOf(p) == ownSecret:
		c.hit("secret-loaded")
		c.unsure = true
	default:
		c.runsFile(p)
	}
	return "", false
}

// runsFile rates a program file: a downloaded one, or one that the line itself wrote.
func (c *command) runsFile(p string) {
	marks, own := c.made[p]
	switch {
	case c.downloaded(p):
		c.hit("remote-code") //control:downloaded-code
	case own && strings.Contains(marks, hidden):
		c.hit("hidden-code")
	case own:
		c.hit("own-script") //control:own-script
	case slices.Contains(c.found.wrote, p):
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
