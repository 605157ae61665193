package project

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/agent/patch/fragment"
	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/agent/workspace/outline"
	"github.com/handrail-bot/handrail/policy/pattern"
)

// Limits in bytes of the files shown to a model that cannot request files by calls.
const (
	maxViewNamed = 24 << 10 // per file that the request names
	maxViewOther = 6000     // per file found by the request's words
	maxViewAll   = 6 << 10  // of the latter in total; about 1,500 tokens
	maxViewPart  = 5 << 10  // of the functions of a longer file
	maxViewLong  = 8 << 10  // per longer file that has mostly other lines
	maxViewRead  = 400      // number of files to search
)

// View returns the whole files that a model needs for a request: those that it names,
// or those that contain its words. Tests, and programs that the commands tests run, are included only if
// named. Hidden and binary files are left out, and of long ones all but some functions.
func View(ctx context.Context, words string, files Files, tests []string) []session.Item {
	r := resolver{Sources: Sources{Now: files}}
	var named []session.Item
	source := false
	for _, m := range mentions(words) {
		if len(named) == maxMentions || ctx.Err() != nil {
			break
		}
		text, name, ok := r.find(ctx, m)
		if m.Ref != "" || !ok || slices.ContainsFunc(named, func(it session.Item) bool { return it.Name == name }) {
			continue
		}
		it, ok := viewed(name, text, wordsOf(words), maxViewNamed)
		if !ok {
			continue
		}
		named = append(named, it)
		source = source || !workspace.IsTest(name)
	}
	if source {
		return named
	}
	r.spelled(ctx, "")                                                                         // lists the files
	r.names = slices.DeleteFunc(r.names, func(name string) bool { return isRun(name, tests) }) //control:tests-are-no-view
	return append(named, r.related(ctx, words, named)...)
}

// isRun reports whether a command names a file.
func isRun(name string, commands []string) bool {
	return slices.ContainsFunc(commands, func(line string) bool {
		return slices.ContainsFunc(strings.Fields(line), func(word string) bool { return path.Clean(word) == name })
	})
}

// viewed returns a file as a whole, or the functions of a longer one that a request is about.
func viewed(name, text string, words []string, whole int) (session.Item, bool) {
	it := session.Item{Kind: session.ItemFile, Name: name, Text: text}
	if len(text) <= whole {
		return it, true
	}
	part, most := fragment.Excerpt(name, text, words, maxViewPart)
	if most && part != "" || len(text) > maxViewLong { //control:functions-of-long-files
		it.Text, it.Part = part, true
	}
	return it, it.Text != ""
}

// found is a file and its relevance to a request.
type found struct {
	name, text string
	score      float64
	named      bool // a word of the request is in its name
}

// related returns the files most relevant to the words of a request, best first,
// within the size limit, but at least one if any is relevant. In a small project,
// files without a match are included too.
func (r *resolver) related(ctx context.Context, words string, have []session.Item) (out []session.Item) {
	wanted := wordsOf(words)
	var all []found
	inFiles := make([]int, len(wanted))
	for _, name := range r.candidates(wanted) {
		if ctx.Err() != nil || slices.ContainsFunc(have, func(it session.Item) bool { return it.Name == name }) {
			continue
		}
		text, ok := readText(ctx, r.Now, name)
		if !ok || len(text) > maxRead || strings.TrimSpace(text) == "" {
			continue
		}
		all = append(all, found{name: name, text: text})
		lower := strings.ToLower(text)
		for i, w := range wanted {
			if strings.Contains(lower, w) {
				inFiles[i]++
			}
		}
	}
	for i := range all {
		f := &all[i]
		text, base := strings.ToLower(f.text), strings.ToLower(f.name)
		for k, w := range wanted {
			if strings.Contains(text, w) {
				f.score += 1 / float64(inFiles[k])
			}
			if strings.Contains(base, w) {
				f.score++
				f.named = true
			}
		}
		if !isSource(f.name) {
			f.score *= 0.5
		}
	}
	best := 0.0
	for _, f := range all {
		if isSource(f.name) && !isExample(f.name) {
			best = max(best, f.score)
		}
	}
	if chosen := slices.DeleteFunc(slices.Clone(all), func(f found) bool {
		switch {
		case isExample(f.name):
			return best > 0 && !slices.ContainsFunc(wanted, func(w string) bool { return isExample(w + "/") })
		case isProse(f.name):
			return best > 0 && !f.named
		case !isSource(f.name):
			return f.score <= best/2
		}
		return onlyLeads(f, all, wanted)
	}); len(chosen) > 0 {
		all = chosen
	}
	slices.SortStableFunc(all, func(a, b found) int {
		switch {
		case a.score > b.score:
			return -1
		case a.score < b.score:
			return 1
		}
		return len(a.text) - len(b.text)
	})
	left := maxViewAll
	for _, f := range all {
		it, ok := viewed(f.name, f.text, wanted, maxViewOther)
		if !ok || (f.score == 0 && len(all) > 8) || len(it.Text) > left && len(out) > 0 {
			continue
		}
		left -= len(it.Text)
		out = append(out, it)
	}
	return out
}

var quoted = pattern.Lazy("'[^'\\n]*'|\"[^\"\\n]*\"")

// onlyLeads reports whether a source file is no place for a change: it defines nothing, most of its lines
// import or export other files, and no word of the request stands there as it is. A small model that sees
// such a file writes it anew with the others.
func onlyLeads(f found, all []found, wanted []string) bool {
	if defs, _, ok := outline.Of(f.name, []byte(f.text)); !ok || !isSource(f.name) || len(defs) > 0 {
		return false
	}
	leads, lines := 0, 0
	for line := range strings.Lines(f.text) {
		in := identifier().FindAllString(line, -1)
		if len(in) == 0 {
			continue
		}
		lines++
		if slices.ContainsFunc(all, func(o found) bool {
			base := path.Base(o.name)
			return o.name != f.name && slices.Contains(in, strings.TrimSuffix(base, path.Ext(base)))
		}) {
			leads++
		}
	}
	if 2*leads < lines {
		return false
	}
	words := identifier().FindAllString(strings.ToLower(quoted().ReplaceAllString(f.text, "")), -1)
	return !slices.ContainsFunc(wanted, func(w string) bool { return slices.Contains(words, w) })
}

// candidates returns the files to search: those with a word of the request in their path,
// then program files and the root's, then all others.
func (r *resolver) candidates(wanted []string) []string {
	var first, rest, others []string
	for _, name := range r.names {
		base := strings.ToLower(name)
		switch {
		case vendored(name),
			workspace.IsTest(name),
			isLock(name),
			strings.HasPrefix(path.Base(name), "."),
			strings.HasPrefix(name, "."):
		case slices.ContainsFunc(wanted, func(w string) bool { return strings.Contains(base, w) }):
			first = append(first, name)
		case isSource(name) || !strings.Contains(name, "/"):
			rest = append(rest, name)
		default:
			others = append(others, name)
		}
	}
	all := slices.Concat(first, rest, others)
	return all[:min(len(all), maxViewRead)]
}

var identifier = pattern.Lazy(`[\p{L}_][\p{L}\p{N}_]{2,}`)

// wordsOf returns the words of a request in lower case, and the parts of compound
// words such as snake_case.
func wordsOf(text string) (out []string) {
	add := func(w string) {
		if w = strings.ToLower(w); len(w) > 2 && !slices.Contains(out, w) {
			out = append(out, w)
		}
	}
	for _, w := range identifier().FindAllString(text, -1) {
		add(w)
		for _, part := range strings.Split(w, "_") {
			add(part)
		}
	}
	return out
}

func isLock(name string) bool {
	base := path.Base(name)
	return strings.HasSuffix(base, ".lock") || strings.HasSuffix(base, ".sum") ||
		slices.Contains([]string{"package-lock.json", "pnpm-lock.yaml", "LICENSE"}, base)
}

// isExample reports whether a file uses the project's code for readers or for a measurement, by its path.
func isExample(name string) bool { return examples().MatchString(strings.ToLower(name)) }

var examples = pattern.Lazy(`(?:^|/)(?:examples?|demos?|benchmarks?)(?:/|\.\w+$)`)

// isProse reports whether a file is a text for readers, by its name.
func isProse(name string) bool {
	return slices.Contains([]string{"", ".md", ".markdown", ".rst", ".adoc", ".txt"}, strings.ToLower(path.Ext(name))) &&
		!isManifest(path.Base(name))
}

var sourceExtensions = []string{
	".py", ".go", ".js", ".mjs", ".cjs", ".ts", ".tsx", ".jsx", ".rb", ".rs", ".java", ".kt", ".c", ".h", ".cc",
	".cpp", ".hpp", ".cs", ".php", ".swift", ".sh", ".lua", ".pl", ".ex", ".exs", ".scala", ".hs", ".sql",
	".html", ".css", ".vue",
}

func isSource(name string) bool {
	return slices.Contains(sourceExtensions, strings.ToLower(path.Ext(name)))
}
