package work

import (
	"slices"
	"testing"

	"github.com/handrail-bot/handrail/agent/project"
)

// Files in directories whose names begin or end with dots are read and listed as
// others are.
func TestFilesInDottedDirectories(t *testing.T) {
	names := []string{".github/copilot-instructions.md", ".a/.b/c.txt", "x./y.txt", "..z/.w", "plain/f.txt", "top.txt"}
	files := map[string]string{}
	for _, name := range names {
		files[name] = "text of " + name
	}
	repo, commit := scanRepo(t, files)
	from := commitFiles{repo: repo, commit: commit}
	for _, name := range names {
		if data, _, err := from.ReadAll(t.Context(), name, 100); err != nil || string(data) != "text of "+name {
			t.Errorf("%s: %q, %v", name, data, err)
		}
	}
	for dir, want := range map[string][]string{
		".github": {".github/copilot-instructions.md"}, ".a/.b/": {".a/.b/c.txt"}, "x.": {"x./y.txt"}, "..z": {"..z/.w"}, "./plain": {"plain/f.txt"},
		".": {"..z/", ".a/", ".github/", "plain/", "top.txt", "x./"}, "": {"..z/", ".a/", ".github/", "plain/", "top.txt", "x./"},
	} {
		list, err := from.List(t.Context(), dir, false, 100)
		if err != nil {
			t.Errorf("%s: %v", dir, err)
		}
		var got []string
		for _, e := range list.Entries {
			got = append(got, e.Path)
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s holds %v, want %v", dir, got, want)
		}
	}
	if rules, err := (&project.Rules{Files: from}).Start(t.Context()); err != nil || rules != "## .github/copilot-instructions.md\n\ntext of .github/copilot-instructions.md" {
		t.Errorf("instructions: %q, %v", rules, err)
	}
}
