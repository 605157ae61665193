package project

import (
	"context"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/policy"
)

// files are the root of a repository in memory.
type files map[string]string

func (f files) ReadAll(_ context.Context, name string, _ int64) ([]byte, fs.FileMode, error) {
	if text, ok := f[name]; ok {
		return []byte(text), 0, nil
	}
	return nil, 0, fs.ErrNotExist
}

func (f files) List(context.Context, string, bool, int) (out workspace.Listing, err error) {
	for name := range f {
		if !strings.Contains(name, "/") {
			out.Entries = append(out.Entries, workspace.Entry{Path: name})
		}
	}
	slices.SortFunc(out.Entries, func(a, b workspace.Entry) int { return strings.Compare(a.Path, b.Path) })
	return out, nil
}

func repository(text string) files {
	f := files{}
	for _, file := range txtar.Parse([]byte(text)).Files {
		f[file.Name] = string(file.Data)
	}
	return f
}

// What a repository says of its language and version is the tag of a standard image,
// which is pulled unless the server says otherwise.
func TestLanguages(t *testing.T) {
	for _, tt := range []struct{ name, files, want, why string }{
		{"go", "-- go.mod --\nmodule x\n\ngo 1.26.1\n", "golang:1.26", "go.mod says Go 1.26.1"},
		{"go's toolchain", "-- go.mod --\nmodule x\ngo 1.24\ntoolchain go1.25.3\n", "golang:1.25", "go.mod says Go 1.25.3"},
		{"go without a version", "-- go.mod --\nmodule x\n-- .tool-versions --\n# ours\ngolang 1.23.4\n", "golang:1.23", ".tool-versions says Go 1.23.4"},
		{"node", "-- package.json --\n{}\n-- .nvmrc --\nv20.11.1\n", "node:20", ".nvmrc says Node 20"},
		{"node by name", "-- package.json --\n{}\n-- .nvmrc --\nlts/iron\n", "node:iron", ".nvmrc says Node iron"},
		{"node with long support", "-- package.json --\n{}\n-- .nvmrc --\nlts/*\n", "node:lts", ".nvmrc says Node lts"},
		{"node's other file", "-- package.json --\n{}\n-- .node-version --\n22\n", "node:22", ".node-version says Node 22"},
		{"node's engines", "-- package.json --\n{\"engines\": {\"node\": \">=18 <23\"}}\n", "node:18", "package.json says Node 18"},
		{"node's engines, several", "-- package.json --\n{\"engines\": {\"node\": \"^18.1.0 || ^20 || 22.x\"}}\n", "node:22", "package.json says Node 22"},
		{"node, anything", "-- package.json --\n{\"engines\": {\"node\": \"*\"}}\n", "node:lts", "there is a package.json"},
		{"node, broken", "-- package.json --\n{\n", "node:lts", "there is a package.json"},
		{"python", "-- requirements.txt --\nx\n-- .python-version --\n3.12.1\n", "python:3.12", ".python-version says Python 3.12.1"},
		{"python's project", "-- pyproject.toml --\n[project]\nrequires-python = \">=3.10,<4\"\n", "python:3.10", "pyproject.toml says Python 3.10"},
		{"python's project, the other way", "-- pyproject.toml --\n[project]\nrequires-python = \"<4, >=3.11\"\n", "python:3.11", "pyproject.toml says Python 3.11"},
		{"poetry", "-- pyproject.toml --\n[tool.poetry.dependencies]\npython = \"^3.9\"\n", "python:3.9", "pyproject.toml says Python 3.9"},
		{"another python", "-- setup.py --\n\n-- .python-version --\npypy3.9\n", "python:3", "there is a setup.py"},
		{"rust", "-- Cargo.toml --\n[package]\nrust-version = \"1.70\"\n", "rust:1", "there is a Cargo.toml"},
		{"rust's toolchain", "-- Cargo.toml --\n\n-- rust-toolchain.toml --\n[toolchain]\nchannel = \"1.78.0\"\n", "rust:1.78.0", "rust-toolchain.toml says Rust 1.78.0"},
		{"rust's old toolchain", "-- Cargo.toml --\n\n-- rust-toolchain --\n1.77.1\n", "rust:1.77.1", "rust-toolchain says Rust 1.77.1"},
		{"rust by night", "-- Cargo.toml --\n\n-- rust-toolchain --\nnightly\n", "rust:1", "there is a Cargo.toml"},
		{"ruby", "-- Gemfile --\nsource 'x'\n-- .ruby-version --\nruby-3.3.1\n", "ruby:3.3.1", ".ruby-version says Ruby 3.3.1"},
		{"ruby's bundle", "-- Gemfile --\nruby \"3.2.0\"\n", "ruby:3.2.0", "Gemfile says Ruby 3.2.0"},
		{"php", "-- composer.json --\n{\"require\": {\"php\": \"^8.2\"}}\n", "php:8.2-cli", "composer.json says PHP 8.2"},
		{"php, any", "-- composer.json --\n{}\n", "composer:2", "there is a composer.json"},
		{"maven", "-- pom.xml --\n<project><properties><java.version>17</java.version></properties></project>\n", "maven:3-eclipse-temurin-17", "pom.xml says Java 17"},
		{"maven, old", "-- pom.xml --\n<maven.compiler.source>1.8</maven.compiler.source>\n", "maven:3-eclipse-temurin-8", "pom.xml says Java 8"},
		{"maven by asdf", "-- pom.xml --\n\n-- .tool-versions --\njava temurin-21.0.1+12\n", "maven:3-eclipse-temurin-21", ".tool-versions says Java 21.0.1"},
		{"gradle", "-- build.gradle --\njava { toolchain { languageVersion = JavaLanguageVersion.of(17) } }\n", "gradle:8-jdk17", "build.gradle says Java 17"},
		{"gradle in kotlin", "-- build.gradle.kts --\nkotlin { jvmToolchain(21) }\n-- settings.gradle.kts --\n", "gradle:8-jdk21", "build.gradle.kts says Java 21"},
		{"gradle, compatible", "-- build.gradle --\nsourceCompatibility = '1.8'\n", "gradle:8-jdk8", "build.gradle says Java 8"},
		{"dotnet", "-- global.json --\n{\"sdk\": {\"version\": \"8.0.100\"}}\n", "mcr.microsoft.com/dotnet/sdk:8.0", "global.json says .NET 8.0"},
		{"dotnet's project", "-- App.csproj --\n<TargetFramework>net9.0</TargetFramework>\n-- App.sln --\n", "mcr.microsoft.com/dotnet/sdk:9.0", "App.csproj says .NET 9.0"},
		{"elixir", "-- mix.exs --\n\n-- .tool-versions --\nelixir 1.16.2-otp-26\n", "elixir:1.16", ".tool-versions says Elixir 1.16.2"},
		{"dart", "-- pubspec.yaml --\n", "dart:stable", "there is a pubspec.yaml"},
		{"swift", "-- Package.swift --\n", "swift:latest", "there is a Package.swift"},
		{"deno", "-- deno.json --\n", "denoland/deno:debian", "there is a deno.json"},
		{"nothing", "-- README.md --\n", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := FindImage(t.Context(), repository(tt.files), policy.Config{}.AllowsImage)
			if err != nil || got.Name != tt.want || got.Why != tt.why || len(got.Notes) > 0 || got.Guess != (tt.want != "") {
				t.Errorf("%+v, %v, want %s: %s", got, err, tt.want, tt.why)
			}
			if tt.want != "" && !(policy.Config{}).Pulls(tt.want) {
				t.Errorf("%s is not pulled", tt.want)
			}
		})
	}
}

// The development container goes before the manifests, what of it is not done is noted,
// and the server says what a repository may choose.
func TestFind(t *testing.T) {
	const goModule = "-- go.mod --\nmodule x\ngo 1.26\n"
	for _, tt := range []struct {
		name, files string
		images      []string
		want        string
		notes       []string
	}{
		{"a development container", "-- .devcontainer/devcontainer.json --\n{\"image\": \"mcr.microsoft.com/devcontainers/go:1-1.26\"}\n" + goModule, nil, "mcr.microsoft.com/devcontainers/go:1-1.26", nil},
		{"a base with features", "-- .devcontainer.json --\n{\"image\": \"mcr.microsoft.com/devcontainers/base:ubuntu\", \"features\": {\"ghcr.io/devcontainers/features/java:1\": {\"version\": \"21-oracle\"}}}\n-- pom.xml --\n<java.version>17</java.version>\n", nil, "maven:3-eclipse-temurin-17", nil},
		{"a base without a manifest", "-- .devcontainer.json --\n{\"image\": \"ubuntu:24.04\", \"features\": {\"ghcr.io/devcontainers/features/python:1\": {\"version\": \"3.12\"}}}\n", nil, "python:3.12", nil},
		{"a base alone", "-- .devcontainer.json --\n{\"image\": \"debian:12\"}\n", nil, "debian:12", nil},
		{"with features", "-- .devcontainer.json --\n{\"image\": \"acme/dev:1\", \"features\": {\"ghcr.io/a/b:1\": {}}}\n", nil, "acme/dev:1", []string{"features (ghcr.io/a/b:1), which are left out"}},
		{"a Dockerfile", "-- .devcontainer/devcontainer.json --\n{\"build\": {\"dockerfile\": \"Dockerfile\"}}\n" + goModule, nil, "golang:1.26", []string{`is not built here. Build it on the machine of the server's docker, in a clone of the repository: "docker build -t acme/dev:1 -f .devcontainer/Dockerfile .devcontainer". Then name it in .github/agent.yml: workspace: {image: acme/dev:1}`}},
		{"a Dockerfile with arguments", "-- .devcontainer/devcontainer.json --\n{\"build\": {\"dockerfile\": \"Dockerfile\", \"context\": \"..\", \"target\": \"dev\", \"args\": {\"BASE\": \"x; rm -rf /\"}}}\n" + goModule, nil, "golang:1.26", []string{`"docker build -t acme/dev:1 -f .devcontainer/Dockerfile --target dev --build-arg 'BASE=x; rm -rf /' ."`}},
		{"Compose", "-- .devcontainer/devcontainer.json --\n{\"dockerComposeFile\": \"x.yml\"}\n" + goModule, nil, "golang:1.26", []string{"Docker Compose"}},
		{"a broken one", "-- .devcontainer.json --\n{\"image\": }\n" + goModule, nil, "golang:1.26", []string{".devcontainer.json: invalid character"}},
		{"no name of an image", "-- .devcontainer.json --\n{\"image\": \"${localEnv:IMAGE}\"}\n" + goModule, nil, "golang:1.26", []string{`does not let repositories choose the image "${localEnv:IMAGE}"`}},
		{"off the list", "-- .devcontainer.json --\n{\"image\": \"acme/dev:1\"}\n" + goModule, []string{"golang:*"}, "golang:1.26", []string{`.devcontainer.json names it, but the server does not let repositories choose the image "acme/dev:1" (workspace.images)`}},
		{"nothing on the list", goModule, []string{"acme/*"}, "", []string{`go.mod says Go 1.26, but the server does not let repositories choose the image "golang:1.26"`}},
		{"two languages", goModule + "-- package.json --\n{}\n", nil, "golang:1.26", []string{"there is also package.json: for more than one language, name an image"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := FindImage(t.Context(), repository(tt.files), policy.Config{Workspace: policy.Workspace{Images: tt.images}}.AllowsImage)
			if err != nil || got.Name != tt.want || len(got.Notes) != len(tt.notes) {
				t.Fatalf("%+v, %v, want %s", got, err, tt.want)
			}
			for i, want := range tt.notes {
				if !strings.Contains(got.Notes[i], want) {
					t.Errorf("note %q, want %q", got.Notes[i], want)
				}
			}
		})
	}
}
