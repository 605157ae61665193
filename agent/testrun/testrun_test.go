package testrun

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/workspace"
)

// A run of tests is known by its words, or by the beginning that the configuration names.
func TestIs(t *testing.T) {
	known := []string{"./scripts/ci"}
	for command, want := range map[string]bool{
		"go test ./...": true, "cd web && npm run test:unit": true, "python -m pytest -q": true, "./gradlew test": true, "make check": true,
		"cargo test --all": true, "mvn -q verify": true, "bundle exec rspec": true, "sh ./scripts/run_tests.sh": true, "npx vitest run": true,
		"cat test.txt": false, "ls test": false, "git diff test": false, "go build ./...": false, "echo test": false, "": false, "grep -r test src": false,
		"go vet && go test": true, "rm -rf test": false, "./scripts/ci --fast": true, "./scripts/ci2": false, "X=1 ./scripts/ci": true, "test -f a": false,
		"pip install pytest": false, "npm install -D jest": false, "npm i -D vitest": false, "apt-get install -y tox": false, "yarn add jest": false, "go get example.com/test": false,
		"pytest --version": false, "pytest --collect-only -q": false, "make -n test": false, "make --dry-run check": false, "go test -c ./x": false, "go test -list . ./...": false,
		"cargo test --no-run": false, "mvn -DskipTests verify": false, "tox -l": false, "ctest -N": false, "npx jest --listTests": false, "go help test": false,
		"docker build -t pytest .": false, "cp -r test build": false, "tar cf x.tar tests": false, "python app.py test": false, "kubectl apply -f test": false, "git checkout test": false, "code tests": false,
		"go test -run TestX -count=1 ./a": true, "timeout 60 go test ./...": true, "env CI=1 npm run test": true, "npx jest src": true, "yarn test --watch=false": true, "poetry run pytest -x": true,
		"uv run pytest": true, "python3 -m unittest -v": true, "python tests/test_a.py": true, "coverage run -m pytest": true, "make -j4 test": true, "./gradlew :app:test --info": true, "bash test.sh": true,
		"./test.sh": true, "vendor/bin/phpunit": true, "node_modules/.bin/mocha": true, "php artisan test": true, "bundle exec rake spec": true, "dotnet test": true, "python manage.py test app": true, "node --test": true, "npm t": true, "cargo t": true, "npm run-script test": true, "npm --prefix web test": true, "yarn workspace a test": true, "sudo -E make check": true, "time -p ./scripts/test.sh": true,
		"cargo check": false, "cargo check --tests": false, "deno check src": false, "./gradlew :app:testDebugUnitTest": true, "gradle integrationTest": true,
		"./gradlew compileTestJava": false, "sbt core/test": true, `sbt "core/testOnly *Adds"`: true, "sbt +test": true, "sbt Test/compile": false,
		"(cd web; npm test)": true, "bash -c 'go test | tail'": true, "which pytest": false,
	} {
		if how, _ := certainty(command, known); (how == surely) != want {
			t.Errorf("%q: %t", command, !want)
		}
	}
}

// An unknown program proves nothing by a success, and fails tests by a failure.
func TestUnknownRunner(t *testing.T) {
	for line, want := range map[string][2]bool{
		"no-such-runner test ./...": {false, true}, "./dev verify": {false, true}, "tree tests": {false, false}, "cat test": {false, false}, "go test ./...": {true, true},
	} {
		for exit, counted := range want {
			if got := Find(line, workspace.CommandResult{Exit: exit}, nil); (got != nil) != counted {
				t.Errorf("%q with exit %d: %+v", line, exit, got)
			}
		}
	}
}

// The words of an unknown program about its tests count, but a known runner beside it counts more.
func TestUnknownRunnerSpeaks(t *testing.T) {
	for line, want := range map[string]string{
		"npx playwright test": "npx playwright test", "pytest -q && ruff check .": "pytest -q", "ruff check . && pytest -q": "pytest -q",
		"echo playwright test": "", "cat test": "", "npx playwright install": "",
	} {
		got := ""
		if run := Find(line, workspace.CommandResult{Output: "  2 passed (3.1s)\n"}, nil); run != nil {
			got = run.Line
		}
		if got != want {
			t.Errorf("%s: %q", line, got)
		}
	}
	run := Find("npx playwright test", workspace.CommandResult{Output: "  2 skipped\n"}, nil)
	if run == nil || run.Says != session.TestsNone {
		t.Errorf("skipped tests: %+v", run)
	}
}

// The end of a line is not taken for the end of its tests. bash says which commands ran how;
// a test's word is "passed" only if its own status is known to be 0.
func TestEnds(t *testing.T) {
	for _, tt := range []struct {
		line string
		want string // passed, failed, cut off, unknown, or none
	}{
		{"T test 0", "passed"}, {"T test 1", "failed"}, {"T test 1 | tail", "failed"}, {"T test 0 | tail -n 3", "passed"}, {"T test 0 | grep -q x", "passed"},
		{"T test 1 || true", "unknown"}, {"T test 0 || true", "unknown"}, {"T test 0 && echo ok", "passed"}, {"T test 1 && echo ok", "failed"},
		{"cd . && T test 1 2>&1 | tail -5", "failed"}, {"cd . && T test 0 2>&1 | tail -5", "passed"}, {"cd missing && T test 0", "failed"},
		{"T test 1; echo done", "unknown"}, {"echo begin; T test 1", "failed"}, {"echo begin; T test 0", "passed"}, {"T test 0 | cat && echo ok", "unknown"},
		{"! T test 1", "failed"}, {"(cd . && T test 1)", "failed"}, {"(T test 1; true)", "unknown"}, {"bash -c 'T test 1 | tail'", "unknown"}, {"sh -c 'T test 1'", "failed"},
		{"for i in 1; do T test 1; done", "unknown"}, {"T test 1 &", "unknown"}, {"set -o pipefail; T test 1 | tail", "failed"}, {"T test 141 | head -1", "cut off"},
		{"if T test 1; then echo yes; fi", "unknown"}, {"T test 1 | tail; echo ${PIPESTATUS[0]}", "unknown"}, {"echo T test", "none"}, {"time T test 1", "failed"},
		{"cat <<'E' | T test 1\nT test 0\nE", "failed"}, {"T test 0 | cat <<'E'\nx\nE", "passed"}, {"T test $(echo 1) | cat", "failed"},
	} {
		got := "none"
		switch run := Find(strings.ReplaceAll(tt.line, "T test", "sh test.sh"), runBash(t, tt.line), nil); {
		case run == nil:
		case run.Unknown:
			got = "unknown"
		case run.CutOff:
			got = "cut off"
		case run.Passed():
			got = "passed"
		default:
			got = "failed"
		}
		if got != tt.want {
			t.Errorf("%q: %s, want %s", tt.line, got, tt.want)
		}
	}
}

// runBash runs a line in which "T test N" is a run of tests that exits with N.
func runBash(t *testing.T, line string) (res workspace.CommandResult) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "test.sh"), []byte("exit $1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := exec.Command("bash", "-c", strings.ReplaceAll(line, "T test", "sh test.sh")+"\necho \"$?:${PIPESTATUS[@]}\" >ends")
	c.Dir = dir
	_ = c.Run() // the file says how it ended
	said, err := os.ReadFile(filepath.Join(dir, "ends"))
	if err != nil {
		t.Fatal(err)
	}
	exit, ends, _ := strings.Cut(strings.TrimSpace(string(said)), ":")
	res.Exit, err = strconv.Atoi(exit)
	for _, f := range strings.Fields(ends) {
		code, wrong := strconv.Atoi(f)
		res.Pipeline, err = append(res.Pipeline, code), errors.Join(err, wrong)
	}
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// A command of the project's own with a word that only lists, counts or builds its tests is no run.
func TestKnownWithAQuestion(t *testing.T) {
	known := []string{"pytest", "go test ./...", "cargo test", "npx jest", "make check", "./ci"}
	for line, is := range map[string]bool{
		"pytest": true, "pytest -q tests": true, "pytest --collect-only -q": false, "go test ./... -list .": false,
		"go test ./... -run TestA": true, "cargo test --no-run": false, "cargo test -- --list": false,
		"npx jest --listTests": false, "npx jest --showConfig": false, "pytest --setup-plan": false, "make check": true,
		"make check -n": false, "bats --count t": false, "./ci --list": false, "./ci fast": true, "gradle test -m": false, "dotnet test -t": false,
	} {
		run := Find(line, workspace.CommandResult{Output: "3 tests\n"}, known)
		if (run != nil) != is {
			t.Errorf("%s: %+v", line, run)
		}
	}
}

// A command of which it is not known whether it ran tests is told of; one that only reads is not.
func TestOther(t *testing.T) {
	for line, want := range map[string]string{
		"./dev verify": "exit 0", "node run.js": "exit 0", "julia -e 'Pkg.test()'": "exit 0", "make": "exit 0", "(./a)": "its own exit status is not known",
		"./check.sh; echo done": "its own exit status is not known", "./check.sh | tail": "its own exit status is not known",
		"find . -name '*_t' -exec {} ;": "exit 0", "env ./check": "exit 0", "$RUN": "exit 0", "! ./check": "its own exit status is not known", "./check >log": "exit 0", "command ./check": "exit 0", "command -v go": "", "echo $(./check)": "its own exit status is not known", "'": "its own exit status is not known",
		"cat a; ls -l | head -3": "", "grep -n 'foo bar' x.go": "", "git diff | wc -l": "", "npm install": "", "pip install pytest && ls": "", "cd a": "", "": "", "X=1": "", "env": "",
		"for f in *; do cat $f; done": "", "for f in *; do $f; done": "its own exit status is not known",
	} {
		got := ""
		if run := Other(line, workspace.CommandResult{}); run != nil {
			got = run.How()
		}
		if got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
	if run := Other("./a", workspace.CommandResult{TimedOut: true}); run.How() != "killed before it ended" {
		t.Errorf("a killed one: %+v", run)
	}
	if run := Begun("go test ./..."); run == nil || !run.Unknown || Begun("sleep 3") != nil {
		t.Errorf("in the background: %+v", run)
	}
}

// TestKilledAfterAFailure: a run that was killed failed if its output shows a failure, and says nothing otherwise.
func TestKilledAfterAFailure(t *testing.T) {
	for output, want := range map[string]session.TestsSay{
		"=== RUN   TestA\n--- FAIL: TestA (0.00s)\n    a_test.go:5: 1\n=== RUN   TestB\n": session.TestsFailed,
		"=== RUN   TestA\n--- PASS: TestA (0.00s)\n=== RUN   TestB\n":                     "",
		"": "",
	} {
		for _, res := range []workspace.CommandResult{{TimedOut: true, Output: output}, {Exit: -1, Output: output}, {Exit: 124, Output: output}, {Exit: 137, Output: output}} {
			for _, line := range []string{"go test -v ./...", "timeout 5 sh check.sh"} {
				if run := Of(line, res); run.Says != want || !run.Failed() || !run.Killed() {
					t.Errorf("%s, %+v: %+v, want %q", line, res, run, want)
				}
			}
		}
	}
}
