// Package webflow holds the key with which the fake GitHub signs its own commits.
package webflow

import (
	"bytes"
	"crypto"
	"strings"
	"sync"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
)

// Key returns the signing key, which also verifies signatures.
var Key = sync.OnceValues(func() (*openpgp.Entity, error) {
	return openpgp.NewEntity("GitHub", "web-flow commit signing", "noreply@github.com",
		&packet.Config{Algorithm: packet.PubKeyAlgoEdDSA, DefaultHash: crypto.SHA256})
})

// Sign returns the signature of an unsigned commit.
func Sign(commit []byte) (string, error) {
	k, err := Key()
	if err != nil {
		return "", err
	}
	var out bytes.Buffer
	err = openpgp.ArmoredDetachSign(&out, k, bytes.NewReader(commit), nil)
	return out.String() + "\n", err
}

// Signature splits a commit into payload and signature, "" if it has none, and reports
// whether the signature is valid for this key.
func Signature(commit string) (payload, signature string, ok bool) {
	payload, signature = split(commit)
	return payload, signature, signature != "" && valid(payload, signature)
}

// valid reports whether a signature is valid for this key.
func valid(commit, signature string) bool {
	k, err := Key()
	if err != nil {
		return false
	}
	_, err = openpgp.CheckArmoredDetachedSignature(
		openpgp.EntityList{k},
		strings.NewReader(commit),
		strings.NewReader(signature),
		nil,
	)
	return err == nil
}

// split splits a commit into payload and signature, "" if it has none.
func split(commit string) (payload, signature string) {
	head, message, _ := strings.Cut(commit, "\n\n")
	var rest, sig []string
	in := false
	for _, line := range strings.Split(head, "\n") {
		text, starts := strings.CutPrefix(line, "gpgsig ")
		switch {
		case starts:
			in, sig = true, append(sig, text)
		case in && strings.HasPrefix(line, " "):
			sig = append(sig, line[1:])
		default:
			in, rest = false, append(rest, line)
		}
	}
	return strings.Join(rest, "\n") + "\n\n" + message, strings.Join(sig, "\n")
}
