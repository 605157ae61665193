package shell

import (
	"path"
	"slices"
	"strings"
)

// variableKind is the rule of the variables in a list, and its harmless values.
type variableKind struct {
	list, rule string
	harmless   func(w *walk, name, value string) bool
}

var variableKinds = []variableKind{
	{"library", "inject-library", func(_ *walk, _, value string) bool { return value == "" }},
	{"search", "inject-library", func(_ *walk, _, value string) bool { return !holds(value, "/tmp/", "/var/tmp") }},
	{"search", "library-path", func(_ *walk, name, value string) bool {
		return value == "" || !startsWith(name, "LD", "DYLD")
	}},
	{"start", "start-option", func(_ *walk, name, value string) bool {
		return name == "ENV" && !strings.ContainsAny(value, "/.")
	}},
	{"tool", "tool-variable", func(_ *walk, name, value string) bool { return safeTool(name, value) }},
	{"options", "start-option", func(_ *walk, _, value string) bool {
		return (value == "" || strip(value) != "") &&
			(!runningOptions().MatchString(strip(value)) || strings.Contains(value, "no:"))
	}},
	{"file", "start-option", func(_ *walk, _, value string) bool { return !ownPlace(value) }},
	{"home", "library-path", func(w *walk, _, value string) bool {
		return !ownPlace(value) || !isKnown(value) || w.resolve(value) == "/tmp"
	}},
	{"source", "source-redirect", func(_ *walk, name, value string) bool {
		return !oneOf(name, "GIT_SSL_NO_VERIFY", "NODE_TLS_REJECT_UNAUTHORIZED", "GOINSECURE") &&
			!holds(value, "exec", "-insecure", "-overlay") &&
			(!strings.Contains(value, "://") || holds(value, wordsIn("public-registries")...) || local(value))
	}},
}

// rateVariable rates a variable that changes the behavior of programs. A value that is not
// known to be harmless may run.
func rateVariable(w *walk, name, value string) {
	f, pair := w.found, name+"="+value
	for _, k := range variableKinds {
		if !inList("variables-"+k.list, name) || k.harmless(w, name, value) {
			continue
		}
		f.hit(k.rule, pair)
		switch k.list {
		case "start":
			w.unsure = true
			w.mayRun([]string{value})
		case "tool", "options":
			text, _, _ := strings.Cut(value[strings.Index(value, "$(shell ")+1:], ")")
			w.nested(strings.TrimLeft(strings.TrimPrefix(text, "(shell "), "|-@"))
		}
	}
	switch {
	case name == "PATH":
		searchPath(w, value)
	case name == "TAR_OPTIONS":
		w.nested("tar " + value)
	case oneOf(name, "PS1", "PS4"):
		w.mayRun([]string{value})
	case startsWith(name, "GIT_CONFIG_KEY", "GIT_CONFIG_VALUE", "GIT_CONFIG_PARAMETERS", "BASH_FUNC_"):
		f.hit("start-option", pair)
		w.nested(strings.TrimSpace(strings.TrimPrefix(strings.TrimPrefix(value, "!"), "()")))
	case name == "DOCKER_HOST" && strings.Contains(value, "://") && !strings.HasPrefix(value, "unix:") && !local(value):
		f.hit("container-control", pair)
	case startsWith(name, "GIT_AUTHOR_", "GIT_COMMITTER_") && strings.Contains(value, secret):
		f.hit("secret-sent", name) // commits are published
	case (strings.HasPrefix(name, "GIT_TRACE") || inList("variables-written", name)) &&
		strings.Contains(value, "/") && isKnown(value):
		w.write(value)
	}
	if strings.HasPrefix(value, "() {") {
		w.nested(value)
	}
}

// safeTool reports whether a variable names a program that many use as its value, or none.
func safeTool(name, value string) bool {
	words := strings.Fields(strings.TrimLeft(value, "|-@"))
	return len(words) == 0 || value == "/dev/null" || oneOf(name, "PS1", "PS4", "TAR_OPTIONS", "GREP_OPTIONS") ||
		inList("safe-programs", programName(words[0])) && !strings.ContainsAny(value, ";|&$`")
}

// pass rates a variable that is passed to a program. Besides known variables, it rates
// those with a name that suggests a program as value.
func pass(w *walk, name, value string) {
	rateVariable(w, name, value)
	if inList("variables-tool", name) || inList("variables-start", name) || strings.Contains(value, "://") {
		return
	}
	words := strings.Fields(value)
	if len(words) > 0 && endsWith(strings.ToLower(name), wordsIn("variables-shape")...) {
		own := ownPlace(words[0]) && strings.Contains(words[0], "/") // any process may have created it
		if own || strings.ContainsAny(value, ";|&$`") || !isKnown(value) ||
			dangerous(programName(words[0])) && len(words) > 1 {
			w.found.hit("tool-variable", name+"="+value) //control:shaped-variables
		}
		w.nested(strip(value))
	} else if len(words) > 1 {
		w.mayRun([]string{value})
	}
}

var runningOptions = lazily(
	`(?i)agent(?:lib|path)?:|require|import|loader|\beval\b|\bexec\b|plugin|preview|--bind|execute|wrapper|linker=|runner|shell|script|OnError|OnOutOfMemory|toolexec|overlay|--?file|-TT|\+!|(?:^|\s)-[frsMIBp]\s*[^\s-]|^@`,
)

func ownPlace(p string) bool {
	return p != "" && p != "/dev/null" && !under(path.Clean(p), "/usr", "/opt", "/etc", "/bin", "/sbin", "/lib", "/nix", "/snap", "/Library", "/Applications") &&
		(!strings.HasPrefix(p, "~") || strings.HasPrefix(p, "~/Downloads"))
}

// searchPath rates a search path by its directories before the standard ones.
func searchPath(w *walk, value string) {
	r, _ := rowOf("value", "PATH")
	before, after, _ := strings.Cut(value, r[0][0])
	for dir := range strings.SplitSeq(before, ":") {
		p := w.resolve(dir)
		switch {
		case dir == "" && (before == "" || strings.HasSuffix(before, ":")), strings.HasSuffix(p, "node_modules/.bin"),
			strings.Contains(p, "venv"), startsWith(p, "~/", "/usr/", "/opt/"), oneOf(p, "/bin", "/sbin"):
		case !startsWith(p, "/", "..") && isKnown(p) && p != ".":
			w.found.hit("search-path-inside", "PATH="+value)
		default:
			w.found.hit("search-path", "PATH="+value)
		}
	}
	if slices.Contains(strings.Split(after, ":"), ".") {
		w.found.hit("search-path-inside", "PATH="+value)
	}
}
