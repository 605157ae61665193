package deps

import (
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/handrail-bot/handrail/policy"
)

// repositoryOf returns the files of a txtar text.
func repositoryOf(text string) (names []string, read func(string) string) {
	files := map[string]string{}
	for _, f := range txtar.Parse([]byte(text)).Files {
		files[f.Name] = string(f.Data)
		names = append(names, f.Name)
	}
	return names, func(name string) string { return files[name] }
}

// Manifests that list packages need their manager, and the set-up is proposed with its
// lock file and the hosts of its registry. A manifest without packages needs nothing.
func TestPropose(t *testing.T) {
	for _, tt := range []struct{ name, files, needs, commands, changes, presets string }{
		{"npm", "-- package.json --\n{\"dependencies\": {\"a\": \"1\"}}\n-- package-lock.json --\n{}\n", "npm", "npm ci --no-audit --no-fund || npm ci --no-audit --no-fund --ignore-scripts", "package.json package-lock.json", "npm"},
		{"npm without a lock", "-- package.json --\n{\"devDependencies\": {\"a\": \"1\"}}\n", "npm", "npm install --no-package-lock --no-audit --no-fund || npm install --no-package-lock --no-audit --no-fund --ignore-scripts", "package.json", "npm"},
		{"scripts alone", "-- package.json --\n{\"scripts\": {\"test\": \"node --test\"}}\n", "", "", "", ""},
		{"pnpm", "-- package.json --\n{\"dependencies\": {\"a\": \"1\"}}\n-- pnpm-lock.yaml --\n", "pnpm", "command -v pnpm >/dev/null || npm install --global --prefix ~/.local pnpm; pnpm install --frozen-lockfile", "package.json pnpm-lock.yaml", "npm"},
		{"yarn 1", "-- package.json --\n{}\n-- yarn.lock --\n# yarn lockfile v1\n", "yarn", "command -v yarn >/dev/null || npm install --global --prefix ~/.local yarn; yarn install --frozen-lockfile", "package.json yarn.lock", "npm"},
		{"bun", "-- package.json --\n{}\n-- bun.lock --\n", "bun", "command -v bun >/dev/null || npm install --global --prefix ~/.local bun; bun install --frozen-lockfile", "package.json bun.lock", "npm"},
		{"pip", "-- requirements.txt --\n# ours\nflask\n", "pip", "python3 -m venv .venv; .venv/bin/python -m pip install -r requirements.txt", "requirements.txt", "pip"},
		{"pip's project", "-- pyproject.toml --\n[project]\ndependencies = [\n  \"a\",\n]\n[project.optional-dependencies]\ntest = [\"pytest\"]\n", "pip", "python3 -m venv .venv; .venv/bin/python -m pip install -e '.[test]'; .venv/bin/python -m pip install pytest", "pyproject.toml", "pip"},
		{"pip's lists in a directory", "-- pyproject.toml --\n[project]\nname = \"x\"\n[tool.pytest.ini_options]\n-- requirements/dev.txt --\ntox\n-- requirements/tests.txt --\npytest==8\n", "pip", "python3 -m venv .venv; .venv/bin/python -m pip install -e .; .venv/bin/python -m pip install -r requirements/tests.txt; .venv/bin/python -m pip install pytest", "pyproject.toml requirements/tests.txt", "pip"},
		{"pip's lists of developers", "-- dev-requirements.txt --\na\n-- requirements/development.txt --\nb\n-- requirements/dev.txt --\nc\n-- requirements/docs.txt --\nd\n-- requirements_test.txt --\n# none\n", "pip", "python3 -m venv .venv; .venv/bin/python -m pip install -r dev-requirements.txt; .venv/bin/python -m pip install -r requirements/dev.txt", "dev-requirements.txt requirements/dev.txt", "pip"},
		{"an empty requirements file", "-- requirements.txt --\n# none\n", "", "", "", ""},
		{"uv", "-- pyproject.toml --\n[project]\n-- uv.lock --\n", "uv", "command -v uv >/dev/null || python3 -m pip install --user --break-system-packages uv; uv sync --frozen --all-extras --all-groups", "pyproject.toml uv.lock", "pip"},
		{"poetry", "-- pyproject.toml --\n-- poetry.lock --\n", "poetry", "command -v poetry >/dev/null || python3 -m pip install --user --break-system-packages poetry; POETRY_VIRTUALENVS_IN_PROJECT=true poetry install --no-interaction", "pyproject.toml poetry.lock", "pip"},
		{"go", "-- go.mod --\nmodule x\n\ngo 1.24\n\nrequire a.org/b v1.0.0\n-- go.sum --\n", "go", "go mod download; go vet ./... || true", "go.mod go.sum", "go"},
		{"go alone", "-- go.mod --\nmodule x\n", "", "", "", ""},
		{"cargo", "-- Cargo.toml --\n[package]\nname = \"x\"\n[dependencies]\na = \"1\"\n-- Cargo.lock --\n", "cargo", "cargo fetch --locked; cargo test --locked --no-run || true", "Cargo.toml Cargo.lock", "cargo"},
		{"cargo for a target", "-- Cargo.toml --\n[target.'cfg(unix)'.dependencies]\n[dev-dependencies.b]\n", "cargo", "cargo fetch; cargo test --no-run || true", "Cargo.toml", "cargo"},
		{"cargo alone", "-- Cargo.toml --\n[package]\nname = \"x\"\n", "", "", "", ""},
		{"bundler", "-- Gemfile --\nsource 'https://rubygems.org'\ngem 'rake'\n", "bundle", "bundle config set --local path vendor/bundle; bundle install", "Gemfile", "gem"},
		{"composer", "-- composer.json --\n{\"require\": {\"php\": \">=8\", \"a/b\": \"^1\"}}\n", "composer", "composer install --no-interaction --no-progress --prefer-dist", "composer.json", "composer"},
		{"php alone", "-- composer.json --\n{\"require\": {\"php\": \">=8\", \"ext-json\": \"*\"}}\n", "", "", "", ""},
		{"maven", "-- pom.xml --\n<project>\n", "mvn", "mvn -B -ntp test -Dtest='*#none' -Dsurefire.failIfNoSpecifiedTests=false -DfailIfNoTests=false -Dmaven.test.failure.ignore=true", "pom.xml", "maven"},
		{"gradle", "-- build.gradle.kts --\nplugins {}\n-- gradlew --\n", "gradle", "sh ./gradlew --no-daemon test || sh ./gradlew --no-daemon testClasses", "build.gradle.kts", "gradle"},
		{"dotnet", "-- a.sln --\n-- a.csproj --\n", "dotnet", "dotnet restore", "a.sln a.csproj", "nuget"},
		{"mix", "-- mix.exs --\n[{:jason, \"~> 1.4\"}]\n-- mix.lock --\n", "mix", "mix local.hex --force --if-missing; mix local.rebar --force --if-missing; mix deps.get; MIX_ENV=test mix deps.compile", "mix.exs mix.lock", "hex"},
		{"swift", "-- Package.swift --\ndependencies: [.package(url: \"https://github.com/a/b\", from: \"1.0.0\")]\n", "swift", "swift package resolve", "Package.swift", "swift"},
		{"two languages", "-- go.mod --\nrequire a v1.0.0\n-- package.json --\n{\"dependencies\": {\"a\": \"1\"}}\n", "npm and go", "npm install --no-package-lock --no-audit --no-fund || npm install --no-package-lock --no-audit --no-fund --ignore-scripts; go mod download; go vet ./... || true", "package.json go.mod", "npm go"},
	} {
		names, read := repositoryOf(tt.files)
		need := Needed(names, read)
		if got := Names(need); got != tt.needs {
			t.Errorf("%s: needs %q, want %q", tt.name, got, tt.needs)
			continue
		}
		if tt.needs == "" {
			continue
		}
		got := Propose(need, names, read)
		commands, changes, presets := strings.Join(got.Commands, "; "), strings.Join(got.Files, " "), strings.Join(got.Presets, " ")
		if commands != tt.commands || changes != tt.changes || presets != tt.presets || got.Network != "allowlist" {
			t.Errorf("%s: %s\nfiles %s\npresets %s", tt.name, commands, changes, presets)
		}
		if err := (policy.Config{Running: policy.Running{SetUp: got}}).CheckEffect(); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

// Outputs that real package managers and languages print without a network name the
// missing package. Others, of tests and of the code itself, name none.
func TestFindLack(t *testing.T) {
	of := func(names ...string) (out []*Manager) {
		for i := range managers {
			if slices.Contains(names, managers[i].Name) {
				out = append(out, &managers[i])
			}
		}
		return out
	}
	data, err := txtar.ParseFile("testdata/outputs.txtar")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, f := range data.Files {
		manager, rest, _ := strings.Cut(f.Name, "/")
		_, want, _ := strings.Cut(rest, ": ")
		got, ok := FindLack(of(manager), string(f.Data))
		switch want {
		case "none":
			if ok {
				t.Errorf("%s: %q of %s", f.Name, got.Package, got.Manager.Name)
			}
			continue
		case "network":
			if !IsRefused(string(f.Data)) {
				t.Errorf("%s: not refused", f.Name)
			}
			continue
		}
		if want == "some" {
			want = ""
		}
		if !ok || got.Package != want {
			t.Errorf("%s: %q, %v", f.Name, got.Package, ok)
		}
		seen[manager] = true
	}
	for _, m := range managers {
		if !seen[m.Name] {
			t.Errorf("no output of %s", m.Name)
		}
	}
	if IsRefused("connect ECONNREFUSED 127.0.0.1:5432\ndial tcp 127.0.0.1:6379: connect: connection refused\n") {
		t.Error("a server of the machine itself counts as the network")
	}
}

// An install command is found however it is wrapped. One that can work offline, or about
// which nothing is known, is none.
func TestFindInstall(t *testing.T) {
	names, read := repositoryOf("-- package.json --\n{\"dependencies\": {\"a\": \"1\"}}\n-- requirements.txt --\nflask\n-- go.mod --\nrequire a v1\n-- Cargo.toml --\n[dependencies]\n" +
		"-- Gemfile --\ngem 'a'\n-- composer.lock --\n-- pom.xml --\n<project>\n-- a.csproj --\n-- mix.lock --\n-- Package.resolved --\n")
	need := Needed(names, read)
	for line, want := range map[string]string{
		"npm install": "npm", "npm ci && npm test": "npm", "cd web && npm i left-pad": "npm", "npm --silent ci": "npm", "sudo npm install -g a": "npm",
		"pnpm add a": "pnpm", "pnpm install --frozen-lockfile": "pnpm", "yarn": "yarn", "yarn add a": "yarn", "bun install": "bun", "corepack pnpm install": "pnpm",
		"pip install -r requirements.txt": "pip", "python3 -m pip install flask": "pip", ".venv/bin/pip install flask": "pip", "pip3 install a b": "pip",
		"uv sync": "uv", "uv pip install a": "uv", "uv add a": "uv", "poetry install": "poetry", "go get a.org/b": "go", "go mod download": "go", "go mod tidy": "go",
		"go install a.org/b@latest": "go", "cargo fetch": "cargo", "cargo add serde": "cargo", "bundle install": "bundle", "bundle": "bundle",
		"composer install": "composer", "composer require a/b": "composer", "mvn dependency:go-offline": "mvn", "dotnet restore": "dotnet",
		"dotnet add package A": "dotnet", "mix deps.get": "mix", "swift package resolve": "swift", "timeout 60 npm install": "npm",
		"bash -c 'npm install'": "npm",

		"npm test": "", "npm run build": "", "npm install --offline": "", "npm install ./lib": "", "npm ls": "", "pip install --no-index a": "",
		"pip install --no-deps --no-build-isolation -e .": "", "pip install x.whl": "", "pip install .": "", "pip list": "", "go build ./...": "", "go install ./cmd/x": "",
		"go mod init x": "", "cargo build": "", "cargo fetch --offline": "", "bundle exec rake": "", "bundle install --local": "", "yarn test": "", "yarn --version": "",
		"composer dump-autoload": "", "mvn -o test": "", "mvn test": "", "gradle test": "", "echo npm install": "", "uv run pytest": "", "pip --version": "", "npm install --help": "",
		"grep -r 'npm install' .": "", "make install": "",
	} {
		_, m := FindInstall(line, need)
		if m == nil && want != "" || m != nil && m.Name != want {
			t.Errorf("%q: %+v, want %q", line, m, want)
		}
	}
	for _, line := range []string{"npm install", "go mod tidy", "pip install -r requirements.txt", "bundle install", "cargo fetch"} {
		if _, m := FindInstall(line, nil); m != nil {
			t.Errorf("%q: there is nothing to install, yet %s is found", line, m.Name)
		}
	}
}
