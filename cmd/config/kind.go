package config

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/handrail-bot/handrail/bot"
	"github.com/handrail-bot/handrail/bot/custom"
	"github.com/handrail-bot/handrail/bot/schedule"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/strict"
)

// fileKind describes one kind of configuration file by the keys that only this kind has.
type fileKind struct {
	keys []string
	hint string
}

var (
	serverKeys = fileKind{
		[]string{"listen", "data", "database", "dashboard", "metrics", "traces", "github", "sessions", "quotas", "bases", "layers", "retention", "policy", "engine", "acp"},
		"\nThis looks like a server's file: check it with `handrail config check --server FILE`.",
	}
	repositoryKeys = fileKind{
		[]string{
			"models", "mode", "modes", "turns", "auto_approve_commands", "auto_approve_sensitive_edits", "commands", "defaults", "always_ask", "sensitive_files",
			"approvals", "branch", "budget", "comments", "pull_request", "undo", "push", "triggers", "ci_fix", "schedules", "schedule_limits", "long_running_commands", "mcp", "setup", "language_servers", "test", "verify", "tools", "repositories", "triage",
		},
		"\nThis looks like a repository's .github/agent.yml; in a server's file these keys stand below `policy:`.",
	}
)

// otherKind returns a hint if a file has more keys of the other kind than its own, or "".
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

// CheckCommands checks custom commands: the one in an .md file, or those beside a
// repository's configuration file.
func CheckCommands(file string) error {
	list, err := filepath.Glob(filepath.Join(filepath.Dir(file), "agent", "commands", "*.md"))
	if strings.HasSuffix(file, ".md") {
		list, err = []string{file}, nil
	}
	if err != nil {
		return err
	}
	var files []custom.File
	for _, name := range list {
		f := custom.File{Path: path.Join(custom.Dir, filepath.Base(name))}
		f.Data, f.Err = os.ReadFile(name)
		files = append(files, f)
	}
	var wrong error
	for _, c := range custom.Read(files, bot.Taken) {
		wrong = errors.Join(wrong, c.Err)
	}
	return wrong
}

// CheckRepositoryFile parses and checks a repository's configuration file.
func CheckRepositoryFile(name string, data []byte) (policy.Config, *strict.Document, error) {
	cfg, doc, err := policy.Load(data)
	err = strict.Both(err, doc.Locate(errors.Join(cfg.CheckEffect(), cfg.CheckRepository(), cronFaults(cfg))))
	if err != nil {
		err = fmt.Errorf("parse config %s: %w%s", name, err, otherKind(data, repositoryKeys, serverKeys))
	}
	return cfg, doc, err
}

// cronFaults returns a fault for each invalid cron expression.
func cronFaults(cfg policy.Config) error {
	var bad strict.Faults
	for i, s := range cfg.Schedules {
		if text := schedule.CronFault(s); text != "" {
			bad = append(bad, strict.At(strings.TrimPrefix(text, "cron: "), "schedules", i, "cron"))
		}
	}
	return bad.Err()
}
