package work

import (
	"errors"
	"io/fs"
	"strings"
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
		".cursorrules": workspace.ErrIgnored, "x/AGENTS.md": workspace.ErrIgnored, "up.md": fs.ErrNotExist, "twice.md": nil, "d/AGENTS.md": workspace.ErrIgnored,
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

// Rules in a linked directory count under the name of the link. A link leads neither out of
// the repository nor to a hidden file, and a circle of links ends.
func TestLinkedRules(t *testing.T) {
	repo, commit := linkedRepo(t, map[string]string{
		".agentignore": "secret/\n.cursor/rules/own/b.mdc\n", "secret/x.mdc": "CANARY", "secret/AGENTS.md": "CANARY",
		"docs/rules/a.instructions.md": "---\napplyTo: '**'\n---\nRuleA.", "docs/rules/b.mdc": "---\nalwaysApply: true\n---\nRuleB.",
		"libs/core/AGENTS.md": "Core.", "libs/core/a.go": "package core",
	}, map[string]string{
		".github/instructions": "../docs/rules", ".cursor/rules/shared": "../../docs/rules", ".cursor/rules/own": "shared",
		".cursor/rules/bad": "../../secret", ".cursor/rules/out": "../../../etc", ".cursor/rules/abs": "/etc", ".cursor/rules/self": "self",
		"core": "libs/core", "hop": "core", "round/a": "../round/b", "round/b": "a", "docs/rules/top": "../..", "through": "core/../core", "root": "/libs/core",
	})
	hidden, err := project.HiddenBy(t.Context(), FilesAt(repo, commit))
	if err != nil {
		t.Fatal(err)
	}
	from := Job{Repo: repo, RulesAt: commit}.base(place{rules: hidden})
	rules := &project.Rules{Files: from}
	text, err := rules.Start(t.Context())
	if err != nil || strings.Contains(text, "CANARY") || strings.Contains(text, "own/b.mdc") ||
		!strings.Contains(text, "## .github/instructions/a.instructions.md\n\nRuleA.") ||
		!strings.Contains(text, "## .cursor/rules/shared/b.mdc\n\nRuleB.") {
		t.Errorf("%q, %v", text, err)
	}
	for name, want := range map[string]error{
		"core/AGENTS.md": nil, "hop/AGENTS.md": nil, "hop/../core/AGENTS.md": nil, "through/AGENTS.md": nil,
		"docs/rules/top/libs/core/AGENTS.md": nil, "docs/rules/top/secret/AGENTS.md": workspace.ErrIgnored, "docs/rules/top/../x": fs.ErrNotExist,
		"round/a/AGENTS.md": fs.ErrNotExist, "root/AGENTS.md": fs.ErrNotExist, ".cursor/rules/own/b.mdc": workspace.ErrIgnored, ".cursor/rules/own": workspace.ErrNotFile,
		".cursor/rules/abs/passwd": fs.ErrNotExist, ".cursor/rules/self": fs.ErrNotExist, "core/a.go/AGENTS.md": fs.ErrNotExist,
	} {
		if data, _, err := from.ReadAll(t.Context(), name, 100); !errors.Is(err, want) || want != nil && len(data) > 0 {
			t.Errorf("%s: %q, %v, want %v", name, data, err, want)
		}
	}
	items, err := rules.At(t.Context(), []string{"core/a.go", "round/a/x", "docs/rules/top/secret/x"}, nil)
	if err != nil || len(items) != 1 || items[0].Name != "core/AGENTS.md" {
		t.Errorf("%v, %v", items, err)
	}
}
