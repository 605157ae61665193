package work

import "testing"

func TestWalled(t *testing.T) {
	for _, c := range []struct {
		engine, network string
		want            bool
	}{
		{"docker", "", true}, {"bwrap", "none", true}, {"docker", "open", false}, {"bwrap", "allowlist", false}, {"local", "none", false}, {"local", "", false}, {"", "", false},
	} {
		if got := walled(c.engine, c.network); got != c.want {
			t.Errorf("walled(%q, %q) is %t", c.engine, c.network, got)
		}
	}
}
