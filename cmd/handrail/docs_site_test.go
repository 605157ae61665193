package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

// pages are the texts for readers: the README, the handbook, GitHub's own pages.
func pages(t *testing.T) (out []string) {
	t.Helper()
	out = []string{"README.md", "testdata/script/README.md"}
	for _, dir := range []string{"docs", ".github"} {
		must(t, filepath.WalkDir(filepath.Join("../..", dir), func(path string, _ fs.DirEntry, err error) error {
			if err == nil && strings.HasSuffix(path, ".md") {
				name, relErr := filepath.Rel("../..", path)
				out, err = append(out, filepath.ToSlash(name)), relErr
			}
			return err
		}))
	}
	return out
}

var (
	fence     = regexp.MustCompile("(?ms)^ *(```+)([a-z]*)[^\n]*\n(.*?)^ *```+ *$")
	inline    = regexp.MustCompile("`[^`\n]+`")
	link      = regexp.MustCompile(`(?:\]\(|src(?:set)?=")([^)\s"]+)[)"]`)
	heading   = regexp.MustCompile(`(?m)^#{1,6} +(.+?) *#*$`)
	anyFlag   = regexp.MustCompile(`[ \[|]--[a-z][a-z-]+`)
	plainWord = regexp.MustCompile(`^[a-z]+$`)
	markedUp  = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
)

// anchors are the places in a page that a link can name, as GitHub makes them of headings:
// small letters, hyphens for spaces, and a number where one stands twice.
func anchors(text string) map[string]bool {
	out := map[string]bool{}
	for _, m := range heading.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
		words := markedUp.ReplaceAllString(m[1], "$1")
		slug := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r):
				return unicode.ToLower(r)
			}
			return -1
		}, words)
		out[slug] = true
	}
	return out
}

// TestEveryLinkLeadsSomewhere: what a page links to in the repository is there, and so is
// the heading; and every page can be found from the first one.
func TestEveryLinkLeadsSomewhere(t *testing.T) {
	t.Parallel()
	linked := map[string]bool{"README.md": true, "testdata/script/README.md": true, ".github/SECURITY.md": true, ".github/CONTRIBUTING.md": true}
	all := pages(t)
	for _, page := range all {
		text := document(t, page)
		for _, m := range link.FindAllStringSubmatch(inline.ReplaceAllString(fence.ReplaceAllString(text, ""), ""), -1) {
			to, place, _ := strings.Cut(m[1], "#")
			if strings.Contains(to, "://") {
				continue
			}
			name := page
			if to != "" {
				name = filepath.ToSlash(filepath.Join(filepath.Dir(page), to))
			}
			if _, err := os.Stat(filepath.Join("../..", name)); err != nil {
				t.Errorf("%s links to %s, which there is not", page, m[1])
				continue
			}
			linked[name] = true
			if place != "" && !anchors(document(t, name))[place] {
				t.Errorf("%s links to %s, and %s has no such heading", page, m[1], name)
			}
		}
	}
	for _, page := range all {
		if !linked[page] {
			t.Errorf("no page links to %s", page)
		}
	}
}

// TestEveryCommandInAPageIsOne: verbs and flags of handrail in blocks of commands are those
// that the program has.
func TestEveryCommandInAPageIsOne(t *testing.T) {
	t.Parallel()
	helps := map[string]string{}
	found := 0
	for _, page := range pages(t) {
		for _, m := range fence.FindAllStringSubmatch(document(t, page), -1) {
			if m[2] != "sh" && m[2] != "" {
				continue
			}
			for line := range strings.SplitSeq(m[3], "\n") {
				if _, rest, ok := strings.Cut(" "+line, " handrail "); ok && !strings.HasPrefix(strings.TrimSpace(line), "#") {
					found++
					isCommand(t, helps, page, rest)
				}
			}
		}
	}
	if found < 15 {
		t.Errorf("only %d commands were found in the pages", found)
	}
}

// isCommand looks at the words of a command line behind "handrail".
func isCommand(t *testing.T, helps map[string]string, page, line string) {
	t.Helper()
	var words []string
	for _, w := range strings.Fields(line) {
		if w == "#" || w == "|" || w == "&&" || w == ">" {
			break
		}
		words = append(words, w)
	}
	if len(words) == 0 || words[0] != strings.ToLower(words[0]) {
		return // VERB
	}
	verb := words[:1]
	for n := 2; n <= min(3, len(words)) && plainWord.MatchString(words[n-1]); n++ { // policy explain command
		if _, _, code := helpOf(t, helps, words[:n]); code == exitDone {
			verb = words[:n]
		}
	}
	help, errs, code := helpOf(t, helps, verb)
	if code != exitDone {
		t.Errorf("%s has `handrail %s`: %s", page, line, errs)
		return
	}
	for _, flag := range anyFlag.FindAllString(" "+strings.Join(words, " "), -1) {
		if !strings.Contains(help, flag[1:]) {
			t.Errorf("%s has `handrail %s`: there is no %s", page, line, flag[1:])
		}
	}
}

func helpOf(t *testing.T, helps map[string]string, verb []string) (help, errs string, code int) {
	t.Helper()
	name := strings.Join(verb, " ")
	if known, ok := helps[name]; ok {
		return known, "", exitDone
	}
	if help, errs, code = atDoor(t, "", append([]string{"help"}, verb...)...); code == exitDone {
		helps[name] = help
	}
	return help, errs, code
}
