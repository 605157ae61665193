// The retention policy of a server, see bot/retain.

package records

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/handrail-bot/handrail/agent/layer"
	"github.com/handrail-bot/handrail/agent/work"
	"github.com/handrail-bot/handrail/bot"
	"github.com/handrail-bot/handrail/bot/fault"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/ghapp/granted"
	"github.com/handrail-bot/handrail/bot/retain"
	"github.com/handrail-bot/handrail/bot/schedule"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/bot/store/sqlstore"
	"github.com/handrail-bot/handrail/bot/sweep"
	"github.com/handrail-bot/handrail/bot/thread"
	"github.com/handrail-bot/handrail/cmd/config"
	"github.com/handrail-bot/handrail/gitops"
	"github.com/handrail-bot/handrail/policy/secret"
)

// Config has the parts of a server that the retention policy needs.
type Config struct {
	Server    config.Server
	Store     *sqlstore.Store
	Key       *secret.Key
	App       *ghapp.App
	Git       *gitops.Store
	Engine    *work.Engine // may be nil
	Bot       *bot.Bot
	Transport http.RoundTripper // for GitHub
	Every     time.Duration     // between queries to GitHub; 0 means 6 hours
	Now       func() time.Time  // nil means time.Now
	Log       *slog.Logger
}

// Keeper deletes expired data of a server. It is safe for concurrent use.
type Keeper struct {
	Config

	keep retain.Keeper
	gone *retain.Uninstalled // nil without an App
}

// New returns the keeper of a server.
func New(c Config) *Keeper {
	k := &Keeper{
		Config: c,
		keep:   retain.Keeper{Store: c.Store.Store, Retired: c.Store, Key: c.Key, Now: c.Now, Log: c.Log},
	}
	if c.Server.GitHub.AppID == 0 {
		return k
	}
	book := schedule.Book{Meta: c.Store.Meta}
	k.gone = &retain.Uninstalled{
		Keeper:      k.keep,
		Keep:        time.Duration(c.Server.Retain.Uninstalled),
		App:         c.Server.GitHub.AppID,
		Ask:         k.installed,
		Exists:      k.isInstalled,
		EndSessions: c.Bot.RepositoriesRemoved,
		Others:      book.Repositories,
		Unused:      c.Engine.RemoveUnused,
		Git:         c.Git,
		Forget: func(ctx context.Context, repo string) error {
			return errors.Join(book.Forget(ctx, repo), layer.Forget(ctx, c.Store.Meta, repo), c.Bot.Forget(ctx, repo))
		},
	}
	return k
}

func (k *Keeper) installed(ctx context.Context) (retain.Installed, error) {
	g := k.Server.GitHub
	all, err := granted.All(ctx, granted.Config{API: g.API, AppID: g.AppID, Key: g.Key, Transport: k.Transport})
	return retain.Installed(all), err
}

// isInstalled reports whether the App is installed on a repository.
func (k *Keeper) isInstalled(ctx context.Context, repo string) (bool, error) {
	at, err := thread.Parse(repo + "#1")
	if err != nil {
		return true, err
	}
	id, err := k.App.Installed(ctx, at)
	return id != 0, err
}

// Run applies the policy at start and periodically until ctx ends.
func (k *Keeper) Run(ctx context.Context) {
	var asks sync.WaitGroup
	defer asks.Wait()
	if k.gone != nil {
		asks.Go(func() {
			sweep.Every{
				Pause: cmp.Or(k.Every, 6*time.Hour),
				Log:   k.Log,
			}.Run(
				ctx,
				"read the installations of the App",
				func(ctx context.Context) error {
					return fault.Guarded(ctx, k.Log, "read the installations of the App", func() error { return k.gone.Look(ctx) })
				},
			)
		})
	}
	sweep.Every{Pause: 24 * time.Hour, Log: k.Log}.Run(ctx, "delete expired data", func(ctx context.Context) error {
		r := k.Server.Retain
		_, err := k.Store.PruneVectors(ctx, time.Now().Add(-unusedVectors))
		return errors.Join(err, k.keep.Logs(ctx, time.Duration(r.Logs)), k.keep.Mirrors(ctx, k.Git, time.Duration(r.Mirrors)))
	})
}

// Source turns an event into a delivery.
type Source func(ctx context.Context, event string, payload []byte) (store.Delivery, bool, error)

// WatchRemovals wraps next, and tells the keeper about repositories that the App was removed
// from.
func (k *Keeper) WatchRemovals(next Source) Source {
	return func(ctx context.Context, event string, payload []byte) (store.Delivery, bool, error) {
		d, ok, err := next(ctx, event, payload)
		if err != nil || k.gone == nil || !strings.HasPrefix(event, "installation") {
			return d, ok, err
		}
		ev, err := ghapp.ParseEvent(event, payload)
		if err != nil || len(ev.Removed) == 0 || ev.Action == "suspend" { //control:suspend-begins-nothing
			return d, ok, err
		}
		var repos []string
		for _, at := range ev.Removed {
			repos = append(repos, at.Repository())
		}
		return d, ok, k.gone.NoteRemoval(ctx, repos...)
	}
}
