// Package thread names a conversation with the bot on GitHub: one issue or one pull
// request. It does no I/O.
package thread

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/handrail-bot/handrail/policy/pattern"
)

// Ref is one issue or pull request. The two share their numbers, so a Ref does not tell
// which of them it is.
type Ref struct {
	Owner  string
	Repo   string
	Number int
}

const (
	maxOwner  = 100 // GitHub allows 39; enterprise servers allow longer names
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

// Key returns the form of r for storage and comparison. GitHub ignores case in names, so
// all spellings of a thread have the same key.
func (r Ref) Key() string { return strings.ToLower(r.String()) }

// Same reports whether r and o are the same thread.
func (r Ref) Same(o Ref) bool { return r.Key() == o.Key() }

// Validate returns an error that names the invalid part of r. A valid Ref is safe in a
// URL and in a file name.
func (r Ref) Validate() error {
	if err := ValidateRepository(r.Owner, r.Repo); err != nil {
		return err
	}
	if r.Number < 1 || r.Number > maxNumber {
		return fmt.Errorf("check thread %q: number %d is not that of an issue or pull request", r.String(), r.Number)
	}
	return nil
}

// ValidateRepository checks the owner and the name of a repository.
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

// MarshalText returns [Ref.String], so that a Ref is a string or a map key in JSON.
func (r Ref) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText parses the output of [Ref.MarshalText]; an empty text is the zero Ref.
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

// Repository parses "owner/repo#0", which names a repository without a thread. It reports
// false for any other text.
func Repository(key string) (Ref, bool) {
	name, ok := strings.CutSuffix(key, "#0")
	if !ok {
		return Ref{}, false
	}
	r, err := Parse(name + "#1")
	r.Number = 0
	return r, err == nil
}
