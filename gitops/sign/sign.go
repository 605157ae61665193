// Package sign signs commits as git does: with an SSH key in the SSHSIG format, or
// with an OpenPGP key. Signatures are deterministic, so that the same commit signed
// again is the same commit.
package sign

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

// Key is a private key that signs commits.
type Key struct {
	Kind string // ssh or gpg
	sign func(payload []byte, when time.Time) (string, error)
}

// ReadKey reads a private key: one of OpenSSH or in PEM form, or an armored one of
// OpenPGP. No error holds anything of it.
func ReadKey(data []byte) (*Key, error) {
	switch text := string(data); {
	case strings.Contains(text, "-----BEGIN PGP PRIVATE KEY BLOCK-----"):
		return readGPG(data)
	case strings.Contains(text, "PRIVATE KEY-----"):
		return readSSH(data)
	case strings.Contains(text, "-----BEGIN PGP PUBLIC KEY BLOCK-----"), strings.HasPrefix(text, "ssh-"), strings.HasPrefix(text, "ecdsa-"):
		return nil, errors.New("it is a public key; signing takes the private one")
	}
	return nil, errors.New("it is no private key, neither of SSH nor, in its armored form, of OpenPGP")
}

// Commit returns a commit with its signature. It is a signer of commits, see
// package gitops.
func (k *Key) Commit(_ context.Context, _ string, commit []byte) ([]byte, error) {
	c, err := Read(commit)
	if err != nil {
		return nil, err
	}
	signature, err := k.sign(commit, c.When)
	if err != nil {
		return nil, fmt.Errorf("sign with the %s key: %w", k.Kind, err)
	}
	return with(commit, strings.TrimRight(signature, "\n"))
}

// Signed returns the commit with a signature that has a given id, as idOf counts it.
// Some signers leave an empty line at the end of a signature, and do not show it.
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

// Commit is what a commit says.
type Commit struct {
	Tree    string
	Parents []string
	Message string
	When    time.Time // of the committer
}

// Read reads a commit as git stores it.
func Read(commit []byte) (Commit, error) {
	head, message, ok := strings.Cut(string(commit), "\n\n")
	out := Commit{Message: message}
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
