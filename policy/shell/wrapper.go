package shell

import (
	"strings"
)

// wrap describes a program that runs the command in its arguments.
type wrap struct {
	names string // separated by spaces
	takes string // options that have a value of their own
	skip  int    // operands before the command
	rule  string // what it means by itself
}

// wrappers lists the programs whose arguments are, after their own options,
// a command. Those with a grammar of their own are in the code below.
var wrappers = [...]wrap{
	{names: "run0", takes: "u g D unit property slice description user group nice chdir setenv background machine", rule: "privilege"},
	{names: "sudo", takes: "u g h p C T r t U D R user group host prompt chdir chroot role type other-user close-from", rule: "privilege"},
	{names: "doas", takes: "u C a", rule: "privilege"},
	{names: "pkexec", takes: "user", rule: "privilege"},
	{names: "runuser", takes: "u g G s user group shell c command", rule: "privilege"},
	{names: "gosu su-exec setuidgid s6-setuidgid", skip: 1, rule: "privilege"},
	{names: "setpriv", takes: "", rule: "privilege"},
	{names: "chroot", takes: "", skip: 1, rule: "namespace"},
	{names: "nsenter", takes: "t target S G setuid setgid", rule: "namespace"},
	{names: "unshare", takes: "R w S G root wd setuid setgid map-user map-group", rule: "namespace"},
	{names: "nohup setsid eatmydata chronic catchsegv unbuffer noglob nocorrect caffeinate dbus-run-session dumb-init catatonit linux32 linux64 setarch arch ts builtin winpty rlwrap spawn ssh-agent"},
	{names: "fakeroot fakechroot proot tini", takes: "e r S b f l s i"},
	{names: "xterm konsole gnome-terminal", takes: "T title geometry"},
	{names: "env", takes: "u C unset chdir"},
	{names: "time gtime", takes: "o f output format"},
	{names: "timeout gtimeout", takes: "s k signal kill-after", skip: 1},
	{names: "nice", takes: "n adjustment"},
	{names: "ionice", takes: "c n t class classdata"},
	{names: "chrt", takes: "T P D", skip: 1},
	{names: "taskset", skip: 1},
	{names: "numactl", takes: "N m C i p cpunodebind membind physcpubind interleave"},
	{names: "stdbuf", takes: "i o e input output error"},
	{names: "cpulimit", takes: "l p e limit"},
	{names: "prlimit", takes: "p pid"},
	{names: "exec", takes: "a"},
	{names: "strace ltrace", takes: "e o p s u a O S P E I X"},
	{names: "valgrind", takes: ""},
	{names: "flock", takes: "w E timeout conflict-exit-code wait", skip: 1},
	{names: "firejail bwrap", takes: "ro-bind bind dev proc tmpfs"},
	{names: "systemd-run", takes: "p u unit property uid gid slice M E description", rule: "service"},
	{names: "xvfb-run", takes: "n s f e p server-args server-num"},
	{names: "faketime", skip: 1},
	{names: "torsocks proxychains proxychains4 proxychains-ng torify", takes: "f"},
	{names: "retry", takes: "t d"},
	{names: "dotenv", takes: "e f"},
	{names: "watchexec entr", takes: "w e i p s"},
	{names: "busybox toybox"},
	{names: "ld.so ld-linux.so.2 ld-linux-x86-64.so.2 ld-linux-aarch64.so.1 ld-musl-x86_64.so.1", takes: "library-path preload"},
	{names: "start-stop-daemon", takes: "p u c d n m S pidfile chuid chdir name"},
}

var wrapperIndex = indexWrappers()

func indexWrappers() map[string]int {
	out := map[string]int{}
	for i, w := range wrappers {
		for n := range strings.FieldsSeq(w.names) {
			out[n] = i
		}
	}
	return out
}

func wrapperOf(name string) (wrap, bool) {
	i, ok := wrapperIndex[name]
	if !ok {
		return wrap{}, false
	}
	return wrappers[i], true
}

// wrapper follows commands inside other commands.
func (m *machine) wrapper(c command) (string, bool) {
	switch c.name {
	case "command":
		return m.commandBuiltin(c), true
	case "xargs", "gxargs":
		return m.xargs(c), true
	case "parallel":
		return m.parallelTool(c), true
	case "su", "sg", "newgrp", "sudoedit":
		return m.su(c), true
	case "watch", "script", "expect", "screen", "tmux", "hyperfine", "at", "batch", "nix-shell", "capsh":
		return m.textWrapper(c), true
	}
	w, ok := wrapperOf(c.name)
	if !ok {
		return "", false
	}
	if c.asksHelp() && w.rule != "privilege" || c.name == "sudo" && len(c.args) == 1 && c.exactly("-V", "--version", "--help", "-h") {
		return unknown, true
	}
	if w.rule != "" {
		m.r.hit(w.rule, c.line())
	}
	return m.wrapped(c, w), true
}

// wrapped finds and follows the command of a wrapper.
func (m *machine) wrapped(c command, w wrap) string {
	takes := strings.Fields(w.takes)
	skip := w.skip
	out, swallowed := "", -1
	if c.name == "strace" || c.name == "ltrace" {
		m.tracer(c)
	}
	if c.name == "flock" || c.name == "runuser" || c.name == "unshare" {
		if text, ok := c.value("c", "command"); ok {
			out = m.nested(text)
		}
	}
	i := 0
	for ; i < len(c.args); i++ {
		s := c.args[i].s
		switch {
		case s == "--":
			if i+1 < len(c.args) && skip == 0 {
				return out + m.exec(c.args[i+1:])
			}
		case len(s) > 1 && s[0] == '-':
			out += m.wrapperOption(c, i)
			if takesValue(s, takes) {
				i++
				if i < len(c.args) && swallowed < 0 && dangerousName(programName(c.args[i].s)) {
					swallowed = i
				}
			}
		case (isAssignment(s) || strings.HasPrefix(s, "BASH_FUNC_")) && (c.name == "env" || c.name == "sudo" || c.name == "doas" || c.name == "time"):
			name, value, _ := strings.Cut(s, "=")
			m.environment(name, value)
		case skip > 0:
			skip--
		default:
			m.swallowed(c, swallowed)
			return out + m.wrappedFrom(c, i)
		}
	}
	m.swallowed(c, swallowed)
	return out + m.bare(c)
}

// swallowed looks at the value of an option that may be the command itself,
// in a version of the wrapper whose option has no value.
func (m *machine) swallowed(c command, at int) {
	if at >= 0 {
		m.onlyCritical(c.args[at:], c.line())
	}
}

// tracer looks at the options with which a tracer runs another program or
// reads a running one.
func (m *machine) tracer(c command) {
	if _, ok := c.value("p", "attach"); ok {
		m.r.hit("process-memory", c.line())
	}
	if v, ok := c.value("o", "output"); ok && v != "" && strings.ContainsRune("|!", rune(v[0])) {
		m.r.hit("program-runs", c.line())
		m.nested(v[1:])
	}
}

// wrappedFrom runs the command at an argument. If an option before it was
// not known, that option's value may have been taken for the command: what
// follows is looked at too.
func (m *machine) wrappedFrom(c command, i int) string {
	out := m.exec(c.args[i:])
	if i > 0 && len(c.args[i-1].s) > 1 && c.args[i-1].s[0] == '-' {
		for j := i + 1; j < min(len(c.args), i+3); j++ {
			if dangerousName(programName(c.args[j].s)) {
				m.exec(c.args[j:])
				break
			}
		}
	}
	return out
}

func isAssignment(s string) bool {
	name, _, ok := strings.Cut(s, "=")
	return ok && name != "" && strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") == ""
}

// wrapperOption follows options that hold a program text.
func (m *machine) wrapperOption(c command, i int) string {
	s := c.args[i].s
	text, ok := "", false
	switch {
	case c.name == "env" && (strings.HasPrefix(s, "-S") || strings.HasPrefix(s, "--split-string") || strings.HasPrefix(s, "-") && !strings.HasPrefix(s, "--") && strings.Contains(s, "S")):
		text, ok = c.value("S", "split-string")
		if !ok {
			_, text, ok = strings.Cut(s, "S")
		}
		if text == "" && i+1 < len(c.args) {
			text = c.args[i+1].s
		}
		text += " " + strings.Join(c.rest(i+1), " ")
	case c.name == "dotenv", c.name == "entr":
		return ""
	}
	if !ok {
		return ""
	}
	return m.nested(text)
}

// bare is a wrapper without a command: env prints the environment, sudo -i
// starts a shell.
func (m *machine) bare(c command) string {
	switch c.name {
	case "env":
		for _, a := range c.args {
			if !strings.HasPrefix(a.s, "-") && !isAssignment(a.s) {
				return ""
			}
		}
		m.r.hit("environment-dump", "env")
		return secret
	case "sudo", "doas", "chroot", "nsenter", "unshare", "flock", "busybox":
		if m.given() && (c.has("i", "s", "login", "shell") || c.name != "sudo" && c.name != "doas") {
			return m.stdinProgram()
		}
	}
	return ""
}

func (m *machine) commandBuiltin(c command) string {
	for i, a := range c.args {
		if a.s == "--" || a.s == "-p" {
			continue
		}
		if len(a.s) > 1 && a.s[0] == '-' && strings.Trim(a.s[1:], "pvV") == "" {
			return m.which(c)
		}
		return m.execPlain(c.args[i:])
	}
	return ""
}

// execPlain runs a command past functions and aliases of the same name.
func (m *machine) execPlain(args []arg) string {
	name := args[0].s
	f, hasFunc := m.funcs[name]
	text, hasAlias := m.aliases[name]
	delete(m.funcs, name)
	delete(m.aliases, name)
	out := m.exec(args)
	if hasFunc {
		m.funcs[name] = f
	}
	if hasAlias {
		m.aliases[name] = text
	}
	return out
}

func (m *machine) su(c command) string {
	m.r.hit("privilege", c.line())
	if text, ok := c.value("c", "command"); ok {
		return m.nested(text)
	}
	if c.name == "sg" && len(c.args) > 1 {
		return m.nested(strings.Join(c.rest(1), " "))
	}
	if m.given() {
		return m.stdinProgram()
	}
	return ""
}

// textWrapper follows programs that take a command as one text.
func (m *machine) textWrapper(c command) string {
	switch c.name {
	case "at", "batch":
		if c.has("l", "c") || c.asksHelp() {
			return unknown
		}
		m.r.hit("scheduled", c.line())
		if file, ok := c.value("f"); ok {
			return m.nested(m.readFile(file))
		}
		if m.given() {
			return m.stdinProgram()
		}
		return ""
	case "watch", "hyperfine":
		ops := c.operands("n", "interval", "w", "r", "m", "M", "warmup", "runs", "prepare", "p")
		if c.name == "hyperfine" {
			for _, a := range ops {
				m.nested(a.s)
			}
			return unknown
		}
		if start := xargsCommand(c, []string{"n", "interval", "q", "equexit"}); start >= 0 {
			return m.nested(strings.Join(c.rest(start), " "))
		}
		return unknown
	}
	if c.name == "nix-shell" && c.has("p", "packages") {
		m.r.hit("packages", c.line())
	}
	if c.name == "capsh" && (c.exactly("--") || strings.Contains(c.line(), "--caps=") || strings.Contains(c.line(), "--uid=")) {
		m.r.hit("privilege", c.line())
	}
	for _, n := range []string{"c", "command", "run"} {
		if text, ok := c.value(n); ok && (c.name != "tmux" && c.name != "screen") {
			m.nested(text)
		}
	}
	if c.name == "tmux" || c.name == "screen" || c.name == "expect" {
		for _, a := range c.args {
			if strings.Contains(a.s, " ") {
				m.nested(a.s)
			}
		}
		for i, a := range c.args {
			if dangerousName(programName(a.s)) {
				m.exec(c.args[i:])
				break
			}
		}
	}
	return unknown
}
