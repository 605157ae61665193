package config

import (
	"fmt"
	"slices"

	"go.yaml.in/yaml/v4"

	"github.com/handrail-bot/handrail/policy"
)

// fileKind is what tells the two kinds of configuration files apart: the keys
// that only one of them has.
type fileKind struct {
	keys []string
	hint string
}

var (
	serverKeys = fileKind{
		[]string{"listen", "data", "database", "github", "sessions", "quotas", "policy"},
		"\nThis looks like a server's file: check it with `handrail config check --server FILE`.",
	}
	repositoryKeys = fileKind{
		[]string{
			"models", "mode", "modes", "turns", "auto_approve_commands", "auto_approve_sensitive_edits", "commands", "defaults", "always_ask", "sensitive_files",
			"approvals", "branch", "budget", "pull_request", "undo", "push", "schedules", "long_running_commands",
		},
		"\nThis looks like a repository's .github/agent.yml; in a server's file these keys stand below `policy:`.",
	}
)

// otherKind returns a hint when a file has more keys of the other kind than of its
// own, else "".
func otherKind(data []byte, own, other fileKind) string {
	var top map[string]yaml.Node
	if err := yaml.Load(data, &top); err != nil {
		return ""
	}
	score := 0
	for key := range top {
		if slices.Contains(own.keys, key) {
			score--
		}
		if slices.Contains(other.keys, key) {
			score++
		}
	}
	if score > 0 {
		return other.hint
	}
	return ""
}

// CheckRepositoryFile checks what a repository's file holds.
func CheckRepositoryFile(name string, data []byte) error {
	if _, err := policy.ParseConfig(name, data); err != nil {
		return fmt.Errorf("%w%s", err, otherKind(data, repositoryKeys, serverKeys))
	}
	return nil
}
