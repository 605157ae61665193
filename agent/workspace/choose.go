package workspace

import (
	"context"
	"errors"
	"fmt"
)

// ErrNoEngine means that no walled engine works on this machine.
var ErrNoEngine = errors.New(
	"choose workspace engine: none can be used; install one of them, or ask for \"local\" by name where the code is trusted",
)

// Choose returns the first of engines for which Check passes. It never returns an
// engine named "local", because that has no wall: it must be requested by name. On
// failure the error is [ErrNoEngine], with the prerequisites that each engine lacks.
func Choose(ctx context.Context, engines ...Engine) (Engine, error) {
	problems := []error{ErrNoEngine}
	for _, e := range engines {
		if e == nil || e.Name() == "local" {
			continue
		}
		err := e.Check(ctx)
		if err == nil {
			return e, nil
		}
		if ctx.Err() != nil {
			return nil, fmt.Errorf("choose workspace engine: %w", ctx.Err())
		}
		problems = append(problems, fmt.Errorf("%s: %w", e.Name(), err))
	}
	return nil, errors.Join(problems...)
}
