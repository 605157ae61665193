package patch_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/handrail-bot/handrail/agent/patch"
)

// TestCorpus applies edits as weak models write them. Each file of
// testdata/apply holds before and edit, and after or error (words that the
// error must contain, one per line). Lines "crlf NAME", "noeol NAME" and
// "bom NAME" in the comment give a section another form, "sketch" means that
// edit is one for Merge, "old" that the edit is the sections old and new.
func TestCorpus(t *testing.T) {
	files, err := filepath.Glob("testdata/apply/*.txtar")
	if err != nil || len(files) < 50 {
		t.Fatalf("corpus has %d cases (%v)", len(files), err)
	}
	for _, name := range files {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			readCase(t, name).check(t)
		})
	}
}

// check applies the edit of a case and compares.
func (c corpusCase) check(t *testing.T) {
	t.Helper()
	out, err := c.apply()
	if want, fails := c.part["error"]; fails {
		if err == nil {
			t.Fatalf("applied, but must not:\n%s", out.Text)
		}
		for _, w := range strings.Split(strings.TrimSpace(want), "\n") {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("error does not say %q:\n%v", w, err)
			}
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(c.part["after"], out.Text); d != "" {
		t.Errorf("text (-want +got):\n%s", d)
	}
	notes := strings.Join(out.Notes, "\n")
	for _, w := range strings.Split(strings.TrimSpace(c.part["notes"]), "\n") {
		if !strings.Contains(notes, w) {
			t.Errorf("notes do not say %q: %q", w, notes)
		}
	}
}

type corpusCase struct {
	part   map[string]string
	sketch bool
}

func readCase(t *testing.T, name string) corpusCase {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	ar := txtar.Parse(data)
	c := corpusCase{part: map[string]string{}}
	for _, f := range ar.Files {
		c.part[f.Name] = string(f.Data)
	}
	for _, line := range strings.Split(string(ar.Comment), "\n") {
		verb, arg, _ := strings.Cut(line, " ")
		for _, p := range strings.Fields(arg) {
			if _, ok := c.part[p]; !ok {
				continue
			}
			switch verb {
			case "crlf":
				c.part[p] = strings.ReplaceAll(c.part[p], "\n", "\r\n")
			case "noeol":
				c.part[p] = strings.TrimRight(c.part[p], "\r\n")
			case "bom":
				c.part[p] = "\uFEFF" + c.part[p]
			}
		}
		c.sketch = c.sketch || verb == "sketch"
	}
	return c
}

// apply applies text, the edit of one file, to before.
func apply(before, text string) (patch.Applied, error) {
	edits, err := patch.Parse(text)
	if err != nil {
		return patch.Applied{}, err
	}
	if len(edits) != 1 {
		return patch.Applied{}, fmt.Errorf("it is about %d files, not one", len(edits))
	}
	return edits[0].Apply(before)
}

func unified(path, before, after string) string {
	return patch.UnifiedFile(path, path, before, after)
}

func (c corpusCase) apply() (patch.Applied, error) {
	if c.sketch {
		return patch.Merge(c.part["before"], c.part["edit"], "")
	}
	if old, ok := c.part["old"]; ok {
		out, _, err := patch.Replace(c.part["before"], old, c.part["new"], false)
		return out, err
	}
	return apply(c.part["before"], c.part["edit"])
}
