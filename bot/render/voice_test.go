package render

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/policy/phrase"
)

// third matches words in which the bot is a third person: the agent, the bot, or a session that acts.
var third = regexp.MustCompile(`(?:^|[^/\w.@-])(?i:(?:the|an|this) (?:agent|bot)\b|(?:the|this) session (?:continues|goes|waits|works|asks|tries|wants|cannot|could|has run)\b)`)

// otherVoices are packages below bot whose words are for pages and logs: there the reader sees both the model
// and the program, and the model is the agent.
var otherVoices = []string{"dashboard", "schedule", "trigger", "store", "ghapp", "queue", "webhook"}

// TestOneVoice: on GitHub the bot says I, in each of its texts, and in all of its code that makes words.
func TestOneVoice(t *testing.T) {
	t.Parallel()
	said := everything()
	for _, p := range session.Phases() {
		s := sample(p, 1, 2)
		said[string(p)] = []string{posted(Progress(s, Links{Pull: 7})), Ending(s, "", 7), CheckTitle(s), CheckSummary(s, "")}
	}
	for name, texts := range said {
		for _, text := range texts {
			if found := third.FindString(text); found != "" {
				t.Errorf("%s says %q in\n%s", name, found, text)
			}
		}
	}
	n := 0
	for _, root := range []string{"..", "../../cmd/action/home.go"} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && slices.Contains(otherVoices, d.Name()):
				return filepath.SkipDir
			case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
				return nil
			}
			fset := token.NewFileSet()
			tree, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(tree, func(node ast.Node) bool {
				lit, ok := node.(*ast.BasicLit)
				if !ok || lit.Kind != token.STRING {
					return true
				}
				text, err := strconv.Unquote(lit.Value)
				if err != nil {
					t.Error(err)
				}
				if found := third.FindString(text); found != "" {
					t.Errorf("%s says %q in %q", fset.Position(lit.Pos()), found, text)
				}
				n++
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if n < 2000 {
		t.Errorf("only %d texts were looked at", n)
	}
}

// TestCountsOnce: the headline of a result says how many files and lines changed, and nothing below repeats it.
func TestCountsOnce(t *testing.T) {
	t.Parallel()
	for _, files := range []int{1, 2} {
		s := sample(session.PhaseDone, files, 1)
		text := posted(Progress(s, Links{}))
		if n := strings.Count(text, phrase.Count(files, "file")+" changed"); n != 1 {
			t.Errorf("%d files are counted %d times in\n%s", files, n, text)
		}
		if !strings.Contains(text, "\nChanged:\n\n- `a.go` +3 −1") { // a list of its own, apart from the one above
			t.Errorf("a.go is missing in\n%s", text)
		}
	}
	if text := posted(Progress(sample(session.PhaseRunning, 2, 1), Links{})); !strings.Contains(text, "**2 files changed** +4 −1") {
		t.Errorf("running work has no number of files in\n%s", text)
	}
}
