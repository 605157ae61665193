package render

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// rooms are those whose texts people on GitHub could be shown. Of the others below bot,
// bot/conversation words what the model is told, and the rest stores, asks or sends.
// Why something needs a yes, and how a run ended, is said where that is decided, in policy
// and agent, since terminals and logs show it as well.
var rooms = []string{"bot", "bot/approval", "bot/command", "bot/custom", "bot/fault", "bot/outbox", "bot/pull"}

// unsaid are calls whose words do not come into a comment: of logs, of words that are
// looked for, and of errors, which bot/fault words anew; what is wrong with the file of a
// command is quoted as "handrail config check" says it.
var unsaid = regexp.MustCompile(`^(?:errors\.New|fmt\.Errorf|panic|regexp\.MustCompile|.*\.(?:Log|log)\.\w+|.*\.(?:InfoContext|WarnContext|ErrorContext|Info|Warn|Error)|.*Deliveries\.Done|strings\.Fields|set|command\.Takes\w+|.*[gG]uarded)$`)

// elsewhere are declarations whose texts are for others than people on GitHub.
var elsewhere = map[string]string{
	"bot.codeLabel": "the model", "bot.request.texts": "the model", "bot/approval.Requests.Moot": "the model", "bot/pull.PreviousSession": "the model",
	"bot/custom.Command.Call": "the model", "bot/custom.oneLine": "the model",
	"bot.request.keep": "the model", "bot/command.ownTasks": "the model", "bot.commands": "an example of a task",
	"bot.Bot.notFromUser": "the log", "bot/approval.Session.JudgeReview": "the log",
	"bot/approval.Fork.ask": "the name of a fact",
	"bot.desk.MayBegin":     "the log", "bot.desk.MayGoOn": "the log", "bot.askWatchers": "the log",
	"bot/fault.panicError.Error": "an error",
}

var threeWords = regexp.MustCompile(`[A-Za-z]{2,}[ ,;:]+[A-Za-z]{2,}[ ,;:]+[A-Za-z]{2,}`)

// Each sentence for people is in this package: outside of it no text of three words or
// more stands in a room that talks to them, but for logs and errors.
func TestSentencesAreHere(t *testing.T) {
	t.Parallel()
	used := map[string]bool{}
	for _, room := range rooms {
		files, err := filepath.Glob("../../" + room + "/*.go")
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v", room, err)
		}
		for _, name := range files {
			if !strings.HasSuffix(name, "_test.go") {
				sentences(t, name, used)
			}
		}
	}
	for where := range elsewhere {
		if !used[where] {
			t.Errorf("%s says nothing any more: take it from the list", where)
		}
	}
}

func sentences(t *testing.T, name string, used map[string]bool) {
	t.Helper()
	src, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	fset := token.NewFileSet()
	tree, err := parser.ParseFile(fset, name, src, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	room := strings.TrimPrefix(filepath.ToSlash(filepath.Dir(name)), "../../")
	for _, d := range tree.Decls {
		where := ""
		if f, ok := d.(*ast.FuncDecl); ok {
			where = f.Name.Name
			if f.Recv != nil {
				where = strings.TrimPrefix(string(src[f.Recv.List[0].Type.Pos()-1:f.Recv.List[0].Type.End()-1]), "*") + "." + where
			}
		}
		ast.Inspect(d, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ValueSpec:
				if _, ok := d.(*ast.GenDecl); ok {
					where = n.Names[0].Name
				}
			case *ast.CallExpr:
				return !unsaid.Match(src[n.Fun.Pos()-1 : n.Fun.End()-1])
			case *ast.Field: // its tag
				return n.Tag == nil
			case *ast.BasicLit:
				text, err := strconv.Unquote(n.Value)
				if err != nil || n.Kind != token.STRING || !threeWords.MatchString(text) {
					return true
				}
				if at := room + "." + where; elsewhere[at] != "" {
					used[at] = true
				} else {
					t.Errorf("%s: %s says %q", fset.Position(n.Pos()), at, text)
				}
			}
			return true
		})
	}
}
