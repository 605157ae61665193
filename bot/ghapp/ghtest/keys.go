package ghtest

import (
	"crypto/rsa"
	"time"

	"github.com/handrail-bot/handrail/bot/ghapp/ghtest/hub"
)

type token struct {
	value   string
	user    *hub.User
	inst    *hub.Installation // nil for a person's token
	perms   map[string]string
	repos   map[int64]bool // nil for all of the installation
	expires time.Time      // zero for never
}

// keyring is who may speak, and how much.
type keyring struct {
	appPublic *rsa.PublicKey
	perms     map[string]string // what the app may do
	tokens    map[string]*token
	rate      map[string]*rateState // by who calls
	manifests map[string]bool       // codes of the manifest flow not yet used
}

func defaultPermissions() map[string]string {
	return map[string]string{"metadata": "read", "contents": "write", "issues": "write",
		"pull_requests": "write", "checks": "write", "statuses": "write", "actions": "read", "members": "read"}
}
