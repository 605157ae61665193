// Package fault classifies errors: whether a retry can help, the text shown to users, and
// whether it is a panic.
package fault

import (
	"errors"
	"fmt"
	"net"
	"syscall"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/render"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/gitops"
)

// UserError is an error with a text for the users of a thread: they can fix it, and it says
// how.
type UserError struct{ Text string }

// Error implements error.
func (t UserError) Error() string { return t.Text }

// Final reports that a retry cannot help: a user has to act.
func (t UserError) Final() bool { return true } //control:told-at-once

// InWords returns an error as shown to the users of a thread. An error that only the
// operator can fix is shown as a detail, not as a sentence of ours.
func InWords(err error) error {
	var told UserError
	var refused *ghapp.Error
	switch {
	case Is(err), err == nil:
		return err
	case errors.As(err, &told):
		return told
	case errors.Is(err, gitops.ErrEmpty):
		return gitops.ErrEmpty
	case errors.Is(err, gitops.ErrNoDefault):
		return gitops.ErrNoDefault
	case errors.Is(err, gitops.ErrAuth):
		return UserError{render.WhyNoGitAccess}
	case errors.Is(err, gitops.ErrNotFound):
		return UserError{render.WhyNoCode}
	case errors.As(err, &refused) && refused.MissingPermission != "":
		return UserError{render.WhyNoPermission(refused.MissingPermission)} //control:permission-in-words
	case errors.As(err, &refused) && errors.Is(err, ghapp.ErrNotFound):
		return fmt.Errorf(render.WhyNotOnGitHub, refused.Op)
	case errors.As(err, &refused) && refused.Kind == ghapp.Permanent:
		return fmt.Errorf(render.WhyRefusedByGitHub, refused.Op, render.Detail(refused.Err.Error()))
	}
	return fmt.Errorf(render.WhyServer, render.Detail(err.Error()))
}

// OfGitHub reports whether an error means that GitHub's API or git service does not
// answer now, or denies all access.
func OfGitHub(err error) bool {
	var ge *ghapp.Error
	return errors.As(err, &ge) && ge.Kind != ghapp.Permanent || errors.Is(err, gitops.ErrUnavailable)
}

// Temporary reports whether an error says nothing about the work itself, so that a retry
// can help after any number of failures: GitHub or the network does not answer, another
// worker has the session, the disk is full, another process holds the database.
func Temporary(err error) bool {
	var ge *ghapp.Error
	if errors.As(err, &ge) {
		return ge.Kind != ghapp.Permanent
	}
	var ne net.Error
	return errors.As(err, &ne) || errors.Is(err, gitops.ErrUnavailable) || errors.Is(err, syscall.ENOSPC) || errors.Is(err, store.ErrHeld) || errors.Is(err, store.ErrFull) || errors.Is(err, store.ErrBusy) || errors.Is(err, session.ErrFenced) //control:outage-waits
}
