package retain

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/gitops"
)

// Uninstalled deletes what is kept of repositories that the App was taken off. GitHub is
// asked again and again, and time counts only as far as it says so: never while it does not
// answer, never for an account that suspended the App.
type Uninstalled struct {
	Keeper

	Keep time.Duration // that a repository is gone before its data goes; 0 for ever
	App  int64         // its number: what another App is not installed on says nothing

	Ask    func(context.Context) (Installed, error)             // all that the App is installed on
	There  func(ctx context.Context, repo string) (bool, error) // asks of one repository by itself, also by a former name
	Ended  func(ctx context.Context, repos []string)            // has sessions end
	Others func(context.Context) ([]string, error)              // repositories of which other things are kept than sessions
	Forget func(ctx context.Context, repo string) error         // those things
	Unused func(time.Duration) error                            // removes what repositories share and nobody used for a time
	Git    *gitops.Store
}

// Installed is what an App is installed on. Names, owner/name and owner, are in lower case.
type Installed struct {
	Repositories map[string]bool
	Unknown      map[string]bool // owners of whose repositories GitHub does not tell
}

// has reports whether a repository may be there.
func (i Installed) has(repo string) bool {
	owner, _, _ := strings.Cut(repo, "/")
	return i.Repositories[repo] || i.Unknown[owner] //control:suspended-is-not-uninstalled
}

// absence is how long a repository was gone for certain.
type absence struct {
	Since time.Time     `json:"since"`
	Last  time.Time     `json:"last"` // GitHub was asked
	For   time.Duration `json:"for"`
	Done  time.Time     `json:"done,omitzero"` // its data was deleted, here or by another server
}

// known is what was found out when GitHub was asked last.
type known struct {
	App       int64               `json:"app"`
	Installed []string            `json:"installed,omitempty"`
	Gone      map[string]*absence `json:"gone,omitempty"`
}

const knownKey = "installed"

// mostBetween is how much time counts between two answers at most: a clock that jumps, and
// a server that was down for a month, delete nothing.
const mostBetween = 24 * time.Hour

// change changes what is known, also while other servers do.
func (u *Uninstalled) change(ctx context.Context, with func(*known)) (k known, err error) {
	for {
		k = known{}
		raw, err := u.Store.Meta.Get(ctx, knownKey)
		if err == nil {
			err = json.Unmarshal(raw, &k)
		}
		if store.Unless(err, store.ErrNotFound) != nil {
			return k, fmt.Errorf("read what the App is installed on: %w", err)
		}
		if k.App != u.App || k.Gone == nil { //control:absent-for-this-app
			k = known{App: u.App, Gone: map[string]*absence{}}
		}
		with(&k)
		next, err := json.Marshal(k)
		if err != nil {
			return k, err
		}
		if err = u.Store.Meta.Swap(ctx, knownKey, raw, next); !errors.Is(err, store.ErrConflict) {
			return k, err
		}
	}
}

// Heard notes that GitHub said that the App was taken off repositories: their time begins.
func (u *Uninstalled) Heard(ctx context.Context, repos ...string) error {
	var lost []string
	_, err := u.change(ctx, func(k *known) {
		lost = nil
		for _, repo := range repos {
			if repo = strings.ToLower(repo); k.miss(repo, u.now().UTC()) {
				lost = append(lost, repo)
			}
		}
	})
	if err == nil {
		u.lost(ctx, lost)
	}
	return err
}

// lost tells of repositories that are gone since now, and has their sessions end.
func (u *Uninstalled) lost(ctx context.Context, repos []string) {
	if len(repos) == 0 {
		return
	}
	u.Log.WarnContext(ctx, "the App is not installed on repositories any more: their data goes when its time is over", "repositories", repos, "keep", u.Keep.String())
	u.Ended(ctx, repos)
}

// miss notes that a repository is gone, and reports whether that is new.
func (k *known) miss(repo string, now time.Time) bool {
	a := k.Gone[repo]
	if a == nil {
		k.Gone[repo] = &absence{Since: now, Last: now}
		return true
	}
	a.For += min(max(now.Sub(a.Last), 0), mostBetween) //control:time-that-was-watched
	a.Last = now
	return false
}

// Look asks GitHub what the App is installed on, and deletes what is kept of repositories
// that were gone all the time that u says. Without a whole answer nothing is known.
func (u *Uninstalled) Look(ctx context.Context) error {
	is, err := u.Ask(ctx)
	if err != nil { //control:no-answer-deletes-nothing
		return fmt.Errorf("ask what the App is installed on: %w", err)
	}
	kept, err := u.kept(ctx)
	if err != nil {
		return err
	}
	now := u.now().UTC()
	var lost []string
	k, err := u.change(ctx, func(k *known) {
		for _, repo := range k.Installed {
			kept[repo] = true
		}
		for repo, a := range k.Gone {
			kept[repo] = true
			forgotten := !a.Done.IsZero() && now.Sub(a.Done) > max(u.Keep, mostBetween) // each server had its time
			if is.has(repo) || forgotten {                                              //control:installed-again
				delete(kept, repo)
				delete(k.Gone, repo)
			}
		}
		lost = nil
		for repo := range kept {
			if !is.has(repo) && k.miss(repo, now) {
				lost = append(lost, repo)
			}
		}
		k.Installed = slices.Sorted(maps.Keys(is.Repositories))
	})
	if err != nil {
		return err
	}
	slices.Sort(lost)
	u.lost(ctx, lost)
	var gone []string
	for _, repo := range slices.Sorted(maps.Keys(k.Gone)) {
		if u.Keep > 0 && k.Gone[repo].For >= u.Keep { //control:uninstalled-for-its-time
			gone = append(gone, repo)
		}
	}
	if len(gone) == 0 {
		return nil
	}
	return u.remove(ctx, k, gone)
}

// kept returns the repositories of which something is kept.
func (u *Uninstalled) kept(ctx context.Context) (map[string]bool, error) {
	others, err := u.Others(ctx)
	kept := map[string]bool{}
	for _, repo := range others {
		kept[strings.ToLower(repo)] = true
	}
	for q := (store.Query{Limit: 10 * page}); err == nil; {
		var list []*store.Session
		list, err = u.Store.Sessions.List(ctx, q)
		for _, s := range list {
			kept[strings.ToLower(s.Repo)] = true
		}
		if len(list) < q.Limit {
			break
		}
		q.Before = list[len(list)-1].Created
	}
	delete(kept, "") // a session of no repository
	return kept, err
}

// remove deletes everything of repositories but for those that GitHub says are there after
// all, perhaps under another name. What it cannot delete is left for the next look.
func (u *Uninstalled) remove(ctx context.Context, k known, gone []string) error {
	var errs []error
	var done []string
	for _, repo := range gone {
		if k.Gone[repo].Done.IsZero() { // else another server has asked, and this one has its own copies
			if there, err := u.There(ctx, repo); err != nil || there { //control:asked-of-itself
				errs = append(errs, err)
				continue
			}
		}
		left, err := u.removeSessions(ctx, repo)
		if errs = append(errs, err); err == nil && left == 0 {
			done = append(done, repo)
		}
	}
	_, _, err := u.Git.RemoveUnused(ctx, u.now().Add(-u.Keep), func(ctx context.Context, m gitops.Unused) (bool, error) {
		if !slices.ContainsFunc(done, m.Of) { //control:mirrors-of-the-gone
			return true, nil
		}
		return u.needs(ctx, m)
	})
	errs = append(errs, err, u.Unused(u.Keep))
	for _, repo := range done {
		errs = append(errs, u.Forget(ctx, repo))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	_, err = u.change(ctx, func(now *known) {
		for _, repo := range done {
			if a := now.Gone[repo]; a != nil && k.Gone[repo].Done.IsZero() {
				a.Done = u.now().UTC()
			}
		}
	})
	return err
}

// removeSessions deletes those of a repository, and returns how many are left: those that
// somebody works on.
func (u *Uninstalled) removeSessions(ctx context.Context, repo string) (left int, err error) {
	deleted := 0
	for q := (store.Query{Repo: repo, Limit: page}); ; {
		list, err := u.Store.Sessions.List(ctx, q)
		if err != nil {
			return left, err
		}
		for _, s := range list {
			if err := u.removeSession(ctx, s); err != nil {
				left++
				u.Log.WarnContext(ctx, "a session of a repository that the App was taken off is not deleted yet", "session", s.ID, "err", err)
				continue
			}
			deleted++
		}
		if len(list) < page && deleted+left == 0 {
			return 0, nil
		}
		if len(list) < page {
			u.Log.InfoContext(ctx, "deleted what was kept of a repository that the App was taken off", "repository", repo, "sessions", deleted, "left", left)
			return left, nil
		}
		q.Before = list[len(list)-1].Created
	}
}

// removeSession deletes a session. One that waits for something is ended first, with all
// that was to be said on GitHub: nobody is there to say it to.
func (u *Uninstalled) removeSession(ctx context.Context, s *store.Session) error {
	for _, what := range []struct {
		key string
		end func(context.Context, *store.Session, store.Fence) error
	}{{s.Thread, u.endThread}, {s.ID, u.end}} {
		l, err := u.Store.Leases.Acquire(ctx, what.key, "retention", time.Minute)
		if err != nil {
			return err
		}
		released := false
		if err = what.end(ctx, s, l.Fence()); err == nil {
			released, err = u.Store.Leases.Release(ctx, l, time.Time{})
		}
		if err != nil || !released {
			_, again := u.Store.Leases.Release(ctx, l, u.now())
			return errors.Join(err, again, store.ErrNotOver)
		}
	}
	heads, err := u.heads(ctx)
	if err != nil {
		return err
	}
	why := fmt.Sprintf("retention.uninstalled, %d days after the App was taken off %s", u.Keep/(24*time.Hour), s.Repo)
	return store.Unless(u.delete(ctx, s, heads[s.ID], why), store.ErrNotFound)
}

const takenOff = "the App was taken off the repository"

// endThread gives up the deliveries of a thread.
func (u *Uninstalled) endThread(ctx context.Context, s *store.Session, _ store.Fence) error {
	for {
		d, err := u.Store.Deliveries.Next(ctx, s.Thread)
		if err == nil {
			err = u.Store.Deliveries.Done(ctx, takenOff, d.ID)
		}
		if err != nil {
			return store.Unless(err, store.ErrNotFound)
		}
	}
}

// end gives up the writes of a session, and the session.
func (u *Uninstalled) end(ctx context.Context, s *store.Session, f store.Fence) error {
	open, err := u.Store.Intents.Open(ctx, s.ID)
	if err != nil {
		return err
	}
	for _, in := range open {
		if err := u.Store.Intents.Failed(ctx, f, in.Key, takenOff); err != nil {
			return err
		}
	}
	row, err := u.Store.Sessions.Session(ctx, s.ID)
	if err != nil || row.State.Over() {
		return store.Unless(err, store.ErrNotFound)
	}
	row.State = session.PhaseFailed
	return u.Store.Sessions.Update(ctx, f, row)
}
