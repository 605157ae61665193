package rules

import (
	"maps"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/policy/shell/argv"
	"github.com/handrail-bot/handrail/policy/shell/known"
	"github.com/handrail-bot/handrail/policy/shell/walk"
)

// settingFits reports whether a setting of git is in a list whose words are
// keys, beginnings (a.*) and ends (*.a).
func settingFits(list, key string) bool {
	if known.In(list, key) {
		return true
	}
	for i := range len(key) {
		if key[i] == '.' && (known.In(list, key[:i+1]+"*") || known.In(list, "*"+key[i:])) {
			return true
		}
	}
	return false
}

// gitSetting rates one setting, key=value. lasting says it is stored.
func gitSetting(c *walk.Command, kv string, lasting bool) {
	key, value, _ := strings.Cut(kv, "=")
	k := strings.ToLower(key)
	value = strings.TrimSpace(value)
	switch {
	case settingFits("git-program-settings", k):
		gitProgram(c, kv, value, lasting)
	case strings.HasPrefix(k, "alias."):
		if code, ok := strings.CutPrefix(value, "!"); ok {
			c.Found.Hit("git-program", kv)
			c.Nested(code)
		}
	case settingFits("git-path-settings", k), strings.HasPrefix(k, "include"), k == "safe.directory" && value == "*":
		if value != "/dev/null" {
			c.Found.Hit("git-program", kv)
		}
	case strings.Contains(k, "insteadof"), strings.HasPrefix(k, "credential."),
		strings.HasPrefix(k, "http.") && endsWith(k, "proxy", "sslverify", "extraheader", "cookiefile", "sslcainfo"),
		strings.HasPrefix(k, "remote.") && endsWith(k, "url", "proxy"):
		c.Found.Hit("git-redirect", kv)
	}
}

func endsWith(s string, ends ...string) bool {
	return slices.ContainsFunc(ends, func(e string) bool { return strings.HasSuffix(s, e) })
}

func gitProgram(c *walk.Command, kv, value string, lasting bool) {
	value = strings.TrimPrefix(value, "!")
	if known.In("git-safe-programs", walk.ProgramName(walk.FirstWord(value+" :"))) && !strings.ContainsAny(value, ";|&$`(") {
		if lasting && strings.Contains(kv, "helper") && value == "store" {
			c.Found.Hit("git-program", kv)
		}
		return
	}
	c.Found.Hit("git-program", kv)
	c.Nested(value)
}

func listSettings(g *walk.Command) string {
	if g.Has("name-only") {
		return unknown
	}
	g.Hit("git-config-list")
	return secret
}

func gitConfig(g *walk.Command) string {
	args := g.OperandsAfter("f", "file", "blob", "default", "type")
	if g.Exactly("-l", "--list") || g.At(0) == "list" {
		return listSettings(g)
	}
	if walk.OneOf(args.At(0), "get", "set", "unset", "edit", "rename-section", "remove-section") {
		args = args[1:]
	}
	if g.Exactly("--get", "--get-all", "--get-regexp", "--get-urlmatch", "get", "--show-origin") || len(args) < 2 && !g.Has("unset", "edit", "e") {
		for _, a := range args {
			k := strings.ToLower(a.S)
			if strings.Contains(k, "extraheader") || strings.Contains(k, "token") || strings.Contains(k, "password") || strings.Contains(k, "secret") || strings.HasPrefix(k, "credential") && strings.Contains(k, "user") {
				g.Hit("secret-read")
				return secret
			}
		}
		return unknown
	}
	g.Found.Changes = true
	for i, a := range args {
		if strings.Contains(a.S, ".") && i+1 < len(args) {
			gitSetting(g, a.S+"="+args[i+1].S, true)
			break
		}
	}
	if g.Has("global", "system", "unset", "unset-all", "remove-section", "edit") {
		g.Hit("git-config-wide")
	}
	if file, ok := g.Value("f", "file"); ok {
		g.Write(file)
	}
	return ""
}

// fetchedText marks what git prints of a file that the line fetched.
func fetchedText(g *walk.Command) string {
	if g.Found.Network && g.Says("FETCH_HEAD:") {
		return remote
	}
	return ""
}

// ownHooks follows the hooks that the line itself wrote: git may run any.
func ownHooks(c *walk.Command) {
	for _, name := range slices.Sorted(maps.Keys(c.Content)) {
		if strings.HasPrefix(name, ".git/hooks/") {
			c.OnlyCritical(argv.Of("sh", "-c", c.Content[name]), c.Line())
		}
	}
}
