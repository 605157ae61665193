package main

import (
	"context"
	"encoding/json"
	"errors"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

// destroyed says which files of the repository were worse than not mended: changed or
// deleted though the task does not touch them, no longer readable for their language,
// or without half of the lines that the solution keeps. Tests may grow.
func (c *climb) destroyed(ctx context.Context, left map[string]string) ([]string, error) {
	var out []string
	for p, before := range c.repo {
		now, there := left[p]
		switch {
		case !there:
			out = append(out, p+" is gone")
		case now == before:
		case testFile.MatchString(p):
			if kept(before, now) < len(contents(before)) {
				out = append(out, p+" lost tests")
			}
		case !c.inScope(p):
			out = append(out, p+" was changed")
		default:
			reads, err := c.reads(ctx, p, now)
			if err != nil {
				return nil, err
			}
			stays := c.stays(p)
			if !reads {
				out = append(out, p+" cannot be read any more")
			} else if kept(strings.Join(stays, "\n"), now)*2 < len(stays) {
				out = append(out, p+" lost its content")
			}
		}
	}
	slices.Sort(out)
	return out, nil
}

// stays are the lines of a file that the solution does not change.
func (c *climb) stays(p string) []string {
	solution, ok := c.solution[p]
	if !ok {
		return contents(c.repo[p])
	}
	have := counted(solution)
	return slices.DeleteFunc(contents(c.repo[p]), func(line string) bool {
		have[line]--
		return have[line] < 0
	})
}

// kept returns how many lines of a text another one has, too.
func kept(before, now string) int {
	n, have := 0, counted(now)
	for _, line := range contents(before) {
		if have[line]--; have[line] >= 0 {
			n++
		}
	}
	return n
}

// contents are the lines of a text that are not empty, without white space around them.
func contents(text string) []string {
	var out []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			out = append(out, line)
		}
	}
	return out
}

func counted(text string) map[string]int {
	n := map[string]int{}
	for _, line := range contents(text) {
		n[line]++
	}
	return n
}

// checkers say whether their standard input can be read as their language.
var checkers = map[string][]string{
	".py": {"python3", "-c", "import ast, sys; ast.parse(sys.stdin.read())"},
	".js": {"node", "--check", "-"},
	".rb": {"ruby", "-c"},
}

// reads reports whether a file can be read as its language.
func (c *climb) reads(ctx context.Context, p, text string) (bool, error) {
	ext := path.Ext(p)
	switch ext {
	case ".go":
		_, err := parser.ParseFile(token.NewFileSet(), p, text, parser.SkipObjectResolution)
		return err == nil, nil
	case ".json":
		return json.Valid([]byte(text)), nil
	case ".yaml":
		var v any
		return yaml.Load([]byte(text), &v) == nil, nil
	}
	program, ok := checkers[ext]
	if !ok {
		return strings.TrimSpace(text) != "", nil
	}
	cmd := exec.CommandContext(ctx, program[0], program[1:]...)
	cmd.Stdin = strings.NewReader(text)
	err := cmd.Run()
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		return false, err
	}
	return err == nil, nil
}

// filesBelow reads a directory, without the traces of git, aider and Python beside the code.
func filesBelow(dir string) (map[string]string, error) {
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() && (e.Name() == ".git" || e.Name() == "__pycache__") {
			return fs.SkipDir
		}
		if !e.Type().IsRegular() || e.Name() == ".git" || strings.HasPrefix(e.Name(), ".aider") {
			return nil
		}
		rel, err := filepath.Rel(dir, p)
		if err != nil {
			return err
		}
		data, err := os.ReadFile(p)
		out[filepath.ToSlash(rel)] = string(data)
		return err
	})
	return out, err
}

// Files count as destroyed if a person would have to bring them back.
func TestLadderDestroyed(t *testing.T) {
	t.Parallel()
	find := func(name string) *climb {
		for _, c := range ladderTasks(t) {
			if c.Name == name {
				return c
			}
		}
		t.Fatalf("no task %s", name)
		return nil
	}
	type files = map[string]string
	for _, tt := range []struct {
		what, task string
		change     func(files)
		want       string
	}{
		{"the solution", "16-stock", func(files) {}, ""},
		{"nothing done", "03-pages", func(f files) { f["pages.py"] = find("03-pages").repo["pages.py"] }, ""},
		{"a new file", "03-pages", func(f files) { f["more.py"] = "x = (" }, ""},
		{"a new test", "03-pages", func(f files) { f["test_pages.py"] += "\n    # more\n" }, ""},
		{"a test less", "03-pages", func(f files) {
			f["test_pages.py"] = "import unittest\n"
		}, "test_pages.py lost tests"},
		{"another file", "25-discount", func(f files) { f["go.mod"] = "module shop\n" }, "go.mod was changed"},
		{"a deleted file", "26-nickname", func(f files) {
			delete(f, "member/member.go")
		}, "member/member.go is gone"},
		{"another good solution", "26-nickname", func(f files) {
			f["member/member.go"] += "\n// Name is to come.\n"
		}, ""},
		{"broken Go", "02-clamp", func(f files) { f["clamp.go"] += "}\n" }, "clamp.go cannot be read any more"},
		{"broken Python", "03-pages", func(f files) {
			f["pages.py"] += "  1 | x\n"
		}, "pages.py cannot be read any more"},
		{"broken JavaScript", "05-leap", func(f files) {
			f["leap.js"] += "```\n"
		}, "leap.js cannot be read any more"},
		{"broken Ruby", "07-funds", func(f files) {
			f["account.rb"] += "end\n"
		}, "account.rb cannot be read any more"},
		{"broken YAML", "12-replicas", func(f files) {
			f["deploy.yaml"] += "\t: [\n"
		}, "deploy.yaml cannot be read any more"},
		{"an empty text", "09-misspelt", func(f files) {
			f["README.md"] = "\n"
		}, "README.md cannot be read any more"},
		{"a part of a file", "16-stock", func(f files) {
			f["stock.go"] = "package stock\n\n// ... the rest\n"
		}, "stock.go lost its content"},
	} {
		t.Run(tt.what, func(t *testing.T) {
			t.Parallel()
			c := find(tt.task)
			needInterpreter(t, c.Language)
			left := c.solved()
			tt.change(left)
			got, err := c.destroyed(t.Context(), left)
			must(t, err)
			if s := strings.Join(got, ", "); s != tt.want {
				t.Errorf("destroyed: %q, want %q", s, tt.want)
			}
		})
	}
}
