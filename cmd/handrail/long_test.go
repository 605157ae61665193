package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/policy/longtest"
)

// form is a number of the short form, or of the long one.
func form(short, all int) int {
	if longtest.Long() {
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
