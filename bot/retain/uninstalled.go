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

// Uninstalled deletes the data of repositories from which the App was uninstalled. The
// retention time passes only while GitHub confirms the absence: not during an outage, and
// not for an account that suspended the App.
type Uninstalled struct {
	Keeper

	Keep time.Duration // from uninstallation to deletion; 0 keeps the data for ever
	App  int64         // the App's id: absence from another App means nothing

	Ask         func(context.Context) (Installed, error)             // returns all installations of the App
	Exists      func(ctx context.Context, repo string) (bool, error) // checks one repository, also by a former name
	EndSessions func(ctx context.Context, repos []string)            // ends the sessions of repositories
	Others      func(context.Context) ([]string, error)              // lists repositories with other data than sessions
	Forget      func(ctx context.Context, repo string) error         // deletes that data
	Unused      func(time.Duration) error                            // removes shared data not used for this time
	Git         *gitops.Store
}

// Installed lists the repositories with the App, as owner/name in lower case.
type Installed struct {
	Repositories map[string]bool
	Unknown      map[string]bool // owners for which GitHub lists no repositories
}

// has reports whether a repository may still have the App.
func (i Installed) has(repo string) bool {
	owner, _, _ := strings.Cut(repo, "/")
	return i.Repositories[repo] || i.Unknown[owner] //control:suspended-is-not-uninstalled
}

// absence is the time for which a repository is known to be gone.
type absence struct {
	Since time.Time     `json:"since"`
	Last  time.Time     `json:"last"` // time of GitHub's last answer
	For   time.Duration `json:"for"`
	Done  time.Time     `json:"done,omitzero"` // deletion of its data, here or by another server
}

// known is the stored result of GitHub's last answer.
type known struct {
	App       int64               `json:"app"`
	Installed []string            `json:"installed,omitempty"`
	Gone      map[string]*absence `json:"gone,omitempty"`
}

const knownKey = "installed"

// maxBetween is the maximum time that one interval between answers adds to an absence,
// so that a clock jump or a long downtime deletes nothing.
const maxBetween = 24 * time.Hour

// change updates the stored record atomically; with is called again after a conflict.
func (u *Uninstalled) change(ctx context.Context, with func(*known)) (k known, err error) {
	for {
		k = known{}
		raw, err := u.Store.Meta.Get(ctx, knownKey)
		if err == nil {
			err = json.Unmarshal(raw, &k)
		}
		if store.Unless(err, store.ErrNotFound) != nil {
			return k, fmt.Errorf("read the installations of the App: %w", err)
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

// NoteRemoval records that GitHub reported an uninstallation. The retention time begins.
func (u *Uninstalled) NoteRemoval(ctx context.Context, repos ...string) error {
	var lost []string
	_, err := u.change(ctx, func(k *known) {
		lost = nil
		for _, repo := range repos {
			if repo = strings.ToLower(repo); k.markMissing(repo, u.now().UTC()) {
				lost = append(lost, repo)
			}
		}
	})
	if err == nil {
		u.reportLost(ctx, lost)
	}
	return err
}

// reportLost logs newly missing repositories and ends their sessions.
func (u *Uninstalled) reportLost(ctx context.Context, repos []string) {
	if len(repos) == 0 {
		return
	}
	u.Log.WarnContext(
		ctx, "the App is no longer installed on repositories: their data goes when its time is over", "repositories",
		repos, "keep",
		u.Keep.String(),
	)
	u.EndSessions(ctx, repos)
}

// markMissing records that a repository is gone, and reports whether that is new.
func (k *known) markMissing(repo string, now time.Time) bool {
	a := k.Gone[repo]
	if a == nil {
		k.Gone[repo] = &absence{Since: now, Last: now}
		return true
	}
	a.For += min(max(now.Sub(a.Last), 0), maxBetween) //control:time-that-was-watched
	a.Last = now
	return false
}

// Look asks GitHub for the installations, and deletes the data of repositories that were
// gone for the retention time. An incomplete answer changes nothing.
func (u *Uninstalled) Look(ctx context.Context) error {
	is, err := u.Ask(ctx)
	if err != nil { //control:no-answer-deletes-nothing
		return fmt.Errorf("ask for the installations of the App: %w", err)
	}
	kept, err := u.storedRepositories(ctx)
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
			// each server had time to delete its own data
			forgotten := !a.Done.IsZero() && now.Sub(a.Done) > max(u.Keep, maxBetween)
			if is.has(repo) || forgotten { //control:installed-again
				delete(kept, repo)
				delete(k.Gone, repo)
			}
		}
		lost = nil
		for repo := range kept {
			if !is.has(repo) && k.markMissing(repo, now) {
				lost = append(lost, repo)
			}
		}
		k.Installed = slices.Sorted(maps.Keys(is.Repositories))
	})
	if err != nil {
		return err
	}
	slices.Sort(lost)
	u.reportLost(ctx, lost)
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

// storedRepositories returns the repositories with stored data.
func (u *Uninstalled) storedRepositories(ctx context.Context) (map[string]bool, error) {
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
		q.Below = list[len(list)-1].Seq
	}
	delete(kept, "") // a session without a repository
	return kept, err
}

// remove deletes all data of the repositories, except those that GitHub still finds,
// perhaps under another name. Failed deletions are retried at the next look.
func (u *Uninstalled) remove(ctx context.Context, k known, gone []string) error {
	var errs []error
	var done []string
	for _, repo := range gone {
		if k.Gone[repo].Done.IsZero() { // otherwise another server asked, and local copies remain
			if there, err := u.Exists(ctx, repo); err != nil || there { //control:asked-of-itself
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

// removeSessions deletes the sessions of a repository, and returns the number of those
// that could not be deleted yet.
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
				u.Log.WarnContext(ctx, "a session of a repository without the App is not deleted yet", "session", s.ID, "err", err)
				continue
			}
			deleted++
		}
		if len(list) < page && deleted+left == 0 {
			return 0, nil
		}
		if len(list) < page {
			u.Log.InfoContext(
				ctx, "deleted the data of a repository without the App", "repository", repo, "sessions", deleted, "left",
				left,
			)
			return left, nil
		}
		q.Below = list[len(list)-1].Seq
	}
}

// removeSession deletes a session. A waiting one is ended first, and its pending writes
// to GitHub are dropped: the bot has no access any more.
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
	why := fmt.Sprintf(
		"retention.uninstalled, %d days after the App was uninstalled from %s",
		u.Keep/(24*time.Hour),
		s.Repo,
	)
	return store.Unless(u.delete(ctx, s, heads[s.ID], why), store.ErrNotFound)
}

const takenOff = "the App was uninstalled from the repository"

// endThread drops the deliveries of a thread.
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

// end drops the pending writes of a session and marks it as failed.
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
