package fragment

import (
	"flag"
	"math/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var (
	judgeSeed  = flag.Int64("fragment.seed", 1, "seed of TestFunctionsAlone")
	judgeCases = flag.Int("fragment.cases", 300, "functions of each language")
)

// A function of a real file is written alone with one line changed: that line changes, whatever else in the
// file has the function's name, or nothing does. The files are those of Go, and of Python, Ruby and npm if
// this machine has them.
func TestFunctionsAlone(t *testing.T) {
	goroot := os.Getenv("GOROOT")
	if goroot == "" {
		goroot = "/usr/local/go"
	}
	for lang, globs := range map[string][]string{
		"Go":         {goroot + "/src/net/http/*.go", goroot + "/src/encoding/*/*.go", "*.go", "../*.go"},
		"Python":     {"/usr/lib/python3*/*.py"},
		"Ruby":       {"/usr/lib/ruby/*/*.rb"},
		"JavaScript": {"/usr/lib/node_modules/npm/node_modules/*/*.js", "/usr/lib/node_modules/npm/node_modules/*/lib/*.js"},
	} {
		t.Run(lang, func(t *testing.T) {
			var files []string
			for _, g := range globs {
				found, err := filepath.Glob(g)
				if err != nil {
					t.Fatal(err)
				}
				files = append(files, found...)
			}
			if len(files) == 0 && lang != "Go" {
				t.Log("this machine has none")
				return
			}
			r := rand.New(rand.NewSource(*judgeSeed))
			right, refused, wrong := 0, 0, 0
			for tries := 0; right+refused+wrong < *judgeCases && tries < 50**judgeCases; tries++ {
				name := files[r.Intn(len(files))]
				data, err := os.ReadFile(name)
				if err != nil {
					t.Fatal(err)
				}
				answer, want := changedFunction(r, name, string(data))
				if answer == "" {
					continue
				}
				lost := append(Gone(name, string(data), answer), LeftOut(name, string(data), answer)...)
				got, _, err := Put(name, string(data), answer)
				switch {
				case err != nil || got == string(data) || len(lost) > 0 || !Is(name, string(data), answer):
					refused++
				case trimmed(got) == trimmed(want):
					right++
				default:
					wrong++
					t.Logf("%s: another place was changed by\n%s\n%s", name, answer, cmp.Diff(want, got))
				}
			}
			t.Logf("right %d, refused %d, wrong %d", right, refused, wrong)
			if 10*right < 8*(right+refused+wrong) || 200*wrong > right {
				t.Errorf("right %d, refused %d, wrong %d", right, refused, wrong)
			}
		})
	}
}

// trimmed returns a text without white space at the ends of its lines.
func trimmed(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " \t\r\f")
	}
	return strings.Join(lines, "\n")
}

// changedFunction returns a function of a file with a line changed, sometimes without its indentation, and
// the file with that change. They are empty if the chosen one does not fit.
func changedFunction(r *rand.Rand, name, text string) (answer, want string) {
	defs, all := definitions(name, text), strings.Split(text, "\n")
	if len(defs) < 4 || len(text) > 60000 {
		return "", ""
	}
	d := defs[r.Intn(len(defs))]
	if d.to-d.line < 3 {
		return "", ""
	}
	at := d.line + 1 + r.Intn(d.to-d.line-2)
	if s := strings.TrimSpace(all[at]); s == "" || s == "{" {
		return "", ""
	}
	all[at] += "  changed"
	body, indent := all[d.line:d.to], d.indent
	if r.Intn(2) == 0 {
		body = reindent(body, -indent, "")
	}
	return strings.Join(body, "\n") + "\n", strings.Join(all, "\n")
}
