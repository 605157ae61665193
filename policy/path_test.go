package policy

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// sensitivePaths is written from what the files do, not from the patterns.
var sensitivePaths = []string{
	".env", ".env.local", ".env.production", "app/.env", "config/prod.env", ".envrc",
	"server.pem", "tls/server.key", "cert.p12", "a/b.jks", "id_rsa", ".ssh/id_ed25519", "keys/id_ecdsa.pub", "x.crt",
	".github/workflows/ci.yml", ".github/workflows/deep/x.yaml", ".github/actions/setup/action.yml", "action.yml", "tool/action.yaml",
	".github/dependabot.yml", ".gitlab-ci.yml", ".circleci/config.yml", ".travis.yml", "Jenkinsfile", "ci/Jenkinsfile.release",
	"azure-pipelines.yml", ".azure-pipelines/x.yml", ".buildkite/pipeline.yml", ".drone.yml", "appveyor.yml", "bitbucket-pipelines.yml",
	"cloudbuild.yaml", ".cirrus.yml", ".woodpecker.yml", ".forgejo/workflows/x.yml", ".pre-commit-config.yaml",
	"package-lock.json", "web/package-lock.json", "yarn.lock", "pnpm-lock.yaml", "go.sum", "Cargo.lock", "poetry.lock", "Gemfile.lock", "composer.lock", "uv.lock", "bun.lockb", "flake.lock",
	"CODEOWNERS", ".github/CODEOWNERS", "docs/CODEOWNERS",
	".github/agent.yml", ".github/agent/commands/fix.md", "AGENTS.md", "sub/AGENTS.md", "CLAUDE.md", ".github/copilot-instructions.md", ".cursorrules", ".cursor/rules/x.mdc", ".agentignore",
	".git/config", ".git/hooks/pre-commit", "sub/.git/config", ".gitmodules", ".gitattributes", "a/.gitattributes", ".husky/pre-push", ".githooks/pre-commit",
	"Dockerfile", "build/Dockerfile.prod", "app.dockerfile", "docker-compose.yml", "compose.yaml", "k8s/deploy.yaml", "helm/values.yaml", "main.tf", "infra/x.tfvars", "deploy/run.sh",
	".npmrc", ".pypirc", ".netrc", ".yarnrc.yml", "pip.conf", ".devcontainer/devcontainer.json", ".vscode/tasks.json",
}

var plainPaths = []string{
	"main.go", "README.md", "docs/guide.md", ".env.example", "app/.env.sample", ".env.template", "src/environment.go", "go.mod", "package.json",
	"internal/key.go", "keyboard.ts", "locks/lock.go", "src/hooks/useState.ts", "github/workflows.md", "agent.yml", "src/agent/loop.go", "claude/notes.txt",
	"test/data.json", "Makefile", "lib/dockerfile_parser.go", "workflows/ci.md", ".gitignore", "a.environment",
}

func TestSensitiveDefaults(t *testing.T) {
	p := withShell(t, Config{}, nil)
	for _, name := range sensitivePaths {
		if v := p.Sensitive(name); !v.Sensitive || v.Pattern == "" {
			t.Errorf("%s is not sensitive", name)
		}
	}
	for _, name := range plainPaths {
		if v := p.Sensitive(name); v.Sensitive {
			t.Errorf("%s is sensitive by %q", name, v.Pattern)
		}
	}
}

func TestSensitiveSpellings(t *testing.T) {
	p := withShell(t, Config{SensitiveFiles: []SensitiveFile{{"docs/**", "auto"}, {"**/*.txt", "auto"}}}, nil)
	for _, name := range []string{
		".GitHub/Workflows/X.YML", "./.github/workflows/x.yml", "a/../.github/workflows/x.yml", "docs/../.github/workflows/x.yml",
		".github//workflows/x.yml", ".github/./workflows/x.yml", ".github/workflows/x.yml ", ".github/workflows/x.yml.", ".github /workflows./x.yml",
		".gıthub/../.env", "．ｇｉｔｈｕｂ/ｗｏｒｋｆｌｏｗｓ/x.yml", ".git\u200bhub/workflows/x.yml", ".github/\u2060workflows/x.yml", ".gith\u00adub/workflows/x.yml",
		`.github\workflows\x.yml`, ".ENV", ".env\u200d", "．env", ".env.", ".env ", ".env::$DATA", ".git::$INDEX_ALLOCATION/config", ".ｅｎｖ.local",
		"CODEOWNER\u017f", "codeowners", "ſub/.env", "\ufeff.env", ".e\U000e0041nv", ".git\u202ehub/workflows/x.yml", "server.PEM", "Server.Key", "GO.SUM", ".Git/config",
	} {
		if v := p.Sensitive(name); !v.Sensitive {
			t.Errorf("%q is not sensitive", name)
		}
	}
}

func TestSensitiveUnderAnySpelling(t *testing.T) {
	p := withShell(t, Config{}, nil)
	rapid.Check(t, func(rt *rapid.T) {
		name := rapid.SampledFrom(sensitivePaths).Draw(rt, "path")
		var b strings.Builder
		for _, r := range name {
			switch rapid.IntRange(0, 9).Draw(rt, "how") {
			case 0:
				b.WriteString(strings.ToUpper(string(r)))
			case 1:
				b.WriteString(string(r) + rapid.SampledFrom([]string{"\u200b", "\u2060", "\ufeff", "\u00ad", "\u200d", "\U000e0020", "\ufe0f"}).Draw(rt, "zero"))
			case 2:
				if r > ' ' && r <= '~' && r != '/' {
					r += 0xFEE0
				}
				b.WriteRune(r)
			case 3:
				if r == '/' {
					b.WriteString(rapid.SampledFrom([]string{"//", "/./", "/x/../", `\`}).Draw(rt, "slash"))
				} else {
					b.WriteRune(r)
				}
			default:
				b.WriteRune(r)
			}
		}
		spelled := rapid.SampledFrom([]string{"", "./", "x/../", ".//"}).Draw(rt, "head") + b.String() + rapid.SampledFrom([]string{"", ".", " ", ". ."}).Draw(rt, "tail")
		if v := p.Sensitive(spelled); !v.Sensitive {
			rt.Fatalf("%q, that is %s, is not sensitive", spelled, name)
		}
	})
}

func TestSensitiveOrder(t *testing.T) {
	type rule = SensitiveFile
	for name, c := range map[string]struct {
		server, repo []rule
		path         string
		want         bool
	}{
		"last match wins, required":       {nil, []rule{{"*.md", "auto"}, {"docs/secret.md", "required"}}, "docs/secret.md", true},
		"last match wins, auto":           {nil, []rule{{"docs/**", "required"}, {"docs/a.md", "auto"}}, "docs/a.md", false},
		"frees a built-in":                {nil, []rule{{"go.sum", "auto"}}, "go.sum", false},
		"name at any depth":               {nil, []rule{{"secret.md", "required"}}, "a/b/secret.md", true},
		"rooted name":                     {nil, []rule{{"/secret.md", "required"}}, "a/secret.md", false},
		"directory":                       {nil, []rule{{"auth/", "required"}}, "auth/deep/x.go", true},
		"pattern in capitals":             {nil, []rule{{"Auth/**", "required"}}, "auth/x.go", true},
		"braces":                          {nil, []rule{{"src/{a,b}/*.go", "required"}}, "src/b/x.go", true},
		"repository cannot free server's": {[]rule{{"auth/**", "required"}}, []rule{{"**", "auto"}}, "auth/x.go", true},
		"repository cannot free built-in": {nil, []rule{{"**", "auto"}}, ".env", true},
		"server frees":                    {[]rule{{"go.sum", "auto"}}, nil, "go.sum", false},
		"repository adds":                 {[]rule{{"**", "auto"}}, []rule{{"x.go", "required"}}, "x.go", true},
	} {
		t.Run(name, func(t *testing.T) {
			c2 := Config{SensitiveFiles: c.repo}
			if c.server != nil || strings.HasPrefix(name, "repository") {
				c2 = Merge(Config{SensitiveFiles: c.server}, c2)
			}
			if v := withShell(t, c2, nil).Sensitive(c.path); v.Sensitive != c.want {
				t.Errorf("Sensitive(%q) = %+v, want %v", c.path, v, c.want)
			}
		})
	}
}

func FuzzSensitive(f *testing.F) {
	for _, s := range sensitivePaths {
		f.Add(s)
	}
	p := withShell(f, Config{}, nil)
	f.Fuzz(func(t *testing.T, s string) {
		if p.Sensitive(s) != p.Sensitive("./"+s) && !strings.HasPrefix(s, "/") && !strings.Contains(s, `\`) {
			t.Fatalf("%q and ./%q differ", s, s)
		}
		if !p.Sensitive(s+"\u200b").Sensitive && p.Sensitive(s).Sensitive {
			t.Fatalf("%q is freed by an invisible character", s)
		}
	})
}

func BenchmarkSensitive(b *testing.B) {
	p := withShell(b, Config{}, nil)
	for b.Loop() {
		p.Sensitive("internal/service/handler_test.go")
	}
}

// A symlink in the place of a directory counts as what may lie in it.
func TestSensitiveLinks(t *testing.T) {
	p, err := New(DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{
		".github": true, ".GitHub": true, ".github/workflows": true, ".vscode": false, ".circleci": true, "deploy": true, "docs": true, "src": false, "src/.husky": true,
	} {
		if got := p.Changes(Effect{Path: path, Is: "120000 1"}).Sensitive; got != want {
			t.Errorf("a link at %s is sensitive: %t", path, got)
		}
	}
	if p.Changes(Effect{Path: "docs", Is: "100644 1"}).Sensitive || !p.Changes(Effect{Path: ".env", Is: ""}).Sensitive {
		t.Error("a file is not judged by its own name")
	}
}
