package deps

import (
	"path"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/policy/shell"
)

// programs are other names of managers.
var programs = map[string]string{"pip3": "pip", "bundler": "bundle", "yarnpkg": "yarn"}

// FindInstall returns the first command of a line that can only fail without a network
// and with empty caches. needed are the managers whose packages the repository lists:
// without any, there is nothing to install. A command in doubt is none.
func FindInstall(line string, needed []*Manager) (command string, by *Manager) {
	for _, c := range shell.Analyze(line).Commands {
		words := strings.Fields(c)
		if len(words) > 2 && strings.HasPrefix(path.Base(words[0]), "python") && words[1] == "-m" || len(words) > 1 && words[0] == "corepack" {
			words = words[slices.IndexFunc(words, func(w string) bool { return w == "-m" || w == "corepack" })+1:]
		}
		if len(words) == 0 {
			continue
		}
		name := path.Base(words[0])
		if other := programs[name]; other != "" {
			name = other
		}
		for i := range managers {
			if m := &managers[i]; m.Name == name && m.fetches(words[1:], needed) {
				return c, m
			}
		}
	}
	return "", nil
}

// fetches reports whether a call of the manager's program needs a network.
func (m *Manager) fetches(words []string, needed []*Manager) bool {
	var ops []string
	for _, w := range words {
		option, _, _ := strings.Cut(w, "=")
		switch {
		case slices.Contains(m.offline, option), option == "--help", option == "--version", option == "-h":
			return false
		case strings.HasPrefix(w, "-"), strings.HasPrefix(w, "+"):
		default:
			ops = append(ops, w)
		}
	}
	verb := ""
	for n := min(2, len(ops)); n >= 0; n-- {
		if v := strings.Join(ops[:n], " "); slices.Contains(m.installs, v) && (v != "" || len(words) == 0) {
			verb, ops = v, ops[n:]
			break
		}
		if n == 0 {
			return false
		}
	}
	listed := slices.ContainsFunc(needed, func(n *Manager) bool { return familyOf(n) == familyOf(m) })
	switch {
	case slices.ContainsFunc(ops, isLocal), m.Name == "go" && verb == "install" && !slices.ContainsFunc(ops, isVersioned):
		return false
	case len(ops) == 0:
		return listed
	case slices.ContainsFunc(words, func(w string) bool {
		return w == "-r" || w == "--requirement" || w == "-e" || w == "-C" || w == "--prefix"
	}):
		return listed
	}
	return true
}

// isLocal reports whether an operand is a file or a directory. A variable may be one.
func isLocal(word string) bool {
	return strings.HasPrefix(word, ".") || strings.HasPrefix(word, "/") || strings.HasPrefix(word, "file:") ||
		strings.ContainsAny(word, "$`*") || slices.Contains([]string{".whl", ".tgz", ".gz", ".zip"}, path.Ext(word))
}

func isVersioned(word string) bool { return strings.Contains(word, "@") }
