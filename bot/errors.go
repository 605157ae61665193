package bot

import (
	"errors"
	"net"
	"syscall"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/gitops"
)

// Temporary reports whether an error says nothing about the work itself, so
// that trying later can help however often it failed: GitHub or the network
// does not answer, another worker has the session, the disk is full.
func Temporary(err error) bool {
	var ge *ghapp.Error
	if errors.As(err, &ge) {
		return ge.Kind != ghapp.Permanent
	}
	var ne net.Error
	return errors.As(err, &ne) || errors.Is(err, gitops.ErrUnavailable) || errors.Is(err, syscall.ENOSPC) || errors.Is(err, store.ErrHeld) || errors.Is(err, store.ErrFull) || errors.Is(err, session.ErrFenced) //control:outage-waits
}
