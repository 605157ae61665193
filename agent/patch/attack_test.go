package patch_test

import (
	"flag"
	"fmt"
	"html"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/handrail-bot/handrail/agent/patch"
	"github.com/handrail-bot/handrail/policy/longtest"
)

var (
	attackCases = flag.Int("attack.cases", 3000, "edits that TestAttack makes")
	attackSeed  = flag.Uint64("attack.seed", 1, "seed of TestAttack")
	attackShow  = flag.Int("attack.show", 3, "of each kind of wrong or refused edits, how many are shown")
)

// attack is a change of a real text, as it is meant.
type attack struct {
	name     string
	bom, eol string
	ends     bool // the file ends in a newline
	file     []string
	from, to int // lines that are replaced
	fresh    []string
	lo, hi   int // the lines that the edit shows
}

func (a attack) text(lines []string) string {
	s := a.bom + strings.Join(lines, a.eol)
	if a.ends {
		s += a.eol
	}
	return s
}

func (a attack) old() []string  { return slices.Clone(a.file[a.lo:a.hi]) }
func (a attack) new() []string  { return slices.Concat(a.file[a.lo:a.from], a.fresh, a.file[a.to:a.hi]) }
func (a attack) want() []string { return slices.Concat(a.file[:a.from], a.fresh, a.file[a.to:]) }

// attackTexts returns the texts of testdata/attack.
func attackTexts(t *testing.T) (out []attack) {
	t.Helper()
	names, err := filepath.Glob("testdata/attack/*")
	if err != nil || len(names) < 8 {
		t.Fatalf("the texts are missing: %v", err)
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		a := attack{name: filepath.Base(name), eol: "\n"}
		text := string(data)
		if rest, ok := strings.CutPrefix(text, "\uFEFF"); ok {
			a.bom, text = "\uFEFF", rest
		}
		if strings.Contains(text, "\r\n") {
			a.eol = "\r\n"
		}
		a.ends = strings.HasSuffix(text, "\n")
		a.file = strings.Split(strings.TrimSuffix(strings.ReplaceAll(text, "\r\n", "\n"), "\n"), "\n")
		out = append(out, a)
	}
	return out
}

// indented cuts a line into its indentation and the rest.
func indented(s string) (in, rest string) {
	rest = strings.TrimLeft(s, " \t")
	return s[:len(s)-len(rest)], rest
}

// step returns a step of indentation, as the line has it or the text.
func (a attack) step(in string) string {
	if strings.HasPrefix(in, "\t") && (a.name != "mixed.js" || !strings.Contains(strings.Join(a.old(), "\n"), "\t ")) {
		return "\t"
	}
	if strings.Contains("Makefile pool.c server.golang table.tsv", a.name) {
		return "\t"
	}
	if in != "" && a.name == "pool.c" {
		return "        "
	}
	if in == "" && a.name == "guide.md" && strings.Contains(strings.Join(a.old(), "\n"), "\n\t") {
		return "\t"
	}
	if strings.Contains("deploy.yaml mixed.js", a.name) {
		return "  "
	}
	return "    "
}

// mixed reports whether the text is indented by tabs here and by spaces there.
func (a attack) mixed() bool { return strings.Contains("Makefile guide.md mixed.js pool.c", a.name) }

// reword replaces a word of a line by another one.
func reword(r *rand.Rand, s string) string {
	var at [][2]int
	for i := 0; i < len(s); {
		n := strings.IndexFunc(s[i:], func(c rune) bool { return !unicode.IsLetter(c) })
		if n < 0 {
			n = len(s) - i
		}
		if n >= 2 {
			at = append(at, [2]int{i, i + n})
		}
		i += max(n, 1)
	}
	if len(at) == 0 && strings.TrimSpace(s) == "" {
		return s
	}
	if len(at) == 0 {
		return s + "x"
	}
	w := at[r.IntN(len(at))]
	return s[:w[0]] + []string{"other", "entry", "w", "somethingLonger"}[r.IntN(4)] + s[w[1]:]
}

// changes are what is meant.
var changes = []struct {
	name string
	do   func(r *rand.Rand, a *attack)
}{
	{"a word", func(r *rand.Rand, a *attack) { a.fresh[0] = reword(r, a.fresh[0]) }},
	{"a word in each line", func(r *rand.Rand, a *attack) {
		for i := range a.fresh {
			a.fresh[i] = reword(r, a.fresh[i])
		}
	}},
	{"more at the end", func(_ *rand.Rand, a *attack) {
		body := strings.TrimRight(a.fresh[0], " \t")
		a.fresh[0] = body + ", more" + a.fresh[0][len(body):]
	}},
	{"a word more", func(r *rand.Rand, a *attack) {
		in, rest := indented(a.fresh[0])
		if rest == "" {
			return
		}
		words := strings.Split(rest, " ")
		at := min(len(words), 1+r.IntN(3))
		for at < len(words) && (words[at-1] == "" || words[at] == "") { // not within white space
			at++
		}
		a.fresh[0] = in + strings.Join(slices.Insert(words, at, "added"), " ")
	}},
	{"lines gone", func(_ *rand.Rand, a *attack) { a.fresh = nil }},
	{"a line like it", func(r *rand.Rand, a *attack) {
		a.fresh = append(a.fresh, reword(r, a.fresh[len(a.fresh)-1]))
	}},
	{"a new line", func(_ *rand.Rand, a *attack) {
		in, _ := indented(a.fresh[0])
		a.fresh = slices.Insert(a.fresh, 0, in+"entirely(new)")
	}},
	{"a new line, deeper", func(_ *rand.Rand, a *attack) {
		in, _ := indented(a.fresh[0])
		a.fresh = append(a.fresh, in+a.step(in)+"entirely(new)")
	}},
	{"in a block", func(_ *rand.Rand, a *attack) {
		in, _ := indented(a.fresh[0])
		out := []string{in + "if (given) {"}
		for _, s := range a.fresh {
			if now, rest := indented(s); rest != "" {
				s = now + a.step(now+in) + rest
			}
			out = append(out, s)
		}
		a.fresh = append(out, in+"}")
	}},
	{"swapped", func(_ *rand.Rand, a *attack) { slices.Reverse(a.fresh) }},
	{"all other lines", func(_ *rand.Rand, a *attack) {
		in, _ := indented(a.fresh[0])
		a.fresh = []string{in + "first(1)", in + "second(2)"}
	}},
}

func mapped(lines []string, f func(int, string) string) []string {
	out := make([]string, len(lines))
	for i, s := range lines {
		out[i] = f(i, s)
	}
	return out
}

// untab writes tabs as spaces up to the next stop.
func untab(s string, n int) string {
	var b strings.Builder
	col := 0
	for _, c := range s {
		if c != '\t' {
			b.WriteRune(c)
			col++
			continue
		}
		b.WriteString(strings.Repeat(" ", n-col%n))
		col += n - col%n
	}
	return b.String()
}

func common(lines []string) string {
	in, first := "", true
	for _, s := range lines {
		if strings.TrimSpace(s) == "" {
			continue
		}
		now, _ := indented(s)
		for !first && !strings.HasPrefix(now, in) {
			in = in[:len(in)-1]
		}
		if first {
			in, first = now, false
		}
	}
	return in
}

// renditions are what a model makes of the lines that it read and of those that it
// writes.
var renditions = []struct {
	name string
	do   func(first int, old, fresh []string) ([]string, []string)
}{
	{"as they are", func(_ int, old, fresh []string) ([]string, []string) { return old, fresh }},
	{"tabs as four spaces", both(func(_ int, s string) string { return strings.ReplaceAll(s, "\t", "    ") })},
	{"tabs as two spaces", both(func(_ int, s string) string { return strings.ReplaceAll(s, "\t", "  ") })},
	{"tabs as eight spaces", both(func(_ int, s string) string { return strings.ReplaceAll(s, "\t", "        ") })},
	{"tabs up to stops of four", both(func(_ int, s string) string { return untab(s, 4) })},
	{"tabs up to stops of eight", both(func(_ int, s string) string { return untab(s, 8) })},
	{"white space in lines as one space", both(func(_ int, s string) string {
		in, rest := indented(s)
		return in + strings.Join(strings.Fields(rest), " ")
	})},
	{"no white space at ends", both(func(_ int, s string) string { return strings.TrimRight(s, " \t") })},
	{"white space at ends", both(func(_ int, s string) string { return s + "  " })},
	{"plain spaces", both(func(_ int, s string) string {
		return strings.Map(func(c rune) rune {
			if c != '\t' && unicode.IsSpace(c) {
				return ' '
			}
			return c
		}, s)
	})},
	{"plain quotes", both(func(_ int, s string) string {
		return strings.NewReplacer("’", "'", "“", `"`, "”", `"`, "–", "-", "‑", "-").Replace(s)
	})},
	{"typographic quotes", both(func(_ int, s string) string { return strings.NewReplacer(`"`, "”", "'", "’").Replace(s) })},
	{"entities", both(func(_ int, s string) string { return html.EscapeString(s) })},
	{"four spaces as a tab", both(func(_ int, s string) string { return strings.ReplaceAll(s, "    ", "\t") })},
	{"half the indentation", func(_ int, old, fresh []string) ([]string, []string) {
		if strings.Contains(strings.Join(slices.Concat(old, fresh), "\n"), "\t") {
			return old, fresh
		}
		half := func(_ int, s string) string {
			in, rest := indented(s)
			return in[:len(in)/2] + rest
		}
		return mapped(old, half), mapped(fresh, half)
	}},
	{"deeper", both(func(_ int, s string) string {
		if s == "" {
			return s
		}
		return "    " + s
	})},
	{"less deep", func(_ int, old, fresh []string) ([]string, []string) {
		in := common(slices.Concat(old, fresh))
		cut := func(_ int, s string) string { return strings.TrimPrefix(s, in) }
		return mapped(old, cut), mapped(fresh, cut)
	}},
	{"the first line not indented", both(func(i int, s string) string {
		if i == 0 {
			return strings.TrimLeft(s, " \t")
		}
		return s
	})},
	{"nothing indented", both(func(_ int, s string) string { return strings.TrimLeft(s, " \t") })},
	{"numbers", func(first int, old, fresh []string) ([]string, []string) {
		f := func(i int, s string) string { return fmt.Sprintf("%d | %s", first+i, s) }
		return mapped(old, f), mapped(fresh, f)
	}},
	{"numbers in the old lines", func(first int, old, fresh []string) ([]string, []string) {
		return mapped(old, func(i int, s string) string { return fmt.Sprintf("%d | %s", first+i, s) }), fresh
	}},
	{"numbers of old lines only", func(first int, old, fresh []string) ([]string, []string) {
		return mapped(old, func(i int, s string) string { return fmt.Sprintf("%d | %s", first+i, s) }),
			mapped(fresh, func(_ int, s string) string {
				if i := slices.Index(old, s); i >= 0 {
					return fmt.Sprintf("%d | %s", first+i, s)
				}
				return s
			})
	}},
}

func both(f func(int, string) string) func(int, []string, []string) ([]string, []string) {
	return func(_ int, old, fresh []string) ([]string, []string) {
		return mapped(old, f), mapped(fresh, f)
	}
}

// forms are how the edit is sent.
var forms = []struct {
	name string
	do   func(before string, a attack, old, fresh []string) (patch.Applied, error)
}{
	{"block", func(before string, _ attack, old, fresh []string) (patch.Applied, error) {
		return apply(before, "<<<<<<< SEARCH\n"+joined(old)+"=======\n"+joined(fresh)+">>>>>>> REPLACE\n")
	}},
	{"strings", func(before string, _ attack, old, fresh []string) (patch.Applied, error) {
		out, _, err := patch.Replace(before, strings.Join(old, "\n"), strings.Join(fresh, "\n"), false)
		return out, err
	}},
	{"diff", func(before string, a attack, old, fresh []string) (patch.Applied, error) {
		lead, trail := a.from-a.lo, a.hi-a.to
		var b strings.Builder
		fmt.Fprintf(&b, "--- a/f\n+++ b/f\n@@ -%d,%d +%d,%d @@\n", a.lo+1, len(old), a.lo+1, len(fresh))
		write := func(op string, lines []string) {
			for _, s := range lines {
				b.WriteString(op + s + "\n")
			}
		}
		write(" ", old[:lead])
		write("-", old[lead:len(old)-trail])
		write("+", fresh[lead:len(fresh)-trail])
		write(" ", old[len(old)-trail:])
		return apply(before, b.String())
	}},
	{"sketch", func(before string, _ attack, _, fresh []string) (patch.Applied, error) {
		return patch.Merge(before, "// ... existing code ...\n"+joined(fresh)+"// ... existing code ...\n", "")
	}},
}

// several reports whether lines are indented in several ways.
func several(lines []string) bool {
	in := common(lines)
	return slices.ContainsFunc(lines, func(s string) bool {
		now, rest := indented(s)
		return rest != "" && now != in
	})
}

// senseless reports whether what is meant cannot be said with this rendition.
func (a attack) senseless(what, how string) bool {
	switch {
	case a.mixed() && (how == "half the indentation" || what == "in a block" || strings.HasPrefix(what, "a new line")):
		return true // what is a step there?
	case how == "nothing indented" && !several(a.old()), how == "less deep" && what == "a new line, deeper":
		return true // as less deep; in a block that nothing opens
	case strings.HasPrefix(how, "no white"), strings.HasPrefix(how, "white space in"):
		return a.name == "guide.md" && len(a.fresh) > 0 // does the break of a line end a word more, or a line more?
	}
	return false
}

// meansAnother reports whether an edit, as it is sent, is one of another place, or leaves
// an empty line.
func (a attack) meansAnother(form string, old, fresh []string) bool {
	same := slices.Equal(old, a.old())
	if !same && strings.Contains("\n"+joined(a.file), "\n"+joined(old)) {
		return true
	}
	switch form {
	case "sketch":
		return a.lo == a.from || a.hi == a.to || strings.TrimSpace(a.file[a.lo]) == "" || strings.TrimSpace(a.file[a.hi-1]) == "" ||
			fresh[0] != a.file[a.lo] && slices.Contains(a.file, fresh[0]) ||
			fresh[len(fresh)-1] != a.file[a.hi-1] && slices.Contains(a.file, fresh[len(fresh)-1]) || a.unbalanced()
	case "strings":
		return !same && strings.Contains(strings.Join(a.file, "\n"), strings.Join(old, "\n")) || len(fresh) == 0 || old[len(old)-1] == "" || fresh[len(fresh)-1] == ""
	}
	return false
}

// imbalance reports whether a bracket is left over: nobody means that.
func (a attack) unbalanced() bool {
	left := func(lines []string) int {
		all := strings.Join(lines, "\n")
		return strings.Count(all, "{") - strings.Count(all, "}")
	}
	return left(a.file) == 0 && left(a.want()) != 0
}

// untold reports whether nothing in an edit tells how it was made of the text: then what is
// sent is what is meant.
func untold(a attack, form string, old []string, do func(int, []string, []string) ([]string, []string)) bool {
	if form != "sketch" {
		return slices.Equal(old, a.old())
	}
	_, sent := do(a.lo+1, a.old(), a.new())
	for i, s := range a.new() {
		if slices.Contains(a.old(), s) && sent[i] != s {
			return false
		}
	}
	return true
}

func joined(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return strings.Join(lines, "\n") + "\n"
}

// TestAttack: whatever a model makes of white space, quotes and numbers, in whatever
// language, the text becomes what is meant, or stays.
func TestAttack(t *testing.T) {
	if longtest.Long() {
		*attackCases = max(*attackCases, 100_000)
	}
	texts := attackTexts(t)
	r := rand.New(rand.NewPCG(*attackSeed, 98))
	type key struct{ form, rendition string }
	sum, shown := map[key]*[3]int{}, map[string]int{}
	var all [3]int
	for n := 0; n < *attackCases; {
		a := texts[r.IntN(len(texts))]
		a.from = r.IntN(len(a.file))
		a.to = min(a.from+1+r.IntN(3), len(a.file))
		a.lo, a.hi = max(0, a.from-r.IntN(3)), min(len(a.file), a.to+r.IntN(3))
		a.fresh = slices.Clone(a.file[a.from:a.to])
		if strings.TrimSpace(strings.Join(a.fresh, "")) == "" {
			continue
		}
		what := changes[r.IntN(len(changes))]
		what.do(r, &a)
		if slices.Equal(a.want(), a.file) {
			continue
		}
		how := renditions[r.IntN(len(renditions))]
		old, fresh := how.do(a.lo+1, a.old(), a.new())
		form := forms[r.IntN(len(forms))]
		if a.senseless(what.name, how.name) || a.meansAnother(form.name, old, fresh) || form.name != "block" && form.name != "strings" && strings.HasPrefix(how.name, "numbers") {
			continue
		}
		n++
		before, want := a.text(a.file), a.text(a.want())
		sent := a.text(slices.Concat(a.file[:a.lo], fresh, a.file[a.hi:]))
		either := form.name == "sketch" // a line that was moved, perhaps
		if untold(a, form.name, old, how.do) {
			either = either || form.name == "diff" && want != sent // context stays
			want = sent
		}
		out, err := form.do(before, a, old, fresh)
		k := 0
		switch {
		case err != nil || out.Text == before: // that is said
			k = 1
		case out.Text != want && (!either || out.Text != sent && out.Text != a.text(a.want())):
			k = 2
		}
		if sum[key{form.name, how.name}] == nil {
			sum[key{form.name, how.name}] = &[3]int{}
		}
		sum[key{form.name, how.name}][k]++
		all[k]++
		kind := fmt.Sprint(k, form.name, how.name)
		if shown[kind]++; k > 0 && shown[kind] <= *attackShow {
			made := "nothing"
			if err == nil {
				made = unified("f", before, out.Text)
			}
			t.Logf("%s of %s, %s, as %s: %s\nold\n%q\nnew\n%q\nmade\n%s\nwant\n%s\n%v", what.name, a.name, how.name, form.name, []string{"", "refused", "wrong"}[k],
				old, fresh, made, unified("f", before, want), err)
		}
	}
	for k, s := range sum {
		t.Logf("%-8s %-36s right %5d  refused %5d  wrong %5d", k.form, k.rendition, s[0], s[1], s[2])
	}
	t.Logf("all: right %d, refused %d, wrong %d", all[0], all[1], all[2])
	if all[2] > 0 {
		t.Errorf("%d are wrong", all[2])
	}
	if all[0]*100 < *attackCases*88 {
		t.Errorf("only %d of %d are right", all[0], *attackCases)
	}
}
