package work

import (
	"errors"
	"io/fs"
	"testing"

	"github.com/handrail-bot/handrail/agent/project"
	"github.com/handrail-bot/handrail/agent/workspace"
)

// Neither a hidden file nor what a symlink makes of one is read for a prompt, and no list
// names it.
func TestHiddenRules(t *testing.T) {
	repo, commit := linkedRepo(t, map[string]string{
		".agentignore": "secret.md\nkeys/\n", "secret.md": "CANARY", "keys/AGENTS.md": "CANARY", "AGENTS.md": "Root.", "a/b.txt": "b",
	}, map[string]string{
		"CLAUDE.md": "secret.md", "GEMINI.md": "AGENTS.md", ".cursorrules": "keys/AGENTS.md", "x/AGENTS.md": "../secret.md",
		"up.md": "../../etc/passwd", "twice.md": "GEMINI.md", "d": "keys", "abs.md": "/etc/passwd", "x/ok.md": "../AGENTS.md",
	})
	hidden, err := project.HiddenBy(t.Context(), FilesAt(repo, commit))
	if err != nil {
		t.Fatal(err)
	}
	from := Job{Repo: repo, RulesAt: commit}.base(place{rules: hidden})
	for name, want := range map[string]error{
		"AGENTS.md": nil, "GEMINI.md": nil, "x/ok.md": nil, "secret.md": workspace.ErrIgnored, "keys/AGENTS.md": workspace.ErrIgnored, "CLAUDE.md": workspace.ErrIgnored,
		".cursorrules": workspace.ErrIgnored, "x/AGENTS.md": workspace.ErrIgnored, "up.md": fs.ErrNotExist, "twice.md": fs.ErrNotExist, "d/AGENTS.md": fs.ErrNotExist,
		"abs.md": fs.ErrNotExist, "a": workspace.ErrNotFile, "a/b.txt/c": fs.ErrNotExist, "../x": fs.ErrNotExist,
	} {
		if data, _, err := from.ReadAll(t.Context(), name, 100); !errors.Is(err, want) || want != nil && len(data) > 0 {
			t.Errorf("%s: %q, %v, want %v", name, data, err, want)
		}
	}
	list, err := from.List(t.Context(), ".", true, 100)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list.Entries {
		if e.Path == "secret.md" || e.Path == "keys/" || e.Path == "keys/AGENTS.md" {
			t.Errorf("%s is listed", e.Path)
		}
	}
	rules := &project.Rules{Files: from}
	text, err := rules.Start(t.Context())
	if err != nil || text != "## AGENTS.md\n\nRoot." {
		t.Errorf("%q, %v", text, err)
	}
	if items, err := rules.At(t.Context(), []string{"x/y", "keys/z", "d/z", "a/b.txt/c"}, nil); err != nil || len(items) > 0 {
		t.Errorf("%v, %v", items, err)
	}
}
