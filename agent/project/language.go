package project

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/handrail-bot/handrail/policy/pattern"
)

// language describes the detection of a language and its image.
type language struct {
	manifests []string // names or patterns; the first existing file is reported
	said      func(t fileTree) (version, from string)
	image     func(version string) string
	tools     []string // its names in .tool-versions
	name      string
}

// languages are in order of precedence for repositories with several. Languages often
// used only for tools come last.
var languages = [...]language{
	{[]string{"go.mod"}, goImage, minor("golang"), []string{"golang", "go"}, "Go"},
	{
		[]string{"Cargo.toml"},
		rustVersion,
		func(v string) string { return "rust:" + cmp.Or(v, "1") },
		[]string{"rust"},
		"Rust",
	},
	{
		[]string{"pom.xml"},
		javaVersion,
		func(v string) string { return "maven:3-eclipse-temurin-" + jdk(v) },
		[]string{"java"},
		"Java",
	},
	{
		[]string{"build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts"},
		javaVersion,
		func(v string) string { return "gradle:8-jdk" + jdk(v) },
		[]string{"java"},
		"Java",
	},
	{
		[]string{"global.json", "*.sln", "*.slnx", "*.csproj", "*.fsproj"},
		dotnetVersion,
		func(v string) string { return "mcr.microsoft.com/dotnet/sdk:" + cmp.Or(parts(v, 2), "10.0") },
		[]string{"dotnet", "dotnet-core"},
		".NET",
	},
	{[]string{"composer.json"}, phpVersion, phpImage, []string{"php"}, "PHP"},
	{
		[]string{"Gemfile", ".ruby-version"},
		rubyVersion,
		func(v string) string { return "ruby:" + cmp.Or(v, "3") },
		[]string{"ruby"},
		"Ruby",
	},
	{[]string{"mix.exs"}, unsaid, minor("elixir"), []string{"elixir"}, "Elixir"},
	{[]string{"pubspec.yaml"}, unsaid, func(string) string { return "dart:stable" }, nil, "Dart"},
	{
		[]string{"Package.swift"},
		unsaid,
		func(v string) string { return "swift:" + cmp.Or(parts(v, 2), "latest") },
		[]string{"swift"},
		"Swift",
	},
	{
		[]string{"pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "Pipfile", ".python-version"},
		pythonVersion,
		func(v string) string { return "python:" + cmp.Or(parts(v, 2), "3") },
		[]string{"python"},
		"Python",
	},
	{[]string{"deno.json", "deno.jsonc"}, unsaid, func(string) string { return "denoland/deno:debian" }, nil, "Deno"},
	{
		[]string{"package.json", ".nvmrc", ".node-version"},
		nodeVersion,
		func(v string) string { return "node:" + cmp.Or(v, "lts") },
		[]string{"nodejs", "node"},
		"Node",
	},
}

// fit is a detected language of a repository. One that only a feature names has no manifest.
type fit struct{ image, why, manifest string }

// languages returns the detected languages, in order of precedence.
func (t fileTree) languages() (out []fit) {
	tools := toolVersions(t.read(".tool-versions"))
	for _, l := range languages {
		manifest := t.first(l.manifests)
		if manifest == "" {
			continue
		}
		version, from := l.said(t)
		for _, tool := range l.tools {
			if version == "" && tools[tool] != "" {
				version, from = versionNumber().FindString(tools[tool]), ".tool-versions"
			}
		}
		why := fmt.Sprintf("there is a %s", manifest)
		if version != "" {
			why = fmt.Sprintf("%s says %s %s", from, l.name, version)
		}
		image := l.image(version)
		if !slices.ContainsFunc(out, func(f fit) bool { return f.image == image }) {
			out = append(out, fit{image, why, manifest})
		}
	}
	return out
}

// first returns the first file that matches one of the patterns, in pattern order.
func (t fileTree) first(patterns []string) string {
	for _, p := range patterns {
		for _, name := range t.names {
			if ok, err := path.Match(p, name); err == nil && ok {
				return name
			}
		}
	}
	return ""
}

// versionNumber matches a purely numeric version.
var versionNumber = pattern.Lazy(`\d+(\.\d+)*`)

// parts returns the first n numbers of a version.
func parts(version string, n int) string {
	list := strings.Split(version, ".")
	return strings.Join(list[:min(n, len(list))], ".")
}

func minor(image string) func(string) string {
	return func(v string) string { return image + ":" + cmp.Or(parts(v, 2), "1") }
}

func unsaid(fileTree) (string, string) { return "", "" }

// match returns the first group of a pattern's match in a file, and the file's name.
func (t fileTree) match(name, pattern string) (version, from string) {
	if found := regexp.MustCompile(pattern).FindStringSubmatch(t.read(name)); found != nil {
		return found[1], name
	}
	return "", ""
}

// shellLine returns the version at the beginning of a version file.
func (t fileTree) line(name, prefix string) (version, from string) {
	text := strings.TrimPrefix(strings.TrimSpace(t.read(name)), prefix)
	if v := versionNumber().FindString(text); v != "" && strings.HasPrefix(text, v) {
		return v, name
	}
	return "", ""
}

// either returns the first version found.
func either(t fileTree, ways ...func(fileTree) (string, string)) (version, from string) {
	for _, say := range ways {
		if version, from = say(t); version != "" {
			return version, from
		}
	}
	return "", ""
}

func in(name, pattern string) func(fileTree) (string, string) {
	return func(t fileTree) (string, string) { return t.match(name, pattern) }
}

func only(name, prefix string) func(fileTree) (string, string) {
	return func(t fileTree) (string, string) { return t.line(name, prefix) }
}

func goImage(t fileTree) (string, string) {
	return either(t, in("go.mod", `(?m)^toolchain go(\d+\.\d+[.\d]*)`), in("go.mod", `(?m)^go (\d+\.\d+[.\d]*)`))
}

// rustVersion returns the exact version: rustup would download any other.
func rustVersion(t fileTree) (string, string) {
	const channel = `(?m)^\s*channel\s*=\s*["'](\d+\.\d+(?:\.\d+)?)["']`
	return either(t, in("rust-toolchain.toml", channel), in("rust-toolchain", channel), only("rust-toolchain", ""))
}

// rubyVersion returns the exact version: Bundler rejects any other.
func rubyVersion(t fileTree) (string, string) {
	return either(t, only(".ruby-version", "ruby-"), in("Gemfile", `(?m)^\s*ruby\s+["'](\d+\.\d+(?:\.\d+)?)["']`))
}

func pythonVersion(t fileTree) (string, string) {
	return either(t, only(".python-version", ""),
		in("pyproject.toml", `(?m)^\s*requires-python\s*=\s*["'](?:[^"']*,)?\s*(?:>=|==|~=)\s*(\d+\.\d+)`),
		in("pyproject.toml", `(?m)^\s*python\s*=\s*["'](?:\^|~|>=|==)?\s*(\d+\.\d+)`),
		in("setup.cfg", `(?m)^\s*python_requires\s*=\s*(?:>=|==|~=)\s*(\d+\.\d+)`))
}

func javaVersion(t fileTree) (string, string) {
	return either(
		t,
		only(".java-version", ""),
		in(
			"pom.xml",
			`<(?:maven\.compiler\.release|java\.version|release|maven\.compiler\.target|maven\.compiler\.source)>\s*(?:1\.)?(\d+)\s*<`,
		),
		in(
			"build.gradle",
			`JavaLanguageVersion\.of\(\s*["']?(\d+)`,
		),
		in("build.gradle.kts", `(?:JavaLanguageVersion\.of|jvmToolchain)\(\s*["']?(\d+)`),
		in(
			"build.gradle",
			`(?:sourceCompatibility|targetCompatibility)\s*=?\s*(?:JavaVersion\.VERSION_|["'])?(?:1[._])?(\d+)`,
		),
		in("build.gradle.kts", `(?:sourceCompatibility|targetCompatibility)\s*=\s*JavaVersion\.VERSION_(?:1_)?(\d+)`),
	)
}

// jdk returns the first long-term support release that covers a Java version.
func jdk(version string) string {
	v, err := strconv.Atoi(parts(version, 1))
	if err != nil {
		return "21"
	}
	for _, long := range [...]int{8, 11, 17, 21} {
		if v <= long {
			return strconv.Itoa(long)
		}
	}
	return "25"
}

func dotnetVersion(t fileTree) (version, from string) {
	if version, from = t.match("global.json", `"version"\s*:\s*"(\d+\.\d+)`); version != "" {
		return version, from
	}
	return t.match(
		t.first([]string{"*.csproj", "*.fsproj", "Directory.Build.props"}),
		`<TargetFrameworks?>(?:[^<]*;)?net(\d+\.\d+)`,
	)
}

func phpVersion(t fileTree) (string, string) {
	return t.match("composer.json", `"php"\s*:\s*"[^"0-9]*(\d+\.\d+)`)
}

// phpImage returns the PHP image, or one with Composer if no version is requested.
func phpImage(version string) string {
	if version == "" {
		return "composer:2"
	}
	return "php:" + parts(version, 2) + "-cli"
}

var longSupport = pattern.Lazy(`^lts/([a-z]+|\*)\s*$`)

func nodeVersion(t fileTree) (version, from string) {
	for _, name := range [...]string{".nvmrc", ".node-version"} {
		if found := longSupport().FindStringSubmatch(t.read(name)); found != nil {
			return strings.ReplaceAll(found[1], "*", "lts"), name
		}
		if version, from = t.line(name, "v"); version != "" {
			return parts(version, 1), from
		}
	}
	var said struct{ Engines struct{ Node string } }
	if json.Unmarshal([]byte(t.read("package.json")), &said) != nil {
		return "", ""
	}
	return newest(said.Engines.Node), "package.json"
}

var bound = pattern.Lazy(`(<=?|>=?|\^|~|=)?\s*v?(\d+)[\d.x*]*`)

// newest returns the newest version that a range names, without exclusive upper
// bounds.
func newest(versions string) string {
	most := 0
	for _, found := range bound().FindAllStringSubmatch(versions, -1) {
		if v, err := strconv.Atoi(found[2]); err == nil && found[1] != "<" {
			most = max(most, v)
		}
	}
	if most == 0 {
		return ""
	}
	return strconv.Itoa(most)
}

// toolVersions parses a .tool-versions file.
func toolVersions(text string) map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		if f := strings.Fields(line); len(f) > 1 {
			out[f[0]] = f[1]
		}
	}
	return out
}
