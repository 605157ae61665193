package shell

import (
	"strings"

	"github.com/handrail-bot/handrail/policy/shell/argv"
	"github.com/handrail-bot/handrail/policy/shell/mark"
	"github.com/handrail-bot/handrail/policy/shell/zone"
)

// rateVariable rates the value of a variable that changes what programs do.
func rateVariable(w *walk, name, value string) {
	f, pair := w.f, name+"="+value
	switch {
	case name == "PATH":
		searchPath(w, value)
	case in("variables-library", name):
		if value != "" {
			f.hit("inject-library", pair)
		}
	case in("variables-search", name):
		if strings.HasPrefix(name, "LD") || strings.HasPrefix(name, "DYLD") || strings.HasPrefix(value, "/tmp") {
			f.hit("library-path", pair)
		}
	case in("variables-start", name):
		startOption(w, name, value)
	case in("variables-tool", name):
		toolVariable(w, name, value)
	case in("variables-source", name):
		sourceVariable(f, name, value)
	case strings.HasPrefix(name, "GIT_CONFIG_KEY"), strings.HasPrefix(name, "GIT_CONFIG_VALUE"), name == "GIT_CONFIG_PARAMETERS":
		f.hit("git-program", pair)
		w.nested(strings.TrimPrefix(value, "!"))
	case strings.HasPrefix(name, "BASH_FUNC_"):
		f.hit("start-option", pair)
		w.nested(value)
	}
	if strings.HasPrefix(value, "() {") {
		w.nested(value)
	}
}

// searchPath rates a search path by the directories before the standard
// ones.
func searchPath(w *walk, value string) {
	before, after, keeps := strings.Cut(value, systemPath)
	for dir := range strings.SplitSeq(before, ":") {
		p := w.resolve(dir)
		switch {
		case dir == "" && (before == "" || strings.HasSuffix(before, ":")):
		case dir == "", dir == ".":
			w.f.hit("search-path", "PATH="+value)
		case strings.HasSuffix(p, "node_modules/.bin"), strings.Contains(p, "venv"), strings.HasPrefix(p, "~/"), strings.HasPrefix(p, "/usr/"), strings.HasPrefix(p, "/opt/"), p == "/bin", p == "/sbin":
		case !strings.HasPrefix(p, "/") && mark.Known(p) && p != "." && !strings.HasPrefix(p, ".."), strings.HasPrefix(dir, unknown) && keeps && len(dir) > 1:
			w.f.hit("search-path-inside", "PATH="+value)
		default:
			w.f.hit("search-path", "PATH="+value)
		}
	}
	if strings.HasPrefix(after, ":.") && (len(after) == 2 || after[2] == ':') {
		w.f.hit("search-path-inside", "PATH="+value)
	}
}

func startOption(w *walk, name, value string) {
	harmless := false
	switch name {
	case "NODE_OPTIONS":
		harmless = mark.Known(value) && !strings.Contains(value, "require") && !strings.Contains(value, "import") && !strings.Contains(value, "loader") && !strings.Contains(value, "-r ")
	case "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS":
		harmless = !strings.Contains(value, "agent")
	case "RUSTC_WRAPPER":
		harmless = value == "sccache" || value == ""
	case "ENV":
		harmless = !strings.ContainsAny(value, "/.") // the name is common for the kind of a deployment
	}
	if harmless {
		return
	}
	w.f.hit("start-option", name+"="+value)
	if text, ok := w.file(value); ok {
		w.script(w.zero, text, nil)
	}
}

// toolVariable follows variables that name a program.
func toolVariable(w *walk, name, value string) {
	switch name {
	case "PS1", "PS4":
		if strings.Contains(value, "$(") || strings.Contains(value, "`") {
			w.nested("printf %s \"" + value + "\"")
		}
		return
	case "TAR_OPTIONS":
		w.nested("tar " + value)
		return
	case "GREP_OPTIONS", "RIPGREP_CONFIG_PATH":
		return
	case "GIT_EXEC_PATH", "GIT_TEMPLATE_DIR", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM":
		if value != "/dev/null" {
			w.f.hit("git-program", name+"="+value)
		}
		return
	}
	words := strings.Fields(value)
	if len(words) == 0 {
		return
	}
	program := programName(words[0])
	if in("safe-programs", program) && !strings.ContainsAny(value, ";|&$`") {
		return
	}
	if program == "ssh" {
		w.exec(append(argv.Of(words...), argv.Word{S: "host"}))
		return
	}
	w.nested(value)
	own := strings.Contains(words[0], "/") && !strings.HasPrefix(words[0], "/usr/") && !strings.HasPrefix(words[0], "/bin/")
	if !oneOf(name, "CC", "CXX") && (own || !oneOf(name, "EDITOR", "PAGER", "VISUAL")) {
		w.f.hit("tool-variable", name+"="+value)
	}
}

// sourceVariable rates variables that say where packages come from or how
// traffic goes.
func sourceVariable(f *finding, name, value string) {
	switch {
	case oneOf(name, "GIT_SSL_NO_VERIFY", "NODE_TLS_REJECT_UNAUTHORIZED", "GOINSECURE"):
		f.hit("source-redirect", name+"="+value)
	case name == "GOFLAGS":
		if strings.Contains(value, "toolexec") || strings.Contains(value, "-insecure") {
			f.hit("start-option", name+"="+value)
		}
	case strings.Contains(value, "://") && !publicRegistry(value) && !zone.Local(value):
		f.hit("source-redirect", name+"="+value)
	}
}

// publicRegistry reports whether packages come from where they come from by
// default.
func publicRegistry(address string) bool {
	for _, known := range []string{"proxy.golang.org", "registry.npmjs.org", "pypi.org", "download.pytorch.org"} {
		if strings.Contains(address, known) {
			return true
		}
	}
	return false
}
