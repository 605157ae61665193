package work

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"time"

	"github.com/handrail-bot/handrail/agent/project"
	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/workspace"
)

// image returns the image for the workspace of a job: the configured one, or else the
// one that the base branch requests or that fits it. A guessed image is available on
// return. An empty Name means the engine's own image.
func (e *Engine) image(ctx context.Context, j Job, at *session.State) (session.Image, error) {
	imaged, ok := e.cfg.Workspace.(workspace.Imaged)
	if name := e.cfg.Rules.Workspace.Image; name != "" && ok {
		return session.Image{Name: name, Why: "the configuration names it"}, nil
	} else if !ok || !imaged.Images() {
		return session.Image{Name: name}, nil
	}
	var found session.Image
	from := j.RulesAt
	if from == "" {
		from = at.Task.Base
	}
	if from != "" && e.cfg.Image != nil {
		var err error
		if found, err = e.cfg.Image(ctx, commitFiles{repo: j.Repo, commit: from}, e.cfg.Rules.AllowsImage); err != nil {
			return found, err
		}
	}
	if found.Name == "" {
		found.Why = "the repository asks for no other image"
	}
	return e.atHand(ctx, found, j.OnSetup)
}

// atHand returns guess if its image is available, and otherwise the engine's own image.
func (e *Engine) atHand(ctx context.Context, guess session.Image, tell func(string)) (session.Image, error) {
	engine, ok := e.cfg.Workspace.(workspace.Identified)
	if !ok || !guess.Guess {
		return guess, nil
	}
	before := e.away.why(guess.Name)
	_, err := engine.Programs(
		ctx,
		workspace.Spec{
			Image:    guess.Name,
			Pull:     before == nil && e.cfg.Rules.Pulls(guess.Name),
			Tell:     tell,
			Patience: patience,
		},
	)
	if err == nil || !errors.Is(err, workspace.ErrNoImage) || ctx.Err() != nil {
		return guess, err
	}
	if before != nil {
		err = before
	} else {
		e.away.note(guess.Name, err)
	}
	if _, again := engine.Programs(ctx, workspace.Spec{}); again != nil {
		return guess, errors.Join(err, again)
	}
	return session.Image{
		Why:   "the one that fits is not there",
		Notes: append(guess.Notes, fmt.Sprintf("%s: %s; but %v", guess.Name, guess.Why, err)),
	}, nil
}

// A guess is not worth a long wait. patience is the time its registry has to answer;
// awayTime is the time until a failed guess is tried again.
const (
	patience = 20 * time.Second
	awayTime = 10 * time.Minute
)

// away has the guessed images that failed lately. It is safe for concurrent use.
type away struct {
	mu   sync.Mutex
	less map[string]lack // by image
}

// lack is the reason and time of a failed attempt to get an image.
type lack struct {
	err error
	at  time.Time
}

func (a *away) why(image string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if time.Since(a.less[image].at) >= awayTime {
		delete(a.less, image)
	}
	return a.less[image].err
}

func (a *away) note(image string, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.less == nil {
		a.less = map[string]lack{}
	}
	a.less[image] = lack{err, time.Now()}
}

// tellImage records the image of the workspace if it has changed.
func (e *Engine) tellImage(ctx context.Context, j Job, at *session.State, image session.Image) error {
	if image.Why == "" {
		return nil
	}
	if imaged, ok := e.cfg.Workspace.(workspace.Imaged); ok && image.Name == "" && imaged.OnMachine(ctx) {
		image.Why += "; there is no " + workspace.DefaultImage
	} else if image.Name == "" {
		image.Name = workspace.DefaultImage
	}
	if last := at.Image(); last != nil && reflect.DeepEqual(*last, image) {
		return nil
	}
	var events []*session.Event
	if at.Seq == 0 {
		events = append(events, session.NewEvent(session.TypeOpened, 0, session.Opened{Task: j.Task}))
	}
	events = append(events, session.NewEvent(session.TypeState, at.Turns, session.Update{Image: &image}))
	for _, ev := range events {
		err := session.Rewrite(ev, func(_, text string) string {
			text, _ = e.cfg.Secrets.Redactor.Redact(text)
			return text
		})
		if err != nil {
			return err
		}
	}
	if err := j.Log.Append(ctx, events...); err != nil {
		return fmt.Errorf("append to log: %w", err)
	}
	for _, ev := range events {
		if j.OnEvent != nil {
			j.OnEvent(*ev)
		}
	}
	return nil
}

// Finder finds the image that fits the files of a repository, among those for which
// allows returns true.
type Finder func(ctx context.Context, files project.Files, allows func(image string) bool) (session.Image, error)
