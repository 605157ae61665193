package shell

import (
	"path"
	"strings"

	"github.com/handrail-bot/handrail/policy/shell/argv"
	"github.com/handrail-bot/handrail/policy/shell/mark"
	"github.com/handrail-bot/handrail/policy/shell/zone"
)

// git follows git: its own options, then the rule of the sub-command.
func git(c *command, f *finding) string {
	args := c.List
	if rest, ok := strings.CutPrefix(c.name, "git-"); ok {
		args = append(argv.Of(rest), args...)
	}
	i := gitOptions(c, f, args)
	if i >= len(args) {
		return unknown
	}
	sub := args[i].S
	if !mark.Known(sub) {
		f.hit("unknown-command", c.line())
		return unknown
	}
	if c.is("hub") && oneOf(sub, "release", "pull-request", "fork", "create", "delete", "issue", "api", "gist") {
		return subcommands(c, f)
	}
	if text, ok := gitAlias(args[:i], sub); ok {
		c.nested(text)
	}
	f.git = addTo(f.git, sub)
	g := &command{walk: c.walk, List: args[i+1:], name: "git " + sub, path: c.path}
	if !gitReads(sub, g) {
		f.changes = true
	}
	if len(g.List) == 1 && g.Exactly("--help", "-h") {
		return unknown
	}
	gitPrograms(sub, g, f)
	if g.holdsSecret() && oneOf(sub, "commit", "tag", "notes", "branch", "checkout", "switch", "commit-tree") {
		f.hit("secret-sent", g.line()) // what is committed is published
	}
	if r, ok := gitRules[sub]; ok {
		return r(g, f)
	}
	return g.passOn()
}

// gitRules follows the sub-commands of git that do more than read. What a
// rule returns is what the sub-command prints.
var gitRules = map[string]rule{
	"push": gitPush, "config": gitConfig, "remote": gitRemote, "submodule": gitSubmodule, "update-ref": gitUpdateRef, "filter-branch": gitFilter, "filter-repo": gitFilter,
	"clone": gitDownload, "fetch": gitDownload, "pull": gitDownload, "ls-remote": gitDownload,
	"credential": gitCredential, "credential-store": gitCredential, "credential-cache": gitCredential, "credential-osxkeychain": gitCredential, "credential-manager": gitCredential,
	"ls-files": found, "ls-tree": found, "rev-list": found, "rev-parse": found, "log": found, "diff": found, "show": found, "status": found, "grep": found,
	"for-each-ref": gitRefs, "show-ref": gitRefs, "branch": gitBranch, "tag": gitTag, "checkout": gitCheckout, "switch": gitCheckout, "restore": gitCheckout,
	"reset": gitReset, "clean": gitClean, "rm": gitRemove, "mv": gitRemove, "bisect": gitBisect,
	"stash":  gitWords(map[string]string{"clear": "git-discard", "drop": "git-local"}),
	"reflog": gitWords(map[string]string{"expire": "git-refs", "delete": "git-refs"}),
	"lfs":    gitWords(map[string]string{"push": "git-push", "pull": "git-fetch", "fetch": "git-fetch", "install": "git-fetch", "prune": "git-fetch"}),
	"gc":     gitPrune, "prune": gitPrune, "repack": gitPrune, "prune-packed": gitPrune,
	"maintenance": gitWords(map[string]string{"start": "git-config-wide", "register": "git-config-wide"}),
	"commit":      gitOption("amend", "git-local"), "apply": gitOption("unsafe-paths", "write-unknown"), "am": gitOption("unsafe-paths", "write-unknown"),
	"rebase": gitMinor, "replace": gitMinor, "symbolic-ref": gitMinor, "worktree": gitMinor, "archive": gitOutput, "format-patch": gitOutput,
	"daemon": gitServe, "http-backend": gitServe, "instaweb": gitServe, "send-email": gitSend, "imap-send": gitSend, "svn": gitSend, "p4": gitSend,
	"send-pack": gitSend, "cvsserver": gitSend, "upload-pack": gitSend, "receive-pack": gitSend, "http-push": gitSend,
}

// found is what prints names of the workspace.
func found(_ *command, _ *finding) string { return "found-" + unknown }

// gitWords makes a rule of words that are arguments of a sub-command.
func gitWords(rules map[string]string) rule {
	return func(g *command, f *finding) string {
		for _, a := range g.List {
			if r, ok := rules[a.S]; ok {
				f.hit(r, g.line())
			}
		}
		return g.passOn()
	}
}

// gitOption makes a rule of an option of a sub-command.
func gitOption(option, ruleName string) rule {
	return func(g *command, f *finding) string {
		if g.Has(option) {
			f.hit(ruleName, g.line())
		}
		return g.passOn()
	}
}

var gitTakes = []string{"C", "c", "git-dir", "work-tree", "namespace", "super-prefix", "config-env", "attr-source"}

// gitOptions follows the options before the sub-command and returns its
// place.
func gitOptions(c *command, f *finding, args argv.List) int {
	i := 0
	for ; i < len(args); i++ {
		s := args[i].S
		if len(s) < 2 || s[0] != '-' {
			break
		}
		switch {
		case s == "-c":
			gitSetting(c, args.At(i+1), false)
			i++
			continue
		case strings.HasPrefix(s, "-c"):
			gitSetting(c, s[2:], false)
			continue
		case strings.HasPrefix(s, "--config-env"), strings.HasPrefix(s, "--exec-path="):
			f.hit("git-program", c.line())
		}
		if argv.Takes(s, gitTakes) {
			i++
		}
	}
	return i
}

// gitAlias is the text of an alias that the command line itself defines.
func gitAlias(args argv.List, sub string) (string, bool) {
	for _, a := range args {
		if text, ok := strings.CutPrefix(a.S, "alias."+sub+"="); ok {
			if code, shell := strings.CutPrefix(text, "!"); shell {
				return code, true
			}
			return "git " + text, true
		}
	}
	return "", false
}

// gitPrograms follows options that name a program or a file to write.
func gitPrograms(sub string, g *command, f *finding) {
	runs := func(value string) {
		f.hit("git-program", g.line())
		g.nested(value)
	}
	for _, value := range g.Values(sortedKeys(tables().lists["git-program-options"])...) {
		if value != "" {
			runs(value)
		}
	}
	for _, a := range g.List {
		if value, ok := strings.CutPrefix(a.S, "--output="); ok {
			g.write(value)
		}
		if sub == "grep" && strings.HasPrefix(a.S, "-O") && len(a.S) > 2 {
			runs(a.S[2:])
		}
		gitTransport(g, f, a.S)
	}
	if short := map[string]string{"rebase": "x", "difftool": "x", "clone": "u"}[sub]; short != "" {
		if v, ok := g.Value(short); ok {
			runs(v)
		}
	}
	template, hasTemplate := g.Value("template")
	if oneOf(sub, "diff", "log", "show") && g.Exactly("--ext-diff") || oneOf(sub, "init", "clone") && hasTemplate && template != "" {
		f.hit("git-program", g.line())
	}
	if v, ok := g.Value("c", "config"); ok && sub == "clone" {
		gitSetting(g, v, false)
	}
}

// gitTransport follows an address that is a command.
func gitTransport(g *command, f *finding, address string) {
	if _, v, ok := strings.Cut(address, "="); ok && strings.HasPrefix(v, "ext::") {
		address = v
	}
	if startsWith(address, "ext::", "fd::") {
		f.hit("git-program", address)
		g.nested(strings.TrimPrefix(address, "ext::"))
	}
}

func gitPush(g *command, f *finding) string {
	f.network = true
	if g.Has("dry-run") || g.Exactly("-n") {
		return g.passOn()
	}
	ops := g.OperandsAfter("o", "push-option", "repo", "receive-pack", "exec")
	force := g.Exactly("-f", "-d") || g.Has("force", "mirror", "delete", "prune", "force-with-lease")
	for _, a := range ops.From(1) {
		force = force || strings.HasPrefix(a.S, "+") || strings.HasPrefix(a.S, ":")
	}
	if strings.Contains(ops.At(0), secret) {
		f.hit("secret-sent", g.line())
	}
	if force {
		f.hit("git-push-force", g.line())
	} else {
		f.hit("git-push", g.line())
	}
	return g.passOn()
}

func gitFilter(g *command, f *finding) string {
	f.hit("git-rewrite", g.line())
	for _, a := range g.List {
		if strings.Contains(a.S, " ") {
			g.nested(a.S)
		}
	}
	return g.passOn()
}

func gitCredential(g *command, f *finding) string {
	if g.Exactly("approve", "reject", "erase") {
		return g.passOn()
	}
	f.hit("secret-read", g.line())
	return secret
}

func gitRemote(g *command, f *finding) string {
	switch g.OperandsAfter().At(0) {
	case "set-url":
		f.hit("git-redirect", g.line())
	case "add", "rename", "remove", "rm", "set-head", "set-branches":
		if g.holdsSecret() {
			f.hit("secret-stored", g.line())
		}
		f.hit("git-local", g.line())
	case "update", "prune":
		f.network = true
		f.hit("git-fetch", g.line())
	}
	return g.passOn()
}

func gitSubmodule(g *command, f *finding) string {
	switch g.OperandsAfter("b", "o", "u", "c", "depth", "branch", "reference", "jobs", "j").At(0) {
	case "", "status", "summary", "init", "sync":
	case "foreach":
		gitForEach(g, f)
	case "deinit", "absorbgitdirs":
		f.hit("git-local", g.line())
	default:
		return gitDownload(g, f)
	}
	return g.passOn()
}

// gitForEach follows the command that runs in every submodule.
func gitForEach(g *command, f *finding) {
	at := g.Index("foreach") + 1
	for oneOf(g.At(at), "--recursive", "--quiet", "-q") {
		at++
	}
	words := g.From(at)
	if len(words) == 0 {
		return
	}
	if first := firstWord(words[0].S + " x"); strings.Contains(first, "/") || in("shells", programName(first)) {
		f.hit("git-program", g.line())
	}
	if len(words) == 1 {
		g.nested(words[0].S)
		return
	}
	g.exec(words)
}

func gitDownload(g *command, f *finding) string {
	f.network = true
	if g.holdsSecret() {
		f.hit("secret-sent", g.line())
	}
	sub := strings.TrimPrefix(g.name, "git ")
	if sub == "ls-remote" {
		return g.passOn()
	}
	f.hit("git-fetch", g.line())
	ops := g.OperandsAfter("b", "o", "u", "c", "depth", "branch", "origin", "config", "reference", "separate-git-dir", "jobs", "j", "filter", "template", "upload-pack", "shallow-since", "s", "X")
	switch {
	case sub == "fetch" || sub == "pull":
		for _, a := range ops.From(1) {
			if strings.HasPrefix(a.S, "+") || g.Has("force", "f") && strings.Contains(a.S, ":") {
				f.hit("git-local", g.line())
			}
		}
	case sub == "clone" && len(ops) > 0:
		dir := strings.TrimSuffix(path.Base(strings.TrimSuffix(ops[0].S, "/")), ".git")
		if len(ops) > 1 {
			dir = ops[1].S
		}
		p := g.resolve(dir)
		g.content[p] = remoteDir
		if at := zone.Of(p); at != zone.Workspace && at != zone.Temp && at != zone.Root {
			f.write(p)
		}
	}
	return g.passOn()
}

func gitUpdateRef(g *command, f *finding) string {
	switch {
	case !g.Has("stdin") && g.Has("d", "delete"):
		f.hit("git-refs", g.line())
	case !g.Has("stdin"):
		f.hit("git-local", g.line())
	case strings.Contains(g.givenText(), "delete"):
		f.hit("git-rewrite", g.line())
	default:
		f.hit("git-refs", g.line())
	}
	return g.passOn()
}

func gitRefs(g *command, _ *finding) string {
	format, _ := g.Value("format")
	switch {
	case strings.Contains(format, "delete"):
		return "delete refs/" + unknown + "\n"
	case g.Has("shell", "perl", "python", "tcl"):
		return unknown
	}
	return "found-" + unknown
}

func gitBranch(g *command, f *finding) string {
	switch {
	case g.Has("D") || g.Has("delete", "d") && g.Has("force", "f"):
		f.hit("git-branch-force", g.line())
		if !mark.Known(strings.Join(g.Texts(), " ")) {
			f.hit("git-refs", g.line())
		}
	case g.Has("delete", "d", "M", "m", "move", "force", "f", "C"):
		f.hit("git-local", g.line())
	}
	return "found-" + unknown
}

func gitTag(g *command, f *finding) string {
	if g.Has("delete", "d", "force", "f") && !g.Has("l", "list") {
		f.hit("git-local", g.line())
	}
	return "found-" + unknown
}

func gitReset(g *command, f *finding) string {
	if g.Has("hard", "merge", "keep") {
		f.hit("git-discard", g.line())
	} else if g.Has("soft", "mixed") {
		f.hit("git-local", g.line())
	}
	return g.passOn()
}

func gitClean(g *command, f *finding) string {
	switch {
	case g.Has("n", "dry-run"):
	case g.Has("x", "X", "d"):
		f.hit("git-discard", g.line())
	default:
		f.hit("git-local", g.line())
	}
	return g.passOn()
}

func gitPrune(g *command, f *finding) string {
	if g.says("prune=now", "prune=all") || g.is("git prune") {
		f.hit("git-refs", g.line())
	}
	return g.passOn()
}

func gitBisect(g *command, f *finding) string {
	if g.At(0) == "run" && len(g.List) > 1 {
		f.hit("git-program", g.line())
		g.exec(g.List[1:])
	}
	return g.passOn()
}

func gitOutput(g *command, _ *finding) string {
	if v, ok := g.Value("o", "output", "output-directory"); ok {
		g.write(v)
	}
	return g.passOn()
}

func gitServe(g *command, f *finding) string {
	f.network = true
	f.hit("listens", g.line())
	return g.passOn()
}

func gitSend(g *command, f *finding) string {
	f.network = true
	if g.is("git svn") && !g.Exactly("dcommit") || g.is("git p4") && !g.Exactly("submit") {
		f.hit("git-fetch", g.line())
	} else {
		f.hit("git-push", g.line())
	}
	return g.passOn()
}

func gitCheckout(g *command, f *finding) string {
	restores := g.is("git restore")
	discards := g.Exactly("--") || g.Has("force", "f", "discard-changes") || restores && (!g.Has("staged", "S") || g.Has("worktree", "W"))
	for _, a := range g.OperandsAfter("b", "B", "c", "C", "s", "source", "orphan", "pathspec-from-file") {
		p := g.resolve(a.S)
		discards = discards || oneOf(a.S, ".", ":/", "./", "*")
		if g.Exactly("--") || restores {
			f.touch(p)
		}
		if zone.Of(p) == zone.Runner {
			f.write(p)
		}
	}
	if g.Has("B", "C") && !restores {
		f.hit("git-local", g.line())
	}
	if discards {
		f.hit("git-undo", g.line())
	}
	return g.passOn()
}

func gitMinor(g *command, f *finding) string {
	switch {
	case g.is("git worktree") && !g.Exactly("remove", "prune"),
		g.is("git rebase") && g.Exactly("--abort", "--continue", "--skip", "--quit", "--show-current-patch"),
		g.is("git symbolic-ref") && len(g.OperandsAfter()) < 2 && !g.Has("d", "delete"):
	default:
		f.hit("git-local", g.line())
	}
	return g.passOn()
}

// gitRemove is git rm and git mv.
func gitRemove(g *command, f *finding) string {
	ops := g.OperandsAfter()
	for i, a := range ops {
		p := g.resolve(a.S)
		f.touch(p)
		if zone.Of(p) == zone.Runner {
			f.hit("write-workflow", p)
		}
		if g.is("git rm") && !g.Has("cached") && (g.Has("r") || zone.Of(p) == zone.Root) {
			f.hit("delete-tree", g.line())
		}
		if g.is("git mv") && i == len(ops)-1 && i > 0 {
			writeTarget(g, a.S, ops[:i])
		}
	}
	return g.passOn()
}

// gitReading is the sub-commands that read with some of their words only, and
// whether they read without any.
var gitReading = map[string]struct {
	bare  bool
	words []string
}{
	"stash": {false, []string{"list", "show"}}, "reflog": {true, []string{"show"}}, "worktree": {false, []string{"list"}}, "submodule": {true, []string{"status", "summary"}},
	"bisect": {false, []string{"log", "view"}}, "notes": {true, []string{"show", "list"}}, "tag": {true, []string{"-l", "--list", "--points-at", "--contains"}},
}

// gitReads reports whether a sub-command only reads the repository.
func gitReads(sub string, g *command) bool {
	if r, ok := gitReading[sub]; ok {
		return r.bare && len(g.List) == 0 || g.Exactly(r.words...) || sub == "tag" && g.Has("l", "list")
	}
	switch sub {
	case "branch":
		return len(g.OperandsAfter("contains", "no-contains", "merged", "no-merged", "points-at", "sort", "format")) == 0 && !g.Has("d", "D", "m", "M", "c", "C", "f", "delete", "move", "copy", "edit-description", "set-upstream-to", "u", "unset-upstream") || g.Has("list", "l", "contains", "merged")
	case "remote":
		return len(g.List) == 0 || g.Exactly("-v", "show", "get-url") && !g.Exactly("add", "remove", "rm", "rename", "set-url")
	case "config":
		return g.Exactly("--get", "--get-all", "--get-regexp", "get") || len(g.OperandsAfter()) == 1 && !g.Has("unset", "edit", "e")
	case "symbolic-ref":
		return len(g.OperandsAfter()) == 1 && !g.Has("d", "delete")
	}
	return in("git-reads", sub)
}
