package shell

import (
	"path"
	"slices"
	"strings"
)

// gitTool follows git: its global options, then the lines of the tables for the
// sub-command, and its code.
func gitTool(c *command) string {
	args := c.list
	if rest, ok := strings.CutPrefix(c.name, "git-"); ok {
		args = append(argsOf(rest), args...)
	}
	args = args[gitOptions(c, args):]
	if len(args) == 0 {
		return unknown
	}
	sub := args[0].s
	if !isKnown(sub) {
		c.hit("unknown-command")
		return unknown
	}
	c.found.git = addTo(c.found.git, sub)
	g := c.with("git "+sub, args[1:])
	if !readsOnly(g) {
		c.found.changes = true
	}
	if len(g.list) == 1 && g.exactly("--help", "-h") {
		return unknown
	}
	g.rateNamingOptions()
	if g.contains("ext::") || g.contains("fd::") { // an address that names a program
		g.hit("git-program")
		g.mayRun(g.words())
	}
	keepsSecret(sub, g)
	rules, rated := g.rated()
	switch sub {
	case "push":
		g.found.network = true
		switch {
		case rated:
		case toOwnBranch(g):
			g.hit("git-push-own")
		default:
			g.hit("git-push")
		}
	case "config":
		gitConfig(g)
	case "clone", "fetch", "pull":
		gitDownload(g)
	case "checkout", "switch", "restore", "rm", "mv":
		gitPaths(g)
	case "bisect", "submodule":
		mayWrap(g)
	}
	switch {
	case anyIn("secret-rules", rules):
		return secret
	case g.found.network && g.says("FETCH_HEAD:"), sub == "ls-remote", g.has("remote") && sub == "archive":
		return remote
	}
	return "found-" + g.passedOn()
}

var gitTakes = []string{"C", "c", "git-dir", "work-tree", "namespace", "super-prefix", "config-env", "attr-source"}

// gitOptions follows the options before the sub-command and returns its index.
func gitOptions(c *command, args list) int {
	i := 0
	for ; i < len(args) && len(args[i].s) > 1 && args[i].s[0] == '-'; i++ {
		s := args[i].s
		if setting, ok := strings.CutPrefix(s, "-c"); ok {
			if setting == "" {
				setting = args.at(i + 1)
			}
			gitSetting(c, setting)
		}
		if startsWith(s, "--config-env", "--exec-path=") {
			c.hit("git-program")
		}
		if takesValue(s, gitTakes) {
			i++
		}
	}
	return min(i, len(args))
}

// gitSetting rates one setting, key=value, by the first line of the tables with its key.
func gitSetting(c *command, kv string) {
	key, value, _ := strings.Cut(kv, "=")
	key, value = strings.ToLower(key), strings.TrimSpace(value)
	text, runs := strings.CutPrefix(value, "!")
	for _, r := range rowsOf("setting", "git") {
		if !slices.ContainsFunc(r[0], func(word string) bool { return like(word, key) }) {
			continue
		}
		safe := inList("git-safe-programs", programName(firstWord(text+" :"))) && !strings.ContainsAny(text, ";|&$`(")
		switch rule := r[1][0]; {
		case rule == "alias" && runs:
			c.found.hit("git-program", kv)
			c.nested(text)
		case rule == "alias":
			c.nested("git " + value)
		case value == "/dev/null", rule == "git-program" && safe:
		default:
			c.found.hit(rule, kv)
			c.nested(text)
		}
		return
	}
}

func endsWith(s string, ends ...string) bool {
	return slices.ContainsFunc(ends, func(e string) bool { return strings.HasSuffix(s, e) })
}

// gitDownload marks the text that git gets from another machine.
func gitDownload(g *command) {
	ops := g.operands()
	if !g.is("git clone") {
		if ops.contains("://") || ops.contains("@") {
			g.made["FETCH_HEAD"] = remote
			if g.is("git pull") {
				g.made["."] = remoteDir
			}
		}
		return
	}
	for _, kv := range g.options("c", "config") {
		gitSetting(g, kv)
	}
	cloned(g, append(argsOf("clone"), ops...))
}

// gitPaths handles the sub-commands that change files: all that they name, or those
// behind "--".
func gitPaths(g *command) {
	if _, ok := g.made["FETCH_HEAD"]; ok && g.exactly("FETCH_HEAD") {
		g.made["."] = remoteDir
	}
	names := g.exactly("--") || !g.is("git checkout", "git switch")
	for _, a := range g.operands() {
		if p := g.resolve(a.s); names || zoneOf(p) == runner {
			g.found.acts("write", p)
		}
	}
}

// gitConfig rates a setting that is stored.
func gitConfig(g *command) {
	args := g.operands()
	i := slices.IndexFunc(args, func(a arg) bool { return strings.Contains(a.s, ".") })
	if readsOnly(g) || i < 0 || i+1 >= len(args) {
		return
	}
	gitSetting(g, args[i].s+"="+args[i+1].s)
	if file, ok := g.option("f", "file"); ok {
		g.write(file)
	}
}

// toOwnBranch reports whether a push only adds commits to the session's branch.
func toOwnBranch(g *command) bool {
	words := slices.DeleteFunc(g.words(), func(s string) bool {
		return oneOf(s, "-u", "--set-upstream", "-q", "--quiet", "-v", "--verbose", "--progress")
	})
	if len(words) != 2 || words[0] != "origin" || g.branch == "" {
		return false
	}
	from, to, ok := strings.Cut(words[1], ":")
	if !ok {
		to = from
	}
	return from != "" && strings.TrimPrefix(to, "refs/heads/") == g.branch //control:own-branch
}

// keepsSecret rates credentials in settings and in commits, which are published.
func keepsSecret(sub string, g *command) {
	switch {
	case oneOf(sub, "config", "remote"):
		if g.holdsSecret() && !g.contains("url") && !g.contains("extraheader") {
			g.hit("secret-stored")
		}
	case oneOf(sub, "add", "update-index", "stash"):
		if namesCredential(g) {
			g.hit("secret-stored")
			g.found.leaked = true
		}
	case g.holdsSecret() || inList("git-published", sub) && namesCredential(g):
		g.hit("secret-sent")
	}
}

// mayName reports whether a pattern may name a file with credentials.
func mayName(a arg) bool {
	return strings.HasSuffix(a.pat, ".env") || strings.Trim(a.pat, "*./") != "" &&
		slices.ContainsFunc(couldBe(a.pat), func(p string) bool { return p != "/" && secretOf(p) > noSecret })
}

// namesCredential reports whether an argument, or a part of it, is a file with credentials.
func namesCredential(c *command) bool {
	return slices.ContainsFunc(c.list, func(a arg) bool {
		isOne := func(p string) bool { return holdsCredential(c, p) }
		return mayName(a) || slices.ContainsFunc(append(partsOf(a.s, 8), pathsIn(a.s)...), isOne)
	})
}

func holdsCredential(c *command, p string) bool {
	return secretOf(c.resolve(p)) > noSecret || strings.Contains(c.made[c.resolve(p)], secret)
}

// cloned marks the directory of a clone: the operand behind the address, or its name.
func cloned(c *command, ops list) {
	at := ops.index("clone", "checkout", "co", "export", "branch")
	if at < 0 || at+1 >= len(ops) {
		return
	}
	dir := strings.TrimSuffix(path.Base(strings.TrimSuffix(ops[at+1].s, "/")), ".git")
	if at+2 < len(ops) {
		dir = ops[at+2].s
	}
	p := c.resolve(dir)
	c.made[p] = remoteDir
	if at := zoneOf(p); at != workspace && at != temp && at != zoneRoot {
		c.found.acts("write", p)
	}
}
