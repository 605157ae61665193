package project

import (
	"context"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/policy/pattern"
)

// mention is a file that a request names. Ref is the commit, tag or branch of a link,
// "" for a plain file name. From and To are the lines, 0 for the whole file.
type mention struct {
	Repo     string // "owner/name" of a link
	Ref      string
	Path     string
	From, To int
}

// Limits of the context added to a request.
const (
	maxMentions  = 8
	maxFile      = 8000  // characters of a whole file
	maxSelection = 16000 // bytes of selected lines
	maxContext   = 40000 // bytes in total
)

var (
	link = pattern.Lazy(
		`https?://[^\s/]+/([^\s/]+/[^\s/]+)/(?:-/)?blob/([^\s#?)>\]"'` + "`" + `]+)(?:\?[^\s#)>\]]*)?(?:#L(\d+)(?:C\d+)?(?:-L?(\d+)(?:C\d+)?)?)?`,
	)
	anyURL   = pattern.Lazy(`[a-z]+://\S+`)
	fileWord = pattern.Lazy(
		`(?:^|[\s` + "`" + `"'(\[{<,;@*])((?:\.{0,2}/)?[\p{L}\p{N}_.][\p{L}\p{N}_.@+/-]*)(?:(?::|#L)(\d+)(?:(?:-L?|:)(\d+))?)?`,
	)
)

// mentions finds the files that text names, without duplicates, links first. A word
// counts only if it looks like a path. [Resolve] checks that the file exists.
func mentions(text string) []mention {
	var out []mention
	add := func(m mention) {
		if m.To < m.From {
			m.To = m.From
		}
		if !slices.Contains(out, m) {
			out = append(out, m)
		}
	}
	for _, f := range link().FindAllStringSubmatch(text, -1) {
		rest, err := url.PathUnescape(f[2])
		ref, name, ok := strings.Cut(strings.TrimRight(rest, ".,;:!"), "/")
		if err == nil && ok {
			add(mention{Repo: f[1], Ref: ref, Path: name, From: number(f[3]), To: number(f[4])})
		}
	}
	for _, f := range fileWord().FindAllStringSubmatch(anyURL().ReplaceAllString(text, " "), -1) {
		name := strings.TrimRight(f[1], ".@+-/")
		base := path.Base(name)
		if strings.Contains(strings.TrimLeft(base, "."), ".") || strings.Contains(name, "/") || isManifest(base) ||
			strings.HasPrefix(base, ".") && len(base) > 2 {
			add(mention{Path: strings.TrimPrefix(path.Clean("/"+name), "/"), From: number(f[2]), To: number(f[3])})
		}
	}
	return out
}

func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0
	}
	return n
}

// Sources are the trees to read mentions from. Now is the tree that the agent works
// on. At returns the tree of a link, nil for another repository or an unknown commit.
// If At is nil, links are ignored.
type Sources struct {
	Now Files
	At  func(ctx context.Context, repo, ref string) Files
}

// Resolve reads the files that text names and returns them as context for a session:
// the selected lines, or the beginning of a file. Missing, binary and hidden files
// are left out.
func Resolve(ctx context.Context, text string, from Sources) []session.Item {
	r := resolver{Sources: from}
	var out []session.Item
	left := maxContext
	for _, m := range mentions(text) {
		if len(out) == maxMentions || ctx.Err() != nil {
			break
		}
		it, ok := r.item(ctx, m)
		covered := slices.ContainsFunc(out, func(have session.Item) bool { return have.Name == it.Name })
		if ok && !covered && len(it.Text) <= left {
			out = append(out, it)
			left -= len(it.Text)
		}
	}
	return out
}

type resolver struct {
	Sources
	names []string // all files, listed on first use
}

func (r *resolver) item(ctx context.Context, m mention) (session.Item, bool) {
	text, name, ok := r.find(ctx, m)
	if !ok {
		return session.Item{}, false
	}
	if m.From == 0 {
		if runes := []rune(text); len(runes) > maxFile {
			text = string(runes[:maxFile]) + "\n[cut: this is the beginning of the file]"
		}
		kind := session.ItemFile
		if m.Ref != "" {
			kind = session.ItemExplicit // a link is intentional, a name may be incidental
		}
		return session.Item{Kind: kind, Name: name, Text: text}, true
	}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if m.From > len(lines) {
		return session.Item{}, false
	}
	to := min(m.To, len(lines))
	text = cut(strings.Join(lines[m.From-1:to], "\n"), maxSelection)
	label := fmt.Sprintf("%s:L%d-L%d", name, m.From, to)
	if m.From == to {
		label = fmt.Sprintf("%s:L%d", name, m.From)
	}
	return session.Item{Kind: session.ItemSelection, Name: label, Text: text}, true
}

// find returns the text and the path of the file that m refers to.
func (r *resolver) find(ctx context.Context, m mention) (text, name string, ok bool) {
	if m.Ref == "" {
		if name = r.spelled(ctx, m.Path); name == "" {
			return "", "", false
		}
		text, ok = readText(ctx, r.Now, name)
		return text, name, ok
	}
	if r.At == nil {
		return "", "", false
	}
	// A branch name may contain slashes, so its end is found by trial.
	ref, rest := m.Ref, m.Path
	for range 4 {
		if files := r.At(ctx, m.Repo, ref); files != nil {
			if text, ok = readText(ctx, files, rest); ok {
				return text, rest, true
			}
		}
		next, after, more := strings.Cut(rest, "/")
		if !more {
			break
		}
		ref, rest = ref+"/"+next, after
	}
	return "", "", false
}

func readText(ctx context.Context, files Files, name string) (string, bool) {
	data, _, err := files.ReadAll(ctx, name, 4<<20)
	if err != nil || slices.Contains(data, 0) {
		return "", false
	}
	return strings.ToValidUTF8(string(data), "\uFFFD"), true
}

// spelled returns the path meant by name: the path itself, or the only file whose
// path ends in it.
func (r *resolver) spelled(ctx context.Context, name string) string {
	if r.names == nil {
		r.names = []string{}
		l, err := r.Now.List(ctx, ".", true, maxEntries)
		if err != nil {
			return ""
		}
		for _, e := range l.Entries {
			if !strings.HasSuffix(e.Path, "/") {
				r.names = append(r.names, path.Join(strings.TrimPrefix(l.Base, "."), e.Path))
			}
		}
	}
	if slices.Contains(r.names, name) {
		return name
	}
	found := ""
	for _, have := range r.names {
		if strings.HasSuffix(have, "/"+name) {
			if found != "" {
				return "" // ambiguous
			}
			found = have
		}
	}
	return found
}
