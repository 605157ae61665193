package tools

import (
	"context"
	"errors"
	"io/fs"
	"strings"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/policy"
)

// Complain adds advice for the model to an error of the workspace. The result wraps
// the original error.
func Complain(err error) error {
	hint := ""
	switch {
	case err == nil, errors.Is(err, workspace.ErrGone), errors.Is(err, context.Canceled):
		return err
	case errors.As(err, new(*advisedError)):
		return err
	case errors.Is(err, workspace.ErrOutside):
		hint = "Only files inside the workspace can be used; give a path relative to its root."
	case errors.Is(err, workspace.ErrIgnored):
		hint = "The project keeps this file away from the agent; go on without it and do not look for another way to it."
	case errors.Is(err, workspace.ErrTooLarge):
		hint = "Read a part of it by line ranges, or use search_workspace."
	case errors.Is(err, workspace.ErrBinary):
		hint = "Only text files can be edited."
	case errors.Is(err, workspace.ErrNotFile):
		hint = "Use list_files to see what is there."
	case errors.Is(err, fs.ErrNotExist):
		hint = "Use list_files or search_workspace to find the right path."
	case errors.Is(err, fs.ErrPermission):
		hint = "The workspace's user may not do this."
	default:
		return err
	}
	return &advisedError{err: err, hint: hint}
}

// ClassOf returns the kind of an error of a tool, "" if it is of none.
func ClassOf(err error, s Spec) session.ErrorClass {
	switch {
	case errors.As(err, new(wrongCall)):
		return session.ClassParameter
	case errors.Is(err, workspace.ErrIgnored):
		return session.ClassIgnored
	case errors.Is(err, workspace.ErrBinary):
		return session.ClassBinary
	case errors.Is(err, workspace.ErrOutside), errors.Is(err, fs.ErrPermission):
		return session.ClassPermission
	case errors.Is(err, fs.ErrNotExist):
		return session.ClassNotFound
	case errors.Is(err, context.DeadlineExceeded):
		return session.ClassTimeout
	case s.Edits:
		return session.ClassEdit
	case s.Kind == policy.Execute:
		return session.ClassCommand
	}
	return ""
}

// advisedError is an error with advice for the model.
type advisedError struct {
	err  error
	hint string
}

// calls replaces a system call's name at the beginning of an error with its meaning.
var calls = strings.NewReplacer(
	"openat ", "open ", "statat ", "look at ", "fstatat ", "look at ", "lstat ", "look at ", "stat ", "look at ",
	"unlinkat ", "delete ", "mkdirat ", "make ",
)

func (e *advisedError) Error() string {
	said := e.err.Error()
	if call, _, ok := strings.Cut(said, " "); ok {
		said = calls.Replace(call+" ") + said[len(call)+1:]
	}
	if !strings.HasSuffix(said, "?") {
		said += "."
	}
	return said + " " + e.hint
}
func (e *advisedError) Unwrap() error { return e.err }
