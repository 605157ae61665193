package shell

import (
	"path"
	"slices"
	"strings"
)

// gitTool follows git: its global options, then the rule of the sub-command.
func gitTool(c *command) string {
	args := c.list
	if rest, ok := strings.CutPrefix(c.name, "git-"); ok {
		args = append(argsOf(rest), args...)
	}
	i := gitOptions(c, args)
	if i >= len(args) {
		return unknown
	}
	sub := args[i].s
	if !isKnown(sub) {
		c.hit("unknown-command")
		return unknown
	}
	if c.is("hub") && oneOf(sub, "release", "pull-request", "fork", "create", "delete", "issue", "api", "gist") {
		return tabled(c)
	}
	if text, ok := gitAlias(args[:i], sub); ok {
		c.nested(text)
	}
	c.found.ranGit(sub)
	g := &command{walk: c.walk, list: args[i+1:], name: "git " + sub, path: c.path}
	if !gitReads(sub, g) {
		c.found.changes = true
	}
	if len(g.list) == 1 && g.exactly("--help", "-h") {
		return unknown
	}
	gitPrograms(sub, g)
	keepsSecret(sub, g)
	if slices.Contains(finds(g), "secret-read") {
		return secret
	}
	return gitRule(sub)(g)
}

// gitRule returns the rule of a git sub-command that the tables cannot describe. The rule
// returns the sub-command's output.
func gitRule(sub string) rule {
	switch sub {
	case "push":
		return gitPush
	case "config":
		return gitConfig
	case "submodule":
		return gitSubmodule
	case "clone", "fetch", "pull", "ls-remote":
		return gitDownload
	case "ls-files", "ls-tree", "rev-list", "rev-parse", "log", "diff", "show", "status", "grep", "tag",
		"branch", "for-each-ref", "show-ref":
		return found
	case "checkout", "switch", "restore":
		return gitCheckout
	case "rm", "mv":
		return gitRemove
	case "bisect":
		return func(g *command) string { return gitRuns(g, "run") }
	case "archive", "format-patch":
		return gitOutput
	}
	return (*command).passedOn
}

func found(g *command) string { return "found-" + unknown + fetchedText(g) }

var gitTakes = []string{"C", "c", "git-dir", "work-tree", "namespace", "super-prefix", "config-env", "attr-source"}

// gitOptions follows the options before the sub-command and returns its index.
func gitOptions(c *command, args list) int {
	i := 0
	for ; i < len(args); i++ {
		s := args[i].s
		if len(s) < 2 || s[0] != '-' {
			break
		}
		switch {
		case s == "-c":
			gitSetting(c, args.at(i+1), false)
			i++
			continue
		case strings.HasPrefix(s, "-c"):
			gitSetting(c, s[2:], false)
			continue
		case strings.HasPrefix(s, "--config-env"), strings.HasPrefix(s, "--exec-path="):
			c.hit("git-program")
		}
		if takesValue(s, gitTakes) {
			i++
		}
	}
	return i
}

func gitAlias(args list, sub string) (string, bool) {
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

// gitPrograms rates options that name a program or an output file.
func gitPrograms(sub string, g *command) {
	runs := func(value string) {
		g.hit("git-program")
		g.nested(value)
	}
	for _, value := range g.options(wordsIn("git-program-options")...) {
		if value != "" {
			runs(value)
		}
	}
	for _, a := range g.list {
		if value, ok := strings.CutPrefix(a.s, "--output="); ok {
			g.write(value)
		}
		if sub == "grep" && strings.HasPrefix(a.s, "-O") && len(a.s) > 2 {
			runs(a.s[2:])
		}
		gitTransport(g, a.s)
	}
	if short := map[string]string{"rebase": "x", "difftool": "x", "clone": "u"}[sub]; short != "" {
		if v, ok := g.option(short); ok {
			runs(v)
		}
	}
	template, hasTemplate := g.option("template")
	if oneOf(sub, "diff", "log", "show") && g.exactly("--ext-diff") ||
		oneOf(sub, "init", "clone") && hasTemplate && template != "" {
		g.hit("git-program")
	}
	if v, ok := g.option("c", "config"); ok && sub == "clone" {
		gitSetting(g, v, false)
	}
}

func gitTransport(g *command, address string) {
	if _, v, ok := strings.Cut(address, "="); ok && strings.HasPrefix(v, "ext::") {
		address = v
	}
	if startsWith(address, "ext::", "fd::") {
		g.found.hit("git-program", address)
		g.nested(strings.TrimPrefix(address, "ext::"))
	}
}

func gitSubmodule(g *command) string {
	switch g.operandsAfter("b", "o", "u", "c", "depth", "branch", "reference", "jobs", "j").at(0) {
	case "", "status", "summary", "init", "sync":
	case "foreach":
		return gitRuns(g, "foreach")
	case "deinit", "absorbgitdirs":
		g.hit("git-local")
	default:
		return gitDownload(g)
	}
	return g.passedOn()
}

// gitRuns follows the command behind a word: git passes it to a shell.
func gitRuns(g *command, word string) string {
	at := g.index(word) + 1
	for oneOf(g.at(at), "--recursive", "--quiet", "-q") {
		at++
	}
	if text := strings.Join(g.from(at).words(), " "); at > 0 && text != "" {
		if first := firstWord(text + " x"); word == "run" || strings.Contains(first, "/") || inList("shells", first) {
			g.hit("git-program")
		}
		g.nested(text)
	}
	return g.passedOn()
}

func gitDownload(g *command) string {
	g.found.network = true
	if g.holdsSecret() {
		g.hit("secret-sent")
	}
	sub := strings.TrimPrefix(g.name, "git ")
	if sub == "ls-remote" {
		return g.passedOn() + remote
	}
	g.hit("git-fetch")
	ops := g.operandsAfter(
		"b", "o", "u", "c", "depth", "branch", "origin", "config", "reference", "separate-git-dir", "jobs", "j",
		"filter", "template", "upload-pack", "shallow-since", "s", "X",
	)
	switch {
	case sub == "fetch" || sub == "pull":
		if strings.Contains(ops.at(0), "://") || strings.Contains(ops.at(0), "@") {
			g.made["FETCH_HEAD"] = remote
			if sub == "pull" {
				g.made["."] = remoteDir
			}
		}
		for _, a := range ops.from(1) {
			if strings.HasPrefix(a.s, "+") || g.has("force", "f") && strings.Contains(a.s, ":") {
				g.hit("git-local")
			}
		}
	case sub == "clone" && len(ops) > 0:
		dir := strings.TrimSuffix(path.Base(strings.TrimSuffix(ops[0].s, "/")), ".git")
		if len(ops) > 1 {
			dir = ops[1].s
		}
		p := g.resolve(dir)
		g.made[p] = remoteDir
		if at := zoneOf(p); at != workspace && at != temp && at != zoneRoot {
			g.found.write(p)
		}
	}
	return g.passedOn()
}

func gitOutput(g *command) string {
	if v, ok := g.option("o", "output", "output-directory"); ok {
		g.write(v)
	}
	if g.has("remote") {
		return g.passedOn() + remote
	}
	return g.passedOn()
}

func gitCheckout(g *command) string {
	if _, ok := g.made["FETCH_HEAD"]; ok && g.exactly("FETCH_HEAD") {
		g.made["."] = remoteDir
	}
	restores := g.is("git restore")
	discards := g.exactly("--") || g.has("force", "f", "discard-changes") ||
		restores && (!g.has("staged", "S") || g.has("worktree", "W"))
	for _, a := range g.operandsAfter("b", "B", "c", "C", "s", "source", "orphan", "pathspec-from-file") {
		p := g.resolve(a.s)
		discards = discards || oneOf(a.s, ".", ":/", "./", "*")
		if g.exactly("--") || restores {
			g.found.touch(p)
		}
		if at := zoneOf(p); at == runner || at == obeyed && (g.exactly("--") || restores) {
			g.found.write(p)
		}
	}
	if g.has("B", "C") && !restores {
		g.hit("git-local")
	}
	if discards {
		g.hit("git-undo")
	}
	return g.passedOn()
}

// gitRemove handles git rm and git mv.
func gitRemove(g *command) string {
	ops := g.operandsAfter()
	for i, a := range ops {
		p := g.resolve(a.s)
		g.found.touch(p)
		if zoneOf(p) == runner {
			g.found.hit("write-workflow", p)
		}
		if g.is("git rm") && !g.has("cached") && (g.has("r") || zoneOf(p) == zoneRoot) {
			g.hit("delete-tree")
		}
		if g.is("git mv") && i == len(ops)-1 && i > 0 {
			writeTarget(g, a.s, ops[:i])
		}
	}
	return g.passedOn()
}

func gitReads(sub string, g *command) bool {
	if words, ok := tables().Reads[g.name]; ok {
		return g.fitsAll(words)
	}
	switch sub {
	case "branch":
		return len(g.operandsAfter("contains", "no-contains", "merged", "no-merged", "points-at", "sort", "format")) == 0 && !g.has("d", "D", "m", "M", "c", "C", "f", "delete", "move", "copy", "edit-description", "set-upstream-to", "u", "unset-upstream") || g.has("list", "l", "contains", "merged")
	case "config":
		return g.exactly("--get", "--get-all", "--get-regexp", "get") ||
			len(g.operandsAfter()) == 1 && !g.has("unset", "edit", "e")
	}
	return inList("git-reads", sub)
}

func settingFits(list, key string) bool {
	if inList(list, key) {
		return true
	}
	for i := range len(key) {
		if key[i] == '.' && (inList(list, key[:i+1]+"*") || inList(list, "*"+key[i:])) {
			return true
		}
	}
	return false
}

// gitSetting rates one setting, key=value. lasting means that it is stored.
func gitSetting(c *command, kv string, lasting bool) {
	key, value, _ := strings.Cut(kv, "=")
	k := strings.ToLower(key)
	value = strings.TrimSpace(value)
	switch {
	case settingFits("git-program-settings", k):
		gitProgram(c, kv, value, lasting)
	case strings.HasPrefix(k, "alias."):
		if code, ok := strings.CutPrefix(value, "!"); ok {
			c.found.hit("git-program", kv)
			c.nested(code)
		}
	case settingFits("git-path-settings", k), strings.HasPrefix(k, "include"), k == "safe.directory" && value == "*":
		if value != "/dev/null" {
			c.found.hit("git-program", kv)
		}
	case strings.Contains(k, "insteadof"), strings.HasPrefix(k, "credential."),
		strings.HasPrefix(k, "http.") && endsWith(k, "proxy", "sslverify", "extraheader", "cookiefile", "sslcainfo"),
		strings.HasPrefix(k, "remote.") && endsWith(k, "url", "proxy"):
		c.found.hit("git-redirect", kv)
	}
}

func endsWith(s string, ends ...string) bool {
	return slices.ContainsFunc(ends, func(e string) bool { return strings.HasSuffix(s, e) })
}

func gitProgram(c *command, kv, value string, lasting bool) {
	value = strings.TrimPrefix(value, "!")
	if inList("git-safe-programs", programName(firstWord(value+" :"))) && !strings.ContainsAny(value, ";|&$`(") {
		if lasting && strings.Contains(kv, "helper") && value == "store" {
			c.found.hit("git-program", kv)
		}
		return
	}
	c.found.hit("git-program", kv)
	c.nested(value)
}

func listSettings(g *command) string {
	if g.has("name-only") {
		return unknown
	}
	g.hit("git-config-list")
	return secret
}

func gitConfig(g *command) string {
	args := g.operandsAfter("f", "file", "blob", "default", "type")
	if g.exactly("-l", "--list") || g.at(0) == "list" {
		return listSettings(g)
	}
	if oneOf(args.at(0), "get", "set", "unset", "edit", "rename-section", "remove-section") {
		args = args[1:]
	}
	if g.exactly("--get", "--get-all", "--get-regexp", "--get-urlmatch", "get", "--show-origin") ||
		len(args) < 2 && !g.has("unset", "edit", "e") {
		for _, a := range args {
			k := strings.ToLower(a.s)
			if holds(k, "extraheader", "token", "password", "secret") ||
				strings.HasPrefix(k, "credential") && strings.Contains(k, "user") {
				g.hit("secret-read")
				return secret
			}
		}
		return unknown
	}
	g.found.changes = true
	for i, a := range args {
		if strings.Contains(a.s, ".") && i+1 < len(args) {
			gitSetting(g, a.s+"="+args[i+1].s, true)
			break
		}
	}
	if g.has("global", "system", "unset", "unset-all", "remove-section", "edit") {
		g.hit("git-config-wide")
	}
	if file, ok := g.option("f", "file"); ok {
		g.write(file)
	}
	return ""
}

func fetchedText(g *command) string {
	if g.found.network && g.says("FETCH_HEAD:") {
		return remote
	}
	return ""
}

func gitPush(g *command) string {
	g.found.network = true
	if g.has("dry-run") || g.exactly("-n") {
		return g.passedOn()
	}
	ops := g.operandsAfter("o", "push-option", "repo", "receive-pack", "exec")
	force := g.exactly("-f", "-d") || g.has("force", "mirror", "delete", "prune", "force-with-lease")
	for _, a := range ops.from(1) {
		force = force || strings.HasPrefix(a.s, "+") || strings.HasPrefix(a.s, ":")
	}
	if strings.Contains(ops.at(0), secret) {
		g.hit("secret-sent")
	}
	switch {
	case force:
		g.hit("git-push-force")
	case toOwnBranch(g):
		g.hit("git-push-own")
	default:
		g.hit("git-push")
	}
	return g.passedOn()
}

// toOwnBranch reports whether a push only adds commits to the session's branch.
func toOwnBranch(g *command) bool {
	var words []string
	for _, a := range g.list {
		if !oneOf(a.s, "-u", "--set-upstream", "-q", "--quiet", "-v", "--verbose", "--progress") {
			words = append(words, a.s)
		}
	}
	if len(words) != 2 || words[0] != "origin" || g.branch == "" {
		return false
	}
	from, to, ok := strings.Cut(words[1], ":")
	if !ok {
		to = from
	}
	return from != "" && strings.TrimPrefix(to, "refs/heads/") == g.branch //control:own-branch
}

func keepsSecret(sub string, g *command) {
	if sub == "config" && g.holdsSecret() && !g.contains("url") && !g.contains("extraheader") {
		g.hit("secret-stored")
	}
	if sub == "remote" && g.holdsSecret() &&
		oneOf(g.operandsAfter().at(0), "add", "rename", "remove", "rm", "set-head", "set-branches") {
		g.hit("secret-stored")
	}
	if oneOf(sub, "add", "update-index", "stash") &&
		slices.ContainsFunc(g.list, func(a arg) bool { return holdsCredential(g, a.s) || mayName(a) }) {
		g.hit("secret-stored")
		g.found.leaked = true
	}
	if oneOf(sub, "commit", "tag", "notes", "branch", "checkout", "switch", "commit-tree", "push", "hash-object") &&
		(g.holdsSecret() || inList("git-published", sub) && namesCredential(g)) {
		g.hit("secret-sent") // commits are published
	}
}

func mayName(a arg) bool {
	return strings.HasSuffix(a.pat, ".env") || slices.ContainsFunc(couldBe(a.pat), func(p string) bool {
		return p != "/" && strings.Trim(a.pat, "*./") != "" && secretOf(p) > noSecret
	})
}

func namesCredential(g *command) bool {
	return slices.ContainsFunc(g.list, func(a arg) bool {
		return slices.ContainsFunc(pathsIn(a.s), func(p string) bool { return holdsCredential(g, p) })
	})
}

func holdsCredential(c *command, p string) bool {
	return secretOf(c.resolve(p)) > noSecret || strings.Contains(c.made[c.resolve(p)], secret)
}
