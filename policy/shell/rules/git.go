package rules

import (
	"path"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/policy/shell/argv"
	"github.com/handrail-bot/handrail/policy/shell/known"
	"github.com/handrail-bot/handrail/policy/shell/mark"
	"github.com/handrail-bot/handrail/policy/shell/walk"
	"github.com/handrail-bot/handrail/policy/shell/zone"
)

// git follows git: its own options, then the rule of the sub-command.
func git(c *walk.Command) string {
	args := c.List
	if rest, ok := strings.CutPrefix(c.Name, "git-"); ok {
		args = append(argv.Of(rest), args...)
	}
	i := gitOptions(c, args)
	if i >= len(args) {
		return unknown
	}
	sub := args[i].S
	if !mark.Known(sub) {
		c.Hit("unknown-command")
		return unknown
	}
	if c.Is("hub") && walk.OneOf(sub, "release", "pull-request", "fork", "create", "delete", "issue", "api", "gist") {
		return subcommands(c)
	}
	if text, ok := gitAlias(args[:i], sub); ok {
		c.Nested(text)
	}
	c.Found.RanGit(sub)
	ownHooks(c)
	g := &walk.Command{Walk: c.Walk, List: args[i+1:], Name: "git " + sub, Path: c.Path}
	if !gitReads(sub, g) {
		c.Found.Changes = true
	}
	if len(g.List) == 1 && g.Exactly("--help", "-h") {
		return unknown
	}
	gitPrograms(sub, g)
	keepsSecret(sub, g)
	if slices.Contains(finds(g), "secret-read") {
		return secret
	}
	if r, ok := gitRules[sub]; ok {
		return r(g)
	}
	return g.PassOn()
}

// gitRules follows the sub-commands of git for which a line of the tables is
// not enough. What a rule returns is what the sub-command prints.
var gitRules = map[string]walk.Rule{
	"push": gitPush, "config": gitConfig, "submodule": gitSubmodule, "update-ref": gitUpdateRef, "filter-branch": gitFilter, "filter-repo": gitFilter,
	"clone": gitDownload, "fetch": gitDownload, "pull": gitDownload, "ls-remote": gitDownload,
	"ls-files": found, "ls-tree": found, "rev-list": found, "rev-parse": found, "log": found, "diff": found, "show": found, "status": found, "grep": found, "tag": found,
	"for-each-ref": gitRefs, "show-ref": gitRefs, "branch": gitBranch, "checkout": gitCheckout, "switch": gitCheckout, "restore": gitCheckout,
	"rm": gitRemove, "mv": gitRemove, "bisect": gitBisect, "archive": gitOutput, "format-patch": gitOutput,
}

// found is what prints names of the workspace.
func found(g *walk.Command) string { return "found-" + unknown + fetchedText(g) }

var gitTakes = []string{"C", "c", "git-dir", "work-tree", "namespace", "super-prefix", "config-env", "attr-source"}

// gitOptions follows the options before the sub-command and returns its
// place.
func gitOptions(c *walk.Command, args argv.List) int {
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
			c.Hit("git-program")
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
func gitPrograms(sub string, g *walk.Command) {
	runs := func(value string) {
		g.Hit("git-program")
		g.Nested(value)
	}
	for _, value := range g.Values(known.Words("git-program-options")...) {
		if value != "" {
			runs(value)
		}
	}
	for _, a := range g.List {
		if value, ok := strings.CutPrefix(a.S, "--output="); ok {
			g.Write(value)
		}
		if sub == "grep" && strings.HasPrefix(a.S, "-O") && len(a.S) > 2 {
			runs(a.S[2:])
		}
		gitTransport(g, a.S)
	}
	if short := map[string]string{"rebase": "x", "difftool": "x", "clone": "u"}[sub]; short != "" {
		if v, ok := g.Value(short); ok {
			runs(v)
		}
	}
	template, hasTemplate := g.Value("template")
	if walk.OneOf(sub, "diff", "log", "show") && g.Exactly("--ext-diff") || walk.OneOf(sub, "init", "clone") && hasTemplate && template != "" {
		g.Hit("git-program")
	}
	if v, ok := g.Value("c", "config"); ok && sub == "clone" {
		gitSetting(g, v, false)
	}
}

// gitTransport follows an address that is a command.
func gitTransport(g *walk.Command, address string) {
	if _, v, ok := strings.Cut(address, "="); ok && strings.HasPrefix(v, "ext::") {
		address = v
	}
	if startsWith(address, "ext::", "fd::") {
		g.Found.Hit("git-program", address)
		g.Nested(strings.TrimPrefix(address, "ext::"))
	}
}

func gitFilter(g *walk.Command) string {
	g.Hit("git-rewrite")
	for _, a := range g.List {
		if strings.Contains(a.S, " ") {
			g.Nested(a.S)
		}
	}
	return g.PassOn()
}

func gitSubmodule(g *walk.Command) string {
	switch g.OperandsAfter("b", "o", "u", "c", "depth", "branch", "reference", "jobs", "j").At(0) {
	case "", "status", "summary", "init", "sync":
	case "foreach":
		gitForEach(g)
	case "deinit", "absorbgitdirs":
		g.Hit("git-local")
	default:
		return gitDownload(g)
	}
	return g.PassOn()
}

// gitForEach follows the command that runs in every submodule.
func gitForEach(g *walk.Command) {
	at := g.Index("foreach") + 1
	for walk.OneOf(g.At(at), "--recursive", "--quiet", "-q") {
		at++
	}
	words := g.From(at)
	if len(words) == 0 {
		return
	}
	if first := walk.FirstWord(words[0].S + " x"); strings.Contains(first, "/") || known.In("shells", walk.ProgramName(first)) {
		g.Hit("git-program")
	}
	if len(words) == 1 {
		g.Nested(words[0].S)
		return
	}
	g.Exec(words)
}

func gitDownload(g *walk.Command) string {
	g.Found.Network = true
	if g.HoldsSecret() {
		g.Hit("secret-sent")
	}
	sub := strings.TrimPrefix(g.Name, "git ")
	if sub == "ls-remote" {
		return g.PassOn() + remote
	}
	g.Hit("git-fetch")
	ops := g.OperandsAfter("b", "o", "u", "c", "depth", "branch", "origin", "config", "reference", "separate-git-dir", "jobs", "j", "filter", "template", "upload-pack", "shallow-since", "s", "X")
	switch {
	case sub == "fetch" || sub == "pull":
		if strings.Contains(ops.At(0), "://") || strings.Contains(ops.At(0), "@") {
			g.Content["FETCH_HEAD"] = remote
			if sub == "pull" {
				g.Content["."] = walk.RemoteDir
			}
		}
		for _, a := range ops.From(1) {
			if strings.HasPrefix(a.S, "+") || g.Has("force", "f") && strings.Contains(a.S, ":") {
				g.Hit("git-local")
			}
		}
	case sub == "clone" && len(ops) > 0:
		dir := strings.TrimSuffix(path.Base(strings.TrimSuffix(ops[0].S, "/")), ".git")
		if len(ops) > 1 {
			dir = ops[1].S
		}
		p := g.Resolve(dir)
		g.Content[p] = walk.RemoteDir
		if at := zone.Of(p); at != zone.Workspace && at != zone.Temp && at != zone.Root {
			g.Found.Write(p)
		}
	}
	return g.PassOn()
}

func gitBranch(g *walk.Command) string {
	switch {
	case g.Has("D") || g.Has("delete", "d") && g.Has("force", "f"):
		g.Hit("git-branch-force")
		if !mark.Known(strings.Join(g.Texts(), " ")) {
			g.Hit("git-refs")
		}
	case g.Has("delete", "d", "M", "m", "move", "force", "f", "C"):
		g.Hit("git-local")
	}
	return "found-" + unknown
}

func gitBisect(g *walk.Command) string {
	if g.At(0) == "run" && len(g.List) > 1 {
		g.Hit("git-program")
		g.Exec(g.List[1:])
	}
	return g.PassOn()
}

func gitOutput(g *walk.Command) string {
	if v, ok := g.Value("o", "output", "output-directory"); ok {
		g.Write(v)
	}
	if g.Has("remote") {
		return g.PassOn() + remote
	}
	return g.PassOn()
}

func gitCheckout(g *walk.Command) string {
	if _, ok := g.File("FETCH_HEAD"); ok && g.Exactly("FETCH_HEAD") {
		g.Content["."] = walk.RemoteDir
	}
	restores := g.Is("git restore")
	discards := g.Exactly("--") || g.Has("force", "f", "discard-changes") || restores && (!g.Has("staged", "S") || g.Has("worktree", "W"))
	for _, a := range g.OperandsAfter("b", "B", "c", "C", "s", "source", "orphan", "pathspec-from-file") {
		p := g.Resolve(a.S)
		discards = discards || walk.OneOf(a.S, ".", ":/", "./", "*")
		if g.Exactly("--") || restores {
			g.Found.Touch(p)
		}
		if at := zone.Of(p); at == zone.Runner || at == zone.Obeyed && (g.Exactly("--") || restores) {
			g.Found.Write(p)
		}
	}
	if g.Has("B", "C") && !restores {
		g.Hit("git-local")
	}
	if discards {
		g.Hit("git-undo")
	}
	return g.PassOn()
}

// gitRemove is git rm and git mv.
func gitRemove(g *walk.Command) string {
	ops := g.OperandsAfter()
	for i, a := range ops {
		p := g.Resolve(a.S)
		g.Found.Touch(p)
		if zone.Of(p) == zone.Runner {
			g.Found.Hit("write-workflow", p)
		}
		if g.Is("git rm") && !g.Has("cached") && (g.Has("r") || zone.Of(p) == zone.Root) {
			g.Hit("delete-tree")
		}
		if g.Is("git mv") && i == len(ops)-1 && i > 0 {
			writeTarget(g, a.S, ops[:i])
		}
	}
	return g.PassOn()
}

// gitReads reports whether a sub-command only reads the repository.
func gitReads(sub string, g *walk.Command) bool {
	if words, ok := known.Tables().Reads[g.Name]; ok {
		return g.Fits(words)
	}
	switch sub {
	case "branch":
		return len(g.OperandsAfter("contains", "no-contains", "merged", "no-merged", "points-at", "sort", "format")) == 0 && !g.Has("d", "D", "m", "M", "c", "C", "f", "delete", "move", "copy", "edit-description", "set-upstream-to", "u", "unset-upstream") || g.Has("list", "l", "contains", "merged")
	case "config":
		return g.Exactly("--get", "--get-all", "--get-regexp", "get") || len(g.OperandsAfter()) == 1 && !g.Has("unset", "edit", "e")
	}
	return known.In("git-reads", sub)
}
