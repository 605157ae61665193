package builtin_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/handrail-bot/handrail/agent/tools/toolstest"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/longtest"
)

var update = flag.Bool("update", false, "write what the tools do into testdata; read the difference before you keep it")

// took is how long a command ran.
var took = regexp.MustCompile(`\d+(\.\d+)? ?(ms|s)\b`)

// TestEveryToolIsShown: for each tool there is a call, on files, with what it says that it
// will do and what the model is told. Files of a call are those that are named after it.
func TestEveryToolIsShown(t *testing.T) {
	longtest.Leave(t)
	for _, spec := range toolstest.Open(t, nil).Tools.Specs() {
		files, err := filepath.Glob(filepath.Join("testdata", spec.Name+".txtar"))
		more, err2 := filepath.Glob(filepath.Join("testdata", spec.Name+"-*.txtar"))
		if files = append(files, more...); err != nil || err2 != nil || len(files) == 0 {
			t.Errorf("testdata/%s.txtar is missing: a call of the tool, see docs/add-a-tool.md", spec.Name)
		}
		for _, file := range files {
			t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) { shown(t, spec.Name, file) })
		}
	}
}

func shown(t *testing.T, tool, file string) {
	a, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	tree, call, before := map[string]string{}, "", ""
	out := &txtar.Archive{Comment: a.Comment}
	for _, f := range a.Files {
		switch f.Name {
		case "CALL":
			call = strings.TrimSpace(string(f.Data))
		case "BEFORE": // a call that comes before it: a name, and arguments
			before = strings.TrimSpace(string(f.Data))
		case "INTENT", "RESULT", "CHANGED":
			continue
		default:
			tree[f.Name] = string(f.Data)
		}
		out.Files = append(out.Files, f)
	}
	b := toolstest.Open(t, tree)
	if name, arguments, ok := strings.Cut(before, " "); ok {
		b.Do(name, arguments)
	}
	action, res := b.Do(tool, call)
	add := func(name, text string) {
		if text != "" {
			out.Files = append(out.Files, txtar.File{Name: name, Data: []byte(strings.TrimSuffix(text, "\n") + "\n")})
		}
	}
	add("INTENT", intent(action))
	add("RESULT", took.ReplaceAllString(fmt.Sprintf("%s\n\n%s", res.Title, res.Content), "TIME"))
	var changed strings.Builder
	for _, c := range res.Changes {
		fmt.Fprintf(&changed, "%+v\n", c)
	}
	add("CHANGED", changed.String())
	got := txtar.Format(out)
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if want := txtar.Format(a); string(got) != string(want) {
		t.Errorf("%s (-want +got):\n%s\nif the change is right: go test ./agent/tools/builtin -run TestEveryToolIsShown -update", file, cmp.Diff(string(want), string(got)))
	}
}

// intent returns the gate's view of a call, as lines.
func intent(a policy.Action) string {
	var b strings.Builder
	fmt.Fprintf(&b, "kind: %s\n", a.Kind)
	for _, p := range a.Paths {
		fmt.Fprintf(&b, "path: %s\n", p)
	}
	if a.Command != "" {
		fmt.Fprintf(&b, "command: %s\ndirectory: %s\n", a.Command, a.Cwd)
	}
	if a.Display != "" && a.Display != a.Command {
		b.WriteString(a.Display)
	}
	return b.String()
}
