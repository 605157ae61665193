package shell

import (
	"strings"
)

// programOption is an option whose value is a program, or a file of commands,
// that the tool runs.
type programOption struct {
	names   string // of the tools
	options string // their options, without dashes
	file    bool   // the value is a file of commands
}

var optionTable = [...]programOption{
	{names: "split gsplit", options: "filter"},
	{names: "sort gsort", options: "compress-program"},
	{names: "rg", options: "pre hostname-bin"},
	{names: "rpm rpmbuild", options: "eval E define D", file: true},
	{names: "ld gold lld ld.gold ld.lld ld.bfd", options: "plugin", file: true},
	{names: "openssl", options: "engine provider-path provider", file: true},
	{names: "gdb", options: "x command ix", file: true},
	{names: "lldb", options: "s S source", file: true},
	{names: "vi vim nvim view ex", options: "S s", file: true},
	{names: "tcpdump", options: "z postrotate-command"},
	{names: "gcc cc g++ clang clang++ c++", options: "wrapper fplugin", file: true},
	{names: "jrunscript", options: "e f", file: true},
	{names: "ssh-keygen ssh-add", options: "D s", file: true},
	{names: "openvpn", options: "up down route-up config", file: true},
	{names: "bat less delta psql ag ack", options: "pager"},
	{names: "rsync", options: "rsync-path"},
	{names: "ctags", options: "options", file: true},
	{names: "pdflatex xelatex lualatex latex tex", options: "shell-escape write18 enable-write18", file: true},
	{names: "xterm urxvt gnome-terminal konsole alacritty kitty", options: "e"},
	{names: "find", options: "files0-from", file: true},
	{names: "wget", options: "use-askpass"},
	{names: "dosbox", options: "c"},
	{names: "qemu-system-x86_64 qemu-img", options: "incoming", file: true},
	{names: "mosh", options: "ssh server"},
	{names: "svn", options: "config-option", file: true},
	{names: "hg", options: "config", file: true},
}

// optionPrograms follows the programs that options of a tool name.
func (m *machine) optionPrograms(c command) {
	for _, t := range optionTable {
		if !hasWord(t.names, c.name) {
			continue
		}
		for o := range strings.FieldsSeq(t.options) {
			value, ok := c.value(o)
			if ok && len(o) == 1 && !c.exactly("-"+o) {
				ok = false // a letter inside another option
			}
			if !ok && (!t.file || len(o) == 1 || !c.exactly("-"+o, "--"+o)) {
				continue
			}
			if t.file {
				m.r.hit("program-runs", c.line())
				continue
			}
			m.archiveProgram(c, value)
		}
	}
	if hasWord("apt apt-get dpkg aptitude", c.name) && (strings.Contains(c.line(), "-Invoke") || strings.Contains(c.line(), "pre-invoke") || strings.Contains(c.line(), "post-invoke")) {
		m.r.hit("program-runs", c.line())
	}
	if c.name == "cargo" && strings.Contains(c.line(), "--config") && (strings.Contains(c.line(), "runner") || strings.Contains(c.line(), "wrapper") || strings.Contains(c.line(), "linker")) {
		m.r.hit("program-runs", c.line())
	}
}

var macroCall = lazily("e?syscmd\\(\\s*[`']?([^')]*)")

// macros follows the commands in a text for m4.
func (m *machine) macros(c command) {
	text := strings.Join(texts(c.args), "\n")
	if m.given() {
		text += m.stdin()
	}
	for _, s := range macroCall().FindAllStringSubmatch(text, 8) {
		m.r.hit("program-runs", c.line())
		m.nested(s[1])
	}
}

// buildCommand is what cmake -E runs under names of its own.
func (m *machine) buildCommand(c command) {
	at := -1
	for i, a := range c.args {
		if a.s == "-E" && i+1 < len(c.args) {
			at = i + 1
			break
		}
	}
	if at < 0 {
		if file, ok := c.value("P"); ok {
			if text := m.readFile(file); text != unknown {
				m.crude(strings.ReplaceAll(text, "COMMAND", ";"))
			}
		}
		return
	}
	name := c.args[at].s
	words := strings.Fields(name)
	switch name {
	case "remove":
		words = []string{"rm", "-f"}
	case "remove_directory":
		words = []string{"rm", "-rf"}
	case "rename":
		words = []string{"mv"}
	case "copy", "copy_directory", "copy_if_different", "copy_directory_if_different":
		words = []string{"cp", "-r"}
	case "make_directory":
		words = []string{"mkdir", "-p"}
	case "create_symlink":
		words = []string{"ln", "-s"}
	}
	m.exec(append(literals(words), c.args[at+1:]...))
}

var jqEnviron = lazily(`(?:^|[^.\w"$])(?:\$ENV|env)\b(\.[A-Za-z_]\w*)?(\s*:)?`)

// jqProgram looks for the environment in the program text of jq.
func (m *machine) jqProgram(c command) string {
	ops := c.operands("arg", "argjson", "indent", "f", "from-file")
	if len(ops) == 0 {
		return ""
	}
	for _, s := range jqEnviron().FindAllStringSubmatch(ops[0].s, 8) {
		switch {
		case s[2] != "":
		case s[1] == "":
			m.r.hit("environment-dump", c.line())
			return secret
		case secretName(s[1]):
			m.r.hit("secret-shown", c.line())
			return secret
		}
	}
	return ""
}

// setsUp reports whether a program prints the lines with which a shell is
// set up for a tool, which is what they are evaluated for.
func setsUp(c command) bool {
	first := ""
	if len(c.args) > 0 {
		first = c.args[0].s
	}
	switch c.name {
	case "ssh-agent":
		return len(c.operands()) == 0
	case "dircolors", "resize":
		return len(c.operands()) == 0
	case "direnv":
		return first == "hook"
	case "brew":
		return first == "shellenv"
	case "pyenv", "rbenv", "nodenv", "goenv", "jenv", "starship", "zoxide", "atuin", "thefuck":
		return first == "init"
	case "conda", "mamba":
		return strings.HasPrefix(first, "shell.")
	case "fnm", "opam", "luarocks", "mise":
		return first == "env" || first == "path" || first == "activate"
	}
	return false
}
