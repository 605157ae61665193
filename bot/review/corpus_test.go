package review

import (
	"context"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"iter"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/tools"
	"github.com/handrail-bot/handrail/agent/tools/builtin"
	"github.com/handrail-bot/handrail/agent/tools/toolstest"
	"github.com/handrail-bot/handrail/bot/ghapp/ghtest"
	"github.com/handrail-bot/handrail/policy/longtest"
)

// pull is a small pull request: a file, and what it becomes. Line is where a fault was
// planted, 0 where there is none.
type pull struct {
	file, good, bad string
	line            int
	gone            bool // the fault is that the line of good is taken away
	claim           string
}

func (p pull) text(n int) string { return strings.Split(p.bad, "\n")[n-1] }

// replaced is a text with another line n, or without it.
func replaced(text string, n int, with string) string {
	lines := strings.Split(text, "\n")
	if with == "" {
		return strings.Join(slices.Delete(lines, n-1, n), "\n")
	}
	lines[n-1] = with
	return strings.Join(lines, "\n")
}

// corpus returns at least forty pull requests with a fault and forty without one. Programs
// in Python and TypeScript are ours; those in Go are of the standard library and of modules
// that this one uses, taken from where they are and changed by operators.
func corpus(t *testing.T) (faulty, clean []pull) {
	t.Helper()
	file, err := txtar.ParseFile("testdata/corpus.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range file.Files {
		code, rest, _ := strings.Cut(string(f.Data), "\n%")
		code += "\n"
		fault, rest, _ := strings.Cut(rest, "\n?")
		claim, other, _ := strings.Cut(rest, "\n=")
		at := func(s string) (int, string) {
			number, text, _ := strings.Cut(strings.TrimSuffix(s, "\n"), " ")
			n, err := strconv.Atoi(number)
			if err != nil {
				t.Fatalf("%s: %q names no line", f.Name, s)
			}
			return n, text
		}
		n, with := at(fault)
		faulty = append(faulty, pull{file: f.Name, good: code, bad: replaced(code, n, with), line: n, gone: with == "", claim: strings.TrimSpace(claim)})
		n, with = at(other)
		clean = append(clean, pull{file: f.Name, good: code, bad: replaced(code, n, with)})
	}
	f, c := ofGo(t, 22)
	if n := len(slices.DeleteFunc(slices.Clone(f), func(p pull) bool { return !p.gone })); n < 6 {
		t.Errorf("only %d lines of Go programs are taken away", n)
	}
	return append(faulty, f...), append(clean, c...)
}

// wrong are operators, and what a slip makes of them.
var wrong = map[token.Token]string{token.LSS: "<=", token.GTR: ">=", token.LEQ: "<", token.GEQ: ">", token.EQL: "!=", token.NEQ: "==", token.LAND: "||", token.LOR: "&&", token.SUB: "+"}

// turned are comparisons that say the same with their sides changed.
var turned = map[token.Token]string{token.LSS: ">", token.GTR: "<", token.LEQ: ">=", token.GEQ: "<=", token.EQL: "==", token.NEQ: "!="}

func ofGo(t *testing.T, most int) (faulty, clean []pull) {
	t.Helper()
	dir := func(args ...string) string {
		out, err := exec.Command("go", args...).Output()
		if err != nil {
			t.Fatalf("go %s: %v", strings.Join(args, " "), err)
		}
		return strings.TrimSpace(string(out))
	}
	std := filepath.Join(dir("env", "GOROOT"), "src")
	var files []string
	for _, name := range strings.Fields("strings/strings.go path/path.go container/list/list.go container/heap/heap.go container/ring/ring.go bufio/scan.go text/tabwriter/tabwriter.go sort/search.go bytes/buffer.go encoding/csv/reader.go") {
		files = append(files, filepath.Join(std, name))
	}
	cron := dir("list", "-m", "-f", "{{.Dir}}", "github.com/robfig/cron/v3")
	star := dir("list", "-m", "-f", "{{.Dir}}", "github.com/bmatcuk/doublestar/v4")
	files = append(files, filepath.Join(cron, "spec.go"), filepath.Join(cron, "parser.go"), filepath.Join(star, "match.go"), filepath.Join(star, "utils.go"))
	var gone []pull
	r := rand.New(rand.NewPCG(14, 6))
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		good := string(text)
		fset := token.NewFileSet()
		tree, err := parser.ParseFile(fset, file, text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		name := path.Base(filepath.Dir(file)) + "_" + filepath.Base(file)
		name = strings.ReplaceAll(name, "@", "_")
		var ops []*ast.BinaryExpr
		ast.Inspect(tree, func(n ast.Node) bool {
			if b, ok := n.(*ast.BinaryExpr); ok && wrong[b.Op] != "" && fset.Position(b.Pos()).Line == fset.Position(b.End()).Line {
				ops = append(ops, b)
			}
			return true
		})
		r.Shuffle(len(ops), func(i, j int) { ops[i], ops[j] = ops[j], ops[i] })
		source := func(n ast.Node) string { return good[fset.Position(n.Pos()).Offset:fset.Position(n.End()).Offset] }
		if p, ok := withoutStatement(name, good, fset, tree); ok {
			gone = append(gone, p)
		}
		f, c := 0, 0
		for _, b := range ops {
			at := fset.Position(b.OpPos)
			with := func(s string) string {
				return good[:fset.Position(b.Pos()).Offset] + s + good[fset.Position(b.End()).Offset:]
			}
			slip := good[:at.Offset] + wrong[b.Op] + good[at.Offset+len(b.Op.String()):]
			there := strings.Contains(good, "\n"+strings.Split(slip, "\n")[at.Line-1]+"\n") // in another place, rightly
			if f < 2 && len(faulty) < most && !there {
				faulty = append(faulty, pull{file: name, good: good, bad: slip, line: at.Line,
					claim: fmt.Sprintf("With %s in place of %s the case of %s goes the other way in line %d of old.", wrong[b.Op], b.Op, strings.Join(strings.Fields(source(b)), " "), at.Line)})
				f++
			} else if turned[b.Op] != "" && c < 2 && len(clean) < most {
				_, x := b.X.(*ast.Ident)
				_, y := b.Y.(*ast.Ident)
				if x && y || b.Op == token.EQL && y {
					clean = append(clean, pull{file: name, good: good, bad: with(source(b.Y) + " " + turned[b.Op] + " " + source(b.X))})
					c++
				}
			}
		}
	}
	return append(faulty, gone...), clean
}

// withoutStatement takes away the last statement of a program that has a line of its own and
// counts something up or down.
func withoutStatement(name, good string, fset *token.FileSet, tree ast.Node) (p pull, ok bool) {
	lines := strings.Split(good, "\n")
	ast.Inspect(tree, func(n ast.Node) bool {
		s, is := n.(*ast.IncDecStmt)
		if !is {
			return true
		}
		at := fset.Position(s.Pos()).Line
		text := strings.TrimSpace(lines[at-1])
		if text == good[fset.Position(s.Pos()).Offset:fset.Position(s.End()).Offset] && strings.TrimSpace(lines[at]) != text {
			ok, p = true, pull{file: name, good: good, bad: replaced(good, at, ""), line: at, gone: true, claim: "Without " + text + " the count is wrong."}
		}
		return true
	})
	return p, ok
}

// verdict is a model that takes the second look.
type verdict string

func (verdict) Name() string { return "verdict" }
func (verdict) Capabilities(context.Context) (llm.Capabilities, error) {
	return llm.Capabilities{ContextLength: 8192}, nil
}

func (v verdict) Stream(context.Context, llm.Request) iter.Seq2[llm.Part, error] {
	return func(yield func(llm.Part, error) bool) { yield(llm.Part{Content: string(v), Done: true}, nil) }
}

// reported is what the tool makes of a call by a model that sees the file.
func reported(t *testing.T, file, text string, model verdict, args map[string]any) session.Finding {
	t.Helper()
	b := toolstest.Open(t, map[string]string{file: text})
	all, err := tools.NewRegistry(builtin.Tools(tools.Config{Files: b.WS, Root: b.WS.Root(), Model: model})...)
	if err != nil {
		t.Fatal(err)
	}
	tool, _ := all.Find("report_finding")
	in, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	res, err := tool.Run(t.Context(), toolstest.Call("report_finding", string(in)), nil)
	if err != nil || res.Finding == nil {
		t.Fatalf("%s: %v, %+v", in, err, res)
	}
	return *res.Finding
}

// TestCorpus holds the machinery of reviews: what a model says of a planted fault stands on
// its line and side, its suggestion makes the file what it was, a push that moves it has
// nothing said again, and when it is mended the thread is resolved. Where there is no fault,
// what the model says and the second look refutes is not seen.
func TestCorpus(t *testing.T) {
	longtest.Leave(t)
	faulty, clean := corpus(t)
	if len(faulty) < 40 || len(clean) < 40 {
		t.Fatalf("%d pull requests with a fault and %d without", len(faulty), len(clean))
	}
	if !longtest.Long() {
		faulty, clean = some(faulty, 8), some(clean, 4)
	}
	all := map[string]string{}
	for _, c := range append(slices.Clone(faulty), clean...) {
		all[c.file] = c.good
	}
	p := host(t, all)
	var python []string
	placed, applied, repeated := 0, 0, 0
	defer func() {
		t.Logf("right line and side %d of %d, suggestions that make the file right %d, said twice %d; nothing said of %d without a fault",
			placed, len(faulty), applied, repeated, len(clean))
	}()
	for i, c := range faulty {
		p.pull(fmt.Sprint("faulty-", i), map[string]string{c.file: c.bad})
		args := map[string]any{"path": c.file, "line": c.line, "severity": "high", "claim": c.claim, "why": "Follow it."}
		good := strings.Split(c.good, "\n")[c.line-1]
		switch {
		case c.gone: // and what was quoted stands elsewhere in the file, or not at all
			args["side"], args["code"] = []string{"old", "left", "removed", "-"}[i%4], strings.TrimSpace(good)
		case i%2 == 1: // it is added, and called removed
			args["side"], args["code"], args["suggestion"] = "old", strings.TrimSpace(c.text(c.line)), good
		case strings.Count("\n"+c.bad, "\n"+c.text(c.line)+"\n") == 1: // models count badly, and leave the indentation away
			args["line"], args["code"], args["suggestion"] = c.line+i%3, strings.TrimSpace(c.text(c.line)), strings.TrimSpace(good)
		default:
			args["suggestion"] = good
		}
		f := reported(t, c.file, c.bad, "STANDS. It happens.", args)
		got := p.post(f)
		if len(got) != 1 || got[0].Path != c.file || got[0].Line != c.line || got[0].Old != c.gone || got[0].StartLine != 0 {
			t.Errorf("%s:%d: said %+v", c.file, c.line, got)
			continue
		}
		placed++
		if !c.gone {
			after := committed(t, got[0], c.bad)
			if after != c.good {
				t.Errorf("%s:%d: with the suggestion the file is not what it was:\n%s", c.file, c.line, got[0].Body)
			} else {
				applied++
			}
			if strings.HasSuffix(c.file, ".py") {
				python = append(python, after)
			}
		}
		comment := map[bool]string{true: "# ", false: "// "}[strings.HasSuffix(c.file, ".py")]
		above := comment + "One line\n" + comment + "more.\n"
		p.push(fmt.Sprint("faulty-", i), map[string]string{c.file: above + c.bad})
		f.Line += 2
		if c.gone {
			f.Line -= 2
		}
		f.Claim = "It seems that " + strings.ToLower(c.claim[:1]) + c.claim[1:]
		if got := p.post(f); len(got) != 0 {
			repeated++
			t.Errorf("%s:%d: said again: %+v", c.file, c.line, got)
		}
		p.push(fmt.Sprint("faulty-", i), map[string]string{c.file: above + c.good})
		got = p.post()
		if want := !c.gone; p.comments()[0].Resolved != want || len(got) != 0 {
			t.Errorf("%s:%d: resolved is %v: %+v", c.file, c.line, p.comments()[0].Resolved, got)
		}
	}
	for i, c := range clean {
		p.pull(fmt.Sprint("clean-", i), map[string]string{c.file: c.bad})
		f := reported(t, c.file, c.bad, "REFUTED: it does the same.", map[string]any{"path": c.file, "line": 1, "severity": "high", "claim": "It is wrong.", "why": "w"})
		if got := p.post(f); len(got) != 0 || len(p.gh.Thread(p.ref).Pull.Reviews) != 0 {
			t.Errorf("%s: said %+v", c.file, got)
		}
	}
	isPython(t, python)
}

// suggestedRE is the block that GitHub offers to commit.
var suggestedRE = regexp.MustCompile("(?s)(?:^|\n)(````*)suggestion\n(.*?)(?:^|\n)?````*\n*(?:<!--|$)")

// committed is what a file becomes when a person commits the suggestion of a comment: by
// GitHub's rule its lines take the place of those of the comment. git apply has to come to
// the same, and where it is, GitHub's parser has to see the same block.
func committed(t *testing.T, cm ghtest.Comment, text string) string {
	t.Helper()
	m := suggestedRE.FindStringSubmatch(cm.Body)
	if m == nil {
		t.Fatalf("there is no suggestion in %q", cm.Body)
	}
	code := strings.TrimSuffix(m[2], "\n")
	lines := strings.Split(text, "\n")
	from := cm.Line
	if cm.StartLine > 0 {
		from = cm.StartLine
	}
	old := lines[from-1 : cm.Line]
	after := strings.Join(slices.Concat(lines[:from-1], []string{code}, lines[cm.Line:]), "\n")
	dir := t.TempDir()
	name := filepath.Join(dir, "f")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	diff := fmt.Sprintf("--- a/f\n+++ b/f\n@@ -%d,%d +%d,%d @@\n-%s\n+%s\n", from, len(old), from, strings.Count(code, "\n")+1, strings.Join(old, "\n-"), strings.ReplaceAll(code, "\n", "\n+"))
	cmd := exec.CommandContext(t.Context(), "git", "apply", "--unidiff-zero", "-")
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(diff)
	cmd.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("git apply: %v\n%s\n%s", err, out, diff)
	}
	if got, err := os.ReadFile(name); err != nil || string(got) != after {
		t.Errorf("git apply makes another file: %v\n%s", err, diff)
	}
	if strings.HasSuffix(cm.Path, ".go") {
		if _, err := parser.ParseFile(token.NewFileSet(), "", after, parser.SkipObjectResolution); err != nil {
			t.Error(err)
		}
	}
	if cmark, err := exec.LookPath("cmark-gfm"); err == nil {
		cmd := exec.CommandContext(t.Context(), cmark, "--github-pre-lang", "-e", "tagfilter")
		cmd.Stdin = strings.NewReader(cm.Body)
		out, err := cmd.Output()
		html := strings.NewReplacer("&lt;", "<", "&gt;", ">", "&quot;", `"`, "&amp;", "&").Replace(string(out))
		if err != nil || strings.Count(string(out), `<pre lang="suggestion">`) != 1 || !strings.Contains(html, "<pre lang=\"suggestion\"><code>"+code+"\n</code></pre>") {
			t.Errorf("a reader sees another suggestion: %v\n%s\n%s", err, cm.Body, out)
		}
	}
	return after
}

// isPython asks Python whether texts are programs of its own, where it is.
func isPython(t *testing.T, list []string) {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		return
	}
	in, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), python, "-c", "import ast, json, sys\nfor text in json.load(sys.stdin): ast.parse(text)")
	cmd.Stdin = strings.NewReader(string(in))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("no Python: %v\n%s", err, out)
	}
}
