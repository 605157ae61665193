package project

import (
	"context"
	"path"
	"strings"
)

// looseTests adds test commands that no manifest declares: the files are named as the
// standard test runner of their language expects.
func (f *Facts) looseTests(ctx context.Context, t *tree) {
	for _, c := range f.Commands {
		if c.Does == "test" {
			return
		}
	}
	add := func(line, from string) {
		f.Commands = append(f.Commands, Command{Does: "test", Line: line, From: from})
	}
	done := map[string]bool{}
	once := func(kind string) bool {
		was := done[kind]
		done[kind] = true
		return !was
	}
	for _, name := range f.files {
		base, dir := path.Base(name), path.Dir(name)
		switch ext := path.Ext(base); {
		case ext == ".py" && (strings.HasPrefix(base, "test_") || strings.HasSuffix(base, "_test.py")):
			if done["python"] {
				continue
			}
			text := t.read(ctx, name)
			switch {
			case strings.Contains(text, "unittest"):
				line := "python -m unittest discover"
				if dir != "." {
					line += " -s " + dir + " -t ."
				}
				if strings.HasSuffix(base, "_test.py") {
					line += " -p '*_test.py'"
				}
				once("python")
				add(line, name)
			case strings.Contains(text, "def test_"):
				once("python")
				add("python -m pytest", name)
			}
		case (strings.HasSuffix(base, ".test.js") || strings.HasSuffix(base, ".test.mjs") || strings.HasSuffix(base, ".test.cjs") ||
			ext == ".js" && (dir == "test" || base == "test.js" || strings.HasPrefix(base, "test-"))) && once("node"):
			if text := t.read(ctx, name); strings.Contains(text, "node:test") || strings.Contains(text, "assert") {
				add("node --test", name)
			}
		case ext == ".rb" && (strings.HasPrefix(base, "test_") || strings.HasSuffix(base, "_test.rb")) && once("ruby"):
			add(`ruby -I. -Ilib -Itest -e 'Dir["**/{test_*,*_test}.rb"].sort.each { |f| require File.expand_path(f) }'`, name)
		case dir == "." && (base == "test.sh" || base == "run_tests.sh" || base == "tests.sh") && once("shell"):
			add("sh "+base, name)
		}
	}
}
