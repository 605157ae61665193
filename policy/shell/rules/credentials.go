package rules

import (
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/policy/shell/argv"
	"github.com/handrail-bot/handrail/policy/shell/walk"
	"github.com/handrail-bot/handrail/policy/shell/zone"
)

// keepsSecret rates sub-commands of git that take a credential into the
// repository.
func keepsSecret(sub string, g *walk.Command) {
	if sub == "config" && g.HoldsSecret() && !g.Contains("url") && !g.Contains("extraheader") {
		g.Hit("secret-stored")
	}
	if sub == "remote" && g.HoldsSecret() && walk.OneOf(g.OperandsAfter().At(0), "add", "rename", "remove", "rm", "set-head", "set-branches") {
		g.Hit("secret-stored")
	}
	if walk.OneOf(sub, "add", "update-index", "stash") && slices.ContainsFunc(g.List, func(a argv.Word) bool { return holdsCredential(g, a.S) || mayName(a) }) {
		g.Hit("secret-stored")
		g.Found.Leaked = true
	}
	if walk.OneOf(sub, "commit", "tag", "notes", "branch", "checkout", "switch", "commit-tree", "push", "hash-object") && (g.HoldsSecret() || readsSecret(sub, g)) {
		g.Hit("secret-sent") // what is committed is published
	}
}

// mayName reports whether a pattern may stand for a file of credentials.
func mayName(a argv.Word) bool {
	return strings.HasSuffix(a.Pat, ".env") || slices.ContainsFunc(zone.CouldBe(a.Pat), func(p string) bool {
		return p != "/" && strings.Trim(a.Pat, "*./") != "" && zone.SecretOf(p) > zone.NoSecret
	})
}

// holdsCredential reports whether a path names a file that holds a credential.
func holdsCredential(c *walk.Command, p string) bool {
	own, _ := c.File(p)
	return zone.SecretOf(c.Resolve(p)) > zone.NoSecret || strings.Contains(own, secret)
}

// readsSecret reports whether a sub-command takes a credential into the
// repository from a file.
func readsSecret(sub string, g *walk.Command) bool {
	if sub == "hash-object" {
		return strings.Contains(hashed(g), secret)
	}
	file, ok := g.Value("F", "file")
	return ok && strings.Contains(g.ReadFile(file), secret)
}

// hashed is what git hash-object reads.
func hashed(g *walk.Command) string {
	text := ""
	for _, a := range g.OperandsAfter("t", "path") {
		text += g.ReadFile(a.S)
	}
	if g.Has("stdin") {
		text += g.GivenText()
	}
	return text
}
