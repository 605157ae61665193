package ghapp

import (
	"context"
	"errors"
	"maps"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/handrail-bot/handrail/bot/quota"
	"github.com/handrail-bot/handrail/policy"
)

const (
	mostLookups    = 600              // that found no rights, in an hour and installation
	lookupsEach    = 5                // that found no rights, in a minute, of one account in one repository
	outsiderFor    = 10 * time.Minute // how long an account without rights is remembered
	insiderFor     = 24 * time.Hour   // and one with rights
	mostRemembered = 10_000           // accounts of each
)

// ErrLookups is why an account cannot be looked up now.
var ErrLookups = errors.New("too many accounts without rights were looked up within the hour")

// lookups remembers what looking up accounts came to, so that people without
// rights cannot use up the requests to GitHub. That somebody has a right is
// never taken from here: that is asked each time.
type lookups struct {
	mu        sync.Mutex
	outsiders map[string]remembered // by repository and login
	insiders  map[string]remembered
	each      quota.Group // refusals of one account in one repository
	all       quota.Group // of an installation
}

type remembered struct {
	actor policy.Actor
	at    time.Time
}

func newLookups(limit int) *lookups {
	return &lookups{
		outsiders: map[string]remembered{}, insiders: map[string]remembered{},
		each: quota.Group{Bucket: quota.Bucket{Size: lookupsEach, Per: time.Minute}},
		all:  quota.Group{Bucket: quota.Bucket{Size: limit, Per: time.Hour, Share: 4}},
	}
}

func accountKey(repo, login string) string { return strings.ToLower(repo + " " + login) }

// Sender is [Client.Actor] for who wrote something. An account without rights
// that writes on and on is not looked up each time: what was found within the
// last minutes counts then. An account that was never found to have rights has
// to wait, by an error, when very many have none.
func (c *Client) Sender(ctx context.Context, login string) (policy.Actor, error) {
	of := quota.Request{Sender: login, Repository: c.owner + "/" + c.repo, Installation: strconv.FormatInt(c.installation, 10)}
	l := c.app.lookups
	actor, wait := l.remember(c.app.cfg.Clock(), of)
	switch {
	case wait > 0:
		return actor, &Error{Op: "read permission of " + login, Kind: Temporary, RetryAfter: wait, Err: ErrLookups}
	case actor.Lookup != policy.NotAsked:
		return actor, nil
	}
	actor, err := c.Actor(ctx, login)
	if err == nil {
		l.learn(c.app.cfg.Clock(), actor, of)
	}
	return actor, err
}

// remember returns an account that need not be looked up, or how long looking
// up has to wait.
func (l *lookups) remember(now time.Time, of quota.Request) (policy.Actor, time.Duration) {
	key := accountKey(of.Repository, of.Sender)
	l.mu.Lock()
	defer l.mu.Unlock()
	if actor, ok := l.flooding(now, key); ok { //control:outsider-remembered
		return actor, 0
	}
	if now.Sub(l.insiders[key].at) < insiderFor {
		return policy.Actor{}, 0
	}
	return policy.Actor{}, l.all.Of(of.Installation, now).Wait(now, of.Repository, 0) //control:lookup-quota
}

// flooding returns an account without rights that was looked up as often as
// it may be. The lock is held.
func (l *lookups) flooding(now time.Time, key string) (policy.Actor, bool) {
	r, ok := l.outsiders[key]
	return r.actor, ok && now.Sub(r.at) < outsiderFor && l.each.Of(key, now).Wait(now, "", 0) > 0
}

// learn takes in what a lookup found.
func (l *lookups) learn(now time.Time, actor policy.Actor, of quota.Request) {
	key := accountKey(of.Repository, of.Sender)
	l.mu.Lock()
	defer l.mu.Unlock()
	if policy.Insider(actor) {
		delete(l.outsiders, key)
		put(l.insiders, key, remembered{at: now}, insiderFor)
		return
	}
	put(l.outsiders, key, remembered{actor, now}, outsiderFor)
	l.each.Of(key, now).Take(now, "")
	l.all.Of(of.Installation, now).Take(now, of.Repository)
}

// put keeps an account, in place of old ones where there are too many.
func put(list map[string]remembered, key string, r remembered, keep time.Duration) {
	if len(list) >= mostRemembered {
		maps.DeleteFunc(list, func(_ string, old remembered) bool { return r.at.Sub(old.at) >= keep })
	}
	for old := range list {
		if len(list) < mostRemembered {
			break
		}
		delete(list, old) // any: who it was is looked up anew
	}
	list[key] = r
}

// Flooding reports whether an account without rights in a repository was
// looked up so often that what it writes now needs no look at all.
func (a *App) Flooding(repo, login string) bool {
	a.lookups.mu.Lock()
	defer a.lookups.mu.Unlock()
	_, ok := a.lookups.flooding(a.cfg.Clock(), accountKey(repo, login))
	return ok
}

// Account is an account as commits name it.
type Account struct{ Name, Email string }

// AccountOf returns the account with a login and a number, on a client's GitHub. Its
// address is the one that GitHub gives every account, so that commits are shown as
// those of the account, and no letter gets there.
func AccountOf(c *Client, login string, id int64) Account {
	mail := login + "@users.noreply." + c.app.site.name
	if id != 0 {
		mail = strconv.FormatInt(id, 10) + "+" + mail //control:true-bot-address
	}
	return Account{login, mail}
}

// OwnAccount returns the bot's own account.
func OwnAccount(ctx context.Context, c *Client) (Account, error) {
	login, err := c.Self(ctx)
	if err != nil {
		return Account{}, err
	}
	u, _, err := c.gh.Users.Get(ctx, login)
	if err = c.readError("find own account", err); err != nil && !errors.Is(err, ErrNotFound) {
		return Account{}, err
	}
	return AccountOf(c, login, u.GetID()), nil
}
