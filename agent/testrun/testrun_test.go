package testrun

import "testing"

// A run of tests is known by its words, or by the beginning that the configuration names.
func TestIs(t *testing.T) {
	known := []string{"./scripts/ci"}
	for command, want := range map[string]bool{
		"go test ./...": true, "cd web && npm run test:unit": true, "python -m pytest -q": true, "./gradlew test": true, "make check": true,
		"cargo test --all": true, "mvn -q verify": true, "bundle exec rspec": true, "sh ./scripts/run_tests.sh": true, "npx vitest run": true,
		"cat test.txt": false, "ls test": false, "git diff test": false, "go build ./...": false, "echo test": false, "": false, "grep -r test src": false,
		"go vet && go test": true, "rm -rf test": false, "./scripts/ci --fast": true, "./scripts/ci2": false, "X=1 ./scripts/ci": true, "test -f a": false,
		"(cd web; npm test)": true, "bash -c 'go test | tail'": true, "which pytest": false,
	} {
		if is(command, known) != want {
			t.Errorf("%q: %t", command, !want)
		}
	}
}
