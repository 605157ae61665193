package outline

import (
	"cmp"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The judge is web-tree-sitter with the grammars of their own packages:
//
//	npm install --ignore-scripts --legacy-peer-deps web-tree-sitter@0.25 tree-sitter-wasms \
//	  tree-sitter-{go,python,javascript,typescript,rust,java,c,cpp,c-sharp,ruby,php,scala,bash} \
//	  @tree-sitter-grammars/tree-sitter-{kotlin,lua}
var (
	modules = flag.String("outline.modules", "", "node_modules of the judge; without it what it said of testdata/real counts")
	trees   = flag.String("outline.trees", "testdata/real", "directories with code to judge, separated by commas")
	most    = flag.Int("outline.most", 400, "files of each language")
	update  = flag.Bool("update", false, "keep what the judge says of testdata/real")
)

const recorded = "testdata/judged.txt"

// What the judge finds is found, and nothing much beside it, in real code of every language.
func TestJudge(t *testing.T) {
	byLanguage := sources(t)
	said, faulty := verdict(t, byLanguage)
	for _, lang := range slices.Sorted(maps.Keys(byLanguage)) {
		found, missed, more := 0, []string{}, []string{}
		for _, name := range byLanguage[lang] {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]bool{}
			defs, _, _ := Of(name, text)
			for _, d := range defs {
				if name := lastPart(d.Name); !notMeant(lang, name) {
					got[fmt.Sprintf("%d %s", d.Line, name)] = true
				}
			}
			for want := range said[name] {
				if got[want] {
					found++
				} else {
					missed = append(missed, name+":"+want)
				}
			}
			for g := range got {
				if !said[name][g] && !faulty[name] {
					more = append(more, name+":"+g)
				}
			}
		}
		all := found + len(missed)
		share := func(n int) float64 { return 100 * float64(n) / float64(max(1, all)) }
		t.Logf("%-11s %4d files, %6d definitions: found %.2f %%, %.2f %% more", lang, len(byLanguage[lang]), all, share(found), share(len(more)))
		if all == 0 || share(found) < 98 || share(len(more)) > 3 {
			t.Errorf("%s: found %d of %d; missed %v; more %v", lang, found, all, first(missed), first(more))
		}
	}
	if len(byLanguage) < 16 && *trees == "testdata/real" {
		t.Errorf("only %d languages are judged", len(byLanguage))
	}
}

func first(list []string) []string {
	slices.Sort(list)
	return list[:min(len(list), 12)]
}

// sources returns the files to judge, by language.
func sources(t *testing.T) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	for dir := range strings.SplitSeq(*trees, ",") {
		err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() || strings.HasSuffix(p, ".min.js") || filepath.Ext(p) == ".bats" {
				return err // bats files have tests of their own kind in them
			}
			if info, err := d.Info(); err == nil && info.Size() > 300 && info.Size() < 300_000 && Language(p) != "" {
				out[Language(p)] = append(out[Language(p)], p)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for lang, files := range out {
		step := max(1, len(files) / *most)
		var some []string
		for i := 0; i < len(files); i += step {
			some = append(some, files[i])
		}
		out[lang] = some
	}
	return out
}

// verdict returns what the judge finds in files, "line name", and the files that its
// grammar cannot read whole.
func verdict(t *testing.T, byLanguage map[string][]string) (said map[string]map[string]bool, faulty map[string]bool) {
	t.Helper()
	said, faulty = map[string]map[string]bool{}, map[string]bool{}
	var text, errs strings.Builder
	if *modules == "" {
		data, err := os.ReadFile(recorded)
		if err != nil {
			t.Fatal(err)
		}
		text.Write(data)
	}
	for _, files := range byLanguage {
		if *modules == "" {
			break
		}
		cmd := exec.Command("node", append([]string{"testdata/judge.js", *modules}, files...)...)
		cmd.Stdout, cmd.Stderr = &text, &errs
		if err := cmd.Run(); err != nil {
			t.Fatalf("%v: %s", err, errs.String()[max(0, errs.Len()-800):])
		}
	}
	for line := range strings.Lines(errs.String()) {
		name, _, _ := strings.Cut(line, ": ")
		faulty[name] = true
	}
	lines := slices.Sorted(strings.Lines(text.String()))
	if *update && *modules != "" {
		if err := os.WriteFile(recorded, []byte(strings.Join(lines, "")), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, line := range lines {
		part := strings.SplitN(strings.TrimSpace(line), "\t", 3)
		if len(part) < 3 || notMeant(Language(part[0]), part[2]) {
			continue
		}
		if said[part[0]] == nil {
			said[part[0]] = map[string]bool{}
		}
		said[part[0]][part[1]+" "+lastPart(part[2])] = true
	}
	return said, faulty
}

// macro is a name of C that stands for something else: the judge takes what is marked
// with one, as in void f() LOCKED(mu), for a function of that name.
var macro = regexp.MustCompile(`^[A-Z][A-Z0-9_]{3,}$`)

// notMeant reports whether the judge says a word for a name, as it does where it lost its
// way, or the name of a macro.
func notMeant(lang, name string) bool {
	switch lang {
	case "c", "cpp":
		return macro.MatchString(name) || notFuncs[name]
	case "kotlin":
		return name == "constructor"
	}
	return false
}

// lastPart returns a name without what it is in: the judge says "b.c", "c" or "`c`".
func lastPart(name string) string {
	name = strings.Trim(name, "`")
	if len(name) > 1 && isLetter(name[0]) {
		name = strings.TrimSuffix(name, "=")
	}
	if i := strings.LastIndexAny(name, ".:\\"); i >= 0 && i < len(name)-1 && name[0] != '[' {
		name = name[i+1:]
	}
	return cmp.Or(name, "?")
}
