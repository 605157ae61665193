package workspace

import (
	"path"
	"slices"
	"strings"
)

// IsTest reports whether a path is that of a test or of its data, by the usual names: a part of
// its file name or one of its directories is test, tests, spec, or specs.
func IsTest(name string) bool {
	base := path.Base(name)
	if stem := strings.TrimSuffix(base, path.Ext(base)); strings.HasSuffix(stem, "Test") ||
		strings.HasSuffix(stem, "Tests") || base == "conftest.py" {
		return true
	}
	dirs := strings.Split(strings.ToLower(path.Dir(name)), "/")
	words := strings.FieldsFunc(strings.ToLower(base), func(c rune) bool { return strings.ContainsRune("_.-", c) })
	return slices.ContainsFunc(append(dirs, words...), func(w string) bool {
		return slices.Contains([]string{"test", "tests", "spec", "specs", "__tests__", "testdata"}, w)
	})
}
