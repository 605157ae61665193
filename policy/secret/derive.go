package secret

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
)

// Key is a key for one purpose, derived from a secret. Name identifies the key without
// revealing it. A nil Key seals, opens and signs nothing.
type Key struct {
	Name  string
	bytes []byte
}

// DeriveKey derives the key for a purpose, such as "log contents". It is deterministic;
// keys for different purposes are independent. If the secret is empty, the key is nil.
func DeriveKey(from Value, use string) (*Key, error) {
	if from == "" {
		return nil, nil
	}
	bytes, err := hkdf.Key(sha256.New, []byte(from.Reveal()), nil, "handrail "+use, 32)
	if err != nil {
		return nil, fmt.Errorf("derive key for %s: %w", use, err)
	}
	name := sha256.Sum256(append([]byte("name of "), bytes...))
	return &Key{Name: hex.EncodeToString(name[:4]), bytes: bytes}, nil
}

// ErrSealed means that a text was sealed with another key or for another place, or was
// modified.
var ErrSealed = errors.New("it is sealed with another key, or was changed")

// Seal encrypts a text and binds it to a place, such as a path in a session, without
// which it cannot be opened.
func (k *Key) Seal(text []byte, place string) ([]byte, error) {
	c, err := k.cipher()
	if err != nil {
		return nil, err
	}
	nonce := make([]byte, c.NonceSize())
	_, _ = rand.Read(nonce) // crypto/rand.Read never fails
	return c.Seal(nonce, nonce, text, []byte(place)), nil
}

// Open decrypts a text that was sealed for the place, or returns [ErrSealed].
func (k *Key) Open(sealed []byte, place string) ([]byte, error) {
	c, err := k.cipher()
	if err != nil {
		return nil, err
	}
	if len(sealed) < c.NonceSize() {
		return nil, ErrSealed
	}
	text, err := c.Open(nil, sealed[:c.NonceSize()], sealed[c.NonceSize():], []byte(place))
	if err != nil {
		return nil, ErrSealed
	}
	return text, nil
}

func (k *Key) cipher() (cipher.AEAD, error) {
	if k == nil {
		return nil, ErrSealed
	}
	block, err := aes.NewCipher(k.bytes)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

// Sign returns the HMAC of a text, in hex.
func (k *Key) Sign(text string) string {
	if k == nil {
		return ""
	}
	m := hmac.New(sha256.New, k.bytes)
	m.Write([]byte(text))
	return hex.EncodeToString(m.Sum(nil))
}

// Signed reports whether sum is the signature of the text.
func (k *Key) Signed(text, sum string) bool {
	return k != nil && hmac.Equal([]byte(k.Sign(text)), []byte(sum))
}
