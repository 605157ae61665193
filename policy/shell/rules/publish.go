package rules

import (
	"strings"

	"github.com/handrail-bot/handrail/policy/shell/walk"
)

func gitPush(g *walk.Command) string {
	g.Found.Network = true
	if g.Has("dry-run") || g.Exactly("-n") {
		return g.PassOn()
	}
	ops := g.OperandsAfter("o", "push-option", "repo", "receive-pack", "exec")
	force := g.Exactly("-f", "-d") || g.Has("force", "mirror", "delete", "prune", "force-with-lease")
	for _, a := range ops.From(1) {
		force = force || strings.HasPrefix(a.S, "+") || strings.HasPrefix(a.S, ":")
	}
	if strings.Contains(ops.At(0), secret) {
		g.Hit("secret-sent")
	}
	switch {
	case force:
		g.Hit("git-push-force")
	case toOwnBranch(g):
		g.Hit("git-push-own")
	default:
		g.Hit("git-push")
	}
	return g.PassOn()
}

// toOwnBranch reports whether a push adds commits to the branch that the session
// works on, and does nothing else.
func toOwnBranch(g *walk.Command) bool {
	var words []string
	for _, a := range g.List {
		if !walk.OneOf(a.S, "-u", "--set-upstream", "-q", "--quiet", "-v", "--verbose", "--progress") {
			words = append(words, a.S)
		}
	}
	if len(words) != 2 || words[0] != "origin" || g.Branch == "" {
		return false
	}
	from, to, ok := strings.Cut(words[1], ":")
	if !ok {
		to = from
	}
	return from != "" && strings.TrimPrefix(to, "refs/heads/") == g.Branch //control:own-branch
}

func gitUpdateRef(g *walk.Command) string {
	switch {
	case !g.Has("stdin") && g.Has("d", "delete") && g.Says("found-"+unknown):
		g.Hit("git-rewrite")
	case !g.Has("stdin") && g.Has("d", "delete"):
		g.Hit("git-refs")
	case !g.Has("stdin"):
		g.Hit("git-local")
	case strings.Contains(g.GivenText(), "delete"):
		g.Hit("git-rewrite")
	default:
		g.Hit("git-refs")
	}
	return g.PassOn()
}

func gitRefs(g *walk.Command) string {
	format, _ := g.Value("format")
	switch {
	case strings.Contains(format, "delete"):
		return "delete refs/" + unknown + "\n"
	case g.Has("shell", "perl", "python", "tcl"):
		return unknown
	}
	return "found-" + unknown
}
