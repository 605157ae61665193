package testrun

import (
	"testing"

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
		"(cd web; npm test)": true, "bash -c 'go test | tail'": true, "which pytest": false,
	} {
		if (certainty(command, known) == surely) != want {
			t.Errorf("%q: %t", command, !want)
		}
	}
}

// A program that nobody knows proves nothing when it ends well, and failed tests when
// it does not.
func TestUnknownRunner(t *testing.T) {
	for line, want := range map[string][2]bool{
		"no-such-runner test ./...": {false, true}, "./dev verify": {false, true}, "tree tests": {false, false}, "cat test": {false, false}, "go test ./...": {true, true},
	} {
		for exit, counted := range want {
			got := Find(line, workspace.CommandResult{Exit: exit, Ran: []workspace.Ran{{Line: line, Exit: exit}}}, nil)
			if (got != nil) != counted {
				t.Errorf("%q with exit %d: %+v", line, exit, got)
			}
		}
	}
}
