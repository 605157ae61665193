package patch_test

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/policy/longtest"
)

var (
	judgeHunks = flag.Int("judge.hunks", 1200, "changed hunks that TestStaleDiffs applies")
	judgeTools = flag.Int("judge.tools", 12, "every how many of them git apply and patch apply, too")
	judgeSeed  = flag.Uint64("judge.seed", 1, "seed of TestStaleDiffs")
)

// trial is a diff of real code, made stale or inexact in one way.
type trial struct {
	file  []string // as it is now
	want  []string // as it is to become; nil when only a refusal is right
	hunk  []string // lines with their first column
	start int      // of the header
	head  string   // what stands behind the second @@
	count [2]int   // what the header adds to its counts
}

func (tr *trial) diff() string {
	old, add := tr.count[0], tr.count[1]
	for _, l := range tr.hunk {
		if l[0] != '+' {
			old++
		}
		if l[0] != '-' {
			add++
		}
	}
	return fmt.Sprintf("--- a/f.go\n+++ b/f.go\n@@ -%d,%d +%d,%d @@ %s\n%s\n", tr.start, old, tr.start, add, tr.head, strings.Join(tr.hunk, "\n"))
}

// base is one change of a function of a file.
type base struct {
	file     []string
	from, to int // lines that are replaced
	add      []string
	fn, end  int // lines of the function: [fn, end)
}

// changeOf picks a change of lines in a function, or returns false.
func changeOf(r *rand.Rand, file []string) (base, bool) {
	b := base{file: file}
	var fns []int
	for i, l := range file {
		if strings.HasPrefix(l, "func ") && !strings.HasSuffix(l, "}") {
			fns = append(fns, i)
		}
	}
	if len(fns) < 3 {
		return b, false
	}
	b.fn = fns[r.IntN(len(fns))]
	b.end = b.fn + slices.Index(file[b.fn:], "}") + 1
	if b.end-b.fn < 6 || strings.Count(strings.Join(file[:b.fn], "\n"), "`")%2 == 1 || strings.Contains(strings.Join(file[b.fn:b.end], "\n"), "`") {
		return b, false
	}
	b.from = b.fn + 1 + r.IntN(b.end-b.fn-2)
	b.to = min(b.from+r.IntN(3), b.end-1) // perhaps none: an insertion
	if b.from == b.to || r.IntN(4) > 0 {
		for i := range 1 + r.IntN(2) {
			b.add = append(b.add, fmt.Sprintf("\tchanged%d(%d)", i, r.IntN(1000)))
		}
	}
	return b, true
}

// trial returns the change as an exact diff.
func (b base) trial() *trial {
	lo, hi := max(0, b.from-3), min(len(b.file), b.to+3)
	tr := &trial{file: slices.Clone(b.file), start: lo + 1, head: b.file[b.fn]}
	for i := lo; i < hi; i++ {
		if i == b.from {
			tr.added(b)
		}
		op := " "
		if i >= b.from && i < b.to {
			op = "-"
		}
		tr.hunk = append(tr.hunk, op+b.file[i])
	}
	if b.to > b.from { // the additions behind the deletions
		tr.hunk = slices.DeleteFunc(tr.hunk, func(l string) bool { return l[0] == '+' })
		at := 0
		for i, l := range tr.hunk {
			if l[0] == '-' {
				at = i + 1
			}
		}
		for i, l := range b.add {
			tr.hunk = slices.Insert(tr.hunk, at+i, "+"+l)
		}
	}
	for i := b.fn; i >= 0 && lo <= b.fn; i-- { // git names the definition above the hunk
		if tr.head = ""; i < lo && b.file[i] != "" && (b.file[i][0] >= 'a' && b.file[i][0] <= 'z') {
			tr.head = b.file[i]
			break
		}
	}
	tr.want = slices.Concat(b.file[:b.from], b.add, b.file[b.to:])
	return tr
}

func (tr *trial) added(b base) {
	for _, l := range b.add {
		tr.hunk = append(tr.hunk, "+"+l)
	}
}

// contexts returns the indexes of the lines of context in the hunk, those that are
// not next to the change first.
func (tr *trial) contexts() []int {
	var out []int
	for i, l := range tr.hunk {
		if l[0] == ' ' && strings.TrimSpace(l) != "" {
			out = append(out, i)
		}
	}
	return out
}

// stale are the ways in which a diff does not fit. Each reports whether it could
// be done.
var stale = []struct {
	name string
	do   func(r *rand.Rand, b base, tr *trial) bool
	must bool // refusing is not enough
}{
	{"exact", func(*rand.Rand, base, *trial) bool { return true }, true},
	{"drift", func(r *rand.Rand, b base, tr *trial) bool {
		more := []string{"// one more", "var more = 1", ""}
		for range r.IntN(4) {
			more = append(more, fmt.Sprintf("var more%d int", r.IntN(100)))
		}
		tr.file, tr.want = slices.Insert(tr.file, b.fn, more...), slices.Insert(tr.want, b.fn, more...)
		return !strings.HasPrefix(b.file[max(0, b.fn-1)], "//") && b.from-b.fn > 3
	}, true},
	{"line number", func(r *rand.Rand, _ base, tr *trial) bool { tr.start = 1 + r.IntN(len(tr.file)); return true }, false},
	{"counts", func(r *rand.Rand, _ base, tr *trial) bool {
		tr.count = [2]int{r.IntN(5) - 2, r.IntN(5) - 2}
		return true
	}, true},
	{"word of the context", func(r *rand.Rand, _ base, tr *trial) bool {
		list := tr.contexts()
		if len(list) < 4 {
			return false
		}
		i := list[[]int{0, len(list) - 1}[r.IntN(2)]]
		tr.hunk[i] += " // seen"
		return true
	}, false},
	{"line of the context left out", func(r *rand.Rand, b base, tr *trial) bool {
		list := tr.contexts()
		if len(list) < 4 {
			return false
		}
		i := list[r.IntN(len(list))]
		if i > 0 && tr.hunk[i-1][0] != ' ' || i+1 < len(tr.hunk) && tr.hunk[i+1][0] != ' ' {
			return false // on which side of it is the change?
		}
		tr.hunk = slices.Delete(tr.hunk, i, i+1)
		var old []string
		for _, l := range tr.hunk {
			if l[0] != '+' {
				old = append(old, l[1:])
			}
		}
		return !strings.Contains(strings.Join(b.file, "\n"), strings.Join(old, "\n")) // a good diff of another place
	}, false},
	{"context of another place", func(r *rand.Rand, b base, tr *trial) bool {
		for _, i := range tr.contexts() {
			tr.hunk[i] = fmt.Sprintf(" \tnever.seen(%d, %q)", r.IntN(100), b.file[i])
		}
		return true
	}, false},
	{"neighbour changed in the file", func(r *rand.Rand, b base, tr *trial) bool {
		at := b.from - 1 - r.IntN(3)
		if at <= b.fn || strings.TrimSpace(b.file[at]) == "" {
			return false
		}
		tr.file[at] += " // new"
		tr.want[at] += " // new"
		return true
	}, false},
	{"spaces for tabs", func(_ *rand.Rand, _ base, tr *trial) bool {
		for i, l := range tr.hunk {
			if strings.Contains(l[1:], "\t ") {
				return false
			}
			tr.hunk[i] = l[:1] + strings.ReplaceAll(l[1:], "\t", "    ")
		}
		return true
	}, false},
	{"function gone", func(_ *rand.Rand, b base, tr *trial) bool {
		tr.file, tr.want = slices.Delete(tr.file, b.fn, b.end), nil
		return true
	}, false},
	{"function renamed, another like it", func(r *rand.Rand, b base, tr *trial) bool {
		// The change is already done in one; the other is not meant.
		other := slices.Clone(b.file[b.fn:b.end])
		other[0] = fmt.Sprintf("func another%d() {", r.IntN(100))
		tr.file, tr.want = slices.Concat(b.file[:b.fn], other, b.file[b.end:]), nil
		return tr.head == b.file[b.fn] || slices.Contains(tr.hunk, " "+b.file[b.fn])
	}, false},
	{"lines gone", func(_ *rand.Rand, b base, tr *trial) bool {
		tr.file, tr.want = slices.Delete(tr.file, b.from, b.to), nil
		again := slices.Contains(b.file[b.from-1:b.to-1], b.file[b.to-1]) || b.file[b.to] == b.file[b.to-1] // which of both is gone?
		return b.to > b.from && !again
	}, false},
	{"twin", func(r *rand.Rand, b base, tr *trial) bool {
		twin := append(slices.Clone(b.file[b.fn:b.end]), "")
		twin[0] = fmt.Sprintf("func twin%d() {", r.IntN(100))
		tr.file, tr.want = slices.Insert(tr.file, b.fn, twin...), slices.Insert(tr.want, b.fn, twin...)
		return tr.head == b.file[b.fn] && !strings.HasPrefix(b.file[max(0, b.fn-1)], "//")
	}, false},
}

// judges apply diffs, too.
var judges = map[string][]string{
	"git apply": {"git", "apply", "d.diff"},
	"patch -F0": {"patch", "-s", "-p1", "-F0", "-i", "d.diff"},
	"patch -F2": {"patch", "-s", "-p1", "-F2", "-i", "d.diff"},
}

// TestStaleDiffs: a diff that does not fit is applied as it was meant or not at all,
// unless git apply and GNU patch take it for another place, too: then nothing in it
// tells. The log shows how they fare with a part of the diffs.
func TestStaleDiffs(t *testing.T) {
	longtest.Leave(t)
	if _, err := exec.LookPath("patch"); err != nil {
		if strings.Contains(os.Getenv("HANDRAIL_REQUIRE_ENGINES"), "patch") {
			t.Fatal("patch is missing: .ci/setup --full installs it")
		}
		t.Skip("patch is missing: nobody else judges these diffs here")
	}
	files := realCode(t)
	r := rand.New(rand.NewPCG(*judgeSeed, 15))
	sum := map[string]map[string]*[3]int{} // right, refused, wrong
	count := func(who, kind string, got, want []string, ok bool) (wrong bool) {
		if sum[who] == nil {
			sum[who] = map[string]*[3]int{}
		}
		if sum[who][kind] == nil {
			sum[who][kind] = &[3]int{}
		}
		n := 2
		switch {
		case !ok:
			n = 1
		case slices.Equal(got, want):
			n = 0
		}
		sum[who][kind][n]++
		return n == 2
	}
	for n := 0; n < *judgeHunks; {
		b, ok := changeOf(r, files[r.IntN(len(files))])
		if !ok {
			continue
		}
		for _, way := range stale {
			tr := b.trial()
			if slices.Equal(b.file, tr.want) || !way.do(r, b, tr) {
				continue
			}
			n++
			before, diff := strings.Join(tr.file, "\n")+"\n", tr.diff()
			out, err := apply(before, diff)
			wrong := count("ours", way.name, linesOf(out.Text), tr.want, err == nil)
			if err != nil && way.must {
				t.Errorf("%s: %v\n%s", way.name, err, diff)
			}
			for who, cmd := range judges {
				if !wrong && n%*judgeTools != 0 {
					continue
				}
				text, err := applied(t, before, diff, cmd)
				count(who, way.name, linesOf(text), tr.want, err == nil)
				if wrong && (err != nil || text != out.Text) {
					t.Errorf("%s (%s: %v):\n%s\nbecame\n%s", way.name, who, err, diff, unified("f.go", before, out.Text))
				}
			}
		}
	}
	for who, kinds := range sum {
		var all [3]int
		for _, way := range stale {
			if s := kinds[way.name]; s != nil {
				for i := range all {
					all[i] += s[i]
				}
				t.Logf("%-10s %-32s right %5d  refused %5d  wrong %5d", who, way.name, s[0], s[1], s[2])
			}
		}
		t.Logf("%-10s %-32s right %5d  refused %5d  wrong %5d", who, "all", all[0], all[1], all[2])
	}
}

func linesOf(text string) []string { return strings.Split(strings.TrimSuffix(text, "\n"), "\n") }

// applied returns what a command makes of a file f.go by the diff in d.diff.
func applied(t *testing.T, before, diff string, cmd []string) (string, error) {
	t.Helper()
	dir := t.TempDir()
	f := filepath.Join(dir, "f.go")
	if err := errors.Join(os.WriteFile(f, []byte(before), 0o600), os.WriteFile(filepath.Join(dir, "d.diff"), []byte(diff), 0o600)); err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), cmd[0], cmd[1:]...)
	c.Dir = dir
	c.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir))
	_, failed := c.CombinedOutput()
	text, err := os.ReadFile(f)
	if err != nil {
		t.Fatal(err)
	}
	return string(text), failed
}

// realCode returns the lines of files of Go's own library.
func realCode(t *testing.T) (files [][]string) {
	t.Helper()
	root, err := exec.CommandContext(t.Context(), "go", "env", "GOROOT").Output()
	if err != nil {
		t.Skipf("there is no go: %v", err)
	}
	for _, dir := range []string{"strings", "net/http", "go/printer", "encoding/json", "sort"} {
		list, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(root)), "src", dir, "*.go"))
		if err != nil || len(list) == 0 {
			t.Skipf("no sources of %s", dir)
		}
		for _, name := range list {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if len(text) < 60_000 {
				files = append(files, strings.Split(strings.TrimSuffix(string(text), "\n"), "\n"))
			}
		}
	}
	return files
}
