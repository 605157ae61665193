package builtin_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/agent/tools/toolstest"
	"github.com/handrail-bot/handrail/policy/longtest"
)

var (
	editEach = flag.Int("edit.each", 12, "edits of each way in TestInexactEdits")
	editSeed = flag.Uint64("edit.seed", 7, "seed of TestInexactEdits")
)

// realText returns lines of files of Go's own tree: Go, Python, C, shell, CSS, HTML and JavaScript.
func realText(t *testing.T) map[string][]string {
	t.Helper()
	root, err := exec.CommandContext(t.Context(), "go", "env", "GOROOT").Output()
	if err != nil {
		t.Skipf("there is no go: %v", err)
	}
	files := map[string][]string{}
	for _, name := range []string{"strings/replace.go", "sort/search.go", "net/http/cookie.go", "encoding/json/scanner.go", "bufio/scan.go",
		"runtime/runtime-gdb.py", "runtime/cgo/gcc_traceback.c", "runtime/cgo/gcc_util.c", "runtime/cgo/gcc_libinit.c", "make.bash",
		"cmd/vendor/github.com/google/pprof/internal/driver/html/common.css", "cmd/vendor/github.com/google/pprof/internal/driver/html/common.js"} {
		text, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(root)), "src", name))
		if err != nil {
			continue // another version of Go has it elsewhere
		}
		files[filepath.Base(name)] = strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	}
	if len(files) < 6 {
		t.Skip("the sources of Go are not here")
	}
	return files
}

// truth is a change as it is meant: lines from to to of the file become fresh. It is made
// first; the edits are derived from it.
type truth struct {
	name             string
	file, fresh      []string
	from, to, lo, hi int // the change, and with it some lines around it
}

func (c truth) old() []string  { return c.file[c.lo:c.hi] }
func (c truth) new() []string  { return slices.Concat(c.file[c.lo:c.from], c.fresh, c.file[c.to:c.hi]) }
func (c truth) want() []string { return slices.Concat(c.file[:c.from], c.fresh, c.file[c.to:]) }

// times says how often lines are in a file, whatever their white space.
func times(file, lines []string) (n int) {
	alike := func(a, b string) bool { return slices.Equal(strings.Fields(a), strings.Fields(b)) }
	for i := 0; i+len(lines) <= len(file); i++ {
		if strings.TrimSpace(file[i]) == strings.TrimSpace(lines[0]) && slices.EqualFunc(file[i:i+len(lines)], lines, alike) {
			n++
		}
	}
	return n
}

// change makes a change whose old lines are in the file once.
func change(r *rand.Rand, name string, file []string) (truth, bool) {
	c := truth{name: name, file: file, from: 4 + r.IntN(len(file)-12)}
	c.to = c.from + 1 + r.IntN(3)
	c.lo, c.hi = c.from-2, c.to+2
	for i, l := range c.file[c.from:c.to] {
		if len(strings.TrimSpace(l)) < 6 || strings.ContainsAny(l, "&<>|") {
			return c, false
		}
		if i == 0 || r.IntN(2) == 0 {
			l = strings.TrimRight(l, " ") + []string{" + extra(1)", " // changed", ", more"}[r.IntN(3)]
		}
		c.fresh = append(c.fresh, l)
	}
	if r.IntN(3) == 0 {
		in := c.fresh[0][:len(c.fresh[0])-len(strings.TrimLeft(c.fresh[0], " \t"))]
		c.fresh = append(c.fresh, in+"added(2)")
	}
	return c, times(file, c.old()) == 1 && strings.TrimSpace(c.file[c.lo]) != "" && strings.TrimSpace(c.file[c.hi-1]) != ""
}

func each(lines []string, f func(i int, s string) string) string {
	out := make([]string, len(lines))
	for i, s := range lines {
		out[i] = f(i, s)
	}
	return strings.Join(out, "\n")
}

func same(_ int, s string) string     { return s }
func trailing(_ int, s string) string { return s + "  " }
func spaced(_ int, s string) string   { return strings.ReplaceAll(s, "\t", "    ") }
func deeper(_ int, s string) string {
	if s == "" {
		return s
	}
	return "\t" + s
}
func curly(_ int, s string) string { return strings.NewReplacer(`"`, "”", "'", "’").Replace(s) }
func numberLines(first int) func(int, string) string {
	return func(i int, s string) string { return fmt.Sprintf("%d | %s", first+i, s) }
}

// block writes the change as a SEARCH/REPLACE block with both sides changed by f.
func (c truth) block(search, replace func(int, string) string) string {
	return "<<<<<<< SEARCH\n" + each(c.old(), search) + "\n=======\n" + each(c.new(), replace) + "\n>>>>>>> REPLACE"
}

// hunk writes the change as a hunk with the header, its context changed by f.
func (c truth) hunk(head string, f func(int, string) string) string {
	pre := func(op string, g func(int, string) string) func(int, string) string {
		return func(i int, s string) string { return op + g(i, s) }
	}
	return "--- a/" + c.name + "\n+++ b/" + c.name + "\n" + head + "\n" + each(c.file[c.lo:c.from], pre(" ", f)) + "\n" +
		each(c.file[c.from:c.to], pre("-", f)) + "\n" + each(c.fresh, pre("+", same)) + "\n" + each(c.file[c.to:c.hi], pre(" ", f)) + "\n"
}

func (c truth) at(by, more int) string {
	return fmt.Sprintf("@@ -%d,%d +%d,%d @@", c.lo+1+by, len(c.old())+more, c.lo+1+by, len(c.new())+more)
}

// mark writes a marker as a comment of the file's language.
func (c truth) mark(words string) string {
	switch filepath.Ext(c.name) {
	case ".py", ".bash":
		return "# " + words
	case ".css", ".c":
		return "/* " + words + " */"
	}
	return "// " + words
}

func (c truth) diff(text string) (string, string) {
	return "apply_diff", toolstest.Arguments("path", c.name, "diff", text)
}

// ways are how an edit is written. One without a result does not suit the change.
var ways = []struct {
	name string
	do   func(r *rand.Rand, c truth) (tool, args string)
}{
	{"block", func(_ *rand.Rand, c truth) (string, string) { return c.diff(c.block(same, same)) }},
	{"block, trailing spaces", func(_ *rand.Rand, c truth) (string, string) { return c.diff(c.block(trailing, same)) }},
	{"block, tabs as spaces", func(_ *rand.Rand, c truth) (string, string) { return c.diff(c.block(spaced, spaced)) }},
	{"block, too deep", func(_ *rand.Rand, c truth) (string, string) { return c.diff(c.block(deeper, deeper)) }},
	{"block, curly quotes in SEARCH", func(_ *rand.Rand, c truth) (string, string) { return c.diff(c.block(curly, same)) }},
	{"block, numbers", func(_ *rand.Rand, c truth) (string, string) {
		return c.diff(c.block(numberLines(c.lo+1), numberLines(c.lo+1)))
	}},
	{"block, numbers in SEARCH only", func(_ *rand.Rand, c truth) (string, string) { return c.diff(c.block(numberLines(c.lo+1), same)) }},
	{"block, indentation lost", func(_ *rand.Rand, c truth) (string, string) {
		in := c.old()[0][:len(c.old()[0])-len(strings.TrimLeft(c.old()[0], " \t"))]
		if in == "" || slices.ContainsFunc(slices.Concat(c.old(), c.fresh), func(s string) bool { return s != "" && !strings.HasPrefix(s, in) }) {
			return "", ""
		}
		cut := func(_ int, s string) string { return strings.TrimPrefix(s, in) }
		return c.diff(c.block(cut, cut))
	}},
	{"block in a fence, with prose", func(_ *rand.Rand, c truth) (string, string) {
		return c.diff("Here is the change:\n\n```\n" + c.block(same, same) + "\n```\n\nThat is all.")
	}},
	{"block, wrong start line", func(r *rand.Rand, c truth) (string, string) {
		return c.diff(strings.Replace(c.block(same, same), "SEARCH\n", fmt.Sprintf("SEARCH\n:start_line:%d\n-------\n", c.lo+1+r.IntN(9)), 1))
	}},
	{"diff", func(_ *rand.Rand, c truth) (string, string) { return c.diff(c.hunk(c.at(0, 0), same)) }},
	{"diff, wrong line", func(r *rand.Rand, c truth) (string, string) {
		return c.diff(c.hunk(c.at(r.IntN(60)-c.lo/2, 0), same))
	}},
	{"diff, wrong counts", func(r *rand.Rand, c truth) (string, string) { return c.diff(c.hunk(c.at(0, 1+r.IntN(3)), same)) }},
	{"diff without numbers", func(_ *rand.Rand, c truth) (string, string) { return c.diff(c.hunk("@@ ... @@", same)) }},
	{"diff, bare header", func(_ *rand.Rand, c truth) (string, string) { return c.diff(c.hunk("@@", trailing)) }},
	{"stale diff, a neighbour changed", func(_ *rand.Rand, c truth) (string, string) {
		c.file = slices.Clone(c.file)
		c.file[c.lo] += " // as it was"
		return c.diff(c.hunk(c.at(0, 0), same))
	}},
	{"range with numbers", func(_ *rand.Rand, c truth) (string, string) {
		return "apply_diff", toolstest.Arguments("path", c.name, "start_line", c.lo+1, "end_line", c.hi, "replace", each(c.new(), numberLines(c.lo+1)))
	}},
	{"strings", func(_ *rand.Rand, c truth) (string, string) {
		return "edit_file", toolstest.Arguments("path", c.name, "old_string", each(c.old(), same), "new_string", each(c.new(), same))
	}},
	{"strings, trailing spaces", func(_ *rand.Rand, c truth) (string, string) {
		return "edit_file", toolstest.Arguments("path", c.name, "old_string", each(c.old(), trailing), "new_string", each(c.new(), same))
	}},
	{"strings, too deep", func(_ *rand.Rand, c truth) (string, string) {
		return "edit_file", toolstest.Arguments("path", c.name, "old_string", each(c.old(), deeper), "new_string", each(c.new(), deeper))
	}},
	{"sketch", func(r *rand.Rand, c truth) (string, string) {
		if times(c.file, c.file[c.lo:c.lo+1]) > 1 || times(c.file, c.file[c.hi-1:c.hi]) > 1 {
			return "", ""
		}
		m := c.mark([]string{"... existing code ...", "… existing code …", "... rest unchanged", "(unchanged)"}[r.IntN(4)])
		return "edit_file", toolstest.Arguments("path", c.name, "code_edit", m+"\n"+each(c.new(), same)+"\n"+m+"\n")
	}},
	{"every line by a regular expression", func(_ *rand.Rand, c truth) (string, string) {
		return "search_and_replace", toolstest.Arguments("path", c.name, "use_regex", true, "start_line", c.from+1, "end_line", c.to,
			"search", "(?s)^(.*)$", "replace", strings.ReplaceAll(each(c.fresh, same), "$", "$$"))
	}},
}

// TestInexactEdits: edits as small models write them become what was meant, on text in
// several languages; none becomes something else without a word.
func TestInexactEdits(t *testing.T) {
	if longtest.Long() {
		*editEach = max(*editEach, 100)
	}
	files := realText(t)
	names := make([]string, 0, len(files))
	for n := range files {
		names = append(names, n)
	}
	slices.Sort(names)
	b := toolstest.Open(t, map[string]string{"x": "x\n"})
	r := rand.New(rand.NewPCG(15, *editSeed))
	right, refused, wrong := 0, 0, 0
	for _, way := range ways {
		for n, tries := 0, 0; n < *editEach && tries < 400*(*editEach); tries++ {
			name := names[(n+tries)%len(names)]
			c, ok := change(r, name, files[name])
			if !ok {
				continue
			}
			tool, args := way.do(r, c)
			if tool == "" {
				continue
			}
			n++
			before, want := strings.Join(c.file, "\n")+"\n", strings.Join(c.want(), "\n")+"\n"
			if err := b.WS.Write(t.Context(), name, []byte(before)); err != nil {
				t.Fatal(err)
			}
			_, err := run(t, b, tool, args)
			got, _, errRead := b.WS.ReadAll(t.Context(), name, 0)
			switch {
			case errRead != nil:
				t.Fatal(errRead)
			case err != nil && string(got) == before:
				refused++
				t.Logf("%s, %s: refused: %v", way.name, name, err)
			case string(got) != want:
				wrong++
				t.Errorf("%s, %s: wrong: %s\nmade\n%s\nof\n%s", way.name, name, args, around(string(got), c.lo), around(want, c.lo))
			default:
				right++
			}
		}
	}
	all := right + refused + wrong
	t.Logf("%d edits: %d right, %d refused, %d wrong", all, right, refused, wrong)
	if all < 150 || right*100 < all*98 {
		t.Errorf("only %d of %d are right", right, all)
	}
}

func around(text string, at int) string {
	lines := strings.Split(text, "\n")
	return strings.Join(lines[max(0, at-1):min(len(lines), at+10)], "\n")
}

// TestUnsettledEditsAreRefused: where two places fit, or none, nothing is changed, and
// the answer shows the text of the file there.
func TestUnsettledEditsAreRefused(t *testing.T) {
	twins := "package a\n\nfunc first() error {\n\tx := 1\n\treturn use(x)\n}\n\nfunc second() error {\n\tx := 1\n\treturn use(x)\n}\n\nfunc third() error {\n\treturn nil\n}\n"
	b := toolstest.Open(t, map[string]string{"a.go": twins})
	const mark = "// ... existing code ...\n"
	for name, tt := range map[string]struct {
		key, text string
		words     []string
	}{
		"begins in two places":    {"code_edit", mark + "\tx := 1\n\tx++\n" + mark, []string{"4 | \tx := 1", "9 | \tx := 1"}},
		"begins with a new line":  {"code_edit", mark + "\ty := 2\n\treturn use(x)\n" + mark, []string{"| \treturn use(x)"}},
		"ends in two places":      {"code_edit", mark + "func first() error {\n\tx := 2\n\treturn use(x)\n" + mark, []string{"5 | \treturn use(x)", "10 | \treturn use(x)"}},
		"ends with a new line":    {"code_edit", mark + "func second() error {\n\tx := 1\n\tx++\n" + mark, []string{"8 | func second() error {"}},
		"is nowhere":              {"code_edit", mark + "func other() error {\n\treturn other()\n}\n" + mark, []string{"| "}},
		"two blocks":              {"diff", "<<<<<<< SEARCH\n\treturn use(x)\n=======\n\treturn nil\n>>>>>>> REPLACE", []string{"line 5", "line 10"}},
		"two blocks, white space": {"diff", "<<<<<<< SEARCH\n  x  :=  1\n=======\n  x := 2\n>>>>>>> REPLACE", []string{"line 4", "line 9"}},
		"two hunks":               {"diff", "@@\n \tx := 1\n-\treturn use(x)\n+\treturn nil\n", []string{"lines 4-5", "lines 9-10"}},
		"a function that is gone": {"diff", "@@ func fourth() error {\n \tx := 1\n-\treturn use(x)\n+\treturn nil\n", []string{"fourth"}},
	} {
		t.Run(name, func(*testing.T) { // b fails the whole
			tool := map[string]string{"code_edit": "edit_file", "diff": "apply_diff"}[tt.key]
			b.Fails(tool, toolstest.Arguments("path", "a.go", tt.key, tt.text), tt.words...)
			b.Is("a.go", twins)
		})
	}
	// What the first block ends with now is where a later one ended: what is between stays.
	b.Do("edit_file", toolstest.Arguments("path", "a.go", "code_edit", mark+"func first() error {\n\treturn nil\n}\n"+mark))
	b.Is("a.go", strings.Replace(twins, "\tx := 1\n\treturn use(x)\n", "\treturn nil\n", 1))
	const ifs = "func f() {\n\tif a {\n\t\tone()\n\t}\n\tkeep()\n\tif b {\n\t\ttwo()\n\t}\n}\n"
	b = toolstest.Open(t, map[string]string{"b.go": ifs})
	b.Do("edit_file", toolstest.Arguments("path", "b.go", "code_edit", mark+"\tif a {\n\t\ttwo()\n\t}\n"+mark))
	b.Is("b.go", strings.Replace(ifs, "one()", "two()", 1))
}
