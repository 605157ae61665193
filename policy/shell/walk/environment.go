package walk

import (
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/policy/shell/argv"
	"github.com/handrail-bot/handrail/policy/shell/finding"
	"github.com/handrail-bot/handrail/policy/shell/known"
	"github.com/handrail-bot/handrail/policy/shell/mark"
	"github.com/handrail-bot/handrail/policy/shell/zone"
)

// rateVariable rates the value of a variable that changes what programs do.
func rateVariable(w *Walk, name, value string) {
	f, pair := w.Found, name+"="+value
	switch {
	case name == "PATH":
		searchPath(w, value)
	case known.In("variables-library", name):
		if value != "" {
			f.Hit("inject-library", pair)
		}
	case known.In("variables-search", name):
		switch {
		case value == "":
		case strings.Contains(value, "/tmp/") || strings.Contains(value, "/var/tmp"): // where others write
			f.Hit("inject-library", pair)
		case strings.HasPrefix(name, "LD") || strings.HasPrefix(name, "DYLD") || strings.HasPrefix(value, "/tmp"):
			f.Hit("library-path", pair)
		}
	case known.In("variables-start", name):
		startOption(w, name, value)
	case known.In("variables-tool", name):
		toolVariable(w, name, value)
	case known.In("variables-source", name):
		sourceVariable(f, name, value)
	case strings.HasPrefix(name, "GIT_CONFIG_KEY"), strings.HasPrefix(name, "GIT_CONFIG_VALUE"), name == "GIT_CONFIG_PARAMETERS":
		f.Hit("git-program", pair)
		w.Nested(strings.TrimPrefix(value, "!"))
	case strings.HasPrefix(name, "BASH_FUNC_"):
		f.Hit("start-option", pair)
		value = strings.TrimSpace(strings.TrimPrefix(value, "()"))
		w.Nested(value)
	default:
		rateSetting(w, name, value)
	}
	if strings.HasPrefix(value, "() {") {
		w.Nested(value)
	}
}

// rateSetting rates variables that hold options, settings or texts.
func rateSetting(w *Walk, name, value string) {
	f, pair := w.Found, name+"="+value
	switch {
	case known.In("variables-options", name):
		optionVariable(w, pair, value)
	case known.In("variables-file", name), known.In("variables-home", name):
		fileVariable(w, name, value)
	case known.In("variables-script", name):
		f.Hit("start-option", pair)
		scriptVariable(w, name, value)
	case name == "DOCKER_HOST" && strings.Contains(value, "://") && !strings.HasPrefix(value, "unix:") && !zone.Local(value):
		f.Hit("container-control", pair)
	case strings.HasPrefix(name, "GIT_AUTHOR_"), strings.HasPrefix(name, "GIT_COMMITTER_"):
		if strings.Contains(value, secret) {
			f.Hit("secret-sent", name) // what is committed is published
		}
	case (strings.HasPrefix(name, "GIT_TRACE") || known.In("variables-written", name)) && strings.Contains(value, "/") && mark.Known(value):
		w.Write(value)
	}
}

// Pass rates the value of a variable that a program is given: besides those
// that are known, each whose name says that it names a program.
func Pass(w *Walk, name, value string) {
	rateVariable(w, name, value)
	lower := strings.ToLower(name)
	if known.In("variables-tool", name) || known.In("variables-start", name) || strings.Contains(value, "://") {
		return
	}
	for end := range known.Tables().Lists["variables-shape"] {
		if strings.HasSuffix(lower, end) {
			namedProgram(w, name, value) //control:shaped-variables
			return
		}
	}
	if last := lower[strings.LastIndexByte(lower, '_')+1:]; !known.In("text-options", "--"+last) {
		Said(w, name+"="+value, value)
	}
}

// namedProgram rates a value that is taken for a program: one that is not a
// plain word, or lies where anybody may have put it.
func namedProgram(w *Walk, name, value string) {
	words := strings.Fields(value)
	if len(words) == 0 {
		return
	}
	if OwnPlace(words[0]) && strings.Contains(words[0], "/") || strings.ContainsAny(value, ";|&$`") || !mark.Known(value) || Dangerous(ProgramName(words[0])) && len(words) > 1 {
		w.Found.Hit("tool-variable", name+"="+value)
	}
	w.Nested(mark.Strip(value))
}

var runningOptions = Lazily(`(?i)agent(?:lib|path)?:|require|import|loader|\beval\b|\bexec\b|plugin|preview|--bind|execute|wrapper|linker=|runner|shell|script|OnError|OnOutOfMemory|toolexec|overlay|--?file|-TT|\+!|(?:^|\s)-[frsMIBp]\s*[^\s-]|^@`)

// optionVariable rates options that a program takes from the environment.
func optionVariable(w *Walk, pair, value string) {
	if strings.Trim(value, mark.All) == "" && value != "" || runningOptions().MatchString(mark.Strip(value)) && !strings.Contains(value, "no:") {
		w.Found.Hit("start-option", pair)
	}
	if _, code, ok := strings.Cut(value, "$(shell "); ok {
		code, _, _ = strings.Cut(code, ")")
		w.Nested(code)
	}
}

// OwnPlace reports whether a path lies where neither the system nor the person
// keeps programs and settings.
func OwnPlace(p string) bool {
	return p != "" && p != "/dev/null" && !zone.Under(path.Clean(p), "/usr", "/opt", "/etc", "/bin", "/sbin", "/lib", "/nix", "/snap", "/Library", "/Applications") &&
		(!strings.HasPrefix(p, "~") || strings.HasPrefix(p, "~/Downloads"))
}

// fileVariable rates a file or a directory that programs take settings or code
// from.
func fileVariable(w *Walk, name, value string) {
	p := w.Resolve(value)
	switch {
	case !OwnPlace(value), known.In("variables-home", name) && !mark.Known(value):
	case OneOf(name, "GIT_DIR", "GIT_WORK_TREE") && OneOf(p, ".git", "."):
	case OneOf(name, "HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "KUBECONFIG"): // tests have their own
		if p != "/tmp" {
			w.Found.Hit("library-path", name+"="+value)
		}
	default:
		w.Found.Hit("start-option", name+"="+value)
	}
}

// scriptVariable follows a program text that a program takes from the
// environment.
func scriptVariable(w *Walk, name, value string) {
	if name == "LUA_INIT" {
		ScanCode(&Command{Walk: w, Name: "lua"}, value)
		return
	}
	if _, code, ok := strings.Cut(value, "!"); ok {
		w.Nested(code)
	}
}

// searchPath rates a search path by the directories before the standard
// ones.
func searchPath(w *Walk, value string) {
	before, after, keeps := strings.Cut(value, systemPath)
	for dir := range strings.SplitSeq(before, ":") {
		p := w.Resolve(dir)
		switch {
		case dir == "" && (before == "" || strings.HasSuffix(before, ":")):
		case dir == "", dir == ".":
			w.Found.Hit("search-path", "PATH="+value)
		case strings.HasSuffix(p, "node_modules/.bin"), strings.Contains(p, "venv"), strings.HasPrefix(p, "~/"), strings.HasPrefix(p, "/usr/"), strings.HasPrefix(p, "/opt/"), p == "/bin", p == "/sbin":
		case !strings.HasPrefix(p, "/") && mark.Known(p) && p != "." && !strings.HasPrefix(p, ".."), strings.HasPrefix(dir, unknown) && keeps && len(dir) > 1:
			w.Found.Hit("search-path-inside", "PATH="+value)
		default:
			w.Found.Hit("search-path", "PATH="+value)
		}
	}
	if strings.HasPrefix(after, ":.") && (len(after) == 2 || after[2] == ':') {
		w.Found.Hit("search-path-inside", "PATH="+value)
	}
}

func startOption(w *Walk, name, value string) {
	harmless := false
	switch name {
	case "NODE_OPTIONS":
		harmless = mark.Known(value) && !strings.Contains(value, "require") && !strings.Contains(value, "import") && !strings.Contains(value, "loader") && !strings.Contains(value, "-r ")
	case "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS":
		harmless = !strings.Contains(value, "agent")
	case "RUSTC_WRAPPER":
		harmless = value == "sccache" || value == ""
	case "PYTHONBREAKPOINT":
		harmless = known.In("safe-programs", value) || value == "0"
	case "ENV":
		harmless = !strings.ContainsAny(value, "/.") // the name is common for the kind of a deployment
	}
	if harmless {
		return
	}
	w.Found.Hit("start-option", name+"="+value)
	if strings.ContainsAny(value, "$`") && OneOf(name, "BASH_ENV", "ENV") { // it is expanded
		w.Nested("printf %s \"" + value + "\"")
	}
	if _, script, ok := strings.Cut(value, "data:text/javascript,"); ok {
		if plain, err := url.PathUnescape(script); err == nil {
			script = plain
		}
		ScanCode(&Command{Walk: w, Name: "node"}, script)
	}
	if text, ok := w.File(value); ok {
		w.Script(w.Zero, text, nil)
	}
}

// toolVariable follows variables that name a program.
func toolVariable(w *Walk, name, value string) {
	switch name {
	case "PS1", "PS4":
		if strings.Contains(value, "$(") || strings.Contains(value, "`") {
			w.Nested("printf %s \"" + value + "\"")
		}
		return
	case "TAR_OPTIONS":
		w.Nested("tar " + value)
		return
	case "GREP_OPTIONS":
		return
	case "GIT_EXEC_PATH", "GIT_TEMPLATE_DIR", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM":
		if value != "/dev/null" {
			w.Found.Hit("git-program", name+"="+value)
		}
		return
	}
	words := strings.Fields(strings.TrimLeft(value, "|-@"))
	if len(words) == 0 {
		return
	}
	program := ProgramName(words[0])
	if known.In("safe-programs", program) && !strings.ContainsAny(value, ";|&$`") {
		return
	}
	if program == "ssh" {
		w.Exec(append(argv.Of(words...), argv.Word{S: "host"}))
		return
	}
	w.Nested(strings.Join(words, " "))
	own := strings.Contains(words[0], "/") && !strings.HasPrefix(words[0], "/usr/") && !strings.HasPrefix(words[0], "/bin/")
	if own || !OneOf(name, "CC", "CXX", "EDITOR", "PAGER", "VISUAL") {
		w.Found.Hit("tool-variable", name+"="+value)
	}
}

// sourceVariable rates variables that say where packages come from or how
// traffic goes.
func sourceVariable(f *finding.Finding, name, value string) {
	switch {
	case OneOf(name, "GIT_SSL_NO_VERIFY", "NODE_TLS_REJECT_UNAUTHORIZED", "GOINSECURE"):
		f.Hit("source-redirect", name+"="+value)
	case name == "GOFLAGS":
		if strings.Contains(value, "exec") || strings.Contains(value, "-insecure") || strings.Contains(value, "-overlay") {
			f.Hit("start-option", name+"="+value)
		}
	case strings.Contains(value, "://") && !PublicRegistry(value) && !zone.Local(value):
		f.Hit("source-redirect", name+"="+value)
	}
}

// PublicRegistry reports whether packages come from where they come from by
// default.
func PublicRegistry(address string) bool {
	return slices.ContainsFunc(known.Words("public-registries"), func(name string) bool { return strings.Contains(address, name) })
}
