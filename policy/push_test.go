package policy

import (
	"slices"
	"strings"
	"testing"
)

const ciWorkflow = `
on: [push]
jobs:
  test:
    defaults: {run: {working-directory: services}}
    steps:
      - uses: actions/checkout@v4
      - uses: ./tools/setup
      - {uses: './.github/actions/lint'}
      - run: |
          ./scripts/test.sh --all
          bash "$GITHUB_WORKSPACE/hack/verify"
          node build/index.js && python3 -m checks.main
          cat data/${{ matrix.os }}/list.txt
          go test ./... && go run ./cmd/gen/...
        working-directory: web
      - run: pwsh .\win\run.ps1
        shell: pwsh
`

// TestHeld: what a push would run elsewhere waits, as the setting says.
func TestHeld(t *testing.T) {
	words, actions := WorkflowWords(ciWorkflow)
	remote := Remote{Words: words, Actions: actions}
	held := func(hold string, r Remote, e Effect) bool {
		t.Helper()
		p, err := New(Config{Delivery: Delivery{Push: Push{Hold: hold}}})
		if err != nil {
			t.Fatal(err)
		}
		return p.Pushing(r).HoldReason(e) != ""
	}
	all := []string{"none", "workflows", "builds"}
	for want, names := range map[string][]string{
		"workflows": {".github/workflows/ci.yml", ".GitHub/Workflows/new.yaml", ".github/actions/lint/index.js", "tools/setup/action.yml", "tools/setup/lib/run.py",
			"Tools/Setup/x", "deep/action.yaml", ".gitlab-ci.yml", "Jenkinsfile", ".ci/deploy"},
		"builds": {"scripts/test.sh", "web/scripts/test.sh", "hack/verify", "build/index.js", "web/build/index.js", "web/index.js", "services/api.go", "data/linux/list.txt",
			"cmd/gen/main.go", "win/run.ps1", "package.json", "web/package.json", "Makefile", "lib/rules.mk", "setup.py", "conftest.py", "tests/conftest.py", "tox.ini",
			"noxfile.py", "pyproject.toml", "build.rs", "Cargo.toml", "pom.xml", "app/build.gradle.kts", "buildSrc/src/x.kt", "Rakefile", "x.gemspec", "Gemfile", "Dockerfile",
			"docker/Dockerfile.ci", "jest.config.js", ".eslintrc.cjs", "requirements-dev.txt", "go.mod", "any.sh", "CMakeLists.txt", "x.csproj", "Directory.Build.props", "BUILD.bazel", "mix.exs", "composer.json", "justfile"},
		"": {"README.md", "main.go", "src/app.js", "docs/guide.md", "pkg/x_test.go", "lib/util.py"},
	} {
		for _, name := range names {
			for i, hold := range all {
				expected := want != "" && i >= slices.Index(all, want)
				if got := held(hold, remote, Effect{Path: name, Was: "100644 a", Is: "100644 b"}); got != expected {
					t.Errorf("hold %s: %s held %t, want %t", hold, name, got, expected)
				}
			}
			if !held("none", Remote{Untrusted: true}, Effect{Path: name}) {
				t.Errorf("%s of somebody who may not push goes out", name)
			}
			if !held("builds", Remote{Unread: true}, Effect{Path: name}) {
				t.Errorf("%s goes out although a workflow could not be read", name)
			}
		}
	}
	for _, link := range []string{".github", ".github/workflows", ".github/actions", "tools", "tools/setup"} {
		if !held("workflows", remote, Effect{Path: link, Is: "120000 c"}) {
			t.Errorf("a link at %s goes out", link)
		}
	}
	if !held("workflows", remote, Effect{Path: ".github/workflows/ci.yml", Was: "100644 a"}) {
		t.Error("a workflow that is deleted goes out")
	}
	if !held("", remote, Effect{Path: ".github/workflows/ci.yml"}) || held("", remote, Effect{Path: "package.json"}) {
		t.Error("the default is not workflows")
	}
	p, err := New(Config{Delivery: Delivery{Push: Push{Hold: "builds"}}})
	if err != nil {
		t.Fatal(err)
	}
	if p.HoldReason(Effect{Path: "Makefile"}) != "" {
		t.Error("it waits although nothing is pushed")
	}
}

// TestHeldWords: who is asked reads in plain words what the push would do.
func TestHeldWords(t *testing.T) {
	p, err := New(Config{Delivery: Delivery{Push: Push{Hold: "builds"}}})
	if err != nil {
		t.Fatal(err)
	}
	words, actions := WorkflowWords("uses: ./tools/setup\nrun: python tools/gen.py")
	known := Remote{Words: words, Actions: actions}
	for _, tt := range []struct {
		remote Remote
		path   string
		want   string
	}{
		{known, "tools/gen.py", "CI runs tools/gen.py when this is pushed, with the repository's secrets: a workflow names it"},
		{known, ".github/workflows/ci.yml", "CI reads and follows .github/workflows/ci.yml when this is pushed, with the repository's secrets"},
		{known, "tools/setup/a\nb", `CI reads and follows tools/setup/a\nb when this is pushed, with the repository's secrets`},
		{known, "package.json", "a build in CI follows package.json when this is pushed, with the repository's secrets"},
		{Remote{Unread: true}, "a.txt", "CI may run a.txt when this is pushed, with the repository's secrets: a workflow could not be read"},
		{Remote{Untrusted: true}, "a.txt", "the requester of this session may not push to this repository, so everything waits"},
	} {
		if got := p.Pushing(tt.remote).HoldReason(Effect{Path: tt.path, Was: "100644 a", Is: "100644 b"}); got != tt.want {
			t.Errorf("%q waits because %q, want %q", tt.path, got, tt.want)
		}
	}
}

// TestWorkflowWords: a word for the whole tree names no file, and no text is
// too strange to be read.
func TestWorkflowWords(t *testing.T) {
	words, _ := WorkflowWords(". ./... ** * /  ../.. $X ${{ a }} -- ./ && ... \\ [ ]")
	if len(words) != 0 {
		t.Errorf("words %q", words)
	}
	p, err := New(Config{Delivery: Delivery{Push: Push{Hold: "builds"}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"run: cat x[", "run: {a,b", "run: [z-a]", strings.Repeat("*/", 2000) + "x", "\x00\xff run: é/修.sh"} {
		words, actions := WorkflowWords(text)
		p.Pushing(Remote{Words: words, Actions: actions}).HoldReason(Effect{Path: "a/b/c.txt"})
	}
}

func TestStricterHold(t *testing.T) {
	for _, tt := range []struct{ server, repo, want string }{
		{"", "", ""}, {"none", "", "none"}, {"none", "workflows", "workflows"}, {"none", "builds", "builds"}, {"none", "none", "none"},
		{"workflows", "none", "workflows"}, {"builds", "none", "builds"}, {"builds", "workflows", "builds"}, {"", "none", "workflows"}, {"", "builds", "builds"},
	} {
		if got := Merge(Config{Delivery: Delivery{Push: Push{Hold: tt.server}}}, Config{Delivery: Delivery{Push: Push{Hold: tt.repo}}}); got.Push.Hold != tt.want {
			t.Errorf("the server says %q, the repository %q: %q, want %q", tt.server, tt.repo, got.Push.Hold, tt.want)
		}
	}
}
