package work

import (
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/policy"
)

// The model is told what commands reach of the network, in one line.
func TestNetworkIsTold(t *testing.T) {
	var many []string
	for _, c := range "abcdefghijkl" {
		many = append(many, string(c)+".example")
	}
	for _, tt := range []struct {
		engine string
		w      policy.Workspace
		want   string
	}{
		{"bwrap", policy.Workspace{}, "The workspace has no network: nothing can be downloaded or installed."}, {"docker", policy.Workspace{Network: "none"}, "The workspace has no network: nothing can be downloaded or installed."},
		{"local", policy.Workspace{Network: "none"}, ""}, {"docker", policy.Workspace{Network: "open"}, ""}, {"docker", policy.Workspace{Network: "allowlist"}, "The workspace has no network: nothing can be downloaded or installed."},
		{"bwrap", policy.Workspace{Network: "allowlist", Hosts: []string{"a.example", "b.example"}}, "Of the network, commands reach only a.example, b.example."},
		{"bwrap", policy.Workspace{Network: "allowlist", Hosts: many}, "h.example, 4 more."},
	} {
		if got := networkWords(tt.engine, tt.w); got != tt.want && (tt.want == "" || !strings.HasSuffix(got, tt.want)) {
			t.Errorf("%s, %+v: %q, want %q", tt.engine, tt.w, got, tt.want)
		}
	}
}
