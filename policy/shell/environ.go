package shell

import "strings"

// environment rates the value of a variable that changes what programs do.
func (m *machine) environment(name, value string) {
	switch name {
	case "PATH":
		m.searchPath(value)
	case "LD_PRELOAD", "LD_AUDIT", "DYLD_INSERT_LIBRARIES", "LD_BIND_NOT":
		if value != "" {
			m.r.hit("inject-library", name+"="+value)
		}
	case "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "PYTHONPATH", "NODE_PATH", "PERL5LIB", "RUBYLIB", "CLASSPATH":
		if !strings.HasPrefix(name, "LD") && !strings.HasPrefix(name, "DYLD") {
			if !strings.HasPrefix(value, "/tmp") {
				return
			}
		}
		m.r.hit("library-path", name+"="+value)
	case "BASH_ENV", "ENV", "ZDOTDIR", "PYTHONSTARTUP", "PERL5OPT", "RUBYOPT", "PERL5DB", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "PYTHONINSPECT", "PYTHONHOME", "GCONV_PATH", "RUSTC_WRAPPER", "NPM_CONFIG_SCRIPT_SHELL", "SHELLOPTS", "BASHOPTS", "NODE_OPTIONS":
		m.startOption(name, value)
	case "PROMPT_COMMAND", "PS1", "PS4", "PAGER", "EDITOR", "VISUAL", "GIT_PAGER", "GIT_EDITOR", "GIT_SSH_COMMAND", "GIT_SSH", "GIT_EXTERNAL_DIFF", "GIT_ASKPASS", "SSH_ASKPASS", "GIT_SEQUENCE_EDITOR", "GIT_PROXY_COMMAND",
		"LESSOPEN", "LESSCLOSE", "MANPAGER", "BROWSER", "SUDO_ASKPASS", "GIT_EXEC_PATH", "GIT_TEMPLATE_DIR", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "SYSTEMD_EDITOR", "KUBE_EDITOR", "CC", "CXX", "HGEDITOR", "TAR_OPTIONS", "GREP_OPTIONS", "RIPGREP_CONFIG_PATH":
		m.toolVariable(name, value)
	case "GOPROXY", "GONOSUMDB", "GONOSUMCHECK", "GOINSECURE", "GOFLAGS", "GONOSUMVERIFY", "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "NPM_CONFIG_REGISTRY", "npm_config_registry", "UV_INDEX_URL", "CARGO_REGISTRY_INDEX", "GIT_SSL_NO_VERIFY", "NODE_TLS_REJECT_UNAUTHORIZED", "http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "all_proxy":
		m.sourceVariable(name, value)
	}
	if strings.HasPrefix(name, "GIT_CONFIG_KEY") || strings.HasPrefix(name, "GIT_CONFIG_VALUE") || name == "GIT_CONFIG_PARAMETERS" {
		m.r.hit("git-program", name+"="+value)
		m.nested(strings.TrimPrefix(value, "!"))
	}
	if strings.HasPrefix(name, "BASH_FUNC_") {
		m.r.hit("start-option", name+"="+value)
	}
	if strings.HasPrefix(name, "BASH_FUNC_") || strings.HasPrefix(value, "() {") {
		m.nested(value)
	}
}

// searchPath rates a search path by the directories before the standard
// ones.
func (m *machine) searchPath(value string) {
	before, _, keeps := strings.Cut(value, systemPath)
	for dir := range strings.SplitSeq(before, ":") {
		if dir == "" && before != "" && !strings.HasSuffix(before, ":") || dir == "." {
			m.r.hit("search-path", "PATH="+value)
			continue
		}
		if dir == "" {
			continue
		}
		p := m.resolve(dir)
		switch {
		case strings.HasSuffix(p, "node_modules/.bin"), strings.Contains(p, "venv"), strings.HasPrefix(p, "~/"), strings.HasPrefix(p, "/usr/"), strings.HasPrefix(p, "/opt/"), p == "/bin", p == "/sbin":
		case !strings.HasPrefix(p, "/") && known(p) && p != "." && !strings.HasPrefix(p, ".."):
			m.r.hit("search-path-inside", "PATH="+value)
		case strings.HasPrefix(dir, unknown) && keeps && len(dir) > 1:
			m.r.hit("search-path-inside", "PATH="+value)
		default:
			m.r.hit("search-path", "PATH="+value)
		}
	}
	if _, after, ok := strings.Cut(value, systemPath); ok && strings.HasPrefix(after, ":.") && (len(after) == 2 || after[2] == ':') {
		m.r.hit("search-path-inside", "PATH="+value)
	}
}

func (m *machine) startOption(name, value string) {
	switch name {
	case "NODE_OPTIONS":
		if !strings.Contains(value, "require") && !strings.Contains(value, "import") && !strings.Contains(value, "loader") && !strings.Contains(value, "-r ") && known(value) {
			return
		}
	case "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS":
		if !strings.Contains(value, "agent") {
			return
		}
	case "RUSTC_WRAPPER":
		if value == "sccache" || value == "" {
			return
		}
	case "ENV":
		if !strings.ContainsAny(value, "/.") {
			return // the name is common for the kind of a deployment
		}
	}
	m.r.hit("start-option", name+"="+value)
	if text, ok := m.files[m.resolve(value)]; ok {
		m.script(text, nil)
	}
}

// toolVariable follows variables that name a program.
func (m *machine) toolVariable(name, value string) {
	switch name {
	case "PS1", "PS4":
		if strings.Contains(value, "$(") || strings.Contains(value, "`") {
			m.nested("printf %s \"" + value + "\"")
		}
		return
	case "TAR_OPTIONS":
		m.nested("tar " + value)
		return
	case "GREP_OPTIONS", "RIPGREP_CONFIG_PATH":
		return
	case "GIT_EXEC_PATH", "GIT_TEMPLATE_DIR", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM":
		if value != "/dev/null" {
			m.r.hit("git-program", name+"="+value)
		}
		return
	}
	words := strings.Fields(value)
	if len(words) == 0 {
		return
	}
	switch programName(words[0]) {
	case "cat", "less", "more", "true", "false", ":", "vim", "vi", "nano", "emacs", "code", "gcc", "clang", "cc", "g++", "clang++", "c++", "musl-gcc", "zig", "ccache", "sccache", "delta", "echo", "bat", "firefox", "chromium", "lynx", "most":
		if !strings.ContainsAny(value, ";|&$`") {
			return
		}
	case "ssh":
		m.exec(append(literals(words), arg{s: "host"}))
		return
	}
	m.nested(value)
	own := strings.Contains(words[0], "/") && !strings.HasPrefix(words[0], "/usr/") && !strings.HasPrefix(words[0], "/bin/")
	if name != "CC" && name != "CXX" && (own || name != "EDITOR" && name != "PAGER" && name != "VISUAL") {
		m.r.hit("tool-variable", name+"="+value)
	}
}

// sourceVariable rates variables that say where packages come from or how
// traffic goes.
func (m *machine) sourceVariable(name, value string) {
	switch {
	case name == "GIT_SSL_NO_VERIFY" || name == "NODE_TLS_REJECT_UNAUTHORIZED" || name == "GOINSECURE":
		m.r.hit("source-redirect", name+"="+value)
	case name == "GOFLAGS":
		if strings.Contains(value, "toolexec") || strings.Contains(value, "-insecure") {
			m.r.hit("start-option", name+"="+value)
		}
	case strings.Contains(value, "://") && !strings.Contains(value, "proxy.golang.org") && !strings.Contains(value, "registry.npmjs.org") && !strings.Contains(value, "pypi.org") && !localAddress(value):
		m.r.hit("source-redirect", name+"="+value)
	}
}
