package conversation

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

const (
	mostStat  = 200 // files in the list of changes
	mostDiffs = 100 // files whose diff is shown
)

// readFiles lays out what a pull request changes: all files by name, and the diff
// of as many as there is room for.
func (g *gathering) readFiles(ctx context.Context) error {
	if !g.First.Pull {
		return nil
	}
	got, err := g.from.Files(ctx)
	if err != nil {
		g.stat, err = g.missing("the diff of this pull request", err)
		return err
	}
	if len(got.List) == 0 {
		g.stat = g.put(note("This pull request changes no files"))
		return nil
	}
	g.putStat(got)
	g.putDiffs(got)
	return nil
}

func (g *gathering) putStat(got Files) {
	added, removed := 0, 0
	var b strings.Builder
	for i, f := range got.List {
		added, removed = added+f.Added, removed+f.Removed
		switch {
		case i < mostStat:
			fmt.Fprintf(&b, "%s %s +%d −%d%s\n", f.Status, f.name(), f.Added, f.Removed, map[bool]string{true: " (hidden)"}[f.Hidden])
		case i == mostStat:
			fmt.Fprintf(&b, "and %d more\n", len(got.List)-i+got.More)
		}
	}
	name := fmt.Sprintf("What this pull request changes: %s, +%d −%d", count(len(got.List)+got.More, "file", "files"), added, removed)
	if it, ok := fit(session.ItemThread, name, strings.TrimSuffix(b.String(), "\n"), g.part(1, 4)); ok {
		g.stat = g.put(it)
	}
}

func (f File) name() string {
	if f.From != "" && f.From != f.Path {
		return f.From + " → " + f.Path
	}
	return f.Path
}

// made reports whether a file is likely to be written by a program, so that its
// diff tells less.
func (f File) made() bool {
	base := strings.ToLower(path.Base(f.Path))
	switch {
	case slices.Contains([]string{"go.sum", "package-lock.json", "npm-shrinkwrap.json", "pnpm-lock.yaml", "composer.lock", "flake.lock"}, base),
		slices.Contains([]string{".lock", ".svg", ".map", ".snap"}, path.Ext(base)),
		strings.Contains(base, ".min."), strings.Contains(base, ".pb."), strings.Contains(base, "_generated"):
		return true
	}
	return strings.HasPrefix(f.Path, "vendor/") || strings.Contains(f.Path, "/vendor/") || strings.Contains(f.Path, "node_modules/") || strings.HasPrefix(f.Path, "dist/")
}

// putDiffs shares the room that is left among the files: small diffs are whole, and
// what they do not need goes to larger ones. Files that programs write come last.
func (g *gathering) putDiffs(got Files) {
	order := make([]int, 0, len(got.List))
	without, hidden := 0, 0
	for i, f := range got.List {
		if f.Hidden {
			hidden++
			continue
		}
		if f.Patch == "" {
			without++
			continue
		}
		order = append(order, i)
	}
	slices.SortStableFunc(order, func(a, b int) int {
		x, y := got.List[a], got.List[b]
		if x.made() != y.made() {
			return cmp.Compare(rank(x.made()), rank(y.made()))
		}
		return len(x.Patch) - len(y.Patch)
	})
	byHand := 0
	for _, i := range order {
		byHand += 1 - rank(got.List[i].made())
	}
	shown := map[int]session.Item{}
	left := g.left - 2*perItem // for what is said of those that do not fit
	for n, i := range order {
		f := got.List[i]
		rest := byHand - n // of the files that share the room
		if f.made() {
			rest = len(order) - n
		}
		text, _ := untrusted.CleanPlain(f.Patch)
		it, ok := fitDiff(fmt.Sprintf("Diff of %s (+%d −%d)", f.name(), f.Added, f.Removed), text, left/rest)
		if !ok && left/rest < least+perItem && left >= least+perItem { // fewer files, of which more is seen
			it, ok = fitDiff(it.Name, text, min(left, 4*least))
		}
		if !ok || len(shown) == mostDiffs {
			continue
		}
		left -= size(it)
		shown[i] = it
	}
	for i := range got.List {
		if it, ok := shown[i]; ok {
			g.diff = append(g.diff, g.put(it)...)
		}
	}
	if n := len(order) - len(shown) + got.More; n > 0 {
		g.diff = append(g.diff, g.put(note("%s left out here: there is no room", count(n, "more diff is", "more diffs are")))...)
	}
	if hidden > 0 {
		g.diff = append(g.diff, g.put(note("No diff is shown of %s, because .agentignore hides what is in it from you", count(hidden, "file", "files")))...)
	}
	if without > 0 {
		g.diff = append(g.diff, g.put(note("GitHub shows no diff of %s, because it is binary, empty or too large", count(without, "file", "files")))...)
	}
}

func rank(later bool) int {
	if later {
		return 1
	}
	return 0
}

// fitDiff returns the diff of a file, cut behind a whole hunk where that is
// possible.
func fitDiff(name, patch string, limit int) (session.Item, bool) {
	it, ok := fit(session.ItemThread, name, patch, limit)
	if !ok || it.Text == patch {
		return it, ok
	}
	kept := patch[:len(it.Text)*9/10]
	if i := strings.LastIndex(kept, "\n@@ "); i > len(kept)/2 {
		it.Text = fmt.Sprintf("%s\n[shortened: %s left out]", patch[:i], count(strings.Count(patch[i:], "\n@@ "), "hunk is", "hunks are"))
	}
	return it, true
}
