package hub

import (
	"crypto/rand"
	"encoding/hex"
	"time"
)

// Keys holds access tokens and rate limits.
type Keys struct {
	Tokens map[string]*Token // by value
	Rates  map[string]*Rate  // by caller
}

// Token is an access token of a user or an installation.
type Token struct {
	Value   string
	User    *User
	Inst    *Installation // nil for a user's token
	Perms   map[string]string
	Repos   map[int64]bool // nil means all of the installation
	Expires time.Time      // the zero time means never
}

// NewToken creates a token with all rights of its user.
func (k *Keys) NewToken(u *User, prefix string) *Token {
	var b [24]byte
	_, _ = rand.Read(b[:]) // never fails
	t := &Token{Value: prefix + hex.EncodeToString(b[:]), User: u}
	k.Tokens[t.Value] = t
	return t
}

// Rate is the primary rate limit of one caller.
type Rate struct {
	Limit, Used int
	Reset       time.Time
}

// Rate returns the current rate limit of a caller.
func (k *Keys) Rate(who string, now time.Time) *Rate {
	return k.rate(who, now, Rate{Limit: 5000, Reset: now.Add(time.Hour)})
}

// SearchRate returns the current rate limit of a caller's searches.
func (k *Keys) SearchRate(who string, now time.Time) *Rate {
	return k.rate("search by "+who, now, Rate{Limit: 30, Reset: now.Add(time.Minute)})
}

func (k *Keys) rate(of string, now time.Time, full Rate) *Rate {
	r := k.Rates[of]
	if r == nil || !now.Before(r.Reset) {
		r = &full
		k.Rates[of] = r
	}
	return r
}

// Attachment is a file attached to a text. A private one is served only under its
// signed address, which ends with JWT.
type Attachment struct {
	ID     string
	Data   []byte
	Public bool
	JWT    string
}
