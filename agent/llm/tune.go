package llm

import (
	"context"
	"iter"
	"sync"
)

// Shared caches the models returned by open by name, so that all sessions share the
// knowledge about the server and its current requests.
func Shared(open func(name string) (Model, error)) func(name string) (Model, error) {
	var mu sync.Mutex
	known := map[string]Model{}
	return func(name string) (m Model, err error) {
		mu.Lock()
		defer mu.Unlock()
		if known[name] == nil {
			if m, err = open(name); err != nil {
				return nil, err
			}
			known[name] = m
		}
		return known[name], nil
	}
}

// Settings overrides the capabilities of a model. The server is asked for fields that are
// nil or zero.
type Settings struct {
	Temperature             *float64
	Tools, Thinking, Vision *bool
	ContextLength           int // maximum context of the model in tokens
}

// Tune returns m with the operator's settings, which take precedence over the server's.
func Tune(m Model, s Settings) Model { return &tuned{m, s} }

// reacher is a model with a cheaper request to its server than Capabilities.
type reacher interface {
	Reach(ctx context.Context) error
}

// Reach checks that a model's server is reachable and grants access, without running the
// model.
func Reach(ctx context.Context, m Model) error {
	if t, ok := m.(*tuned); ok {
		m = t.Model
	}
	if r, ok := m.(reacher); ok {
		return r.Reach(ctx)
	}
	_, err := m.Capabilities(ctx)
	return err
}

type tuned struct {
	Model
	set Settings
}

// Capabilities implements [Model].
func (t *tuned) Capabilities(ctx context.Context) (caps Capabilities, err error) {
	s := t.set
	if s.Tools == nil || s.Thinking == nil || s.Vision == nil || s.ContextLength == 0 {
		if caps, err = t.Model.Capabilities(ctx); err != nil {
			return caps, err
		}
	}
	for _, c := range []struct {
		said *bool
		into *bool
	}{{s.Tools, &caps.Tools}, {s.Thinking, &caps.Thinking}, {s.Vision, &caps.Vision}} {
		if c.said != nil {
			*c.into = *c.said
		}
	}
	if s.ContextLength > 0 {
		caps.ContextLength = s.ContextLength
	}
	return caps, nil
}

// Stream implements [Model].
func (t *tuned) Stream(ctx context.Context, req Request) iter.Seq2[Part, error] {
	if req.Temperature == nil {
		req.Temperature = t.set.Temperature
	}
	return t.Model.Stream(ctx, req)
}
