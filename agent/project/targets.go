package project

import (
	"context"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/handrail-bot/handrail/policy/pattern"
)

// target matches the head of a rule of make or just: the name, parameters, and the rest.
var target = pattern.Lazy(`^([A-Za-z][A-Za-z0-9_:-]*)((?:[ \t]+[A-Za-z*+][^:=]*)?)[ \t]*::?([^:=].*|)$`)

// rule is a rule of a Makefile or justfile.
type rule struct {
	name   string
	needs  []string
	recipe []string
}

// rules reads the rules of a Makefile or justfile.
func rules(text string) (out []rule) {
	inside := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		switch {
		case strings.HasPrefix(line, "\t"), strings.HasPrefix(line, " "):
			if inside {
				out[len(out)-1].recipe = append(out[len(out)-1].recipe, line)
			}
		case strings.TrimSpace(line) == "", strings.HasPrefix(line, "#"):
		default:
			m := target().FindStringSubmatch(line)
			if inside = m != nil; !inside {
				continue
			}
			needs, now, _ := strings.Cut(m[3], ";")
			needs, _, _ = strings.Cut(needs, "#")
			r := rule{name: m[1], needs: strings.Fields(needs)}
			if now != "" {
				r.recipe = []string{now}
			}
			out = append(out, r)
		}
	}
	return out
}

// acts reports whether a rule does something: a command of its own or of a rule that it
// needs. seen are the names above it.
func acts(all []rule, name string, seen ...string) bool {
	known := false
	for _, r := range all {
		if r.name != name {
			continue
		}
		known = true
		if slices.ContainsFunc(r.recipe, acting) || slices.ContainsFunc(r.needs, func(n string) bool {
			return !slices.Contains(seen, n) && n != name && acts(all, n, append(slices.Clone(seen), name)...)
		}) {
			return true
		}
	}
	return !known && len(seen) > 0 // a file, or a rule of another file
}

// idle matches a command that only talks or succeeds.
var idle = pattern.Lazy(`^(?:[@+-]\s*)*(?:echo\b.*|printf\b.*|true|:|exit 0|#.*|)$`)

// acting reports whether a command line does more than to talk.
func acting(line string) bool {
	return slices.ContainsFunc(strings.Split(line, "&&"), func(part string) bool {
		part, _, _ = strings.Cut(strings.TrimSpace(part), ";")
		return !idle().MatchString(strings.TrimSpace(part))
	})
}

// targets adds the rules of a Makefile or justfile whose purpose is known and that do
// something.
func targets(m *manifestReader, program string) {
	all := rules(m.text)
	for _, r := range all {
		if d := purposeOf(r.name); d != "" && acts(all, r.name) { //control:idle-targets
			m.runs(d, program+" "+r.name)
		}
	}
	m.namedTestsFirst()
}

// namedTestsFirst moves commands that are named "test" before those that may check more.
func (m *manifestReader) namedTestsFirst() {
	order := func(c Command) int {
		if c.Does == "test" && !strings.HasSuffix(c.Line, "test") && !strings.HasSuffix(c.Line, "tests") {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(m.commands, func(a, b Command) int { return order(a) - order(b) })
}

func makeTargets(m *manifestReader) { targets(m, "make") }
func justTargets(m *manifestReader) { targets(m, "just") }

// tasks reads a Taskfile.
func tasks(m *manifestReader) {
	var file struct {
		Tasks yaml.Node `yaml:"tasks"`
	}
	if yaml.Load([]byte(m.text), &file) != nil || file.Tasks.Kind != yaml.MappingNode {
		return
	}
	for i := 0; i+1 < len(file.Tasks.Content); i += 2 {
		name := file.Tasks.Content[i].Value
		if d := purposeOf(name); d != "" && taskActs(file.Tasks.Content[i+1]) {
			m.runs(d, "task "+name)
		}
	}
	m.namedTestsFirst()
}

// taskActs reports whether a task has a command or a dependency: it is a command, a list
// of them, or a mapping.
func taskActs(n *yaml.Node) bool {
	switch n.Kind {
	case yaml.ScalarNode:
		return acting(n.Value)
	case yaml.SequenceNode:
		return slices.ContainsFunc(n.Content, taskActs)
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			switch n.Content[i].Value {
			case "cmd", "cmds", "deps", "task":
				if taskActs(n.Content[i+1]) {
					return true
				}
			}
		}
	}
	return false
}

// rakeTask matches the definitions of tasks in a Rakefile.
var rakeTask = pattern.Lazy(`(?m)^\s*(?:(?:Rake::TestTask|Minitest::TestTask|RSpec::Core::RakeTask)\.(?:new|create)\b` +
	`(?:[ (]+:?["']?(\w+))?|task[ (]+:?["']?(\w+))`)

func rake(m *manifestReader) {
	program := "rake"
	if m.has("Gemfile") {
		program = "bundle exec rake"
	}
	if m.has("bin/rails") && m.find("test/") {
		m.runs("test", "bin/rails test")
	}
	for _, found := range rakeTask().FindAllStringSubmatch(m.text, -1) {
		name := found[1] + found[2]
		switch {
		case name == "" && strings.Contains(found[0], "RSpec"):
			name = "spec"
		case name == "":
			name = "test"
		}
		if name == "spec" || purposeOf(name) == "test" {
			m.runs("test", program+" "+name)
		}
	}
	m.namedTestsFirst()
}

func tox(m *manifestReader) {
	if strings.Contains(m.text, "[testenv") || strings.Contains(m.text, "[env") {
		m.runs("test", "tox")
	}
}

// noxSession matches a session of nox, with its decorator.
var noxSession = pattern.Lazy(`(?m)^@(?:nox\.)?session\b[^\n]*(?:\n[^\n]*?)*?\ndef (\w+)`)

func nox(m *manifestReader) {
	for _, found := range noxSession().FindAllStringSubmatch(m.text, -1) {
		if purposeOf(strings.ReplaceAll(found[1], "_", "-")) == "test" || strings.HasPrefix(found[1], "test") {
			m.runs("test", "nox -s "+found[1])
		}
	}
}

// scriptsForTests are scripts that run the tests by convention.
var scriptsForTests = [...]string{
	"script/test", "scripts/test", "script/tests", "bin/test", "scripts/test.sh", "script/test.sh",
}

// scriptsWithoutManifest are scripts whose names say less: they run the tests if nothing
// else in the directory does.
var scriptsWithoutManifest = [...]string{
	"test.sh", "tests.sh", "run_tests.sh", "run-tests.sh", "runtests.sh", "check.sh",
	"script/check", "scripts/check", "scripts/check.sh", "script/check.sh", "bin/check",
}

// scripts adds the first of the scripts that dir has.
func (f *Facts) scripts(ctx context.Context, t *tree, dir string, names []string) {
	for _, name := range names {
		if at := path.Join(dir, name); t.has(at) {
			m := &manifestReader{}
			m.runs("test", t.call(ctx, at, name))
			f.add(m, at, dir)
			return
		}
	}
}

// shellOf matches the first line of a script for a shell.
var shellOf = pattern.Lazy(`^#![ \t]*(?:/\S*/)?(?:env[ \t]+)?(bash|dash|ksh|sh|zsh)\b`)

// call returns the line that calls a script: by its path if it may be executed, by its
// shell otherwise. name is the path below the working directory.
func (t *tree) call(ctx context.Context, at, name string) string {
	text, mode, err := t.files.ReadAll(ctx, at, maxRead)
	if err == nil && mode&0o111 != 0 {
		if !strings.Contains(name, "/") {
			return "./" + name
		}
		return name
	}
	if found := shellOf().FindSubmatch(text); found != nil {
		return string(found[1]) + " " + name
	}
	return "sh " + name
}
