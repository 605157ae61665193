package work

import (
	"context"
	"log/slog"
	"net"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/policy"
)

func TestWalled(t *testing.T) {
	for _, c := range []struct {
		engine, network string
		want            bool
	}{
		{"docker", "", true}, {"bwrap", "none", true}, {"docker", "open", false}, {"bwrap", "allowlist", false}, {"local", "none", false}, {"local", "", false}, {"", "", false},
	} {
		if got := isWalled(c.engine, c.network); got != c.want {
			t.Errorf("walled(%q, %q) is %t", c.engine, c.network, got)
		}
	}
}

// A browser sees servers of the workspace only where no others listen on its loopback interface.
func TestOwnNetwork(t *testing.T) {
	for _, c := range []struct {
		engine, network string
		want            bool
	}{
		{"docker", "", true}, {"bwrap", "none", true}, {"bwrap", "allowlist", true},
		{"docker", "open", false}, {"bwrap", "open", false}, {"local", "none", false}, {"", "", false},
	} {
		if got := ownNetwork(c.engine, c.network); got != c.want {
			t.Errorf("ownNetwork(%q, %q) is %t", c.engine, c.network, got)
		}
	}
}

// A workspace is asked for a browser only where it may be used; without one the tool is not announced.
func TestBrowserIsLookedFor(t *testing.T) {
	off := policy.Tools{policy.BrowserTool: {Off: true}}
	for _, c := range []struct {
		engine, network string
		tools           policy.Tools
		shows, asked    bool
	}{
		{"docker", "none", nil, true, true},
		{"docker", "none", off, true, false},
		{"bwrap", "open", nil, false, false},
		{"local", "none", nil, false, false},
	} {
		e := New(Config{Log: slog.New(slog.DiscardHandler)})
		e.cfg.Rules.Workspace.Network, e.cfg.Rules.Tools = c.network, c.tools
		asked := false
		shows, program, err := e.browser(t.Context(), c.engine, func(context.Context) (string, error) {
			asked = true
			return "/usr/bin/chromium", nil
		})
		if err != nil || shows != c.shows || asked != c.asked || (program != "") != c.asked {
			t.Errorf("%+v: %t, %t, %q, %v", c, shows, asked, program, err)
		}
	}
}

type wayOut struct {
	policy.Workspace
	key string
}

func (wayOut) Serve(context.Context, net.Conn) {}
func (w wayOut) Refused() []string {
	return []string{"refused evil.example:443, not on " + w.key}
}

// A workspace reaches all, single hosts, or nothing, and an approval is bound to which.
func TestReaches(t *testing.T) {
	e := New(Config{Log: slog.New(slog.DiscardHandler), Egress: func(w policy.Workspace, key string, _ *slog.Logger) (workspace.Egress, error) {
		return wayOut{w, key}, nil
	}})
	list := policy.Workspace{Network: "allowlist", Hosts: []string{"a.example"}, Presets: []string{"go"}, Inside: map[string]string{"A.example": "10.0.0.1", "unlisted.example": "10.0.0.2"}}
	for _, tt := range []struct {
		w     policy.Workspace
		open  bool
		bound string
	}{
		{policy.Workspace{Network: "none"}, false, "none"},
		{policy.Workspace{}, false, ""},
		{policy.Workspace{Network: "open"}, true, "open"},
		{list, false, "allowlist: a.example proxy.golang.org sum.golang.org A.example=10.0.0.1"},
	} {
		var spec workspace.Spec
		if err := e.setNetwork(&spec, tt.w, "workspace.hosts"); err != nil {
			t.Fatal(err)
		}
		if spec.Network != tt.open || (spec.Egress != nil) != (tt.w.Network == "allowlist") {
			t.Errorf("%+v opens %+v", tt.w, spec)
		}
		if got := networkOf(tt.w); got != tt.bound {
			t.Errorf("an approval is bound to %q, want %q", got, tt.bound)
		}
	}
	var spec workspace.Spec
	if err := New(Config{}).setNetwork(&spec, list, "workspace.hosts"); err == nil || spec.Network || !strings.Contains(err.Error(), "allowlist") {
		t.Errorf("without a way out: %+v, %v", spec, err)
	}
}
