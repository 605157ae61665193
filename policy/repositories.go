package policy

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Repository is another repository that sessions may read, written "owner/name" or
// "owner/name@ref". The ref is a branch or a tag; without one it is the
// default branch. In the server's configuration the name may be "*", for all of an owner.
type Repository string

// Name returns "owner/name".
func (r Repository) Name() string {
	name, _, _ := strings.Cut(string(r), "@")
	return name
}

// Ref returns the branch or the tag; "" means the default branch.
func (r Repository) Ref() string {
	_, ref, _ := strings.Cut(string(r), "@")
	return ref
}

// owner returns the owner if r stands for all repositories of one.
func (r Repository) owner() (owner string, all bool) { return strings.CutSuffix(r.Name(), "/*") }

// repositoryPattern matches a [Repository].
const repositoryPattern = `^[A-Za-z0-9][A-Za-z0-9-]*/([A-Za-z0-9._-]+|\*)(@[A-Za-z0-9._/-]+)?$`

// Check returns an error if r is not written as a repository.
func (r Repository) Check() error {
	_, short, _ := strings.Cut(r.Name(), "/")
	ok, err := regexp.MatchString(repositoryPattern, string(r))
	if err != nil || !ok || strings.Trim(short, ".") == "" || strings.Contains(r.Ref(), "..") {
		return fmt.Errorf("%q is not a repository: write owner/name, or owner/name@ref", string(r))
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
// changed.
func (p *Policy) Keeping(dir string) *Policy {
	q := *p
	q.kept = dir
	return &q
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
	i := slices.IndexFunc(paths, func(name string) bool { //control:other-repository-kept
		return slices.Contains(strings.Split(strings.ReplaceAll(name, `\`, "/"), "/"), p.kept)
	})
	if i < 0 {
		return false
	}
	*d = d.settle(Deny, "repositories", fmt.Sprintf(
		"%s belongs to another repository, which is here for reading: nothing is changed there", paths[i]))
	return true
}
