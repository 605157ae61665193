package testrun

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Of a script, the commands that run tests are known, with their directories.
func TestSteps(t *testing.T) {
	for script, want := range map[string][]Step{
		"npm ci\nnpm test":                             {{"", "npm test"}},
		"cd web && npm test -- --ci | tee log":         {{"web", "npm test -- --ci"}},
		"cd web\ncd app\nCI=1 npm test\n":              {{"web/app", "CI=1 npm test"}},
		"go vet ./... && go test -race ./...":          {{"", "go test -race ./..."}},
		"python -m pytest \\\n  -x":                    nil, // of several lines
		"cd ..\nnpm test":                              nil,
		"cd \"$DIR\" && npm test":                      nil,
		"go test ${{ matrix.flags }} ./...":            nil,
		"go test $PKGS":                                nil,
		"cargo build\nmake test || true":               {{"", "make test"}},
		"if true; then make test; fi":                  nil,
		"echo make test\nhead -n 3 test\n(unfinished":  nil,
		"xvfb-run -a npm test":                         {{"", "xvfb-run -a npm test"}},
		"pip install pytest\npytest --collect-only -q": nil,
	} {
		if d := cmp.Diff(want, Steps(script)); d != "" {
			t.Errorf("%q: %s", script, d)
		}
	}
}
