package testrun

import (
	"strings"

	"github.com/handrail-bot/handrail/policy/pattern"
)

// noneRan are messages of test runners that found no test. A run whose output has
// one, and none of someRan, proves nothing.
var (
	noneRan = pattern.Lazy(`(?m)^(Ran 0 tests|NO TESTS RAN|no tests ran|collected 0 items|=+ no tests ran|No tests found|No test files found|# tests 0|ℹ tests 0|0 examples, 0 failures|0 runs, 0 assertions|running 0 tests|No tests to run|Tests run: 0,|Total Tests: 0|\[No tests executed|No tests executed!)|\[no test files\]|no test specified|no packages to test|matched no packages`)
	someRan = pattern.Lazy(`(?m)^(ok|FAIL|---|not ok|panic:)\s|^Ran [1-9]|[1-9]\d* (passed|failed|passing|failing|error)|^[1-9]\d* (runs|examples|tests)|running [1-9]|^(#|ℹ) (pass|fail) [1-9]|Tests run: [1-9]|^Tests: +[1-9]`)
)

// None returns the reason why a test run proves nothing (its runner found no test),
// or "".
func None(output string) string {
	output = strings.ReplaceAll(output, "\r\n", "\n")
	if noneRan().MatchString(output) && !someRan().MatchString(output) {
		return "it found no test"
	}
	return ""
}
