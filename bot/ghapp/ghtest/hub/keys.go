package hub

import (
	"crypto/rand"
	"encoding/hex"
	"time"
)

// Keys is who may speak, and how much.
type Keys struct {
	Tokens map[string]*Token // by value
	Rates  map[string]*Rate  // by who calls
}

// Token is an access token of a person or an installation.
type Token struct {
	Value   string
	User    *User
	Inst    *Installation // nil for a person's
	Perms   map[string]string
	Repos   map[int64]bool // nil for all of the installation
	Expires time.Time      // zero for never
}

// NewToken makes a token, which may do all that its user may.
func (k *Keys) NewToken(u *User, prefix string) *Token {
	var b [24]byte
	_, _ = rand.Read(b[:]) // crypto/rand does not fail
	t := &Token{Value: prefix + hex.EncodeToString(b[:]), User: u}
	k.Tokens[t.Value] = t
	return t
}

// Rate is the primary limit of one caller.
type Rate struct {
	Limit, Used int
	Reset       time.Time
}

// Rate returns the limit of a caller at this time.
func (k *Keys) Rate(who string, now time.Time) *Rate {
	r := k.Rates[who]
	if r == nil || !now.Before(r.Reset) {
		r = &Rate{Limit: 5000, Reset: now.Add(time.Hour)}
		k.Rates[who] = r
	}
	return r
}

// Attachment is a file that a person put into a text. One that is not public
// is served only under its signed address, which ends with JWT.
type Attachment struct {
	ID     string
	Data   []byte
	Public bool
	JWT    string
}
