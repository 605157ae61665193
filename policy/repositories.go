package policy

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Repository is another repository that sessions may read, written "owner/name" or
// "owner/name@ref". The ref is a branch or a tag; without one it is the
// default branch. In the server's configuration the name may be "*", for all of an owner.
// One that sessions may change as well is written {name: owner/name, write: true} in a
// file, and "owner/name+write" here.
type Repository string

// writable ends a [Repository] that sessions may change.
const writable = "+write"

// UnmarshalYAML reads both forms of a file.
func (r *Repository) UnmarshalYAML(n *yaml.Node) error {
	var in struct {
		Name  string `yaml:"name"`
		Write bool   `yaml:"write"`
	}
	if n.Kind != yaml.MappingNode {
		if err := n.Decode(&in.Name); err != nil {
			return err
		}
		return r.set(in.Name, false)
	}
	for i := 0; i < len(n.Content); i += 2 {
		if key := n.Content[i].Value; key != "name" && key != "write" {
			return fmt.Errorf("unknown key %q; known keys here: name, write", key)
		}
	}
	if err := n.Decode(&in); err != nil {
		return err
	}
	return r.set(in.Name, in.Write)
}

func (r *Repository) set(name string, writes bool) error {
	if *r = Repository(name); r.Writes() {
		return fmt.Errorf("%s: write {name: %s, write: true}", name, r.String())
	}
	if writes {
		*r += writable
	}
	return nil
}

// MarshalYAML returns the form of a file.
func (r Repository) MarshalYAML() (any, error) {
	if !r.Writes() {
		return string(r), nil
	}
	return map[string]any{"name": r.String(), "write": true}, nil
}

// Writes reports whether sessions may change the repository.
func (r Repository) Writes() bool { return strings.HasSuffix(string(r), writable) }

// String returns the repository without the mark of a writable one.
func (r Repository) String() string { return strings.TrimSuffix(string(r), writable) }

// Name returns "owner/name".
func (r Repository) Name() string {
	name, _, _ := strings.Cut(r.String(), "@")
	return name
}

// Ref returns the branch or the tag; "" means the default branch.
func (r Repository) Ref() string {
	_, ref, _ := strings.Cut(r.String(), "@")
	return ref
}

// owner returns the owner if r stands for all repositories of one.
func (r Repository) owner() (owner string, all bool) { return strings.CutSuffix(r.Name(), "/*") }

// repositoryPattern matches a [Repository].
const repositoryPattern = `^[A-Za-z0-9][A-Za-z0-9-]*/([A-Za-z0-9._-]+|\*)(@[A-Za-z0-9._/-]+)?$`

// Check returns an error if r is not written as a repository.
func (r Repository) Check() error {
	_, short, _ := strings.Cut(r.Name(), "/")
	ok, err := regexp.MatchString(repositoryPattern, r.String())
	if err != nil || !ok || strings.Trim(short, ".") == "" || strings.Contains(r.Ref(), "..") {
		return fmt.Errorf("%q is not a repository: write owner/name, or owner/name@ref", r.String())
	}
	if r.Writes() && r.Ref() != "" {
		return fmt.Errorf("%s: a change goes to the default branch: leave out @%s, or write: true", r.Name(), r.Ref())
	}
	return nil
}

// covers reports whether a repository's file may name other if the server's names r.
func (r Repository) covers(other Repository) bool {
	named := strings.EqualFold(r.Name(), other.Name())
	if owner, all := r.owner(); all {
		theirs, _, _ := strings.Cut(other.Name(), "/")
		named = strings.EqualFold(owner, theirs)
	}
	_, all := other.owner()
	return named && !all && (r.Ref() == "" || other.Ref() == "" || r.Ref() == other.Ref())
}

// maxRepositories is the maximum number of other repositories of a session.
const maxRepositories = 10

// mergeRepositories returns the repositories that a repository's file names and the
// server's allows.
func mergeRepositories(server, repo []Repository) (out []Repository) {
	for _, r := range repo {
		//control:other-repositories-of-the-operator
		i := slices.IndexFunc(server, func(s Repository) bool { return s.covers(r) })
		if i < 0 {
			continue
		}
		if ref := server[i].Ref(); ref != "" {
			r = Repository(r.Name() + "@" + ref)
		}
		if !server[i].Writes() { //control:neighbor-of-the-operator
			r = Repository(r.String())
		}
		out = append(out, r)
	}
	return out
}

// Unlisted returns the repositories that a repository's file names and the merged
// configuration c lacks, because the server's does not allow them.
func (c Config) Unlisted(repo Config) (out []Repository) {
	for _, r := range repo.Repositories {
		if !slices.ContainsFunc(c.Repositories, func(have Repository) bool { return have.Name() == r.Name() }) {
			out = append(out, r)
		}
	}
	return out
}

// WantsToWrite reports whether the repository's file c lets sessions change r. That takes
// effect only if the server's file says so as well.
func (c Config) WantsToWrite(r Repository) bool {
	return slices.ContainsFunc(c.Repositories, func(want Repository) bool {
		return want.Writes() && want.Name() == r.Name()
	})
}

func (c Config) checkRepositories(p *problems) {
	if len(c.Repositories) > maxRepositories {
		p.add(fmt.Sprintf("at most %d repositories", maxRepositories), "repositories")
	}
	for i, r := range c.Repositories {
		if err := r.Check(); err != nil {
			p.add(err.Error(), "repositories", i)
			continue
		}
		if slices.ContainsFunc(c.Repositories[:i], func(o Repository) bool { return strings.EqualFold(o.Name(), r.Name()) }) {
			p.add(r.Name()+" is named twice", "repositories", i)
		}
	}
}

// Keeping returns the policy for a workspace with a directory in which nothing may be
// changed, except below the named directories in it.
func (p *Policy) Keeping(dir string, except ...string) *Policy {
	q := *p
	q.kept, q.open = dir, except
	return &q
}

// isKept reports whether a path is in the directory of [Policy.Keeping].
func (p *Policy) isKept(name string) bool {
	parts := strings.Split(path.Clean(strings.ReplaceAll(name, `\`, "/")), "/")
	i := slices.Index(parts, p.kept)
	if i < 0 {
		return false
	}
	below := strings.Join(parts[i+1:], "/")
	return !slices.ContainsFunc(p.open, func(dir string) bool { return strings.HasPrefix(below, dir+"/") }) //control:neighbor-below
}

// keptStep refuses to change files in the directory of [Policy.Keeping].
func (p *Policy) keptStep(f facts, d *Decision) bool {
	if p.kept == "" {
		return false
	}
	var paths []string
	switch f.act.Kind {
	case Write, Delete:
		paths = f.act.Paths
	case Execute:
		paths = commandPaths(f.act.Cwd, f.shell.Writes)
	default:
		return false
	}
	i := slices.IndexFunc(paths, p.isKept) //control:other-repository-kept
	if i < 0 {
		return false
	}
	*d = d.settle(Deny, "repositories", fmt.Sprintf(
		"%s belongs to another repository, which is here for reading: nothing is changed there", paths[i]))
	return true
}
