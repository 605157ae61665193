package project

import (
	"context"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/handrail-bot/handrail/agent/workspace/outline"
)

// Limits of the sources of examples.
const (
	maxExample  = 64 << 10 // bytes per file
	maxTriedFor = 5        // files to read for a line
	minExample  = 6        // characters per line
	maxSample   = 80
)

// sources are the file name extensions of hand-written code.
var sources = [...]string{
	".go", ".py", ".js", ".ts", ".tsx", ".jsx", ".rb", ".rs", ".java", ".kt", ".c", ".h", ".cc", ".cpp", ".cs",
	".php", ".swift", ".sh", ".lua", ".ex", ".scala", ".zig", ".mjs",
}

// Example returns a file of the project and a line in it, to show calls to a model
// with: the first file that the request names, else the smallest source file. Both
// are "" if there is none.
func (f Facts) Example(ctx context.Context, files Files, request string) (name, line string) {
	var candidates []string
	for _, m := range mentions(request) {
		for _, n := range f.files {
			if m.Repo == "" && (n == m.Path || strings.HasSuffix(n, "/"+m.Path)) && !slices.Contains(candidates, n) {
				candidates = append(candidates, n)
			}
		}
	}
	var others []string
	for _, n := range f.files {
		if slices.Contains(sources[:], path.Ext(n)) && f.sizes[n] > 0 && f.sizes[n] <= maxExample {
			others = append(others, n)
		}
	}
	slices.SortStableFunc(others, func(a, b string) int { return int(f.sizes[a] - f.sizes[b]) })
	candidates = append(candidates[:min(len(candidates), maxTriedFor)], others[:min(len(others), maxTriedFor)]...)
	for _, n := range candidates {
		data, _, err := files.ReadAll(ctx, n, maxExample)
		if err != nil || slices.Contains(data, 0) {
			continue
		}
		if line := sample(n, string(data), request); line != "" {
			return n, line
		}
	}
	return "", ""
}

// sample returns a line of a file for a sample edit. Small models imitate it, so it is, if possible, in
// the first definition that the request names: the first line of its body, else its own. Otherwise it is the first
// indented line of the file, else the first one.
func sample(name, text, request string) string {
	all := strings.Split(text, "\n")
	defs, _, _ := outline.Of(name, []byte(text))
	for _, d := range defs {
		if !namesWord(request, d.Name[strings.LastIndex(d.Name, ".")+1:]) {
			continue
		}
		for _, i := range []int{d.Line, d.Line - 1} {
			if i < len(all) && shows(text, all[i]) {
				return strings.TrimRight(all[i], " \t\r")
			}
		}
	}
	best := ""
	for _, line := range all {
		indented := strings.TrimLeft(line, " \t") != line
		if shows(text, line) && (best == "" || indented) {
			if best = strings.TrimRight(line, " \t\r"); indented {
				break
			}
		}
	}
	return best
}

// shows reports whether a line can be quoted in a sample edit: it is unique, and needs no escapes.
func shows(text, line string) bool {
	line = strings.TrimRight(line, "\r")
	body := strings.TrimSpace(line)
	return len(body) >= minExample && len(line) <= maxSample && !strings.ContainsAny(line, "<>&\\`¦\r") &&
		strings.ContainsFunc(body, unicode.IsLetter) && strings.Count(text, line) == 1
}

// namesWord reports whether a name is a word of the request.
func namesWord(request, name string) bool {
	return slices.Contains(strings.FieldsFunc(request, func(r rune) bool {
		return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}), name)
}
