package pull

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/bot/thread"
)

// handedPrefix is the prefix of the id and the key of a delivery handed to another thread.
const handedPrefix = "handed "

// KeyOf returns the key of a delivery's text, independent of its thread.
func KeyOf(d *store.Delivery) string { return strings.TrimPrefix(d.Key, handedPrefix) }

// OtherNumber returns the number of from if it is another thread than home, and 0 otherwise.
func OtherNumber(from, home thread.Ref) int {
	if from.Same(home) {
		return 0
	}
	return from.Number
}

// aboutPull reports whether an event is about a pull request that is not from a fork.
func aboutPull(ev ghapp.Event) bool {
	return !ev.Pull.Fork && (ev.IsPull || strings.HasPrefix(ev.Kind, "pull_request"))
}

// HandOn moves a delivery about a session's pull request to the session's thread. It
// returns false if there is no such session, or if this is already its thread.
func HandOn(ctx context.Context, st store.Store, app *ghapp.App, d *store.Delivery, ev ghapp.Event) (bool, error) {
	if !aboutPull(ev) {
		return false, nil
	}
	of, err := opener(ctx, st.Sessions, app, ev)
	if err != nil || of == nil || of.Thread == d.Thread {
		return false, err
	}
	newest, err := st.Sessions.ByThread(ctx, of.Thread)
	if err != nil ||
		newest.ID != of.ID && ev.State != "closed" { // a newer session with another pull request has replaced it
		return false, store.Unless(err, store.ErrNotFound)
	}
	there := *d
	there.ID, there.Key, there.Thread = handedPrefix+d.ID, handedPrefix+d.Key, of.Thread
	if d.Key == "" {
		there.Key += d.ID
	}
	if _, err := st.Deliveries.Put(ctx, &there); err != nil {
		return false, err
	}
	return true, st.Deliveries.Done(ctx, "handed to "+of.Thread, d.ID)
}

// isOf reports whether a session opened the pull request with a number.
func isOf(s *store.Session, number int) bool {
	var row struct {
		Pull Kept `json:"pull"`
	}
	return s.Pull == number || json.Unmarshal(s.Data, &row) == nil && slices.Contains(row.Pull.Old, number)
}

// opener returns the session that opened a pull request, or nil if there is none. If
// the marker in the text is missing, it searches the repository's sessions.
func opener(ctx context.Context, sessions store.Sessions, app *ghapp.App, ev ghapp.Event) (*store.Session, error) {
	opened := func(s *store.Session) bool {
		return isOf(s, ev.Thread.Number) && strings.EqualFold(s.Repo, ev.Thread.Repository()) //control:pull-is-the-session
	}
	_, key := app.Written(ev.Body)
	if rest, ok := strings.CutPrefix(key, "pull-"); ok {
		id, _, _ := strings.Cut(rest, "-")
		s, err := sessions.Session(ctx, id)
		if err == nil && opened(s) {
			return s, nil
		}
		if store.Unless(err, store.ErrNotFound) != nil {
			return nil, err
		}
	}
	ours, err := app.Speaks(ctx, ev.Author, 0)
	if err != nil || !ours {
		return nil, err
	}
	for q := (store.Query{Repo: strings.ToLower(ev.Thread.Repository()), Limit: 200}); ; {
		list, err := sessions.List(ctx, q)
		if err != nil {
			return nil, err
		}
		if i := slices.IndexFunc(list, opened); i >= 0 {
			return list[i], nil
		}
		if len(list) < q.Limit {
			return nil, nil
		}
		q.Below = list[len(list)-1].Seq
	}
}
