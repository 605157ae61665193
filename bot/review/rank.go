package review

import (
	"path"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/policy/pattern"
)

// Rank is the reading order of a file: files with a lower rank are read first.
type Rank int

// The ranks.
const (
	logic Rank = iota
	Tests
	words
	Generated // generated: needs no review
)

var testName = pattern.Lazy(
	`(?i)(?:^|/)(?:tests?|testdata|__tests__|__mocks__|fixtures|specs?)/|[._-](?:test|spec)\.\w+$|(?:^|/)(?:test_[^/]*\.py|conftest\.py)$|Tests?\.(?:java|kt|cs)$`,
)

// RankOf ranks a file by its name.
func RankOf(name string) Rank {
	base := strings.ToLower(path.Base(name))
	in := func(dirs ...string) bool {
		return slices.ContainsFunc(
			dirs,
			func(d string) bool { return strings.HasPrefix(name, d) || strings.Contains(name, "/"+d) },
		)
	}
	switch {
	case slices.Contains([]string{"go.sum", "package-lock.json", "npm-shrinkwrap.json", "pnpm-lock.yaml", "composer.lock", "flake.lock"}, base),
		slices.Contains([]string{".lock", ".svg", ".map", ".snap"}, path.Ext(base)),
		strings.Contains(
			base,
			".min.",
		),
		strings.Contains(base, ".pb."),
		strings.Contains(base, "_generated"),
		strings.HasSuffix(base, "_pb2.py"),
		in("vendor/", "node_modules/", "third_party/"),
		strings.HasPrefix(name, "dist/"):
		return Generated
	case testName().MatchString(name):
		return Tests
	case slices.Contains([]string{".md", ".txt", ".rst", ".adoc"}, path.Ext(base)):
		return words
	}
	return logic
}
