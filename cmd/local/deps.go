package local

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/agent/deps"
	"github.com/handrail-bot/handrail/agent/layer"
	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/work"
	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/policy"
)

// Sources of a repository's packages in a workspace, the values of --deps.
const (
	depsClone = "clone" // those of the clone, read-only
	depsSetup = "setup" // a set-up installs them, after an approval
	depsNone  = "none"
)

// answerName is the key of the answer to the question about packages.
const answerName = "packages of the clone"

// Packages returns the set-ups of a session with the source of the repository's packages
// that choice names, or else the user. assemble makes a layer of directories.
func (s *Session) Packages(
	ctx context.Context,
	choice, engine string,
	set work.SetUps,
	assemble func(context.Context, []layer.Part) (string, func(), error),
) (work.SetUps, error) {
	if choice == "" {
		choice = s.Task.Clone.Deps
	}
	if choice == depsNone {
		return work.SetUps{}, nil
	}
	need, err := work.Needs(ctx, work.FilesAt(s.repo, s.Task.Base))
	if err != nil || len(need) == 0 || engine == "local" {
		return set, err
	}
	own := packagesOf(s.Task.Clone.Path, engine, need)
	if choice == "" && len(s.Rules.SetUp.Commands) == 0 {
		if choice, err = s.askPackages(ctx, set.Answers, need, own); err != nil {
			return set, err
		}
	}
	s.Task.Clone.Deps = choice
	switch choice {
	case depsNone:
		return work.SetUps{}, nil
	case depsSetup:
		set.Propose = true
	case depsClone:
		set.Own = func(ctx context.Context, _ []*deps.Manager) (string, func(), []string, error) {
			if len(own) == 0 {
				s.term.Say("! This clone has no packages of %s for workspaces. --deps setup has them.", deps.Names(need))
				return "", nil, nil, nil
			}
			dir, drop, err := assemble(ctx, own)
			if err == nil {
				if err = relocate(filepath.Join(dir, workspace.LayerTree, ".venv"), s.Task.Clone.Path); err != nil {
					drop()
				}
			}
			return dir, drop, namesOf(own), err
		}
	default:
		set.Hint = "--deps setup installs them first, after an approval."
		if len(own) > 0 {
			set.Hint = "--deps clone shows sessions those of this clone, --deps setup installs them apart."
		}
	}
	return set, nil
}

// askPackages asks the user about the source of packages, once for each clone. It returns
// "" if there is no user.
func (s *Session) askPackages(
	ctx context.Context, answers work.Answers, need []*deps.Manager, own []layer.Part,
) (string, error) {
	if !s.person {
		return "", nil
	}
	if len(own) == 0 {
		return depsSetup, nil // its approval is the question
	}
	before, known, err := answers.Answer(ctx, s.Task.Clone.Path, answerName)
	if err != nil || known {
		return before.Reason, err
	}
	s.term.Say("This repository needs packages of %s, and workspaces have no network.", deps.Names(need))
	s.term.Say("This clone has %s.", strings.Join(namesOf(own), ", "))
	line, err := s.term.Pick(ctx, "Show them to its sessions, read-only? [Y/n, s: install them apart] ", "y", "n", "s")
	if err != nil || line == "" {
		return depsNone, err
	}
	choice := map[string]string{"y": depsClone, "n": depsNone, "s": depsSetup}[line]
	answer := session.Resolved{Verdict: policy.Answered, Reason: choice}
	return choice, answers.Keep(ctx, s.Task.Clone.Path, answerName, answer)
}

// packagesOf returns the directories with packages that a clone and the user's home
// directory have, as parts of a layer. The cache of a manager that installs into the clone
// is of use only beside its packages.
func packagesOf(clone, engine string, need []*deps.Manager) (out []layer.Part) {
	add := func(from, to string) {
		if isDir(from) && !slices.Contains(out, layer.Part{From: from, To: to}) {
			out = append(out, layer.Part{From: from, To: to})
		}
	}
	home, _ := os.UserHomeDir() // without one, there are no caches
	for _, m := range need {
		if dir := filepath.Join(clone, m.Place); m.Place != "" {
			if !isDir(dir) || m.Place == ".venv" && !fits(dir, engine) {
				continue
			}
			add(dir, filepath.Join(workspace.LayerTree, m.Place))
		}
		for from, to := range m.Caches {
			if home != "" {
				add(placeOf(home, from), filepath.Join(workspace.LayerCache, to))
			}
		}
	}
	slices.SortFunc(out, func(a, b layer.Part) int { return strings.Compare(a.To, b.To) })
	return out
}

// placeOf returns the directory of a cache, which the environment may name.
func placeOf(home, name string) string {
	for _, v := range []struct{ name, below, rest string }{
		{"GOMODCACHE", "go/pkg/mod", ""}, {"GOPATH", "go/pkg/mod", "pkg/mod"},
		{"CARGO_HOME", ".cargo/registry", "registry"}, {"CARGO_HOME", ".cargo/git", "git"},
	} {
		if dir := os.Getenv(v.name); dir != "" && v.below == name {
			return filepath.Join(filepath.SplitList(dir)[0], v.rest)
		}
	}
	return filepath.Join(home, name)
}

// maxScript is the maximum size of a script in a virtual environment.
const maxScript = 64 << 10

// relocate replaces the scripts of a virtual environment that name the clone, and the links to
// packages in it, with ones that name the workspace. The files of the clone stay.
func relocate(dir, clone string) error {
	for _, pattern := range []string{
		"bin/*", "lib/*/site-packages/*.pth", "lib/*/site-packages/*.egg-link", "lib/*/site-packages/__editable__*.py",
	} {
		names, err := fs.Glob(os.DirFS(dir), pattern)
		if err != nil {
			return err
		}
		for _, name := range names {
			name = filepath.Join(dir, name)
			info, err := os.Lstat(name)
			if err != nil {
				return err
			}
			if !info.Mode().IsRegular() || info.Size() > maxScript {
				continue
			}
			data, err := os.ReadFile(name)
			if err == nil && bytes.Contains(data, []byte(clone)) {
				data = bytes.ReplaceAll(data, []byte(clone), []byte("/workspace"))
				err = errors.Join(os.Remove(name), os.WriteFile(name, data, info.Mode().Perm()))
			}
			if err != nil {
				return fmt.Errorf("relocate script of virtual environment: %w", err)
			}
		}
	}
	return nil
}

// fits reports whether a virtual environment works in a workspace: its Python is one that
// workspaces have, too.
func fits(dir, engine string) bool {
	python, err := filepath.EvalSymlinks(filepath.Join(dir, "bin", "python"))
	return err == nil && engine == "bwrap" && strings.HasPrefix(python, "/usr/")
}

// namesOf returns the directories of parts, for the user.
func namesOf(parts []layer.Part) (out []string) {
	home, _ := os.UserHomeDir() // only shortens names
	for _, p := range parts {
		name := p.From
		if place, ok := strings.CutPrefix(p.To, workspace.LayerTree+"/"); ok {
			name = place
		} else if rest, ok := strings.CutPrefix(name, home+"/"); ok && home != "" {
			name = "~/" + rest
		}
		out = append(out, name)
	}
	return out
}
