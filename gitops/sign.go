package gitops

// Commits are signed like git does it, with an SSH key in the SSHSIG format or with an
// OpenPGP key. Signatures are deterministic: signing the same commit again gives the
// same id.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// The kinds of keys.
const (
	kindSSH = "ssh"
	kindGPG = "gpg"
)

// SigningKey is a private key that signs commits.
type SigningKey struct {
	Kind string // ssh or gpg
	sign func(payload []byte, when time.Time) (string, error)
}

// ReadSigningKey reads a private key: OpenSSH, PEM, or armored OpenPGP. Errors contain no part
// of the key.
func ReadSigningKey(data []byte) (*SigningKey, error) {
	switch text := string(data); {
	case strings.Contains(text, "-----BEGIN PGP PRIVATE KEY BLOCK-----"):
		return readGPG(data)
	case strings.Contains(text, "PRIVATE KEY-----"):
		return readSSH(data)
	case strings.Contains(text, "-----BEGIN PGP PUBLIC KEY BLOCK-----"),
		strings.HasPrefix(text, "ssh-"),
		strings.HasPrefix(text, "ecdsa-"):
		return nil, errors.New("it is a public key; signing takes the private one")
	}
	return nil, errors.New("it is no private key, neither of SSH nor, in its armored form, of OpenPGP")
}

// Commit returns the signed commit. It implements [Signer].
func (k *SigningKey) Commit(_ context.Context, _ string, commit []byte) ([]byte, error) {
	c, err := ReadCommit(commit)
	if err != nil {
		return nil, err
	}
	signature, err := k.sign(commit, c.When)
	if err != nil {
		return nil, fmt.Errorf("sign with the %s key: %w", k.Kind, err)
	}
	return with(commit, strings.TrimRight(signature, "\n"))
}

// Signed adds a signature to a commit such that idOf returns id for the result. Some
// signers end a signature with empty lines that they do not show.
func Signed(commit []byte, signature, id string, idOf func([]byte) string) ([]byte, error) {
	signature = strings.TrimRight(strings.ReplaceAll(signature, "\r\n", "\n"), "\n")
	for range 3 {
		signed, err := with(commit, signature)
		if err != nil || idOf(signed) == id { //control:commit-of-the-id
			return signed, err
		}
		signature += "\n"
	}
	return nil, fmt.Errorf("the commit that is shown with its signature is not %s", id)
}

func with(commit []byte, signature string) ([]byte, error) {
	end := bytes.Index(commit, []byte("\n\n"))
	if end < 0 || signature == "" {
		return nil, errors.New("add signature: there is no commit, or no signature")
	}
	var out bytes.Buffer
	out.Write(commit[:end+1])
	out.WriteString("gpgsig " + strings.ReplaceAll(signature, "\n", "\n ") + "\n")
	out.Write(commit[end+1:])
	return out.Bytes(), nil
}

// SignedCommit holds the parsed fields of a commit.
type SignedCommit struct {
	Tree    string
	Parents []string
	Message string
	When    time.Time // committer time
}

// ReadCommit parses a raw commit.
func ReadCommit(commit []byte) (SignedCommit, error) {
	head, message, ok := strings.Cut(string(commit), "\n\n")
	out := SignedCommit{Message: message}
	for line := range strings.SplitSeq(head, "\n") {
		key, value, _ := strings.Cut(line, " ")
		switch key {
		case "tree":
			out.Tree = value
		case "parent":
			out.Parents = append(out.Parents, value)
		case "committer":
			words := strings.Fields(value)
			if len(words) < 2 {
				return out, errors.New("read commit: its committer has no time")
			}
			seconds, err := strconv.ParseInt(words[len(words)-2], 10, 64)
			if err != nil {
				return out, fmt.Errorf("read commit: %w", err)
			}
			out.When = time.Unix(seconds, 0)
		}
	}
	if !ok || out.Tree == "" || out.When.IsZero() {
		return out, errors.New("read commit: it is none")
	}
	return out, nil
}
