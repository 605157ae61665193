package project

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/handrail-bot/handrail/agent/session"
)

// A model that calls no tools sees all the files that its task changes, although the request
// names none of them.
func TestViewHoldsTheFilesToChange(t *testing.T) {
	tasks, err := filepath.Glob("../../testdata/ladder/*.txtar")
	if err != nil || len(tasks) == 0 {
		t.Fatal("no tasks", err)
	}
	for _, name := range tasks {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		task := txtar.Parse(data)
		head := string(task.Comment)
		if !strings.Contains(head, "\nside: tune\n") {
			continue
		}
		_, request, _ := strings.Cut(head, "request: ")
		request, _, _ = strings.Cut(request, "\n")
		files := map[string]string{}
		var changed []string
		for _, f := range task.Files {
			if path, ok := strings.CutPrefix(f.Name, "repo/"); ok {
				files[path] = string(f.Data)
			}
			if path, ok := strings.CutPrefix(f.Name, "solution/"); ok {
				changed = append(changed, path)
			}
		}
		view := View(t.Context(), request, open(t, files))
		for _, path := range changed {
			if files[path] != "" && !slices.ContainsFunc(view, func(it session.Item) bool { return it.Name == path }) {
				t.Errorf("%s: %s is not in view, %d files are", filepath.Base(name), path, len(view))
			}
		}
	}
}
