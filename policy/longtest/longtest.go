// Package longtest keeps a plain `go test ./...` short: it is to end within two minutes on two cores
// with compiled packages. Tests that take seconds of a processor are left to .ci/test, which runs
// all of them and fails if one is left out; -run and CI=1 run them as well.
package longtest

import (
	"flag"
	"os"
	"strconv"
	"testing"
)

// Leave skips a test of a plain `go test`.
func Leave(t testing.TB) {
	t.Helper()
	if Plain() {
		t.Skip("LEFT TO .ci/test, or to -run: it takes long") // .ci/test fails if it meets these words
	}
}

// Long reports whether tests run their long forms, as make long asks for by HANDRAIL_LONG. Without it
// they run a few cases of each.
func Long() bool { return os.Getenv("HANDRAIL_LONG") != "" }

// Plain reports whether this is a plain `go test`.
func Plain() bool {
	f := flag.Lookup("test.run")
	return f != nil && plain(f.Value.String(), os.Getenv)
}

// plain decides by the value of -run and the variables of CI, make long and .ci/test, read by getenv.
func plain(run string, getenv func(string) string) bool {
	return run == "" && getenv("CI") == "" && getenv("HANDRAIL_LONG") == "" && getenv("HANDRAIL_REQUIRE_ENGINES") == ""
}

// Wide runs n tests of a package beside each other, unless -parallel says how many: tests that
// mostly wait, for processes and clocks, need no processor of their own. It is for TestMain.
func Wide(n int) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if f := flag.Lookup("test.parallel"); f != nil && !given {
		_ = f.Value.Set(strconv.Itoa(n)) // a number is always valid
	}
}
