package gitops

import (
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"
)

// SSHSIG is specified in PROTOCOL.sshsig of OpenSSH.
const (
	sshMagic     = "SSHSIG"
	sshNamespace = "git"
	sshHash      = "sha512"
	sshLine      = 70 // length of an armor line
)

func readSSH(data []byte) (*SigningKey, error) {
	signer, err := ssh.ParsePrivateKey(data)
	var locked *ssh.PassphraseMissingError
	if errors.As(err, &locked) {
		return nil, errors.New(
			"the SSH key has a passphrase, which a server cannot type in: take it off with ssh-keygen -p, and keep the file readable for the server alone",
		)
	}
	if err != nil {
		return nil, errors.New("the SSH key cannot be read; ed25519, ECDSA and RSA keys can")
	}
	algorithm := signer.PublicKey().Type()
	if algorithm == ssh.KeyAlgoRSA {
		algorithm = ssh.KeyAlgoRSASHA512 // SHA-1 signatures are no longer accepted
	}
	with, ok := signer.(ssh.AlgorithmSigner)
	if !ok {
		return nil, errors.New("the SSH key cannot be used to sign")
	}
	return &SigningKey{Kind: kindSSH, sign: func(payload []byte, _ time.Time) (string, error) {
		hash := sha512.Sum512(payload)
		signed := append(
			[]byte(sshMagic),
			ssh.Marshal(struct{ Namespace, Reserved, Hash, Sum string }{sshNamespace, "", sshHash, string(hash[:])})...)
		sig, err := with.SignWithAlgorithm(nil, signed, algorithm) // nil randomness: signatures must be deterministic
		if err != nil {
			return "", err
		}
		blob := append([]byte(sshMagic), ssh.Marshal(struct {
			Version                        uint32
			Key, Namespace, Reserved, Hash string
			Signature                      string
		}{1, string(signer.PublicKey().Marshal()), sshNamespace, "", sshHash, string(ssh.Marshal(sig))})...)
		return armored(base64.StdEncoding.EncodeToString(blob)), nil
	}}, nil
}

func armored(text string) string {
	var out strings.Builder
	out.WriteString("-----BEGIN SSH SIGNATURE-----\n")
	for len(text) > 0 {
		n := min(sshLine, len(text))
		out.WriteString(text[:n] + "\n")
		text = text[n:]
	}
	out.WriteString("-----END SSH SIGNATURE-----\n")
	return out.String()
}
