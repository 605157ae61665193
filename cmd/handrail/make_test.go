package main

import (
	"os/exec"
	"testing"
)

// A target of the Makefile ends as its test does, also if a test that passes has nothing to say.
func TestTargetsEndAsTheirTests(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("make"); err != nil {
		t.Skip("NEEDS make")
	}
	for program, passes := range map[string]bool{"true": true, "false": false} {
		out, err := exec.CommandContext(t.Context(), "make", "-s", "-C", "../..", "promtool", "GO="+program).CombinedOutput()
		if (err == nil) != passes {
			t.Errorf("a test that ends as %s does: %v\n%s", program, err, out)
		}
	}
}
