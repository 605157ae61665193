package bot

import (
	"errors"
	"fmt"

	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/render"
	"github.com/handrail-bot/handrail/gitops"
)

// Told is an error whose text is for the people in a thread: they can mend it, and it
// says how.
type Told struct{ Text string }

// Error implements error.
func (t Told) Error() string { return t.Text }

// inWords returns an error as the people in a thread are told it. What only whoever
// runs the server can mend is shown as a detail, not as a sentence of ours.
func inWords(err error) error {
	var told Told
	var refused *ghapp.Error
	switch {
	case isFault(err), err == nil:
		return err
	case errors.As(err, &told):
		return told
	case errors.Is(err, gitops.ErrEmpty):
		return gitops.ErrEmpty
	case errors.Is(err, gitops.ErrNoDefault):
		return gitops.ErrNoDefault
	case errors.Is(err, gitops.ErrAuth):
		return Told{render.WhyNoGitAccess}
	case errors.Is(err, gitops.ErrNotFound):
		return Told{render.WhyNoCode}
	case errors.As(err, &refused) && errors.Is(err, ghapp.ErrNotFound):
		return fmt.Errorf(render.WhyNotOnGitHub, refused.Op)
	case errors.As(err, &refused) && refused.Kind == ghapp.Permanent:
		return fmt.Errorf(render.WhyRefusedByGitHub, refused.Op, render.Detail(refused.Err.Error()))
	}
	return fmt.Errorf(render.WhyServer, render.Detail(err.Error()))
}
