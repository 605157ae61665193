package pull

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/policy/pattern"
)

// formRE matches GitHub's file names for a pull request template. Case is ignored.
var formRE = pattern.Lazy(`(?i)^pull_request_template(\.md|\.txt|\.markdown)?$`)

// maxForm is the maximum size of a template, in bytes. Longer ones are not used.
const maxForm = 30_000

// readForm returns the repository's pull request template on a branch, or "" if there
// is none. The search order is GitHub's: .github, the root, docs.
func readForm(ctx context.Context, c *ghapp.Client, branch string) (string, error) {
	at, err := c.Head(ctx, branch)
	if err != nil {
		return "", unlessPermanent(err)
	}
	root, err := list(ctx, c, at)
	if err != nil {
		return "", unlessPermanent(err)
	}
	for _, dir := range []string{".github", "", "docs"} {
		entries := root
		if dir != "" {
			i := slices.IndexFunc(root, func(e entry) bool { return e.Type == "tree" && strings.EqualFold(e.Path, dir) })
			if i < 0 {
				continue
			}
			dir = root[i].Path + "/"
			if entries, err = list(ctx, c, root[i].SHA); err != nil {
				return "", unlessPermanent(err)
			}
		}
		i := slices.IndexFunc(entries, func(e entry) bool { return e.Type == "blob" && formRE().MatchString(e.Path) })
		if i < 0 {
			continue
		}
		text, err := c.FileAt(ctx, at, dir+entries[i].Path)
		if err != nil || len(text) > maxForm || !utf8.Valid(text) {
			return "", unlessPermanent(err)
		}
		return string(text), nil
	}
	return "", nil
}

// unlessPermanent drops errors that a retry cannot fix: a missing template must not
// prevent the pull request.
func unlessPermanent(err error) error {
	if err == nil || errors.Is(err, ghapp.ErrNotFound) || ghapp.KindOf(err) == ghapp.Permanent {
		return nil
	}
	return err
}

// entry is a directory entry.
type entry struct{ Path, Type, SHA string }

func list(ctx context.Context, c *ghapp.Client, tree string) ([]entry, error) {
	got, err := c.Ask(ctx, ghapp.Ask{Op: "list files", Path: "git/trees/" + url.PathEscape(tree), MaxBytes: 8 << 20})
	if err != nil {
		return nil, err
	}
	var out struct{ Tree []entry }
	if json.Unmarshal(got.Body, &out) != nil { // truncated: a root directory of an unrealistic size
		return nil, nil
	}
	return out.Tree, nil
}

var (
	headingRE = pattern.Lazy(`^ {0,3}(?:#{1,6}[ \t]+(.*?)[ \t#]*|(?:\*\*|__)(.+?)(?:\*\*|__):?)[ \t]*$`)
	fenceRE   = pattern.Lazy("^ {0,3}(`{3,}|~{3,})")
	boxRE     = pattern.Lazy(`^\s*(?:[-*+]|\d+[.)])\s+\[[ xX]\]`)
	aboutRE   = pattern.Lazy(
		`(?i)\b(descri\w*|summary|overview|changes?|changed|what|why|motivation|purpose|proposal|proposed|about|context|details|background)\b`,
	)
	otherRE = pattern.Lazy(
		`(?i)\b(type|kind|checklist|check ?list|test\w*|screenshots?|issues?|tickets?|breaking|review\w*|verif\w*|deploy\w*|how)\b`,
	)
	closesRE = pattern.Lazy(
		`(?i)^([\s>*+-]*)(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?)\b[\s:*]*(?:#\s*(?:\(?\s*(?:issue|issue number|number|nnn+|xxx+|id|_+)?\s*\)?)|\(?issue\)?)\s*\.?\s*$`,
	)
)

// fill puts the text of a session into a form: below the heading that asks for it, else
// above all of it. Check boxes of the form stay as they are. Its comments, which readers
// are not shown, go, and so does a line for the issue that is closed, which has a line of
// its own in every pull request of ours.
func fill(form, text string, closes int) string {
	form = strings.ReplaceAll(strings.TrimPrefix(form, "\ufeff"), "\r\n", "\n")
	lines := withoutComments(form)
	if strings.TrimSpace(strings.Join(lines, "")) == "" {
		return text
	}
	text = strings.TrimSpace(text)
	at, heads := -1, headings(lines)
	for i, h := range heads {
		end := len(lines)
		if i+1 < len(heads) {
			end = heads[i+1]
		}
		m := headingRE().FindStringSubmatch(lines[h])
		name := m[1] + m[2]
		if aboutRE().MatchString(name) && !otherRE().MatchString(name) && !hasBoxes(lines[h:end]) {
			at = h
			break
		}
	}
	var b strings.Builder
	if at < 0 {
		b.WriteString(text + "\n\n")
	}
	blank := false
	for i, l := range lines {
		if closes != 0 && closesRE().MatchString(l) {
			l = closesRE().FindStringSubmatch(l)[1] + number(closes)
		}
		if empty := strings.TrimSpace(l) == ""; !empty || !blank {
			b.WriteString(l + "\n")
			blank = empty
		}
		if i == at {
			b.WriteString("\n" + text + "\n\n")
			blank = true
		}
	}
	return strings.TrimSpace(b.String()) + "\n"
}

func hasBoxes(lines []string) bool {
	return slices.ContainsFunc(lines, func(l string) bool { return boxRE().MatchString(l) })
}

// headings are the lines of a text that are headings, code apart.
func headings(lines []string) (out []int) {
	var code fence
	for i, l := range lines {
		if !code.open() && headingRE().MatchString(l) {
			out = append(out, i)
		}
		code.pass(l)
	}
	return out
}

// fence is the mark of the block of code that is open, "" for none.
type fence string

func (f fence) open() bool { return f != "" }

func (f *fence) pass(line string) {
	m := fenceRE().FindStringSubmatch(line)
	switch {
	case m == nil:
	case *f == "":
		*f = fence(m[1])
	case strings.HasPrefix(m[1], string(*f)) && strings.TrimSpace(line) == m[1]:
		*f = ""
	}
}

// withoutComments are the lines of a form without its comments, which are for who
// writes. Those in code stay.
func withoutComments(form string) []string {
	var out []string
	var code fence
	inside := false // a comment
	for l := range strings.SplitSeq(form, "\n") {
		kept, had := "", false
		for rest := l; rest != ""; {
			if code.open() {
				kept = rest
				break
			}
			mark := "<!--"
			if inside {
				mark = "-->"
			}
			text, after, found := strings.Cut(rest, mark)
			if !inside {
				kept += text
			}
			if had = had || found || inside; found {
				inside = !inside
			}
			rest = after
		}
		code.pass(kept)
		if !had || strings.TrimSpace(kept) != "" {
			out = append(out, kept)
		}
	}
	return strings.Split(strings.Trim(strings.Join(out, "\n"), "\n"), "\n")
}
