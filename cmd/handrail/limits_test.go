package main

import (
	"context"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/agent/workspace"
)

// bounded is an engine with the limits that a test gives it.
type bounded struct {
	workspace.Engine
	name    string
	missing []string
}

func (b bounded) Name() string { return b.name }

func (b bounded) Bounds(context.Context) workspace.Bounds {
	return workspace.Bounds{How: "by hope", Missing: b.missing}
}

// A server does not start where it cannot keep the limits of a wall, unless it
// was told so.
func TestMustLimit(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		engine    bounded
		unlimited bool
		want      string
	}{
		"all kept":      {bounded{name: "bwrap"}, false, ""},
		"some missing":  {bounded{name: "docker", missing: []string{"memory", "processes"}}, false, "cannot limit memory, processes"},
		"accepted":      {bounded{name: "docker", missing: []string{"memory"}}, true, ""},
		"without walls": {bounded{name: "local", missing: []string{"memory"}}, false, "without a wall"},
		"at own risk":   {bounded{name: "local", missing: []string{"memory"}}, true, ""},
	} {
		err := mustLimit(t.Context(), tt.engine, tt.unlimited)
		if (err == nil) != (tt.want == "") || err != nil && (!strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "unlimited: true")) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := boundsOf(t.Context(), bounded{name: "docker", missing: []string{"memory"}}); got != "by hope; not limited: memory" {
		t.Errorf("doctor says %q", got)
	}
}
