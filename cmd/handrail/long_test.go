package main

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// long reports whether tests run their long forms, as make long does by
// HANDRAIL_LONG. Without it, go test runs a few cases of each.
func long() bool { return os.Getenv("HANDRAIL_LONG") != "" }

// form is a number of the short form, or of the long one.
func form(short, all int) int {
	if long() {
		return all
	}
	return short
}

// brief reports whether this is a plain `go test`, which leaves long tests out. .ci/test names the engines that it
// requires, CI is set in CI, and a test that is named by -run is wanted.
func brief() bool { return leavesOut(flag.Lookup("test.run").Value.String(), os.Getenv) }

func leavesOut(run string, env func(string) string) bool {
	return run == "" && env("CI") == "" && env("HANDRAIL_LONG") == "" && env("HANDRAIL_REQUIRE_ENGINES") == ""
}

// leftToCI leaves a test of several seconds of a processor to .ci/test, which fails if it meets these words.
func leftToCI(t *testing.T) {
	t.Helper()
	if brief() {
		t.Skip("LEFT TO .ci/test, or to -run: it takes long")
	}
}

func TestNothingIsLeftOutInCI(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		run, name string
		want      bool
	}{{"", "", true}, {"TestCrash", "", false}, {"", "CI", false}, {"", "HANDRAIL_LONG", false}, {"", "HANDRAIL_REQUIRE_ENGINES", false}} {
		got := leavesOut(tt.run, func(name string) string {
			if name == tt.name {
				return "1"
			}
			return ""
		})
		if got != tt.want {
			t.Errorf("-run %q with %s: long tests are left out: %v", tt.run, tt.name, got)
		}
	}
}

// missing skips a test, loudly, where this machine lacks what it needs, and
// fails it where HANDRAIL_REQUIRE_ENGINES, a list with commas, names that.
func missing(t *testing.T, need, format string, args ...any) {
	t.Helper()
	why := fmt.Sprintf("NEEDS %s: %s", strings.ToUpper(need), fmt.Sprintf(format, args...))
	if slices.Contains(strings.Split(os.Getenv("HANDRAIL_REQUIRE_ENGINES"), ","), need) {
		t.Fatal(why)
	}
	t.Skip(why)
}
