package workspace

import "testing"

func TestIsTest(t *testing.T) {
	for name, want := range map[string]bool{
		"slug_test.go": true, "/workspace/leap.test.js": true, "test_a.py": true, "spec/a_spec.rb": true, "tests/a.py": true,
		"src/test/java/FooTest.java": true, "FooTest.java": true, "FooTests.cs": true, "conftest.py": true, "run_tests.sh": true,
		"latest.go": false, "src/contest.py": false, "a.go": false, "Testament.md": false, "src/attest/a.go": false,
	} {
		if IsTest(name) != want {
			t.Errorf("IsTest(%q) = %v", name, !want)
		}
	}
}
