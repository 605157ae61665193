package secret

import (
	"bytes"
	"errors"
	"testing"
)

// TestSeal: a sealed text opens with the same key at the same place only, and shows
// nothing of itself.
func TestSeal(t *testing.T) {
	derive := func(from Value, use string) *Key {
		k, err := DeriveKey(from, use)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	key := derive("the server's secret", "contents")
	text := []byte("a file with a password in it")
	sealed, err := key.Seal(text, "s1 a.txt")
	if err != nil || bytes.Contains(sealed, text[:8]) {
		t.Fatalf("%q, %v", sealed, err)
	}
	if again, err := key.Seal(text, "s1 a.txt"); err != nil || bytes.Equal(again, sealed) {
		t.Errorf("the same text is sealed alike: %v", err)
	}
	changed := bytes.Clone(sealed)
	changed[len(changed)-1] ^= 1
	for _, c := range []struct {
		name   string
		key    *Key
		sealed []byte
		place  string
		want   error
	}{
		{"as it was", key, sealed, "s1 a.txt", nil},
		{"derived once more", derive("the server's secret", "contents"), sealed, "s1 a.txt", nil},
		{"another secret", derive("another", "contents"), sealed, "s1 a.txt", ErrSealed},
		{"another use", derive("the server's secret", "ends"), sealed, "s1 a.txt", ErrSealed},
		{"no key", derive("", "contents"), sealed, "s1 a.txt", ErrSealed},
		{"another place", key, sealed, "s2 a.txt", ErrSealed},
		{"changed", key, changed, "s1 a.txt", ErrSealed},
		{"cut", key, sealed[:5], "s1 a.txt", ErrSealed},
		{"nothing", key, nil, "s1 a.txt", ErrSealed},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := c.key.Open(c.sealed, c.place)
			if !errors.Is(err, c.want) || c.want == nil && !bytes.Equal(got, text) {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
}
