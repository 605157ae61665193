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
	maxLookups     = 600              // unprivileged accounts looked up per hour and installation
	maxLookupsEach = 5                // lookups per minute of one unprivileged account in one repository
	outsiderTTL    = 10 * time.Minute // cache lifetime of an unprivileged account
	insiderTTL     = 24 * time.Hour   // cache lifetime of a privileged account
	maxRemembered  = 10_000           // cached accounts of each kind
)

// ErrLookups means that an account cannot be looked up now.
var ErrLookups = errors.New("too many accounts without rights were looked up within the hour")

// lookups caches lookup results, so that unprivileged accounts cannot exhaust the API
// rate limit. A permission is never granted from the cache: that takes a new lookup
// each time.
type lookups struct {
	mu        sync.Mutex
	outsiders map[string]remembered // by repository and login
	insiders  map[string]remembered
	each      quota.Group // lookups of one account in one repository
	all       quota.Group // lookups of an installation
}

type remembered struct {
	actor policy.Actor
	at    time.Time
}

func newLookups(limit int) *lookups {
	return &lookups{
		outsiders: map[string]remembered{}, insiders: map[string]remembered{},
		each: quota.Group{Bucket: quota.Bucket{Size: maxLookupsEach, Per: time.Minute}},
		all:  quota.Group{Bucket: quota.Bucket{Size: limit, Per: time.Hour, Share: 4}},
	}
}

func accountKey(repo, login string) string { return strings.ToLower(repo + " " + login) }

// Sender is [Client.Actor] for the author of a text. An unprivileged account that keeps
// writing is answered from results of the last minutes. If an installation has too many
// unprivileged accounts, the lookup of an account that was not recently privileged
// fails with [ErrLookups] and a wait.
func (c *Client) Sender(ctx context.Context, login string) (policy.Actor, error) {
	of := quota.Request{
		Sender:       login,
		Repository:   c.owner + "/" + c.repo,
		Installation: strconv.FormatInt(c.installation, 10),
	}
	l := c.app.lookups
	actor, wait := l.recall(c.app.cfg.Clock(), of)
	switch {
	case wait > 0:
		return actor, &Error{Op: "read permission of " + login, Kind: Temporary, RetryAfter: wait, Err: ErrLookups}
	case actor.Lookup != policy.NotAsked:
		return actor, nil
	}
	actor, err := c.Actor(ctx, login)
	if err == nil {
		l.record(c.app.cfg.Clock(), actor, of)
	}
	return actor, err
}

// recall returns a cached account, or the wait before the next lookup.
func (l *lookups) recall(now time.Time, of quota.Request) (policy.Actor, time.Duration) {
	key := accountKey(of.Repository, of.Sender)
	l.mu.Lock()
	defer l.mu.Unlock()
	if actor, ok := l.flooding(now, key); ok { //control:outsider-remembered
		return actor, 0
	}
	if now.Sub(l.insiders[key].at) < insiderTTL {
		return policy.Actor{}, 0
	}
	return policy.Actor{}, l.all.Of(of.Installation, now).Wait(now, of.Repository, 0) //control:lookup-quota
}

// flooding returns the cached result if an unprivileged account has used up its
// lookups. The caller holds the lock.
func (l *lookups) flooding(now time.Time, key string) (policy.Actor, bool) {
	r, ok := l.outsiders[key]
	return r.actor, ok && now.Sub(r.at) < outsiderTTL && l.each.Of(key, now).Wait(now, "", 0) > 0
}

// record records the result of a lookup.
func (l *lookups) record(now time.Time, actor policy.Actor, of quota.Request) {
	key := accountKey(of.Repository, of.Sender)
	l.mu.Lock()
	defer l.mu.Unlock()
	if policy.Insider(actor) {
		delete(l.outsiders, key)
		put(l.insiders, key, remembered{at: now}, insiderTTL)
		return
	}
	put(l.outsiders, key, remembered{actor, now}, outsiderTTL)
	l.each.Of(key, now).Take(now, "")
	l.all.Of(of.Installation, now).Take(now, of.Repository)
}

// put caches an account and evicts others if the cache is full.
func put(list map[string]remembered, key string, r remembered, keep time.Duration) {
	if len(list) >= maxRemembered {
		maps.DeleteFunc(list, func(_ string, old remembered) bool { return r.at.Sub(old.at) >= keep })
	}
	for old := range list {
		if len(list) < maxRemembered {
			break
		}
		delete(list, old) // any entry will do: it is looked up again
	}
	list[key] = r
}

// Flooding reports whether an unprivileged account has used up its lookups in a
// repository, so that its new texts can be ignored.
func (a *App) Flooding(repo, login string) bool {
	a.lookups.mu.Lock()
	defer a.lookups.mu.Unlock()
	_, ok := a.lookups.flooding(a.cfg.Clock(), accountKey(repo, login))
	return ok
}

// Remembers reports whether an account had rights in a repository at its last lookup. That
// grants nothing.
func (a *App) Remembers(repo, login string) bool {
	a.lookups.mu.Lock()
	defer a.lookups.mu.Unlock()
	r, ok := a.lookups.insiders[accountKey(repo, login)]
	return ok && a.cfg.Clock().Sub(r.at) < insiderTTL
}

// Account is the name and email of a commit author.
type Account struct{ Name, Email string }

// AccountOf returns the commit identity of an account on the client's GitHub. It uses
// GitHub's noreply address, which attributes commits to the account and receives no
// mail.
func AccountOf(c *Client, login string, id int64) Account {
	mail := login + "@users.noreply." + c.app.site.name
	if id != 0 {
		mail = strconv.FormatInt(id, 10) + "+" + mail //control:true-bot-address
	}
	return Account{login, mail}
}

// OwnAccount returns the bot's own commit identity.
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
