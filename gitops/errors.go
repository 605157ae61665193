package gitops

import (
	"errors"
	"fmt"
	"strings"

	"github.com/handrail-bot/handrail/gitops/objects"
)

// Errors that callers test for.
var (
	// ErrNotFound: a revision, ref, path or repository does not exist.
	ErrNotFound = objects.ErrNotFound
	// ErrEmpty: the repository has no commits.
	ErrEmpty = errors.New("the repository is empty: push a first commit to it")
	// ErrNoDefault: HEAD names a branch that does not exist.
	ErrNoDefault = errors.New("the repository has no default branch: set one that exists in its settings")
	// ErrRejected: the branch moved, or the push is not a fast-forward.
	ErrRejected = errors.New("push rejected: the branch has moved")
	// ErrClosed: the caller excluded the branch from pushes.
	ErrClosed = errors.New("branch is not to be pushed to")
	// errProtected: a rule or hook of the remote declined the push.
	errProtected = errors.New("push declined by a rule of the repository")
	// errInTheWay: another branch has the name of a directory of this one, or the other way round.
	errInTheWay = errors.New("git keeps no branch below another one")
	// ErrAuth: the remote did not accept the credentials.
	ErrAuth = errors.New("the remote did not accept the credentials")
	// ErrUnavailable: the remote did not answer, or is temporarily unable to. A later attempt
	// may succeed.
	ErrUnavailable = errors.New("the remote does not answer")
	// ErrWorkflowScope: the token may not change workflow files.
	ErrWorkflowScope = errors.New("the token may not change workflow files")
	// ErrStale: a ref was not at the expected commit.
	ErrStale = errors.New("the ref has moved")
	// ErrTooLarge: a limit on files or bytes was exceeded.
	ErrTooLarge = objects.ErrTooLarge
	// errRefName: a ref name is outside the allowed alphabet.
	errRefName = errors.New("ref name not allowed")
	// errNoRemote: the repository is a local clone, which has no remote here.
	errNoRemote = errors.New("a local clone has no remote here")
	// errUnsupported: the local clone uses an unsupported feature.
	errUnsupported = errors.New("repository format not supported")
	// errUnrelated: two histories have no commit in common.
	errUnrelated = errors.New("the two histories have no commit in common")
	// ErrMerge: a merge cannot be undone.
	ErrMerge = errors.New("a merge is not taken back")
	// ErrNothing: there is nothing to undo or redo.
	ErrNothing = errors.New("nothing to do")
	// ErrConflict: both sides changed the same lines.
	ErrConflict = errors.New("conflict")
)

// RemoteError is the remote's reason for declining a push. errors.Is matches it with
// [ErrRejected], [ErrWorkflowScope], [ErrAuth] or a rule of the repository.
type RemoteError struct {
	Kind   error
	Reason string // the remote's status for the ref, one line
	Output string // output of its hooks, at most 4 KiB; untrusted
}

func (e *RemoteError) Error() string {
	if e.Reason == "" {
		return e.Kind.Error()
	}
	return fmt.Sprintf("%s: %q", e.Kind, e.Reason)
}

// Unwrap returns the kind of the error.
func (e *RemoteError) Unwrap() error { return e.Kind }

// classify turns the status of a declined ref and the hooks' output into a
// RemoteError.
func classify(reason, output string) *RemoteError {
	all := strings.ToLower(reason + "\n" + output)
	has := func(words ...string) bool {
		for _, w := range words {
			if strings.Contains(all, w) {
				return true
			}
		}
		return false
	}
	e := &RemoteError{Kind: errProtected, Reason: reason, Output: output}
	switch {
	case has("without `workflows` permission", "without `workflow` scope", "without workflow scope", "without workflows permission"):
		e.Kind = ErrWorkflowScope
	case has("hook declined", "protected branch", "gh006", "gh013", "rule violations", "denycurrentbranch", "checked out branch", "deny updating a hidden ref"):
	case has("non-fast-forward", "fetch first", "stale info", "failed to update ref", "cannot lock ref", "failed to lock", "incorrect old value", "reference already exists", "but expected", "remote ref updated since"):
		e.Kind = ErrRejected
	case has("permission", "denied", "unauthorized"):
		e.Kind = ErrAuth
	}
	return e
}
