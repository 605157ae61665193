package conversation

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/review"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

const (
	maxStat  = 200 // maximum number of files in the list of changes
	maxDiffs = 100 // maximum number of files with a diff
)

// readFiles lays out the changes of a pull request: all files by name, and as many diffs
// as fit.
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
		case i < maxStat:
			fmt.Fprintf(
				&b,
				"%s %s +%d −%d%s\n",
				f.Status,
				f.name(),
				f.Added,
				f.Removed,
				map[bool]string{true: " (hidden)"}[f.Hidden],
			)
		case i == maxStat:
			fmt.Fprintf(&b, "and %d more\n", len(got.List)-i+got.More)
		}
	}
	name := fmt.Sprintf(
		"What this pull request changes: %s, +%d −%d",
		count(len(got.List)+got.More, "file", "files"),
		added,
		removed,
	)
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

// putDiffs shares the remaining room among the files. Small diffs are shown in full, and
// leave the rest of their share to larger ones. Logic comes before tests, and generated
// code last, or in a review not at all.
func (g *gathering) putDiffs(got Files) {
	order, made, hidden, without := g.toShow(got)
	rank := func(i int) review.Rank { return review.RankOf(got.List[i].Path) }
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), len(got.List[a].Patch)-len(got.List[b].Patch)) //control:logic-before-tests
	})
	upTo := map[review.Rank]int{} // number of files up to each rank
	for n, i := range order {
		upTo[rank(i)] = n + 1
	}
	shown := map[int]session.Item{}
	left := g.left - 2*perItem // room for notes on omissions
	if g.Review {
		left -= g.part(1, 8)
	}
	for n, i := range order {
		f := got.List[i]
		rest := upTo[rank(i)] - n // number of files that share the room
		text, _ := untrusted.CleanPlain(f.Patch)
		it, ok := fitDiff(fmt.Sprintf("Diff of %s (+%d −%d)", f.name(), f.Added, f.Removed), text, left/rest)
		if !ok && left/rest < minPiece+perItem && left >= minPiece+perItem { // show more of fewer files
			it, ok = fitDiff(it.Name, text, min(left, 4*minPiece))
		}
		if !ok || len(shown) == maxDiffs {
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
	var unseen []string
	for _, i := range order {
		if _, ok := shown[i]; !ok {
			unseen = append(unseen, got.List[i].name())
		}
	}
	g.noteUnseen(unseen, made, got.More)
	if hidden > 0 {
		g.diff = append(
			g.diff,
			g.put(
				note("No diff is shown of %s, because .agentignore hides what is in it from you", count(hidden, "file", "files")),
			)...)
	}
	if without > 0 {
		g.diff = append(
			g.diff,
			g.put(
				note("GitHub shows no diff of %s, because it is binary, empty or too large", count(without, "file", "files")),
			)...)
	}
}

// toShow returns the indexes of the files with a diff to show, the generated files that a
// review skips, and the numbers of files with a hidden diff and without one.
func (g *gathering) toShow(got Files) (order []int, made []string, hidden, without int) {
	for i, f := range got.List {
		switch {
		case f.Hidden:
			hidden++
		case f.Patch == "":
			without++
		case g.Review && review.RankOf(f.Path) == review.Generated: //control:made-is-skipped
			made = append(made, f.name())
		default:
			order = append(order, i)
		}
	}
	return order, made, hidden, without
}

// noteUnseen notes the diffs that are not shown, and the number of further files.
func (g *gathering) noteUnseen(unseen, made []string, more int) {
	if len(made) > 0 {
		g.diff = append(g.diff, g.noteWithNames("No diffs of what programs wrote; leave these files out", made))
	}
	n := len(unseen) + more
	what := count(n, "more diff is", "more diffs are") + " left out here"
	switch {
	case n > 0 && g.Review:
		g.diff = append(
			g.diff,
			g.noteWithNames(
				what+" for want of room, the weightiest first: read them one by one, each with the tool github, what diff and its path",
				unseen,
			),
		)
	case n > 0:
		g.diff = append(g.diff, g.put(note("%s: there is no room", what))...)
	}
}

// noteWithNames returns a note with as many file names as fit.
func (g *gathering) noteWithNames(note string, paths []string) session.Item {
	it, _ := fit(session.ItemThread, note, strings.Join(paths[:min(len(paths), maxStat)], "\n"), g.left)
	g.put(it)
	return it
}

// fitDiff returns the diff of a file, cut after a whole hunk if possible.
func fitDiff(name, patch string, limit int) (session.Item, bool) {
	it, ok := fit(session.ItemThread, name, patch, limit)
	if !ok || it.Text == patch {
		return it, ok
	}
	kept := patch[:len(it.Text)*9/10]
	if i := strings.LastIndex(kept, "\n@@ "); i > len(kept)/2 {
		it.Text = fmt.Sprintf(
			"%s\n[shortened: %s left out]",
			patch[:i],
			count(strings.Count(patch[i:], "\n@@ "), "hunk is", "hunks are"),
		)
	}
	return it, true
}
