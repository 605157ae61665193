package simulate

import (
	"github.com/handrail-bot/handrail/bot/ci"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/ghapp/ghtest"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/bot/thread"
)

// World is the small GitHub that a payload is laid out in, for the tests.
type World struct{ w *world }

// NewWorld is for the tests.
func NewWorld(in Input, ev ghapp.Event, dir string) (*World, error) {
	w, err := newWorld(in, ev, dir)
	return &World{w}, err
}

// Start is where work starts.
func (w *World) Start() (base, branch string) { return w.w.base, w.w.branch }

// Close ends it.
func (w *World) Close() error { return w.w.gh.Close() }

// App is the bot's.
func (w *World) App() ghtest.App { return w.w.gh.App() }

// URL is that of its API.
func (w *World) URL() string { return w.w.gh.URL() }

// Installed is the payload as this GitHub sends it.
func (w *World) Installed(payload []byte) ([]byte, error) { return w.w.withInstallation(payload) }

// Said is how many texts of the bot's are in a thread, and its reactions.
func (w *World) Said(app *ghapp.App, at thread.Ref) (answers int, reactions []string) {
	texts, reactions := w.w.contents(at)
	for _, text := range texts {
		if ours, _ := app.Written(text); ours {
			answers++
		}
	}
	return answers, reactions
}

// OfChecks is the session that a check is taken to be of, nil for another event.
func OfChecks(in Input, ev ghapp.Event) *store.Session {
	if !ci.Ended(ev) {
		return nil
	}
	row, _ := ofChecks(in, ev)
	return row
}
