package testrun

import (
	"slices"
	"testing"
)

func TestPlaces(t *testing.T) {
	for output, want := range map[string][]Place{
		"    slug_test.go:8: Slug() = 1\n    slug_test.go:8: again":                                    {{"slug_test.go", 8}},
		"  File \"/workspace/tests/test_a.py\", line 12, in test_a":                                    {{"/workspace/tests/test_a.py", 12}},
		"  location: '/workspace/leap.test.js:11:1'\n TestContext.<a> (/workspace/leap.test.js:12:10)": {{"/workspace/leap.test.js", 11}, {"/workspace/leap.test.js", 12}},
		"    at file:///workspace/lib/a.test.mjs:3:5":                                                  {{"/workspace/lib/a.test.mjs", 3}},
		"test_words.rb:9:in `test_a'\n[test/words_test.rb:14]:":                                        {{"test_words.rb", 9}, {"test/words_test.rb", 14}},
		"at 12:30 it took 3.5:1 of 10.0.0.1:80, see a.py:0":                                            nil,
	} {
		if got := Places(output); !slices.Equal(got, want) {
			t.Errorf("Places(%q) = %v, want %v", output, got, want)
		}
	}
}

func TestOwn(t *testing.T) {
	in := "not ok 2 - 1900\n  expected: false\n    TestContext.<anonymous> (/workspace/leap.test.js:12:10)\n" +
		"    Test.runInAsyncScope (node:async_hooks:206:9)\n    Test.run (node:internal/test_runner/test:796:25)\n"
	want := "not ok 2 - 1900\n  expected: false\n    TestContext.<anonymous> (/workspace/leap.test.js:12:10)\n"
	if got := Own(in); got != want {
		t.Errorf("Own = %q", got)
	}
	const fails = "# letters\nnot ok 3 should be equal\n  expected: 1\n  actual:   2\n"
	const goFails = "--- FAIL: TestB (0.00s)\n    b_test.go:3: no\nFAIL\n"
	for in, want := range map[string]string{
		"TAP version 13\n# numbers\nok 1 a\n# words\nok 2 b\n" + fails + "# long\nok 4 c\n\n1..4\n# tests 4\n# fail  1\n": "TAP version 13\n" + fails + "\n1..4\n# fail  1\n",
		"# numbers\nok 1 a\n# words\nok 2 b\n": "# numbers\nok 1 a\n# words\nok 2 b\n",
		"--- PASS: TestA (0.00s)\n" + goFails:  goFails,
		"":                                     "",
	} {
		if got := Own(in); got != want {
			t.Errorf("Own(%q) = %q, want %q", in, got, want)
		}
	}
}
