package review

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/agent/session"
)

// patch is a diff of one file with two hunks.
const patch = "@@ -1,4 +1,5 @@\n package a\n \n-old := 1\n+n := 1\n+m := 2\n end\n@@ -20,2 +21,3 @@ func b()\n x\n+y\n z\n\\ No newline at end of file\n"

func finding(line int, claim string, more ...func(*session.Finding)) session.Finding {
	f := session.Finding{Path: "a.go", Line: line, In: "b", Severity: session.Medium, Claim: claim, Why: "w"}
	for _, m := range more {
		m(&f)
	}
	return f
}

func to(n int) func(*session.Finding) { return func(f *session.Finding) { f.End = n } }
func old(f *session.Finding)          { f.Old = true }
func high(f *session.Finding)         { f.Severity = session.High }
func unsure(f *session.Finding)       { f.Unsure = "it may be" }
func instead(f *session.Finding)      { s := "x"; f.Suggestion = &s }

func composed(in input) review {
	in.Files = append(in.Files, file{"a.go", patch})
	in.Link = func(f session.Finding) string { return "https://h/" + f.Where() }
	if in.MaxComments == 0 {
		in.MaxComments = 10
	}
	return compose(in)
}

// An issue shows no lines, and the summary does not say that it does not.
func TestInAnIssue(t *testing.T) {
	in := input{MaxComments: 3, Findings: []session.Finding{finding(3, "one")}, Link: func(session.Finding) string { return "https://h/x" }}
	if r := compose(in); !strings.HasPrefix(r.Body, "1 finding.\n") {
		t.Errorf("in an issue: %s", r.Body)
	}
	if r := composed(input{Findings: []session.Finding{finding(99, "one")}}); !strings.HasPrefix(r.Body, "1 finding, on lines outside the diff.\n") {
		t.Errorf("in a pull request: %s", r.Body)
	}
}

// placed lists the comments as "path:from-to side", and those that the summary tells.
func placed(r review) string {
	var out []string
	for _, c := range r.Comments {
		side := ""
		if c.Old {
			side = " old"
		}
		out = append(out, fmt.Sprintf("%d-%d%s", c.From, c.To, side))
	}
	for _, f := range r.Elsewhere {
		out = append(out, "elsewhere "+f.Where())
	}
	return strings.Join(out, ", ")
}

func TestOnlyLinesOfTheDiff(t *testing.T) {
	for name, c := range map[string]struct {
		f    session.Finding
		want string
	}{
		"added":                    {finding(3, "c"), "0-3"},
		"beside the change":        {finding(5, "c"), "0-5"},
		"removed":                  {finding(3, "c", old), "0-3 old"},
		"several":                  {finding(3, "c", to(4)), "3-4"},
		"not shown":                {finding(9, "c"), "elsewhere a.go:9"},
		"not shown before":         {finding(6, "c", old), "elsewhere a.go:6"},
		"before the first":         {finding(6, "c", to(21)), "0-21"},
		"over the gap":             {finding(4, "c", to(22)), "4-5"},
		"behind the end":           {finding(24, "c"), "elsewhere a.go:24"},
		"the last line of a hunk":  {finding(23, "c"), "0-23"},
		"a file that is not there": {session.Finding{Path: "b.go", Line: 1, Severity: session.Low, Claim: "c"}, "elsewhere b.go:1"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := placed(composed(input{Findings: []session.Finding{c.f}})); got != c.want {
				t.Errorf("placed %s, want %s", got, c.want)
			}
		})
	}
	r := composed(input{Findings: []session.Finding{finding(4, "c", to(22), instead), finding(4, "other words", instead)}})
	if strings.Contains(r.Comments[0].Body, "suggestion") || !strings.HasSuffix(r.Comments[1].Body, "\n```suggestion\nx\n```") {
		t.Errorf("a suggestion stands on fewer lines than it replaces, or is lost: %+v", r.Comments)
	}
}

// git says which lines a diff shows: those that are left when it is read with the word
// diff's own numbers, whatever the files are.
func TestLinesAsGitHasThem(t *testing.T) {
	dir := t.TempDir()
	r := rand.New(rand.NewPCG(1, 2))
	for n := range 40 {
		var before, after []string
		for i := range r.IntN(60) {
			l := fmt.Sprint("line ", i)
			if r.IntN(12) > 0 {
				before = append(before, l)
			}
			if r.IntN(12) > 0 {
				after = append(after, l)
			}
			if r.IntN(15) == 0 {
				after = append(after, fmt.Sprint([]string{"-- ", "++ ", "", "@@ -1 +1 @@ "}[r.IntN(4)], "new ", i))
			}
		}
		write := func(name string, list []string) string {
			p := filepath.Join(dir, name)
			if err := os.WriteFile(p, []byte(strings.Join(list, "\n")), 0o600); err != nil {
				t.Fatal(err)
			}
			return p
		}
		a, b := write("a", before), write("b", after)
		out, _ := exec.Command("git", "diff", "--no-index", "--no-color", a, b).Output() // ends with 1 when they differ
		shown := linesOf(string(out))
		// cat -n numbers what patch leaves of the lines that the diff has.
		count := 0
		for _, l := range strings.Split(string(out), "\n") {
			if m := hunkHead().FindStringSubmatch(l); m != nil && strings.HasPrefix(l, "@@ -") {
				from, _ := strconv.Atoi(m[2])
				size := 1
				if _, rest, ok := strings.Cut(strings.SplitN(l, "@@", 3)[1], "+"); ok {
					if _, s, ok := strings.Cut(rest, ","); ok {
						size, _ = strconv.Atoi(strings.TrimSpace(s))
					}
				}
				for i := from; i < from+size; i++ {
					count++
					if shown.after[i] == 0 {
						t.Errorf("case %d: git shows line %d, and we do not\n%s", n, i, out)
					}
				}
			}
		}
		if count != len(shown.after) {
			t.Errorf("case %d: git shows %d lines, we %d\n%s", n, count, len(shown.after), out)
		}
	}
}

func TestOrderAndMaximum(t *testing.T) {
	r := composed(input{MaxComments: 2, Findings: []session.Finding{finding(3, "one"), finding(4, "two", high, unsure), finding(5, "three", high), finding(21, "four", high)}})
	if got := placed(r); got != "0-5, 0-21, elsewhere a.go:3, elsewhere a.go:4" {
		t.Errorf("placed %s", got)
	}
	if !strings.HasPrefix(r.Body, "4 findings: 2 on the lines, 2 here.\n") || !strings.Contains(r.Body, "**High, not sure: two.** [a.go:4](https://h/a.go:4)") {
		t.Errorf("summary is %s", r.Body)
	}
}

func TestNothingIsSaidTwice(t *testing.T) {
	said := []session.Finding{finding(40, "The error of Close is ignored, so a failed write is not noticed.")}
	for name, c := range map[string]struct {
		f    session.Finding
		want int
	}{
		"word for word, moved":       {finding(3, said[0].Claim), 0},
		"in other words":             {finding(3, "Ignoring the error of Close means a failed write goes unnoticed"), 0},
		"another fault":              {finding(3, "The loop ends one item early."), 1},
		"the same in another place":  {finding(3, said[0].Claim, func(f *session.Finding) { f.In = "c" }), 1},
		"the same in another file":   {finding(3, said[0].Claim, func(f *session.Finding) { f.Path = "c.go" }), 1},
		"refuted":                    {finding(3, "The loop ends one item early.", func(f *session.Finding) { f.Refuted = "it does not" }), 0},
		"of another line, same look": {finding(3, "The loop ends one item early."), 1},
	} {
		t.Run(name, func(t *testing.T) {
			r := composed(input{Said: said, Findings: []session.Finding{c.f, c.f}})
			if got := len(r.Comments) + len(r.Elsewhere); got != c.want {
				t.Errorf("said %d times, want %d", got, c.want)
			}
		})
	}
	f := finding(3, "The loop ends one item early.")
	if r := composed(input{Marks: []string{findingMark(f)}, Findings: []session.Finding{f}}); !r.Empty() {
		t.Error("a comment that is there is written again")
	}
	if findingMark(f) == findingMark(finding(3, "The loop never ends.")) || findingMark(f) != findingMark(finding(90, "the loop ends one item early")) {
		t.Error("fingerprints do not tell claims apart, or hang on lines")
	}
}

// What is taken off its line is told in the summary.
func TestWithout(t *testing.T) {
	in := input{Link: func(session.Finding) string { return "https://h/x" }, Words: "Read all of it.", Unread: []string{"big.lock"}}
	r := composed(input{Findings: []session.Finding{finding(3, "one"), finding(4, "two")}})
	r = in.Without(r, func(c comment) bool { return c.To == 4 })
	if got := placed(r); got != "0-3, elsewhere a.go:4" {
		t.Errorf("placed %s", got)
	}
	if want := "2 findings: 1 on the lines, 1 here.\n\n**Medium: two.** [a.go:4](https://h/x)\n\nw\n\nRead all of it.\n\nRead nothing. Left out as generated: `big.lock`.\n"; r.Body != want {
		t.Errorf("summary is %q, want %q", r.Body, want)
	}
}

// A claim is one line in bold whatever is in it, and code that has a fence in it stays
// in its own.
func TestHostileTexts(t *testing.T) {
	f := finding(3, "**a** `b\n\n# c ]( <!-- @kim")
	s := "```\nx\n````"
	f.Suggestion = &s
	r := composed(input{Findings: []session.Finding{f}})
	got := r.Comments[0].Body
	if first, _, _ := strings.Cut(got, "\n"); !strings.HasPrefix(first, "**Medium: ") || !strings.HasSuffix(first, ".**") {
		t.Errorf("the claim is %q", first)
	}
	if !strings.HasSuffix(got, "`````suggestion\n```\nx\n````\n`````") {
		t.Errorf("the suggestion is %q", got)
	}
}

// A model cannot have anything committed that was not tried on the file.
func TestOnlyTriedSuggestions(t *testing.T) {
	for _, why := range []string{"```suggestion\nevil()\n```", "Do so:\n\n- ````  Suggestion\n  evil()\n  ````", "> ~~~SUGGESTION\n> evil()\n> ~~~", "1. ```suggestion:-0+3\n   evil()\n   ```", "```suggestion"} {
		for _, c := range []string{composed(input{Findings: []session.Finding{finding(3, "c", func(f *session.Finding) { f.Why = why })}}).Comments[0].Body,
			composed(input{Findings: []session.Finding{finding(3, why)}}).Comments[0].Body,
			composed(input{Findings: []session.Finding{finding(3, "c", func(f *session.Finding) { f.Unsure = why })}}).Comments[0].Body} {
			for line := range strings.SplitSeq(c, "\n") {
				if l := strings.ToLower(strings.TrimLeft(line, "> -+*0123456789.)\t")); strings.HasPrefix(strings.TrimLeft(l, "`~ "), "suggestion") && l != strings.TrimLeft(l, "`~") {
					t.Errorf("%q can be committed:\n%s", why, c)
				}
			}
		}
	}
}
