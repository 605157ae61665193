package shell

import (
	"path"
	"slices"
	"strings"
)

// rateVariable rates a variable that changes the behavior of programs.
func rateVariable(w *walk, name, value string) {
	f, pair := w.found, name+"="+value
	in := func(kind string) bool { return inList("variables-"+kind, name) }
	switch {
	case name == "PATH":
		searchPath(w, value)
	case in("library"):
		if value != "" {
			f.hit("inject-library", pair)
		}
	case in("search"):
		if strings.Contains(value, "/tmp/") || strings.Contains(value, "/var/tmp") { // writable by others
			f.hit("inject-library", pair)
		} else if value != "" && startsWith(name, "LD", "DYLD") {
			f.hit("library-path", pair)
		}
	case in("start"):
		if name != "ENV" || strings.ContainsAny(value, "/.") { // also a common name for the kind of a deployment
			f.hit("start-option", pair)
			w.unsure = true
			w.mayRun([]string{value})
		}
	case in("tool"):
		toolVariable(w, name, value)
	case in("source"):
		sourceVariable(f, name, value)
	case startsWith(name, "GIT_CONFIG_KEY", "GIT_CONFIG_VALUE", "GIT_CONFIG_PARAMETERS", "BASH_FUNC_"):
		f.hit("start-option", pair)
		w.nested(strings.TrimSpace(strings.TrimPrefix(strings.TrimPrefix(value, "!"), "()")))
	case in("options"):
		optionVariable(w, pair, value)
	case in("file"), in("home"):
		fileVariable(w, name, value)
	case in("script"):
		f.hit("start-option", pair)
		w.mayRun([]string{value})
	case name == "DOCKER_HOST" && strings.Contains(value, "://") && !strings.HasPrefix(value, "unix:") && !local(value):
		f.hit("container-control", pair)
	case startsWith(name, "GIT_AUTHOR_", "GIT_COMMITTER_") && strings.Contains(value, secret):
		f.hit("secret-sent", name) // commits are published
	case (strings.HasPrefix(name, "GIT_TRACE") || in("written")) && strings.Contains(value, "/") && isKnown(value):
		w.write(value)
	}
	if strings.HasPrefix(value, "() {") {
		w.nested(value)
	}
}

// pass rates a variable that is passed to a program. Besides known variables, it rates
// those with a name that suggests a program as value.
func pass(w *walk, name, value string) {
	rateVariable(w, name, value)
	if inList("variables-tool", name) || inList("variables-start", name) || strings.Contains(value, "://") {
		return
	}
	words := strings.Fields(value)
	if len(words) > 0 &&
		slices.ContainsFunc(
			wordsIn("variables-shape"),
			func(end string) bool { return strings.HasSuffix(strings.ToLower(name), end) },
		) {
		own := ownPlace(words[0]) && strings.Contains(words[0], "/") // any process may have created it
		if own || strings.ContainsAny(value, ";|&$`") || !isKnown(value) ||
			dangerous(programName(words[0])) && len(words) > 1 {
			w.found.hit("tool-variable", name+"="+value) //control:shaped-variables
		}
		w.nested(strip(value))
		return
	}
	if len(words) > 1 {
		w.mayRun([]string{value})
	}
}

var runningOptions = lazily(
	`(?i)agent(?:lib|path)?:|require|import|loader|\beval\b|\bexec\b|plugin|preview|--bind|execute|wrapper|linker=|runner|shell|script|OnError|OnOutOfMemory|toolexec|overlay|--?file|-TT|\+!|(?:^|\s)-[frsMIBp]\s*[^\s-]|^@`,
)

func optionVariable(w *walk, pair, value string) {
	if strings.Trim(value, all) == "" && value != "" ||
		runningOptions().MatchString(strip(value)) && !strings.Contains(value, "no:") {
		w.found.hit("start-option", pair)
	}
	if _, code, ok := strings.Cut(value, "$(shell "); ok {
		code, _, _ = strings.Cut(code, ")")
		w.nested(code)
	}
}

func ownPlace(p string) bool {
	return p != "" && p != "/dev/null" && !under(path.Clean(p), "/usr", "/opt", "/etc", "/bin", "/sbin", "/lib", "/nix", "/snap", "/Library", "/Applications") &&
		(!strings.HasPrefix(p, "~") || strings.HasPrefix(p, "~/Downloads"))
}

func fileVariable(w *walk, name, value string) {
	p := w.resolve(value)
	switch {
	case !ownPlace(value), inList("variables-home", name) && !isKnown(value):
	case !oneOf(name, "HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "KUBECONFIG"): // tests set their own
		w.found.hit("start-option", name+"="+value)
	case p != "/tmp":
		w.found.hit("library-path", name+"="+value)
	}
}

// searchPath rates a search path by its directories before the standard ones.
func searchPath(w *walk, value string) {
	before, after, keeps := strings.Cut(value, systemPath)
	for dir := range strings.SplitSeq(before, ":") {
		p := w.resolve(dir)
		switch {
		case dir == "" && (before == "" || strings.HasSuffix(before, ":")):
		case dir == "", dir == ".":
			w.found.hit("search-path", "PATH="+value)
		case strings.HasSuffix(p, "node_modules/.bin"),
			strings.Contains(p, "venv"),
			startsWith(p, "~/", "/usr/", "/opt/"),
			p == "/bin",
			p == "/sbin":
		case !startsWith(p, "/", "..") && isKnown(p) && p != ".", strings.HasPrefix(dir, unknown) && keeps && len(dir) > 1:
			w.found.hit("search-path-inside", "PATH="+value)
		default:
			w.found.hit("search-path", "PATH="+value)
		}
	}
	if strings.HasPrefix(after, ":.") && (len(after) == 2 || after[2] == ':') {
		w.found.hit("search-path-inside", "PATH="+value)
	}
}

// toolVariable rates variables that name a program.
func toolVariable(w *walk, name, value string) {
	words := strings.Fields(strings.TrimLeft(value, "|-@"))
	switch {
	case name == "PS1" || name == "PS4":
		if strings.Contains(value, "$(") || strings.Contains(value, "`") {
			w.nested("printf %s \"" + value + "\"")
		}
		return
	case name == "TAR_OPTIONS":
		w.nested("tar " + value)
		return
	case oneOf(name, "GIT_EXEC_PATH", "GIT_TEMPLATE_DIR", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"):
		if value != "/dev/null" {
			w.found.hit("git-program", name+"="+value)
		}
		return
	case name == "GREP_OPTIONS",
		len(words) == 0,
		inList("safe-programs", programName(words[0])) && !strings.ContainsAny(value, ";|&$`"):
		return
	}
	w.nested(strings.Join(words, " "))
	own := strings.Contains(words[0], "/") && !startsWith(words[0], "/usr/", "/bin/")
	if own || !oneOf(name, "CC", "CXX", "EDITOR", "PAGER", "VISUAL") {
		w.found.hit("tool-variable", name+"="+value)
	}
}

func sourceVariable(f *finding, name, value string) {
	switch {
	case name == "GOFLAGS" && holds(value, "exec", "-insecure", "-overlay"):
		f.hit("start-option", name+"="+value)
	case oneOf(name, "GIT_SSL_NO_VERIFY", "NODE_TLS_REJECT_UNAUTHORIZED", "GOINSECURE"),
		strings.Contains(value, "://") && !publicRegistry(value) && !local(value):
		f.hit("source-redirect", name+"="+value)
	}
}

func publicRegistry(address string) bool {
	return slices.ContainsFunc(
		wordsIn("public-registries"),
		func(name string) bool { return strings.Contains(address, name) },
	)
}
