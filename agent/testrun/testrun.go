// Package testrun finds runs of a project's tests among the commands of a session.
package testrun

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/policy/pattern"
)

// testers are programs that only run tests. builders run tests if called with a test
// target. launchers run the program that follows. readers show and move files: "test"
// is a file name there. Other programs are unknown: a failure with a test target is a
// test failure, but a success proves nothing.
var (
	testers = [...]string{
		"pytest", "py.test", "jest", "vitest", "rspec", "tox", "nox", "ctest", "phpunit", "gotestsum", "unittest",
		"mocha", "behave", "ava", "tap", "bats", "busted", "prove", "pest", "testOnly", "testQuick",
	}
	builders = [...]string{
		"go", "npm", "yarn", "pnpm", "bun", "deno", "node", "cargo", "make", "gmake", "ninja", "just", "task",
		"rake", "mvn", "mvnw", "gradle", "gradlew", "sbt", "ant", "mix", "dotnet", "swift", "composer", "bazel",
		"meson", "stack", "cabal", "lein", "zig", "dart", "flutter", "rails", "artisan", "manage.py", "setup.py",
		"hatch", "turbo", "nx", "lerna",
	}
	launchers = [...]string{
		"sh", "bash", "dash", "python", "python2", "python3", "php", "ruby", "perl", "npx", "bunx", "bundle",
		"poetry", "pipenv", "pdm", "uv", "uvx", "hatch", "rye", "coverage", "env", "time", "timeout", "nice", "sudo",
		"xvfb-run", "stdbuf", "npm", "pnpm", "yarn", "bun",
	}
	readers = [...]string{
		"cat", "ls", "head", "tail", "grep", "rg", "find", "sed", "awk", "echo", "git", "rm", "cp", "mv", "mkdir",
		"touch", "wc", "diff", "cd", "test", "[", "tee", "less", "vi", "vim", "chmod", "which", "command", "type",
		"stat", "printf",
	}
	targets = [...]string{"test", "tests", "check", "verify", "nextest", "spec"}
	scripts = [...]string{
		"test", "tests", "run_tests.sh", "run-tests.sh", "runtests.sh", "test.sh", "tests.sh", "run_tests.py",
		"runtests.py",
	}
	// also are additional test targets of some builders.
	also = map[string][]string{
		"npm":      {"t", "tst"},
		"pnpm":     {"t"},
		"cargo":    {"t"},
		"node":     {"--test"},
		"setup.py": {"pytest"},
	}
	// tasks match further test targets of some builders: ":app:testDebugUnitTest", "core/test".
	tasks = map[string]func() *regexp.Regexp{
		"gradle":  gradleTask,
		"gradlew": gradleTask,
		"sbt":     pattern.Lazy(`^\+?(?:\w+/)*test(?:Only|Quick)?$`),
	}
	gradleTask = pattern.Lazy(`^(?::?[\w.-]+:)*[a-z]\w*Test$`)
	// others are words that mean that no test runs, such as an installation or a query.
	others = [...]string{
		"install", "i", "ci", "add", "get", "remove", "uninstall", "upgrade", "update", "download", "info", "show",
		"view", "search", "list", "init", "help", "--version", "-version", "-V", "--help", "-h", "--collect-only",
		"--co", "--dry-run", "--just-print", "--list", "-list", "--listTests", "--list-tests", "--no-run",
		"--notest", "--show-only", "-DskipTests", "-Dmaven.test.skip=true", "--fixtures", "--markers", "--setup-plan",
		"--setup-only", "--showConfig", "--list-suites", "--list-groups",
	}
	// keywords of a shell precede a command.
	keywords = [...]string{"!", "if", "then", "else", "elif", "while", "until", "do"}
	// silent are such words for a single program.
	silent = map[string]string{
		"make": "-n", "gmake": "-n", "ctest": "-N", "go": "-c", "tox": "-l", "nox": "-l", "gradle": "-m", "gradlew": "-m",
		"bats": "--count", "dotnet": "-t", "cargo": "check", "deno": "check",
	}
)

// summing are programs that always sum up their tests. wrappers run commands of the project,
// perhaps none, and their words may be of any language.
var (
	summing = [...]string{
		"go", "cargo", "mvn", "mvnw", "gradle", "gradlew", "dotnet", "swift", "mix", "sbt", "node", "deno", "dart",
		"flutter", "bazel", "pytest", "py.test", "jest", "vitest", "rspec", "ctest", "phpunit", "gotestsum",
		"unittest", "mocha", "behave", "ava", "tap", "bats", "busted", "prove", "pest", "testOnly", "testQuick",
	}
	wrappers = [...]string{
		"npm", "yarn", "pnpm", "bun", "make", "gmake", "just", "task", "rake", "composer", "tox", "nox", "ant",
		"hatch", "turbo", "nx", "lerna",
	}
)

// collectors end with the status noneCollected if they found no tests.
var collectors = [...]string{"pytest", "py.test", "unittest"}

const noneCollected = 5

// sigpipe is the exit status of a program whose output pipe was closed.
const sigpipe = 128 + 13

// Find returns the run of tests in a line that ran, nil if there is none. Of several it is
// the worst one. known are beginnings of commands that run tests.
func Find(line string, res workspace.CommandResult, known []string) *session.TestRun {
	if res.TimedOut || res.Exit < 0 {
		if counts(line, -1, known, "") == never {
			return nil
		}
		return ended(line, res.Output)
	}
	var found *session.TestRun
	for _, c := range ends(line, res.Exit, res.Pipeline) {
		run := &session.TestRun{Line: c.line, Exit: c.exit, CutOff: c.exit == sigpipe}
		how := counts(c.line, c.exit, known, res.Output)
		if how != never && (found == nil || found.Passed() && how == surely || run.Failed()) {
			found = run
		}
	}
	if found == nil && counts(line, res.Exit, known, res.Output) != never {
		found = &session.TestRun{Line: line, Exit: res.Exit, Unknown: several(line)}
	}
	if found != nil {
		found.Says = says(found, line, res.Output)
	}
	return found
}

// Of returns the run of a line that is known to run tests.
func Of(line string, res workspace.CommandResult) *session.TestRun {
	if run := Find(line, res, []string{line}); run != nil {
		return run
	}
	run := &session.TestRun{Line: line, Exit: res.Exit}
	if res.TimedOut || res.Exit < 0 {
		return ended(line, res.Output)
	}
	run.Says = says(run, line, res.Output)
	return run
}

// ended returns a run that was killed. A failure before that counts.
func ended(line, output string) *session.TestRun {
	run := &session.TestRun{Line: line, Exit: -1}
	run.Says = says(run, line, output)
	return run
}

// says returns the meaning of a run's output if it is not that of the exit status.
func says(run *session.TestRun, line, output string) session.TestsSay {
	t := judge(output)
	say := t.verdict()
	if say == session.TestsNone && t.partly() && strings.Contains(line, "|") {
		say = session.TestsSilent // the rest of the output may have been filtered out
	}
	_, program := certainty(run.Line, nil)
	switch {
	case run.Killed() && say == session.TestsFailed: //control:failed-before-the-kill
		return say
	case run.CutOff, run.Exit == 126, run.Exit == 127, run.Killed():
		return ""
	case say == session.TestsNone: //control:no-test-ran
		return say
	case say == session.TestsSilent && run.Exit == noneCollected && slices.Contains(collectors[:], program):
		return session.TestsNone
	case run.Exit != 0, run.Unknown && say != session.TestsFailed:
		return ""
	case say == "" && t.each.pass == 0 && benchmarks().MatchString(run.Line): //control:benchmarks-are-no-tests
		return session.TestsSilent
	case say == session.TestsSilent && !speaksOfTests(program): //control:wrapper-proves-nothing
		return ""
	}
	return say
}

// speaksOfTests reports whether a run of a program without a word of tests is in doubt.
func speaksOfTests(program string) bool {
	return slices.Contains(summing[:], program) || slices.Contains(wrappers[:], program)
}

// benchmarks matches a Go command that measures and chooses its tests by name: often by a name
// that no test has.
var benchmarks = pattern.Lazy(`\bgo test .*-(?:bench\b.* -run\b|run\b.* -bench\b)`)

// several reports whether the status of a line may be that of another command.
func several(line string) bool { return strings.ContainsAny(strings.TrimSpace(line), "|;&\n`(") }

// counts returns the certainty that the exit status of a command is a test result. If its words
// leave that open, a success counts only with an output that speaks of tests.
func counts(line string, exit int, known []string, output string) sureness {
	how, _ := certainty(line, known)
	open := exit == 0 && how == perhaps
	if open && judge(output).verdict() == session.TestsSilent { //control:unknown-runner-proves-nothing
		return never
	}
	return how
}

// sureness is the certainty that a command runs tests.
type sureness int

const (
	never sureness = iota
	perhaps
	surely
)

// isRun reports whether a command line is known to run tests.
func isRun(command string) bool {
	how, _ := certainty(command, nil)
	return how == surely
}

// certainty reports whether a part of a command line runs tests, and returns the program
// that runs them.
func certainty(command string, known []string) (how sureness, program string) {
	for _, part := range strings.FieldsFunc(command, func(r rune) bool { return strings.ContainsRune(";&|\n(){}'\"`", r) }) {
		words := strings.Fields(part)
		for len(words) > 0 && (strings.Contains(words[0], "=") || slices.Contains(keywords[:], words[0])) {
			words = words[1:]
		}
		if len(words) == 0 {
			continue
		}
		plain := strings.Join(words, " ")
		is, by := runs(words)
		i := slices.IndexFunc(known, func(k string) bool { return plain == k || strings.HasPrefix(plain, k+" ") })
		if i >= 0 { //control:known-tests
			own := strings.Fields(known[i])
			alone, _ := runs(own)
			more := asksOnly(words[len(own):])
			if alone == surely && is == surely || alone != surely && !more { //control:known-with-a-question
				return surely, by
			}
		}
		if is > how {
			how, program = is, by
		}
	}
	return how, program
}

// asksOnly reports whether a word of a command means that no test runs.
func asksOnly(words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return slices.Contains(others[:], w) })
}

// runs reports whether a command, given by its words, runs tests, and returns the program
// that runs them.
func runs(words []string) (sureness, string) {
	if asksOnly(words) { //control:tests-run-nothing
		return never, ""
	}
	for i, w := range words {
		name, rest := path.Base(w), words[i+1:]
		switch {
		case strings.HasPrefix(w, "-") || strings.Contains(w, "=") || strings.Trim(w, "0123456789smh.") == "" || slices.Contains([]string{"run", "exec", "x", "dlx"}, w):
			continue // argument of the preceding launcher
		case slices.Contains(rest, silent[name]) || slices.Contains(readers[:], name):
			return never, ""
		case slices.Contains(testers[:], name), isScript(w, i > 0):
			return surely, name
		case slices.Contains(builders[:], name) && slices.ContainsFunc(rest, func(t string) bool {
			return isTarget(t) || slices.Contains(also[name], t) || tasks[name] != nil && tasks[name]().MatchString(t)
		}):
			return surely, name
		case !slices.Contains(launchers[:], name):
			if len(rest) > 0 && slices.Contains([]string{"test", "check", "verify"}, rest[0]) {
				return perhaps, name
			}
			return never, ""
		}
	}
	return never, ""
}

// isTarget reports whether a word is a test target of a builder: "test", ":app:test",
// "test:unit".
func isTarget(w string) bool {
	w = w[strings.LastIndexByte(w, ':')+1:] + " " + w
	last, whole, _ := strings.Cut(w, " ")
	return slices.Contains(targets[:], last) || strings.HasPrefix(whole, "test:") || strings.HasPrefix(whole, "test-") ||
		strings.HasPrefix(whole, "test_")
}

// isScript reports whether a word is a script that runs tests, called by its path or
// by a launcher.
func isScript(w string, launched bool) bool {
	name := path.Base(w)
	if !launched && !strings.Contains(w, "/") {
		return false
	}
	return slices.Contains(scripts[:], name) || strings.HasPrefix(name, "test_") && path.Ext(name) != ""
}
