package shell

import (
	"path"
	"slices"
	"strings"
)

var gitTakes = []string{"C", "c", "git-dir", "work-tree", "namespace", "super-prefix", "config-env", "attr-source"}

// gitCommand follows git.
func (m *machine) gitCommand(c command) (string, bool) {
	if c.name != "git" && c.name != "hub" && !strings.HasPrefix(c.name, "git-") {
		return "", false
	}
	args := c.args
	if rest, ok := strings.CutPrefix(c.name, "git-"); ok {
		args = append([]arg{{s: rest}}, args...)
	}
	i := m.gitOptions(c, args)
	if i >= len(args) {
		return unknown, true
	}
	sub := args[i].s
	if !known(sub) {
		m.r.hit("unknown-command", c.line())
		return unknown, true
	}
	if c.name == "hub" && baseIs(sub, "release", "pull-request", "fork", "create", "delete", "issue", "api", "gist") {
		return "", false
	}
	if text, ok := m.gitAlias(args[:i], sub); ok {
		m.nested(text)
	}
	m.r.git = addTo(m.r.git, sub)
	g := command{name: "git " + sub, path: c.path, args: args[i+1:]}
	if !gitReads(sub, g) {
		m.r.changes = true
	}
	if g.exactly("--help", "-h") && len(g.args) == 1 {
		return unknown, true
	}
	return m.gitSub(sub, g), true
}

// gitOptions follows the options before the sub-command and returns its
// place.
func (m *machine) gitOptions(c command, args []arg) int {
	i := 0
	for ; i < len(args); i++ {
		s := args[i].s
		if len(s) < 2 || s[0] != '-' {
			break
		}
		next := ""
		if i+1 < len(args) {
			next = args[i+1].s
		}
		switch {
		case s == "-c":
			m.gitSetting(next, false)
		case strings.HasPrefix(s, "-c") && len(s) > 2:
			m.gitSetting(s[2:], false)
		case strings.HasPrefix(s, "--config-env"):
			m.r.hit("git-program", c.line())
		case strings.HasPrefix(s, "--exec-path="):
			m.r.hit("git-program", c.line())
		}
		if takesValue(s, gitTakes) && s[:2] != "-c" || s == "-c" {
			i++
		}
	}
	return i
}

// gitAlias is the text of an alias that the command line itself defines.
func (m *machine) gitAlias(args []arg, sub string) (string, bool) {
	for _, a := range args {
		if text, ok := strings.CutPrefix(a.s, "alias."+sub+"="); ok {
			if code, shell := strings.CutPrefix(text, "!"); shell {
				return code, true
			}
			return "git " + text, true
		}
	}
	return "", false
}

// gitSetting rates one setting, key=value. lasting says it is stored.
func (m *machine) gitSetting(kv string, lasting bool) {
	key, value, _ := strings.Cut(kv, "=")
	k := strings.ToLower(key)
	value = strings.TrimSpace(value)
	switch {
	case k == "core.sshcommand" || k == "core.pager" || strings.HasPrefix(k, "pager.") || k == "core.editor" || k == "sequence.editor" || k == "core.fsmonitor" || k == "diff.external" ||
		k == "core.askpass" || k == "core.gitproxy" || k == "gpg.program" || strings.HasPrefix(k, "gpg.") && strings.HasSuffix(k, ".program") ||
		strings.HasSuffix(k, ".textconv") || strings.HasSuffix(k, ".cmd") || strings.HasSuffix(k, ".command") || strings.HasPrefix(k, "filter.") || strings.HasSuffix(k, ".driver") ||
		k == "uploadpack.packobjectshook" || k == "interactive.difffilter" || strings.HasSuffix(k, ".helper") || strings.HasSuffix(k, ".uploadpack") || strings.HasSuffix(k, ".receivepack") || strings.HasSuffix(k, ".vcs") || k == "core.alternaterefscommand" || k == "sendemail.smtpserver" || strings.HasPrefix(k, "browser.") || strings.HasPrefix(k, "man.") || k == "web.browser":
		m.gitProgram(kv, value, lasting)
	case strings.HasPrefix(k, "alias."):
		if code, ok := strings.CutPrefix(value, "!"); ok {
			m.r.hit("git-program", kv)
			m.nested(code)
		}
	case k == "core.hookspath" || k == "core.worktree" || strings.HasPrefix(k, "include") || k == "init.templatedir" || k == "core.attributesfile" || k == "protocol.ext.allow" || k == "protocol.allow" || k == "safe.directory" && value == "*":
		if value != "/dev/null" {
			m.r.hit("git-program", kv)
		}
	case strings.Contains(k, "insteadof") || strings.HasPrefix(k, "http.") && (strings.HasSuffix(k, "proxy") || strings.HasSuffix(k, "sslverify") || strings.HasSuffix(k, "extraheader") || strings.HasSuffix(k, "cookiefile") || strings.HasSuffix(k, "sslcainfo")) ||
		strings.HasPrefix(k, "remote.") && (strings.HasSuffix(k, "url") || strings.HasSuffix(k, "proxy")) || strings.HasPrefix(k, "credential."):
		m.r.hit("git-redirect", kv)
	}
}

func (m *machine) gitProgram(kv, value string, lasting bool) {
	value = strings.TrimPrefix(value, "!")
	switch programName(strings.Fields(value + " :")[0]) {
	case "cat", "less", "more", "true", "false", "vim", "vi", "nano", "code", "emacs", "delta", "cache", "store", "osxkeychain", "manager", "gpg", "gpg2", ":":
		if !strings.ContainsAny(value, ";|&$`(") {
			if lasting && strings.Contains(kv, "helper") && value == "store" {
				m.r.hit("git-program", kv)
			}
			return
		}
	}
	m.r.hit("git-program", kv)
	m.nested(value)
}

func (m *machine) gitSub(sub string, g command) string {
	m.gitRunOptions(sub, g)
	if argsSecret(g) && baseIs(sub, "commit", "tag", "notes", "branch", "checkout", "switch", "commit-tree") {
		m.r.hit("secret-sent", g.line()) // what is committed is published
	}
	switch sub {
	case "push":
		m.gitPush(g)
	case "config":
		return m.gitConfig(g)
	case "remote":
		m.gitRemote(g)
	case "clone", "fetch", "pull", "ls-remote", "submodule":
		m.gitDownload(sub, g)
	case "filter-branch", "filter-repo":
		m.r.hit("git-rewrite", g.line())
		for _, a := range g.args {
			if strings.Contains(a.s, " ") {
				m.nested(a.s)
			}
		}
	case "update-ref":
		m.gitUpdateRef(g)
	case "credential", "credential-store", "credential-cache", "credential-osxkeychain", "credential-manager":
		if !g.exactly("approve", "reject", "erase") {
			m.r.hit("secret-read", g.line())
			return secret
		}
	case "for-each-ref", "show-ref", "ls-files", "ls-tree", "branch", "tag", "rev-list", "rev-parse", "log", "diff", "show", "status", "grep":
		return m.gitRead(sub, g)
	default:
		m.gitChange(sub, g)
	}
	return m.passOn(command{args: g.args})
}

// gitRunOptions follows options that name a program or a file to write.
func (m *machine) gitRunOptions(sub string, g command) {
	for i, a := range g.args {
		for _, o := range []string{"--upload-pack", "--receive-pack", "--exec", "--open-files-in-pager", "--extcmd", "--tool-cmd", "--smtp-server", "--sendmail-cmd", "--tree-filter", "--index-filter", "--env-filter", "--msg-filter", "--commit-filter"} {
			value, ok := strings.CutPrefix(a.s, o+"=")
			if !ok && a.s == o && i+1 < len(g.args) {
				value, ok = g.args[i+1].s, true
			}
			if ok && value != "" {
				m.r.hit("git-program", g.line())
				m.nested(value)
			}
		}
		if value, ok := strings.CutPrefix(a.s, "--output="); ok {
			m.write(m.resolve(value))
		}
		if sub == "grep" && strings.HasPrefix(a.s, "-O") && len(a.s) > 2 {
			m.r.hit("git-program", g.line())
			m.nested(a.s[2:])
		}
		if _, v, ok := strings.Cut(a.s, "="); ok && strings.HasPrefix(v, "ext::") {
			a.s = v
		}
		if strings.HasPrefix(a.s, "ext::") || strings.HasPrefix(a.s, "fd::") {
			m.r.hit("git-program", a.s)
			m.nested(strings.TrimPrefix(a.s, "ext::"))
		}
	}
	short := map[string]string{"rebase": "x", "difftool": "x", "clone": "u"}[sub]
	if v, ok := g.value(short); ok && len(short) == 1 {
		m.r.hit("git-program", g.line())
		m.nested(v)
	}
	if (sub == "diff" || sub == "log" || sub == "show") && g.exactly("--ext-diff") {
		m.r.hit("git-program", g.line())
	}
	if v, ok := g.value("template"); ok && (sub == "init" || sub == "clone") && v != "" {
		m.r.hit("git-program", g.line())
	}
	if v, ok := g.value("c", "config"); ok && sub == "clone" {
		m.gitSetting(v, false)
	}
}

func (m *machine) gitPush(g command) {
	if g.has("dry-run") || g.exactly("-n") {
		m.r.network = true
		return
	}
	m.r.network = true
	ops := g.operands("o", "push-option", "repo", "receive-pack", "exec")
	force := g.exactly("-f", "--force", "--mirror", "--delete", "-d", "--prune") || g.has("force", "mirror", "delete", "prune", "force-with-lease")
	for _, a := range ops[min(1, len(ops)):] {
		force = force || strings.HasPrefix(a.s, "+") || strings.HasPrefix(a.s, ":")
	}
	for _, a := range ops[:min(1, len(ops))] {
		if strings.Contains(a.s, secret) {
			m.r.hit("secret-sent", g.line())
		}
	}
	if force {
		m.r.hit("git-push-force", g.line())
	} else {
		m.r.hit("git-push", g.line())
	}
}

func (m *machine) gitConfig(g command) string {
	args := g.operands("f", "file", "blob", "default", "type")
	if len(args) > 0 && baseIs(args[0].s, "get", "set", "list", "unset", "edit", "rename-section", "remove-section") {
		args = args[1:]
		if g.args[0].s == "list" {
			return m.gitConfigList(g)
		}
	}
	wide := g.has("global", "system") || g.exactly("--global", "--system")
	reads := g.exactly("--get", "--get-all", "--get-regexp", "--get-urlmatch", "get", "--show-origin") || len(args) < 2 && !g.has("unset", "edit", "e")
	if g.exactly("-l", "--list") {
		return m.gitConfigList(g)
	}
	if reads {
		for _, a := range args {
			k := strings.ToLower(a.s)
			if strings.Contains(k, "extraheader") || strings.Contains(k, "token") || strings.Contains(k, "password") || strings.Contains(k, "secret") || strings.HasPrefix(k, "credential") && strings.Contains(k, "user") {
				m.r.hit("secret-read", g.line())
				return secret
			}
		}
		return unknown
	}
	m.r.changes = true
	for i, a := range args {
		if strings.Contains(a.s, ".") && i+1 < len(args) {
			m.gitSetting(a.s+"="+args[i+1].s, true)
			break
		}
	}
	if wide || g.has("unset", "unset-all", "remove-section", "edit") {
		m.r.hit("git-config-wide", g.line())
	}
	if f, ok := g.value("f", "file"); ok {
		m.write(m.resolve(f))
	}
	return ""
}

func (m *machine) gitConfigList(g command) string {
	m.r.hit("git-config-list", g.line())
	return secret
}

func (m *machine) gitRemote(g command) {
	ops := g.operands()
	if len(ops) == 0 {
		return
	}
	switch ops[0].s {
	case "set-url":
		m.r.hit("git-redirect", g.line())
	case "add", "rename", "remove", "rm", "set-head", "set-branches":
		if argsSecret(g) {
			m.r.hit("secret-stored", g.line())
		}
		m.r.hit("git-local", g.line())
	case "update", "prune":
		m.r.network = true
		m.r.hit("git-fetch", g.line())
	}
}

func (m *machine) gitDownload(sub string, g command) {
	ops := g.operands("b", "o", "u", "c", "depth", "branch", "origin", "config", "reference", "separate-git-dir", "jobs", "j", "filter", "template", "upload-pack", "shallow-since", "s", "X")
	if sub == "submodule" {
		if len(ops) == 0 || baseIs(ops[0].s, "status", "summary", "init", "sync") {
			return
		}
		if ops[0].s == "foreach" {
			m.forEach(g)
			return
		}
		if baseIs(ops[0].s, "deinit", "absorbgitdirs") {
			m.r.hit("git-local", g.line())
			return
		}
	}
	m.r.network = true
	if argsSecret(g) {
		m.r.hit("secret-sent", g.line())
	}
	if sub == "ls-remote" {
		return
	}
	m.r.hit("git-fetch", g.line())
	if sub == "fetch" || sub == "pull" {
		for _, a := range ops[min(1, len(ops)):] {
			if strings.HasPrefix(a.s, "+") || g.has("force", "f") && strings.Contains(a.s, ":") {
				m.r.hit("git-local", g.line())
			}
		}
	}
	if sub == "clone" && len(ops) > 0 {
		dir := strings.TrimSuffix(path.Base(strings.TrimSuffix(ops[0].s, "/")), ".git")
		if len(ops) > 1 {
			dir = ops[1].s
		}
		p := m.resolve(dir)
		m.files[p] = remoteDir
		if at := placeOf(p); at != placeWorkspace && at != placeTemp && at != placeRoot {
			m.write(p)
		}
	}
}

// forEach follows the command that runs in every submodule.
func (m *machine) forEach(g command) {
	at := slices.IndexFunc(g.args, func(a arg) bool { return a.s == "foreach" }) + 1
	for at < len(g.args) && baseIs(g.args[at].s, "--recursive", "--quiet", "-q") {
		at++
	}
	words := g.rest(at)
	if len(words) == 0 {
		return
	}
	if first := strings.Fields(words[0] + " x")[0]; strings.Contains(first, "/") || isShell(programName(first)) {
		m.r.hit("git-program", g.line())
	}
	if len(words) == 1 {
		m.nested(words[0])
		return
	}
	m.exec(g.args[at:])
}

func (m *machine) gitUpdateRef(g command) {
	if !g.has("stdin") {
		if g.has("d", "delete") {
			m.r.hit("git-refs", g.line())
		} else {
			m.r.hit("git-local", g.line())
		}
		return
	}
	text := ""
	if m.given() {
		text = m.stdin()
	}
	if strings.Contains(text, "delete") {
		m.r.hit("git-rewrite", g.line())
	} else {
		m.r.hit("git-refs", g.line())
	}
}
