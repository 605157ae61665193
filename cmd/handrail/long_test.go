package main

import (
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
