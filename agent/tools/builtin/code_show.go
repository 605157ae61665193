package builtin

import (
	"fmt"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/agent/tools"
	"github.com/handrail-bot/handrail/agent/workspace"
)

// Limits of an answer, in bytes and lines.
const (
	maxHover    = 2000
	maxSymbols  = 8000
	maxItems    = 200
	maxSearched = 12
	maxSites    = 10
)

// listed shows places with lines around them.
func listed(a workspace.CodeAnswer) string {
	var b strings.Builder
	for _, i := range a.Items {
		head := fmt.Sprintf("%s:%d", i.Path, i.Line)
		if strings.HasPrefix(i.Path, "/") {
			head += " (outside of the workspace; it cannot be changed)"
		}
		if i.Name != "" {
			head = strings.TrimSpace(i.Kind+" "+i.Name) + in(i) + "  " + head
		}
		fmt.Fprintf(&b, "%s\n", head)
		for _, l := range i.Lines {
			mark := "  "
			if l.Hit {
				mark = "→ "
			}
			fmt.Fprintf(&b, "%s%d: %s\n", mark, l.N, tools.Shorten(l.Text, maxItems))
		}
	}
	more(&b, a.Left)
	return b.String() + notes(a)
}

func in(i workspace.CodeItem) string {
	if i.Container == "" {
		return ""
	}
	return " in " + i.Container
}

func more(b *strings.Builder, n int) {
	if n > 0 {
		fmt.Fprintf(b, "[%d more not shown]\n", n)
	}
}

// grouped shows references by file.
func grouped(a workspace.CodeAnswer) string {
	count := map[string]int{}
	for _, i := range a.Items {
		count[i.Path]++
	}
	for _, f := range a.More {
		count[f.Path] += f.Count
	}
	var b strings.Builder
	last := ""
	for _, i := range a.Items {
		if i.Path != last {
			last = i.Path
			fmt.Fprintf(&b, "── %s ── (%d)\n", i.Path, count[i.Path])
		}
		text := ""
		for _, l := range i.Lines {
			text = strings.TrimSpace(l.Text)
		}
		fmt.Fprintf(&b, "→ %d: %s\n", i.Line, tools.Shorten(text, maxItems))
	}
	if a.Left > 0 {
		fmt.Fprintf(&b, "… and %d more in %d file%s:", a.Left, len(a.More), tools.Plural(len(a.More)))
		for n, f := range a.More {
			if n == 20 {
				fmt.Fprintf(&b, " and %d more files", len(a.More)-n)
				break
			}
			fmt.Fprintf(&b, " %s (%d)", f.Path, f.Count)
		}
		b.WriteByte('\n')
	}
	return b.String() + notes(a)
}

// outlined shows the symbols of a file.
func outlined(a workspace.CodeAnswer, most int) string {
	var b strings.Builder
	for n, i := range a.Items {
		if b.Len() > most {
			a.Left += len(a.Items) - n
			break
		}
		lines := fmt.Sprint(i.Line)
		if i.To > i.Line {
			lines += fmt.Sprintf("-%d", i.To)
		}
		fmt.Fprintf(&b, "%s%s %s %s\n", strings.Repeat("  ", min(i.Depth, 8)), i.Kind, i.Name, lines)
	}
	more(&b, a.Left)
	return b.String() + notes(a)
}

// tree shows one direction of a hierarchy.
func tree(direction string, a workspace.CodeAnswer) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s:\n", direction)
	if len(a.Items) == 0 {
		b.WriteString("  none\n")
	}
	for _, i := range a.Items {
		fmt.Fprintf(&b, "%s%s %s%s  %s:%d", strings.Repeat("  ", i.Depth+1), i.Kind, i.Name, in(i), i.Path, i.Line)
		for n, site := range i.Sites {
			switch {
			case n == 0:
				fmt.Fprintf(&b, ", called in line%s %d", tools.Plural(len(i.Sites)), site)
			case n < maxSites:
				fmt.Fprintf(&b, ", %d", site)
			case n == maxSites:
				fmt.Fprintf(&b, " and %d more", len(i.Sites)-n)
			}
		}
		b.WriteByte('\n')
	}
	more(&b, a.Left)
	return b.String()
}

// both returns the notes of both directions of a hierarchy, each once.
func both(list []workspace.CodeAnswer) string {
	var all workspace.CodeAnswer
	for _, a := range list {
		for _, n := range a.Notes {
			if !slices.Contains(all.Notes, n) {
				all.Notes = append(all.Notes, n)
			}
		}
		all.Also, all.AlsoMore = append(all.Also, a.Also...), all.AlsoMore+a.AlsoMore
	}
	return notes(all)
}

// notes tells about the way to an answer, and if it may be incomplete.
func notes(a workspace.CodeAnswer) string {
	var b strings.Builder
	for _, n := range a.Notes {
		fmt.Fprintf(&b, "\n[%s.]", n)
	}
	if len(a.Also) > 0 { //control:incomplete-is-said
		fmt.Fprintf(&b, "\n[This may be incomplete: the name also stands in")
		for n, i := range a.Also {
			if n > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, " %s:%d", i.Path, i.Line)
		}
		if a.AlsoMore > 0 {
			fmt.Fprintf(&b, ", and in %d more files", a.AlsoMore)
		}
		b.WriteString(".]")
	}
	return b.String()
}
