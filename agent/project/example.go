package project

import (
	"context"
	"path"
	"slices"
	"strings"
	"unicode"
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
		if line := sample(string(data)); line != "" {
			return n, line
		}
	}
	return "", ""
}

// sample returns a representative line of a file: unique, without characters that
// need escapes, and indented if possible.
func sample(text string) string {
	all := strings.Split(text, "\n")
	best := ""
	for _, line := range all {
		line = strings.TrimRight(line, "\r")
		body := strings.TrimSpace(line)
		if len(body) < minExample || len(line) > maxSample || strings.ContainsAny(line, "<>&\"\\`¦\r") ||
			!strings.ContainsFunc(body, unicode.IsLetter) ||
			strings.Count(text, line) != 1 {
			continue
		}
		indented := body != line
		if best == "" || indented {
			best = line
		}
		if indented {
			break
		}
	}
	return strings.TrimRight(best, " \t")
}
