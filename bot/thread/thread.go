// Package thread names a place on GitHub where people and the bot talk: one
// issue or one pull request. It is a leaf: words only, no I/O.
package thread

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/handrail-bot/handrail/policy/pattern"
)

// Ref is one issue or pull request. The two share one number space, so a Ref
// does not say which of them it is.
type Ref struct {
	Owner  string
	Repo   string
	Number int
}

const (
	maxOwner  = 100 // GitHub says 39; enterprise servers allow longer ones
	maxRepo   = 100
	maxNumber = 1<<31 - 1
)

var (
	ownerRE = pattern.Lazy(`^[A-Za-z0-9][A-Za-z0-9_-]*$`)
	repoRE  = pattern.Lazy(`^[A-Za-z0-9._-]+$`)
)

// String returns "owner/repo#12", the form that [Parse] reads.
func (r Ref) String() string { return r.Owner + "/" + r.Repo + "#" + strconv.Itoa(r.Number) }

// Repository returns "owner/repo".
func (r Ref) Repository() string { return r.Owner + "/" + r.Repo }

// Key returns the form of r under which records are kept and compared. GitHub
// ignores case in names, so two spellings of one thread have one key.
func (r Ref) Key() string { return strings.ToLower(r.String()) }

// Same reports whether r and o are the same thread.
func (r Ref) Same(o Ref) bool { return r.Key() == o.Key() }

// Validate returns an error that names the part of r that GitHub would never
// have given out. A valid Ref can stand in a URL or in a file name as it is.
func (r Ref) Validate() error {
	if err := ValidateRepository(r.Owner, r.Repo); err != nil {
		return err
	}
	if r.Number < 1 || r.Number > maxNumber {
		return fmt.Errorf("check thread %q: number %d is not that of an issue or pull request", r.String(), r.Number)
	}
	return nil
}

// ValidateRepository checks the two names of a repository.
func ValidateRepository(owner, repo string) error {
	if len(owner) > maxOwner || !ownerRE().MatchString(owner) {
		return fmt.Errorf("check repository: owner %q is not a GitHub name; write owner/repo", owner)
	}
	if len(repo) > maxRepo || !repoRE().MatchString(repo) || repo == "." || repo == ".." ||
		strings.HasSuffix(strings.ToLower(repo), ".git") {
		return fmt.Errorf("check repository: name %q is not a GitHub name; write owner/repo", repo)
	}
	return nil
}

// Parse reads "owner/repo#12" and validates it.
func Parse(s string) (Ref, error) {
	name, num, ok := strings.Cut(s, "#")
	owner, repo, ok2 := strings.Cut(name, "/")
	if !ok || !ok2 {
		return Ref{}, fmt.Errorf("parse thread %q: write owner/repo#12", s)
	}
	n, err := strconv.Atoi(num)
	if err != nil || num != strconv.Itoa(n) {
		return Ref{}, fmt.Errorf("parse thread %q: %q is not a number; write owner/repo#12", s, num)
	}
	r := Ref{Owner: owner, Repo: repo, Number: n}
	if err := r.Validate(); err != nil {
		return Ref{}, fmt.Errorf("parse thread %q: %w", s, err)
	}
	return r, nil
}

// MarshalText writes r as [Ref.String] does, so that a Ref can stand in JSON
// as a string and as a map key.
func (r Ref) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText reads what [Ref.MarshalText] wrote; an empty text is the zero
// Ref.
func (r *Ref) UnmarshalText(b []byte) error {
	if string(b) == "#0" || string(b) == "/#0" || len(b) == 0 {
		*r = Ref{}
		return nil
	}
	if got, ok := Repository(string(b)); ok {
		*r = got
		return nil
	}
	got, err := Parse(string(b))
	if err != nil {
		return err
	}
	*r = got
	return nil
}

// Repository reads "owner/repo#0", which stands for a repository and for no thread in it.
// It reports false for anything else.
func Repository(key string) (Ref, bool) {
	name, ok := strings.CutSuffix(key, "#0")
	if !ok {
		return Ref{}, false
	}
	r, err := Parse(name + "#1")
	r.Number = 0
	return r, err == nil
}
