package project

import (
	"cmp"
	"context"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/handrail-bot/handrail/agent/testrun"
	"github.com/handrail-bot/handrail/policy/pattern"
)

// workflows is the directory of the repository's workflows.
const workflows = ".github/workflows"

// Limits of the commands taken from workflows.
const (
	maxWorkflows = 20
	maxCI        = 4 // commands
)

// workflow is the part of a workflow that says which commands run.
type workflow struct {
	Defaults defaults  `yaml:"defaults"`
	Jobs     yaml.Node `yaml:"jobs"`
}

type defaults struct {
	Run struct {
		Shell     string `yaml:"shell"`
		Directory string `yaml:"working-directory"`
	} `yaml:"run"`
}

// job is a job of a workflow. RunsOn is a name or a list of names.
type job struct {
	RunsOn   yaml.Node `yaml:"runs-on"`
	Defaults defaults  `yaml:"defaults"`
	Steps    []struct {
		Run       string `yaml:"run"`
		Shell     string `yaml:"shell"`
		Directory string `yaml:"working-directory"`
	} `yaml:"steps"`
}

// ciName matches workflows that are named after tests.
var ciName = pattern.Lazy(`(?i)(^|[^a-z])(ci|tests?|check|build|main|verify)([^a-z]|$)`)

// workflows adds the commands with which CI runs the tests. They come first, because they
// are known to work.
func (f *Facts) workflows(ctx context.Context, t *tree) {
	var names []string
	for name := range t.names {
		if ext := path.Ext(name); path.Dir(name) == workflows && (ext == ".yml" || ext == ".yaml") {
			names = append(names, name)
		}
	}
	order := func(name string) int {
		if ciName().MatchString(path.Base(name)) {
			return 0
		}
		return 1
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(order(a)-order(b), cmp.Compare(a, b)) })
	for _, name := range names[:min(len(names), maxWorkflows)] {
		for _, c := range ciCommands(t.read(ctx, name)) {
			c.From = name
			same := func(have Command) bool { return have.Line == c.Line && have.Dir == c.Dir }
			if len(f.Commands) < maxCI && !slices.ContainsFunc(f.Commands, same) { //control:ci-runs-first
				f.Commands = append(f.Commands, c)
			}
		}
	}
}

// ciCommands returns the commands of a workflow that run tests, in order.
func ciCommands(text string) (out []Command) {
	var w workflow
	if yaml.Load([]byte(text), &w) != nil || w.Jobs.Kind != yaml.MappingNode {
		return nil
	}
	for i := 1; i < len(w.Jobs.Content); i += 2 {
		var j job
		if w.Jobs.Content[i].Decode(&j) != nil || strings.Contains(scalars(&j.RunsOn), "windows") {
			continue
		}
		for _, s := range j.Steps {
			shell := cmp.Or(s.Shell, j.Defaults.Run.Shell, w.Defaults.Run.Shell, "bash")
			if program, _, _ := strings.Cut(shell, " "); program != "bash" && program != "sh" {
				continue
			}
			dir := cmp.Or(s.Directory, j.Defaults.Run.Directory, w.Defaults.Run.Directory)
			for _, step := range testrun.Steps(s.Run) {
				at := path.Join(dir, step.Dir)
				if strings.ContainsAny(at, "${}") || !inside(at) {
					continue
				}
				if at == "." {
					at = ""
				}
				out = append(out, Command{Does: "test", Line: step.Line, Dir: at})
			}
		}
	}
	return out
}

// scalars returns the words of a node and of those below it.
func scalars(n *yaml.Node) string {
	words := n.Value
	for _, c := range n.Content {
		words += " " + scalars(c)
	}
	return words
}

// inside reports whether a clean path is inside the repository.
func inside(name string) bool {
	return !path.IsAbs(name) && name != ".." && !strings.HasPrefix(name, "../")
}
