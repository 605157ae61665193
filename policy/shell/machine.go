package shell

import (
	"maps"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// variable holds the values a shell variable may have at this point: one,
// or several after code that may or may not have run. A plain variable is a
// list of one.
type variable struct {
	alts [][]string
	keys []string // of an associative array
	ref  string   // the variable that this one is another name of
}

// input is what a command reads from its standard input.
type input struct {
	text string
	pos  int
}

// function is a shell function and whether it was called.
type function struct {
	body    *syntax.Stmt
	called  bool
	running int
}

// machine follows a program over values that are known, and over marks where
// they are not. Every branch is taken.
type machine struct {
	r       *report
	vars    map[string]variable
	funcs   map[string]*function
	aliases map[string]string
	files   map[string]string // what the program wrote to files
	pos     []string          // positional parameters
	last    string            // $_
	zero    string            // $0
	in      *input            // nil: not given by the program
	calls   []string          // functions being run

	depth    int
	parallel int  // pipes and background jobs around this command
	endless  int  // loops without an end around this command
	yes      bool // the status of the last command is known to be success
	no       bool // the status of the last command is known to be failure
	world    int  // which alternative of each variable is taken
	worlds   int  // how many alternatives were seen
	quiet    bool // the standard output is not shown
	filed    bool // the standard output goes to a file
	foreign  bool // the positional parameters come from elsewhere
	procs    int
}

func newMachine(r *report) *machine {
	return &machine{
		r: r, vars: map[string]variable{}, funcs: map[string]*function{},
		aliases: map[string]string{}, files: map[string]string{}, worlds: 1, zero: "bash", foreign: true,
	}
}

func (m *machine) enter() {
	m.depth++
	m.r.step(0)
	if m.depth > maxDepth {
		m.r.exhaust()
	}
}

func (m *machine) leave() { m.depth-- }

// program parses and follows the text of a program and returns its output.
func (m *machine) program(text string) string {
	m.enter()
	defer m.leave()
	if len(text) > maxLine {
		m.r.exhaust()
	}
	if strings.Contains(text, remote) {
		m.r.hit("remote-code", "")
	}
	m.r.step(len(text))
	file, err := parseShell(text)
	if err != nil {
		m.r.hit("unparsable", err.Error())
		m.crude(text)
		return unknown
	}
	return m.stmts(file.Stmts)
}

// parseShell parses a text as bash, or else as another shell reads it. What
// looks like arithmetic may also be a subshell in a substitution.
func parseShell(text string) (*syntax.File, error) {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
	if err == nil {
		return file, nil
	}
	if _, word, ok := strings.Cut(err.Error(), "unclosed here-document "); ok { // the end of the text ends it
		closed := text + "\n" + strings.Trim(word, "`'\"\\ ") + "\n"
		if file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(closed), ""); err == nil {
			return file, nil
		}
	}
	if strings.Contains(text, "((") {
		spaced := strings.ReplaceAll(text, "((", "( (")
		if file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(spaced), ""); err == nil {
			return file, nil
		}
	}
	for _, v := range []syntax.LangVariant{syntax.LangZsh, syntax.LangMirBSDKorn, syntax.LangPOSIX} {
		if file, err := syntax.NewParser(syntax.Variant(v)).Parse(strings.NewReader(text), ""); err == nil {
			return file, nil
		}
	}
	return nil, err
}

// nested follows a program text that another program is given to run.
func (m *machine) nested(text string) string {
	if strings.Contains(text, remote) {
		m.r.hit("remote-code", "")
	}
	if strings.Contains(text, unknown) || strings.Contains(text, secret) {
		m.r.hit("opaque-code", text)
	}
	return m.subshell(func() string { return m.program(text) })
}

// crude looks at a text that no parser reads as if it were separate commands.
func (m *machine) crude(text string) {
	if dense := strings.Join(strings.Fields(text), ""); strings.Contains(dense, "(){") {
		name, body, _ := strings.Cut(dense, "(){")
		name = name[strings.LastIndexAny(name, ";&|(){}")+1:]
		if name != "" && strings.Contains(body, name+"|"+name) {
			m.r.hit("fork-bomb", text)
		}
	}
	for part := range strings.FieldsFuncSeq(text, func(c rune) bool { return strings.ContainsRune(";|&\n(){}`", c) }) {
		words := strings.FieldsFunc(part, func(c rune) bool { return strings.ContainsRune(" \t'\"\\", c) })
		for i, w := range words {
			if i == 0 || dangerousName(w) {
				m.exec(literals(words[i:]))
			}
		}
	}
}

// finish follows the functions that were defined and never called: a later
// command of the same shell can call them.
func (m *machine) finish() {
	for range maxDepth {
		var names []string
		for name, f := range m.funcs {
			if !f.called {
				names = append(names, name)
			}
		}
		if len(names) == 0 {
			return
		}
		slices.Sort(names)
		m.invoke(names[0], nil)
	}
}

// subshell runs f in a copy of the shell: what it assigns is lost.
func (m *machine) subshell(f func() string) string {
	saved := *m
	m.vars = maps.Clone(m.vars)
	m.worlds, m.world = 1, 0
	out := f()
	saved.yes, saved.no, saved.procs = m.yes, m.no, m.procs
	*m = saved
	return out
}

// maybe runs f, which may or may not run in reality: a variable it changed
// keeps its former values as alternatives.
func (m *machine) maybe(f func() string) string {
	before := maps.Clone(m.vars)
	out := f()
	for name, now := range m.vars {
		old, ok := before[name]
		if !ok || sameAlternatives(old.alts, now.alts) {
			continue
		}
		merged := variable{alts: slices.Clone(now.alts), keys: now.keys}
		for _, alt := range old.alts {
			if len(merged.alts) < 8 && !slices.ContainsFunc(merged.alts, func(a []string) bool { return slices.Equal(a, alt) }) {
				merged.alts = append(merged.alts, alt)
			}
		}
		m.vars[name] = merged
	}
	m.yes, m.no = false, false
	return out
}

func sameAlternatives(a, b [][]string) bool {
	return slices.EqualFunc(a, b, func(x, y []string) bool { return slices.Equal(x, y) })
}

// set gives a variable one value.
func (m *machine) set(name string, list ...string) {
	size := 0
	for _, s := range list {
		size += len(s)
	}
	if size > maxText {
		m.r.exhaust()
	}
	m.r.step(size)
	for range 4 {
		if v := m.vars[name]; v.ref != "" {
			name = v.ref
		}
	}
	m.vars[name] = variable{alts: [][]string{list}}
}

// get is the value of a variable in this world, and whether it is set.
func (m *machine) get(name string) ([]string, bool) {
	for range 4 {
		if v := m.vars[name]; v.ref != "" {
			name = v.ref
		}
	}
	if v, ok := m.vars[name]; ok && len(v.alts) > 0 {
		m.worlds = max(m.worlds, len(v.alts))
		return v.alts[min(m.world, len(v.alts)-1)], true
	}
	if s, ok := wellKnown(name); ok {
		return []string{s}, true
	}
	return nil, false
}

// wellKnown is the value that a variable of the environment has on any
// machine, or one that stands for it.
func wellKnown(name string) (string, bool) {
	switch name {
	case "HOME":
		return "~", true
	case "PATH":
		return systemPath, true
	case "IFS":
		return " \t\n", true
	case "SHELL", "BASH":
		return "/bin/bash", true
	case "PWD", "GITHUB_WORKSPACE", "CI_PROJECT_DIR", "WORKSPACE":
		return ".", true
	case "TMPDIR", "TMP", "TEMP", "RUNNER_TEMP":
		return "/tmp", true
	case "GITHUB_PATH", "GITHUB_ENV", "GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY", "GITHUB_STATE", "GITHUB_EVENT_PATH":
		return runnerFiles + name, true
	case "GOPATH":
		return "~/go", true
	case "CARGO_HOME":
		return "~/.cargo", true
	case "XDG_CONFIG_HOME":
		return "~/.config", true
	case "XDG_CACHE_HOME":
		return "~/.cache", true
	case "OSTYPE":
		return "linux-gnu", true
	case "HOSTTYPE":
		return "x86_64", true
	}
	return "", false
}

// ownJob stands for the number of a background job of this shell.
const ownJob = "%!"

const (
	systemPath  = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
	runnerFiles = "/github/file_commands/"
)

// secretName reports whether a variable of this name holds a credential.
func secretName(name string) bool {
	n := strings.ToUpper(name)
	for _, w := range []string{
		"TOKEN", "SECRET", "PASSW", "PASSPHRASE", "APIKEY", "API_KEY", "PRIVATE_KEY", "ACCESS_KEY", "CREDENTIAL",
		"AUTH_KEY", "SIGNING_KEY", "ENCRYPTION_KEY", "SSH_KEY", "DEPLOY_KEY", "DATABASE_URL", "WEBHOOK_URL", "CONNECTION_STRING",
	} {
		if strings.Contains(n, w) {
			return true
		}
	}
	return strings.HasSuffix(n, "_PAT") || strings.HasSuffix(n, "_PW") || n == "PGPASS" || n == "PAT"
}
