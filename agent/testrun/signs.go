package testrun

import (
	"regexp"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/policy/pattern"
)

// summary is a kind of line in which test runners sum up.
type summary struct {
	line      func() *regexp.Regexp
	wordFirst bool // "Failures: 1" instead of "1 failure"
	failures  bool // only its failures count: it sums up files or suites
}

// summaries are the lines with numbers of tests, of the runners in the comments.
var summaries = [...]summary{
	// minitest, rspec, mix, bats, busted, behave, cucumber, jasmine, hspec
	{line: pattern.Lazy(`^\s*\d+ (?:runs?|(?:doc)?tests?|propert(?:y|ies)|examples?|specs?|scenarios?|success(?:es)?)` +
		`(?:,| /| \(| passed\b)`)},
	// pytest
	{line: pattern.Lazy(`^(?:=+ )?\d+ (?:[a-z]+ )?[a-z]+(?:, \d+ (?:[a-z]+ )?[a-z]+)* in [\d.]+s\b`)},
	// mocha, bun, playwright, ava, ExUnit
	{line: pattern.Lazy(`^\s*(?:Result: )?\d+ (?:tests? )?(?:pass(?:e[sd]|ing)?|fail(?:ed|ing)?|skip(?:ped)?|todo|pending|` +
		`flaky|interrupted)(?:[,.] .*| \([\d.]+ ?(?:ms|s|m)\))?$`)},
	// jest, pest
	{line: pattern.Lazy(`^\s*Tests:\s+\d+ [a-z]+(?:, \d+ [a-z]+)*(?:, \d+ total| \(\d+ assertions?\)|$)`)},
	{line: pattern.Lazy(`^Test Suites: +\d+ failed`), failures: true},
	// vitest
	{line: pattern.Lazy(`^\s*Tests\s+\d+ (?:passed|failed|skipped|todo).*\(\d+\)$`)},
	{line: pattern.Lazy(`^\s*Test Files\s+\d+ failed`), failures: true},
	// unittest, bun, clojure.test
	{line: pattern.Lazy(`^Ran \d+ tests?\b`)},
	// stestr, Pester
	{line: pattern.Lazy(`^Ran: \d+ tests? in `)},
	{line: pattern.Lazy(`^Tests Passed: \d+, Failed: \d+`), wordFirst: true},
	{line: pattern.Lazy(`^\d+ failures?, \d+ errors?\.$`), failures: true},
	{line: pattern.Lazy(`^(?:OK|FAILED|PASSED) \([a-z =,\d]+\)$`), wordFirst: true},
	// cargo, nextest
	{line: pattern.Lazy(`^test result: (?:ok|FAILED)\. \d+ passed`)},
	{line: pattern.Lazy(`^\s*Summary \[.*\] +\d+(?:/\d+)? tests? run:`)},
	// surefire, TestNG, JUnit's console, sbt, ScalaTest
	{line: pattern.Lazy(`^(?:Total tests run|Tests run): ?\d+, `), wordFirst: true},
	{line: pattern.Lazy(`^\[ +\d+ tests (?:successful|failed|skipped|aborted) +\]$`)},
	{line: pattern.Lazy(`^(?:Passed|Failed|Error): Total \d+, `), wordFirst: true},
	{line: pattern.Lazy(`^Tests: succeeded \d+, `), wordFirst: true},
	// gradle, which counts only if a test fails
	{line: pattern.Lazy(`^\d+ tests? completed(?:, \d+ [a-z]+)*$`)},
	// ctest, tasty, zig
	{line: pattern.Lazy(`^\d+% tests passed, \d+ tests? failed out of \d+$`), failures: true},
	{line: pattern.Lazy(`^\d+% tests passed, \d+ tests? failed out of \d+$`), wordFirst: true},
	{line: pattern.Lazy(`^\s*All \d+ tests passed`)},
	{line: pattern.Lazy(`^\d+ out of \d+ tests? failed`), failures: true},
	// phpunit, codeception
	{line: pattern.Lazy(`^OK \(\d+ tests?, `)},
	{line: pattern.Lazy(`^Tests: \d+, (?:Assertions|Passed): \d+`), wordFirst: true},
	// dotnet, with VSTest and with Microsoft.Testing.Platform; elm-test; NUnit
	{line: pattern.Lazy(`^(?:Passed|Failed|Skipped)! +- Failed: +\d+, `), wordFirst: true},
	{line: pattern.Lazy(`^Test (?:summary: total|Count): \d+, `), wordFirst: true},
	{line: pattern.Lazy(`^Total tests: \d+\. `), wordFirst: true},
	{line: pattern.Lazy(`^\s*\S+ +Total: \d+, Errors: \d+, `), wordFirst: true},
	{line: pattern.Lazy(`^\s*(?:- )?(?:Total tests|[Pp]assed|[Ff]ailed|[Ss]kipped|total|succeeded): +\d+$`), wordFirst: true},
	// swift, karma
	{line: pattern.Lazy(`^\s*Executed \d+ tests?, with `)},
	{line: pattern.Lazy(`Test run with \d+ tests? `)},
	{line: pattern.Lazy(`: Executed \d+ of \d+`)},
	// node, tape, tap
	{line: pattern.Lazy(`^(?:#|ℹ) (?:tests|pass|fail|cancelled|skipped|todo) +\d+$`), wordFirst: true},
	// prove, automake, meson, testthat
	{line: pattern.Lazy(`^Files=\d+, Tests=\d+`), wordFirst: true},
	{line: pattern.Lazy(`^# (?:TOTAL|PASS|SKIP|FAIL|ERROR): +\d+$`), wordFirst: true},
	{line: pattern.Lazy(`^(?:Ok|Fail|Skipped|Timeout): +\d+$`), wordFirst: true},
	{line: pattern.Lazy(`^\[ FAIL \d+ \| `), wordFirst: true},
	// deno, gotestsum, googletest, catch2, doctest, ginkgo
	{line: pattern.Lazy(`^(?:ok|FAILED) \| \d+ passed`)},
	{line: pattern.Lazy(`^DONE \d+ tests?`)},
	{line: pattern.Lazy(`^\[  PASSED  \] \d+ tests?`)},
	{line: pattern.Lazy(`^(?:\[doctest\] )?test cases: +\d+ \|`)},
	{line: pattern.Lazy(`^(?:SUCCESS|FAIL)! -- \d+ Passed`)},
	// Boost.Test, terraform, cypress, webdriverio
	{line: pattern.Lazy(`^Running \d+ test cases?\.\.\.$`)},
	{line: pattern.Lazy(`^(?:Success|Failure)! \d+ passed, \d+ failed`)},
	{line: pattern.Lazy(`^\s*│ +(?:Tests|Passing|Failing|Pending|Skipped): +\d+ +│$`), wordFirst: true},
	{line: pattern.Lazy(`^Spec Files:\s+\d+ passed, `)},
	// web-test-runner, alcotest, node-tap
	{line: pattern.Lazy(`\| \d+/\d+ test files \| \d+ passed, \d+ failed`)},
	{line: pattern.Lazy(`^Test Successful in [\d.]+s\. \d+ tests? run\.$`)},
	{line: pattern.Lazy(`^# \{ total: \d+(?:, [a-z]+: \d+)* \}$`), wordFirst: true},
}

var (
	// numbered matches a number before its word, named a number behind it.
	numbered = pattern.Lazy(`(\d+) (?:(?:sub)?tests? |test cases )?([A-Za-z]+)`)
	named    = pattern.Lazy(`(?:[Ee]xpected )?([A-Za-z]+)[:=]? *(\d+)`)
)

// kind is the meaning of a number of tests.
type kind int

const (
	other kind = iota
	passed
	failed
	skipped
	excluded
	all
)

// meanings are the words of summaries, in lower case. A number of tests may have only a
// preposition behind it.
var meanings = map[kind]string{
	passed:   "passed pass passes passing succeeded success successes successful ok xfailed xpassed flaky",
	failed:   "failed fail failing failure failures error errors errored cancelled aborted timeout interrupted",
	skipped:  "skipped skip skips pending pendings ignored todo deselected disabled incomplete omissions undefined",
	excluded: "excluded",
	all: "tests test runs run examples example total specs spec scenarios scenario doctests doctest property properties " +
		"completed cases count in across containing of",
}

// kindOf returns the meaning of a word in a summary.
func kindOf(word string) kind {
	for k, words := range meanings {
		if slices.Contains(strings.Fields(words), word) {
			return k
		}
	}
	return other
}

var (
	// fraction matches the sum of a runner of a project's own: passed of all tests.
	fraction = pattern.Lazy(`^\s*(\d+)/(\d+) (?:tests? )?pass(?:ed|ing)\.?$`)

	// goPackage matches a tested Go package, and task a Gradle task that runs tests. A task
	// that is up to date passed with the same files.
	goPackage = pattern.Lazy(`^ok\s+\S+\s+(?:\(cached\)|[\d.]+s)(?:\s+coverage: (?:\[no statements\]|[^\[]*))?$`)
	task      = pattern.Lazy(`^> Task (?::[\w.-]+)*:(?:test|[a-z]\w*Test|test\w*Test)(?: UP-TO-DATE| FROM-CACHE)?$`)
	otherTask = pattern.Lazy(`:(?:compile|process|generate|package|assemble|merge)\w*(?: |$)`)

	// Results of single tests: go test -v and -json, TAP, Gradle, ctest, Bazel, automake,
	// cabal, dart, catch2.
	onePassed = anyOf(`^\s*--- PASS: `, `"Action":"pass".*"Test":`, `^ *ok \d+\b`, `^\S.* > .* PASSED$`,
		`^\s*\d+/\d+ Test +#\d+: .* Passed `, `^//\S+ +(?:\(cached\) )?PASSED\b`, `^PASS: \S`,
		`^Test suite \S+: PASS$`, `: All tests passed!$`, `^All tests passed \(`)
	oneFailed = anyOf(`^\s*--- FAIL: `, `"Action":"fail".*"Test":`, `^ *not ok \d+\b`, `^\S.* > .* FAILED$`,
		`^\s*\d+/\d+ Test +#\d+: .*\*\*\*(?:Failed|Timeout|Exception)`, `^//\S+ +(?:FAILED|TIMEOUT)\b`, `^FAIL: \S`,
		`^Test suite \S+: FAIL$`, `: Some tests failed\.$`)
	oneSkipped = anyOf(`^\s*--- SKIP: `, `^\s*\d+/\d+ Test +#\d+: .*\*\*\*(?:Skipped|Not Run)`, `^SKIP: \S`,
		`: All tests skipped\.$`)
	directive   = pattern.Lazy(`(?i)# ?(?:skip|todo)\b`)
	taskSkipped = pattern.Lazy(`^\S.* > .* SKIPPED$`)

	// fileTest matches a whole file that node reports as a test.
	fileTest = pattern.Lazy(`^(?:ok \d+ - |✔ )(?:/\S+|\S+\.(?:test|spec)|\S*test-\S+|test)\.[cm]?[jt]sx?(?: \(.*)?$`)

	// failure matches a failure without a number.
	failure = anyOf(`^FAIL(?:\s+\S+ (?:\[.*\]|[\d.]+s))?$`, `^FAIL\t\S+`, `^FAILED \(`, `^(?:FAILURES|ERRORS)!$`,
		`^test result: FAILED`, `^BUILD FAIL(?:ED|URE)$`, `^There (?:are|were) (?:test failures|failing tests)`,
		`^(?:Failed|Error)! +- `, `^make.*: \[.*\] Error \d+ \(ignored\)$`, `^Test Run Failed\.$`, `^✘ Test run with `,
		`^Failed tests:$`, `^npm (?:ERR!|error) Test failed`, `^Result: FAIL$`, `^\[  FAILED  \] `,
		`^\*\*\* \d+ failures? (?:is|are) detected`)

	// noTests matches the report that no test ran, and noTestsHere the same of one package
	// or module.
	noTests = anyOf(
		`(?i)\bno (?:matching |stale )?(?:tests?|specs|examples|test (?:files?|cases?|modules?|targets?|suites?)|`+
			`test configuration file) (?:were |was |are |is )?(?:found|executed|ran|run|collected|available|defined|match(?:e[sd]|ing)|`+
			`specified|configured|written|yet\b|the given)`,
		`(?i)\bno suitable tests defined\b`,
		`\bdid not discover any tests\b`,
		`^error: 0 test files matching `,
		`^No tasks were executed as part of this run`,
		`^\s*NX +(?:.* )?No tasks were run`,
		`^None of the selected packages has a "`,
		`^lerna success run No projects with script `,
		`^\s*Tasks: +0 successful, 0 total`,
		`^0 of 0 test suites `,
		`^Running 0 test cases\.`,
		`\b0 tests? run\.$`,
		`(?i)\bthere are no tests\b`,
		`^\s*Tests +no tests$`,
		`(?i)\bzero tests ran\b`,
		`(?i)\ball tests have been excluded\b`,
		`(?i)^tests are skipped\.`,
		`\bno packages to test\b`,
		`\bmatched no packages\b`,
		`(?i)couldn't find any (?:files|tests) to (?:test|run)`,
		`^1\.\.0\b`,
		`^Result: NOTESTS$`,
		`^make.*: Nothing to be done for .*(?:test|check)`,
		`^make.*: '(?:test|tests|check)' is up to date`,
		`^\s*(?:# )?0 (?:scenarios|tests)$`,
		`\bRunning 0 tests from 0 test\b`,
	)
	noTestsHere = anyOf(
		`\[no test files\]$`,
		`\[no tests to run\]$`,
		`^testing: warning: no tests to run`,
		`^\t\S+\t\tcoverage: 0\.0% of statements$`,
		`^No test is available in`,
		`^running 0 tests$`,
		`(?i)\bno tests? to run\b`,
		`^> Task (?::[\w.-]+)*:(?:test|\w+Test)(?: NO-SOURCE| SKIPPED)$`,
		`^\S+: SKIP \([\d.]+ seconds\)$`,
		`^[>$] echo(?: [^&;|]*)?$`,
	)
)

// anyOf returns a pattern that matches if one of several does.
func anyOf(patterns ...string) func() *regexp.Regexp {
	return pattern.Lazy("(?:" + strings.Join(patterns, ")|(?:") + ")")
}
