package work

import (
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/agent/deps"
	"github.com/handrail-bot/handrail/agent/workspace"
)

// Without a network and with empty caches an install command is refused, with the reason
// first. With a layer, or in an image that somebody made, nothing is known, and it runs.
func TestInstallIsRefused(t *testing.T) {
	list := deps.Needed([]string{"package-lock.json"}, func(string) string { return "" })
	if len(list) != 1 {
		t.Fatalf("%d managers", len(list))
	}
	n := needs{managers: list, known: true}
	const want = "npm ci was not run: the workspace has no network, and no packages of npm in a cache.\n"
	if got := n.refuse("npm ci && npm test"); !strings.HasPrefix(got, want) {
		t.Errorf("refused with %q", got)
	}
	for name, n := range map[string]needs{
		"a layer": {managers: list, known: true, layered: true}, "an image": {managers: list}, "a network": {},
	} {
		if got := n.refuse("npm ci"); got != "" {
			t.Errorf("%s: %q", name, got)
		}
	}
	if got := n.refuse("npm test"); got != "" {
		t.Errorf("npm test: %q", got)
	}
}

// A failed command is followed by the package that it did not find, and by how to go on.
func TestLackIsTold(t *testing.T) {
	n := needs{managers: deps.Needed([]string{"package-lock.json"}, func(string) string { return "" })}
	for _, tt := range []struct {
		output, want string
		exit         int
	}{
		{"Error: Cannot find module 'left-pad'", "[Missing: left-pad, a package of npm. Nothing can be installed now", 1},
		{"Error: Cannot find module 'left-pad'", "", 0},
		{"getaddrinfo EAI_AGAIN registry.npmjs.org", "[The workspace has no network: the command did not reach a host.]", 1},
		{"AssertionError: 4 is not 5", "", 1},
	} {
		got := n.lacks(workspace.CommandResult{Output: tt.output, Exit: tt.exit})
		if !strings.HasPrefix(got, tt.want) || tt.want == "" && got != "" {
			t.Errorf("%q: %q", tt.output, got)
		}
	}
	n.layered = true
	if got := n.lacks(workspace.CommandResult{Output: "Cannot find module 'a'", Exit: 1}); !strings.Contains(got, "The set-up did not install it") {
		t.Errorf("with a layer: %q", got)
	}
}
