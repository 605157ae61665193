package testrun

import "testing"

// A runner that found no test proves nothing, whatever its exit code.
func TestNone(t *testing.T) {
	for output, none := range map[string]bool{
		"?   \texample.com/m\t[no test files]\n":                               true,
		"go: warning: \"./...\" matched no packages\nno packages to test\n":    true,
		"\n----------\nRan 0 tests in 0.000s\n\nOK\n":                          true,
		"\n----------\nRan 0 tests in 0.000s\n\nNO TESTS RAN\n":                true,
		"collected 0 items\n\n==== no tests ran in 0.01s ====\n":               true,
		"# tests 0\n# suites 0\n# pass 0\n# fail 0\n":                          true,
		"\u2139 tests 0\n\u2139 pass 0\n":                                      true,
		"Run options: --seed 1\n\n0 runs, 0 assertions, 0 failures\n":          true,
		"0 examples, 0 failures\n":                                             true,
		"running 0 tests\n\ntest result: ok. 0 passed; 0 failed\n":             true,
		"ok  \texample.com/m\t0.01s\n?   \texample.com/m/x\t[no test files]\n": false,
		"Ran 3 tests in 0.001s\n\nOK\n":                                        false,
		"# tests 2\n# pass 2\n":                                                false,
		"3 passed in 0.01s\n":                                                  false,
		"running 0 tests\nrunning 4 tests\n":                                   false,
		"all good\n":                                                           false,
	} {
		if got := None(output) != ""; got != none {
			t.Errorf("%q: %t", output, got)
		}
	}
}
