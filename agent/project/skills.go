package project

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/agent/workspace"
)

// Directories of instructions that are read when a task needs them: one directory with a
// SKILL.md for each skill, and one file for each command.
const (
	skillsDir   = ".github/agent/skills"
	commandsDir = ".github/agent/commands"
	skillName   = "SKILL.md"
)

// maxOnDemand is the maximum number of skills and commands.
const maxOnDemand = 100

// onDemand is a skill or a command.
type onDemand struct{ name, path, about string }

// line returns the entry of a list.
func (o onDemand) line() string {
	if o.about == "" {
		return "- " + o.path
	}
	return fmt.Sprintf("- %s: %s", o.path, cut(o.about, maxAbout))
}

// onDemand returns the skills and commands of the repository, by path.
func (r *Rules) onDemand(ctx context.Context) ([]onDemand, error) {
	var out []onDemand
	for _, dir := range []string{skillsDir, commandsDir} {
		list, err := r.Files.List(ctx, dir, true, maxEntries)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, workspace.ErrIgnored) || errors.Is(err, workspace.ErrNotFile) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("list instructions: %w", err)
		}
		for _, e := range list.Entries {
			name, ok := onDemandName(e.Path)
			if !ok || len(out) == maxOnDemand {
				continue
			}
			text, err := r.text(ctx, e.Path)
			if err != nil {
				return nil, err
			}
			if text != "" {
				about, _, _ := strings.Cut(parseScoped(e.Path, text).about, "\n")
				out = append(out, onDemand{name, e.Path, about})
			}
		}
	}
	slices.SortFunc(out, func(a, b onDemand) int { return cmp.Compare(a.path, b.path) })
	return out, nil
}

// onDemandName returns the name of a skill or a command, by its path.
func onDemandName(file string) (name string, ok bool) {
	dir, base := path.Split(file)
	dir = path.Clean(dir)
	switch {
	case path.Dir(dir) == skillsDir && base == skillName:
		return path.Base(dir), true
	case dir == commandsDir && strings.HasSuffix(base, ".md") && !strings.EqualFold(base, "README.md"):
		return strings.TrimSuffix(base, ".md"), true
	}
	return "", false
}

// Instructions are the instructions of a repository that a session may ask for: Names has
// a line for each, Text the text of one that was found.
type Instructions struct {
	Names []string
	Path  string
	Text  string
}

// Fetch returns the instructions of a name: of a skill, a command, or a file that holds
// instructions. Text is empty if there are none of that name, and always for "".
func (r *Rules) Fetch(ctx context.Context, name string) (out Instructions, err error) {
	list, err := r.onDemand(ctx)
	if err != nil {
		return out, err
	}
	name = strings.TrimPrefix(strings.TrimSpace(name), "./")
	for _, o := range list {
		out.Names = append(out.Names, o.line())
		if out.Path == "" && (o.path == name || strings.EqualFold(o.name, name) || o.path == name+"/"+skillName) {
			out.Path = o.path
		}
	}
	scoped, err := r.scopes(ctx)
	if err != nil {
		return out, err
	}
	for _, s := range scoped {
		out.Names = append(out.Names, onDemand{path: s.name, about: s.about}.line())
		if s.name == name {
			out.Path = s.name
		}
	}
	for _, file := range ruleFiles {
		text, err := r.text(ctx, file)
		if err != nil {
			return out, err
		}
		if text != "" {
			out.Names = append(out.Names, "- "+file)
			if file == name {
				out.Path = file
			}
		}
	}
	if name == "" || out.Path == "" {
		out.Path = ""
		return out, nil
	}
	text, err := r.text(ctx, out.Path)
	if err != nil {
		return out, err
	}
	if _, ok := onDemandName(out.Path); ok {
		text = parseScoped(out.Path, text).text
	}
	out.Text, err = r.include(ctx, out.Path, text, new([]string))
	return out, err
}
