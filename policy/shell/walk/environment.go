package walk

import (
	"strings"

	"github.com/handrail-bot/handrail/policy/shell/argv"
	"github.com/handrail-bot/handrail/policy/shell/finding"
	"github.com/handrail-bot/handrail/policy/shell/known"
	"github.com/handrail-bot/handrail/policy/shell/mark"
	"github.com/handrail-bot/handrail/policy/shell/zone"
)

// RateVariable rates the value of a variable that changes what programs do.
func RateVariable(w *Walk, name, value string) {
	f, pair := w.Found, name+"="+value
	switch {
	case name == "PATH":
		searchPath(w, value)
	case known.In("variables-library", name):
		if value != "" {
			f.Hit("inject-library", pair)
		}
	case known.In("variables-search", name):
		if strings.HasPrefix(name, "LD") || strings.HasPrefix(name, "DYLD") || strings.HasPrefix(value, "/tmp") {
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
		w.Nested(value)
	}
	if strings.HasPrefix(value, "() {") {
		w.Nested(value)
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
	case "ENV":
		harmless = !strings.ContainsAny(value, "/.") // the name is common for the kind of a deployment
	}
	if harmless {
		return
	}
	w.Found.Hit("start-option", name+"="+value)
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
	case "GREP_OPTIONS", "RIPGREP_CONFIG_PATH":
		return
	case "GIT_EXEC_PATH", "GIT_TEMPLATE_DIR", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM":
		if value != "/dev/null" {
			w.Found.Hit("git-program", name+"="+value)
		}
		return
	}
	words := strings.Fields(value)
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
	w.Nested(value)
	own := strings.Contains(words[0], "/") && !strings.HasPrefix(words[0], "/usr/") && !strings.HasPrefix(words[0], "/bin/")
	if !OneOf(name, "CC", "CXX") && (own || !OneOf(name, "EDITOR", "PAGER", "VISUAL")) {
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
		if strings.Contains(value, "toolexec") || strings.Contains(value, "-insecure") {
			f.Hit("start-option", name+"="+value)
		}
	case strings.Contains(value, "://") && !PublicRegistry(value) && !zone.Local(value):
		f.Hit("source-redirect", name+"="+value)
	}
}

// PublicRegistry reports whether packages come from where they come from by
// default.
func PublicRegistry(address string) bool {
	for _, known := range []string{"proxy.golang.org", "registry.npmjs.org", "pypi.org", "download.pytorch.org"} {
		if strings.Contains(address, known) {
			return true
		}
	}
	return false
}
