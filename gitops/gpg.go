package gitops

import (
	"bytes"
	"crypto"
	"errors"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
)

func readGPG(data []byte) (*SigningKey, error) {
	list, err := openpgp.ReadArmoredKeyRing(bytes.NewReader(data))
	if err != nil || len(list) == 0 {
		return nil, errors.New("the OpenPGP key cannot be read; export it with gpg --export-secret-keys --armor")
	}
	if len(list) > 1 {
		return nil, errors.New("there are several OpenPGP keys in it; export the one that signs")
	}
	entity := list[0]
	key, ok := entity.SigningKey(time.Now())
	switch {
	case !ok:
		return nil, errors.New("the OpenPGP key cannot sign: it has expired, was revoked, or is for something else")
	case key.PrivateKey == nil || key.PrivateKey.Dummy():
		return nil, errors.New("the private part of the OpenPGP key is not in it")
	case key.PrivateKey.Encrypted:
		return nil, errors.New(
			"the OpenPGP key has a passphrase, which a server cannot type in: take it off, and keep the file readable for the server alone",
		)
	}
	return &SigningKey{Kind: kindGPG, sign: func(payload []byte, when time.Time) (string, error) {
		random := false
		var out bytes.Buffer
		err := openpgp.ArmoredDetachSign(&out, entity, bytes.NewReader(payload), &packet.Config{
			DefaultHash: crypto.SHA512, NonDeterministicSignaturesViaNotation: &random,
			Time: func() time.Time { return when },
		})
		return out.String(), err
	}}, nil
}
