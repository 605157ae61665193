package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

const module = "github.com/handrail-bot/handrail"

// arrows lists the allowed imports of each package inside the module. A key ending in
// "/..." stands for the package and all below it; the longest matching key counts. Any
// other import is refused.
var arrows = map[string][]string{
	"cmd/...":           {"*"},
	"bot":               {"bot/*", "agent/session", "policy", "policy/*"},
	"bot/...":           {"bot/thread", "bot/store", "agent/session", "policy", "policy/*"},
	"bot/ghapp":         {"bot/ghapp/answer", "bot/quota", "bot/thread", "policy", "policy/*"},
	"bot/ghapp/answer":  {},
	"bot/ghapp/granted": {"bot/ghapp", "bot/ghapp/answer", "policy/secret"},
	"bot/ghapp/reads":   {"bot/ghapp", "bot/thread"},
	"bot/quota":         {},
	"bot/dashboard":     {"bot/store", "agent/session", "agent/workspace/outline", "policy", "policy/secret", "policy/phrase", "policy/untrusted"},
	"bot/webhook":       {"bot/quota", "bot/store"},
	"bot/watch":         {"bot/ghapp", "bot/live", "bot/store", "agent/session", "policy"},
	"bot/schedule":      {"bot/fault", "bot/ghapp", "bot/ghapp/reads", "bot/live", "bot/render", "bot/store", "bot/thread", "bot/watch", "policy"},
	"bot/ci":            {"bot/ghapp", "bot/ghapp/reads", "agent/session", "policy", "policy/untrusted", "bot/live", "bot/render", "bot/store", "bot/watch"},
	"bot/trigger":       {"bot/ghapp", "bot/live", "bot/store", "bot/thread", "bot/watch", "policy", "policy/untrusted"},
	"bot/sweep":         {"bot/ghapp", "bot/ghapp/reads", "bot/store", "bot/thread"},
	"bot/retain":        {"agent/session", "bot/store", "gitops", "policy/secret"},
	"bot/thread":        {},
	"bot/render":        {"bot/custom", "bot/thread", "agent/session", "policy", "policy/*"},
	"bot/fault":         {"bot/ghapp", "bot/render", "bot/store", "agent/session", "gitops"},
	"bot/outbox":        {"bot/fault", "bot/ghapp", "bot/render", "bot/store", "bot/thread", "agent/session"},

	"bot/render/usage": {},
	"bot/custom":       {"bot/render/usage", "policy", "policy/*"},
	"bot/command":      {"bot/custom", "bot/render/usage", "policy", "policy/*"},
	"bot/live":         {"agent/session", "bot/approval", "bot/fault", "bot/ghapp", "bot/ghapp/reads", "bot/outbox", "bot/pull", "bot/render", "bot/review", "bot/store", "bot/thread", "policy", "policy/phrase", "policy/untrusted"},
	"bot/review":       {"agent/session", "bot/ghapp", "bot/ghapp/reads", "bot/thread", "policy", "policy/ignore", "policy/phrase", "policy/untrusted"},
	"bot/pull":         {"bot/approval", "bot/store", "bot/thread", "bot/ghapp", "bot/render", "agent/session", "policy", "policy/phrase", "policy/untrusted"},
	"bot/conversation": {"bot/review", "bot/store", "bot/thread", "bot/ghapp", "bot/ghapp/reads", "agent/session", "policy/*"},

	"bot/approval": {"bot/ghapp", "bot/render", "agent/session", "policy", "bot/thread", "policy/*"},

	"bot/ghapp/ghtest":         {"bot/thread", "bot/ghapp/ghtest/bare", "bot/ghapp/ghtest/hub", "policy/untrusted"},
	"bot/ghapp/ghtest/webflow": {},
	"bot/ghapp/ghtest/graphql": {"bot/ghapp/ghtest", "bot/ghapp/ghtest/hub", "policy/untrusted"},
	"bot/ghapp/ghtest/hub":     {"bot/thread", "bot/ghapp/ghtest/bare"},
	"bot/ghapp/ghtest/bare":    {},
	"bot/ghapp/ghtest/ghcheck": {"bot/thread", "bot/ghapp/ghtest", "bot/ghapp/ghtest/*"},

	"bot/store/sqlite":    {"bot/store", "bot/store/sqlstore", "bot/thread", "agent/session"},
	"bot/store/postgres":  {"bot/store", "bot/store/sqlstore", "bot/thread", "agent/session"},
	"bot/store/threadref": {"agent/session", "bot/store", "gitops", "policy/pattern", "policy/secret"},
	"bot/store/storetest": {"bot/store", "bot/thread", "agent/session"},

	"agent":                         {"agent/*", "policy", "policy/*"},
	"agent/session":                 {"agent/workspace", "policy", "policy/phrase", "policy/untrusted"},
	"agent/speech":                  {"agent/llm", "agent/llm/mend", "agent/llm/prose", "agent/llm/toolcall", "agent/session", "policy/untrusted"},
	"agent/prompt":                  {"agent/llm", "agent/llm/mend", "policy", "policy/*"},
	"agent/deps":                    {"agent/workspace", "policy", "policy/*"},
	"agent/mcp":                     {"agent/session", "policy/phrase", "policy/untrusted"},
	"agent/work":                    {"agent", "agent/deps", "agent/index", "agent/llm", "agent/mcp", "agent/project", "agent/prompt", "agent/session", "agent/testrun", "agent/workspace", "agent/workspace/outline", "gitops", "gitops/lines", "policy", "policy/secret", "policy/phrase", "policy/untrusted"},
	"agent/index":                   {"agent/llm", "agent/workspace/outline"},
	"agent/layer":                   {"agent/session", "agent/workspace", "gitops/flock", "policy"},
	"agent/project":                 {"agent/patch/fragment", "agent/session", "agent/testrun", "agent/tools", "agent/workspace", "agent/workspace/outline", "policy", "policy/*"},
	"agent/llm":                     {},
	"agent/lsp":                     {},
	"agent/lsp/lsptest":             {},
	"agent/patch":                   {"agent/patch/syntax", "agent/workspace/outline", "gitops/lines"},
	"agent/patch/fragment":          {"agent/workspace/outline"},
	"agent/patch/syntax":            {"agent/workspace/outline"},
	"agent/acp":                     {},
	"agent/acp/acptest":             {},
	"agent/guest":                   {"agent/acp", "agent/compact", "agent/llm", "agent/mcp", "agent/patch", "agent/session", "agent/tools", "agent/workspace", "policy", "policy/phrase", "policy/shell", "policy/untrusted"},
	"agent/seat":                    {},
	"agent/llm/...":                 {"agent/llm", "agent/llm/wire"},
	"agent/llm/mend":                {},
	"agent/llm/toolcall":            {"agent/llm", "agent/llm/mend"},
	"agent/llm/llmcheck":            {"agent/llm", "agent/llm/llmtest"},
	"agent/workspace":               {},
	"agent/workspace/...":           {"agent/workspace"},
	"agent/workspace/local":         {"agent/workspace", "agent/workspace/host"},
	"agent/workspace/bwrap":         {"agent/workspace", "agent/workspace/seccomp"},
	"agent/workspace/beside":        {"agent/workspace"},
	"agent/workspace/browser":       {"agent/workspace", "policy/reach"},
	"agent/workspace/egress":        {"agent/workspace", "policy/reach"},
	"agent/workspace/seccomp":       {},
	"agent/workspace/docker":        {"agent/workspace", "agent/workspace/local"},
	"agent/workspace/outline":       {},
	"agent/workspace/host":          {"agent/lsp", "agent/workspace", "agent/workspace/browser", "agent/workspace/outline", "agent/workspace/seccomp", "policy", "policy/*"},
	"agent/workspace/workspacetest": {"agent/layer", "agent/workspace", "agent/workspace/egress", "agent/workspace/host", "policy/longtest"},
	"agent/tools":                   {"agent/index", "agent/llm", "agent/mcp", "agent/patch", "agent/session", "agent/workspace", "policy", "policy/*"},
	"agent/testrun":                 {"agent/session", "agent/workspace"},
	"agent/tools/github":            {"agent/tools", "policy", "policy/untrusted"},
	"agent/tools/builtin":           {"agent/index", "agent/llm", "agent/llm/mend", "agent/mcp", "agent/patch", "agent/patch/syntax", "agent/session", "agent/testrun", "agent/patch/fragment", "agent/tools", "agent/workspace", "policy", "policy/typo", "policy/phrase", "policy/shell", "policy/untrusted"},
	"agent/tools/toolstest":         {"agent/session", "agent/tools", "agent/tools/builtin", "agent/workspace", "agent/workspace/local", "policy"},
	"agent/...":                     {"agent/llm", "agent/session", "agent/workspace", "policy", "policy/*"},

	"gitops":       {"gitops/*"},
	"gitops/...":   {},
	"gitops/base":  {"gitops/flock", "gitops/objects"},
	"gitops/flock": {},

	"policy":                       {"policy/reach", "policy/shell", "policy/strict", "policy/typo", "policy/phrase", "policy/untrusted"},
	"policy/shell":                 {"policy/shell/*"},
	"policy/shell/code":            {},
	"policy/ignore":                {},
	"policy/pattern":               {},
	"policy/phrase":                {},
	"policy/strict":                {"policy/typo"},
	"policy/reach":                 {},
	"policy/typo":                  {},
	"policy/secret":                {"policy/untrusted"}, // a credential is also found behind invisible characters
	"policy/untrusted":             {},
	"policy/untrusted/githubcheck": {},
	"policy/longtest":              {},
}

// homes names the packages that may import a third party; a path stands for
// everything below it. Test files are held to the same homes, except those
// listed in testHomes.
var homes = map[string][]string{
	"github.com/ollama/ollama":          {"agent/llm/ollama", "agent/prompt", "agent"}, // in the last two tests ask the server's own code for prompts
	"github.com/sashabaranov/go-openai": {"agent/llm/openai"},
	"github.com/google/go-github":       {"bot/ghapp", "bot/ghapp/answer", "bot/ghapp/granted", "bot/ghapp/ghtest/ghcheck", "bot/webhook"},
	"github.com/compose-spec":           {"cmd/handrail"}, // a test reads docs/deploy
	"github.com/bradleyfalzon":          {"bot/ghapp", "bot/ghapp/granted"},
	"github.com/golang-jwt/jwt":         {"bot/ghapp", "bot/ghapp/ghtest", "bot/ghapp/ghtest/ghcheck"},
	"github.com/gofri":                  {"bot/ghapp"},
	"github.com/go-git/go-git":          {"gitops", "gitops/base", "gitops/objects"},
	"github.com/ProtonMail/go-crypto":   {"gitops", "bot/ghapp/ghtest/webflow"},
	"golang.org/x/crypto":               {"gitops"},
	"github.com/sergi/go-diff":          {"gitops/lines"},
	"modernc.org/sqlite":                {"bot/store/sqlite"},
	"github.com/robfig/cron":            {"bot/schedule"},
	"github.com/jackc/pgx":              {"bot/store/postgres"},
	"github.com/pressly/goose":          {"bot/store/sqlite", "bot/store/postgres", "bot/store/sqlstore"},
	"github.com/riverqueue/river":       {"bot/queue", "bot/store/sqlite", "bot/store/postgres", "bot/store/sqlstore"},
	"mvdan.cc/sh":                       {"agent/patch/syntax", "agent/testrun", "agent/workspace/host", "policy/shell"},
	"github.com/zricethezav/gitleaks":   {"policy/secret"},
	"github.com/pelletier/go-toml":      {"agent/patch/syntax", "policy/secret"},
	"go.yaml.in/yaml":                   {"policy", "policy/strict", "agent/llm/llmtest", "agent/patch/syntax", "agent/project", "cmd/doctor", "cmd/config", "cmd/handrail"},
	"github.com/invopop/jsonschema":     {"policy/strict"},
	"github.com/modelcontextprotocol":   {"agent/mcp"},
	"github.com/moby/moby":              {"agent/workspace/docker"},
	"github.com/moby/patternmatcher":    {"agent/workspace/docker"},
	"golang.org/x/net/bpf":              {"agent/workspace/seccomp"},
	"github.com/sourcegraph/jsonrpc2":   {"agent/acp", "agent/lsp", "agent/lsp/lsptest", "agent/workspace", "agent/workspace/egress", "agent/workspace/host"},
	"github.com/alecthomas/kong":        {"cmd/handrail", "cmd/terminal"},
	"github.com/getkin/kin-openapi":     {"bot/ghapp/ghtest/ghcheck"},
	"github.com/rogpeppe/go-internal":   {"cmd/handrail", "agent/deps", "agent/tools", "agent/tools/builtin", "agent/patch", "agent/llm/toolcall", "agent/project", "agent/testrun", "gitops", "policy", "bot/render", "bot/command", "bot/review"},
	"github.com/JohannesKaufmann":       {"bot/render"},
	"github.com/yuin/goldmark":          {"bot/render", "cmd/terminal", "policy/untrusted"},
	"golang.org/x/net/html":             {"policy/untrusted", "bot/command", "bot/dashboard"},
	"github.com/charmbracelet/x/ansi":   {"agent/workspace/host", "policy/untrusted", "agent/tools", "cmd/door", "cmd/handrail", "cmd/terminal"},
	"golang.org/x/net/idna":             {"policy/reach"},
	"golang.org/x/term":                 {"cmd/terminal"},
	"github.com/prometheus":             {"cmd/telemetry"},
	"go.opentelemetry.io":               {"cmd/telemetry", "cmd/telemetry/telemetrytest"},
	"google.golang.org/protobuf":        {"cmd/telemetry", "cmd/telemetry/telemetrytest"},
	"github.com/bmatcuk/doublestar":     {"policy", "policy/ignore", "gitops", "agent/workspace/host", "agent/tools"},
}

type source struct {
	dir, file string
	test      bool
	tree      *ast.File
	fset      *token.FileSet
}

var parsed = sync.OnceValues(parseAll)

// sources returns every Go file of the module. Callers must not change the trees.
func sources(t *testing.T) []source {
	t.Helper()
	all, err := parsed()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) == 0 {
		t.Fatal("no sources found")
	}
	return all
}

func parseAll() (all []source, err error) {
	root, err := filepath.Abs("../..")
	if err != nil {
		return nil, err
	}
	err = filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name := d.Name(); p != root && (strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || name == "testdata" || name == "docs") {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(p, ".go") {
			return nil
		}
		fset := token.NewFileSet()
		tree, err := parser.ParseFile(fset, p, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		all = append(all, source{dir: path.Dir(rel), file: rel, test: strings.HasSuffix(rel, "_test.go"), tree: tree, fset: fset})
		return nil
	})
	return all, err
}

func (s source) line(p token.Pos) int { return s.fset.Position(p).Line }

// receiver is the name of the type that a method belongs to.
func receiver(f *ast.FuncDecl) string {
	e := f.Recv.List[0].Type
	for {
		switch x := e.(type) {
		case *ast.StarExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.IndexListExpr:
			e = x.X
		case *ast.Ident:
			return x.Name
		default:
			return fmt.Sprintf("%T", e)
		}
	}
}

func imports(s source) []string {
	var out []string
	for _, im := range s.tree.Imports {
		p, err := strconv.Unquote(im.Path.Value)
		if err == nil {
			out = append(out, p)
		}
	}
	return out
}

// allowed looks up the longest key of arrows that covers dir.
func allowed(dir string) ([]string, bool) {
	if v, ok := arrows[dir]; ok {
		return v, true
	}
	for d := dir; d != "."; d = path.Dir(d) {
		if v, ok := arrows[d+"/..."]; ok {
			return v, true
		}
	}
	return nil, false
}

func covers(patterns []string, target string) bool {
	for _, p := range patterns {
		if p == "*" || p == target {
			return true
		}
		if base, ok := strings.CutSuffix(p, "/*"); ok && strings.HasPrefix(target, base+"/") {
			return true
		}
	}
	return false
}

func TestArrows(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		may, ok := allowed(s.dir)
		if !ok {
			t.Errorf("%s: package %s has no row in arrows (cmd/handrail/deps_test.go): add one with its allowed imports", s.file, s.dir)
			continue
		}
		for _, im := range imports(s) {
			target, own := strings.CutPrefix(im, module+"/")
			if !own || target == s.dir || target == "policy/pattern" { // a function of the standard library's kind
				continue
			}
			if s.test && testArrow(s.dir, target) {
				continue
			}
			if !covers(may, target) {
				t.Errorf("%s imports %s, and its row in arrows (cmd/handrail/deps_test.go) allows only %q: declare a small interface where it is used, or allow the import if it goes downward", s.file, target, may)
			}
		}
	}
}

// testOnly lists the packages that only tests link: conformance suites, and the parts of
// the doubles without a use in the demo.
var testOnly = []string{"agent/acp/acptest", "agent/lsp/lsptest", "agent/llm/llmcheck", "agent/tools/toolstest", "agent/workspace/workspacetest", "bot/ghapp/ghtest/ghcheck", "bot/ghapp/ghtest/graphql", "bot/ghapp/ghtest/webflow", "bot/store/storetest", "cmd/telemetry/telemetrytest", "policy/longtest", "policy/untrusted/githubcheck"}

// The program links two test doubles, for the demo: the small GitHub and the scripted
// model.
func TestTestCodeIsNotLinked(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("go", "list", "-mod=readonly", "-deps", ".")
	cmd.Env = append(os.Environ(), "GOPROXY=off")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("list dependencies: %v", err)
	}
	linked := strings.Fields(string(out))
	if !slices.Contains(linked, module+"/bot/ghapp/ghtest") {
		t.Fatalf("the demo's GitHub is not among %d packages", len(linked))
	}
	never := []string{"testing", "google.golang.org/grpc", "github.com/compose-spec", "github.com/getkin/kin-openapi", "github.com/google/go-cmp", "github.com/rogpeppe/go-internal", "go.uber.org/goleak", "pgregory.net/rapid"}
	for _, p := range testOnly {
		never = append(never, module+"/"+p)
	}
	for _, p := range linked {
		for _, bad := range never {
			if p == bad || strings.HasPrefix(p, bad+"/") {
				t.Errorf("the program links %s, which is for tests only: see testOnly in deps_test.go, and go list -deps ./cmd/handrail", p)
			}
		}
	}
}

// wholeWay lists further imports of tests that follow a report from the model to GitHub.
var wholeWay = map[string][]string{"bot/review": {"agent/llm", "agent/tools", "agent/tools/builtin"}}

// testArrow lets tests use the doubles and conformance suites of words, and
// adapters of their own part.
func testArrow(dir, target string) bool {
	if (strings.HasSuffix(target, "test") || slices.Contains(testOnly, target)) && !strings.HasPrefix(target, "cmd/") {
		return true
	}
	part, _, _ := strings.Cut(dir, "/")
	return strings.HasPrefix(target, part+"/") || covers(wholeWay[dir], target)
}

func TestThirdPartyHomes(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		for _, im := range imports(s) {
			for lib, where := range homes {
				if im != lib && !strings.HasPrefix(im, lib+"/") {
					continue
				}
				if !slices.Contains(where, s.dir) {
					t.Errorf("%s imports %s, whose home is %s: call that package instead, or move the home in homes (cmd/handrail/deps_test.go)", s.file, im, strings.Join(where, ", "))
				}
			}
		}
	}
}

func TestEnvironmentOnlyInCmd(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		if s.test || strings.HasPrefix(s.dir, "cmd/") || strings.HasSuffix(s.dir, "test") {
			continue
		}
		ast.Inspect(s.tree, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if id, ok := sel.X.(*ast.Ident); ok && id.Name == "os" && slices.Contains([]string{"Getenv", "LookupEnv", "Environ"}, sel.Sel.Name) {
				t.Errorf("%s: os.%s outside cmd: read the variable there and pass its value in a Config", s.fset.Position(n.Pos()), sel.Sel.Name)
			}
			return true
		})
	}
}

func TestNoMachinePaths(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		data, err := os.ReadFile(filepath.Join("../..", s.file))
		if err != nil {
			t.Fatal(err)
		}
		for _, bad := range []string{"/work" + "/main", "/work" + "/shared"} {
			if strings.Contains(string(data), bad) {
				t.Errorf("%s names %s", s.file, bad)
			}
		}
	}
}

// maxFuncLines keeps a function readable from top to bottom in one go.
const maxFuncLines = 100

func TestFunctionLength(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		for _, d := range s.tree.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			if n := s.line(f.End()) - s.line(f.Pos()) + 1; n > maxFuncLines {
				t.Errorf("%s: %s has %d lines, more than %d", s.fset.Position(f.Pos()), f.Name.Name, n, maxFuncLines)
			}
		}
	}
}

func TestPackageComments(t *testing.T) {
	t.Parallel()
	has := map[string]bool{}
	for _, s := range sources(t) {
		if !s.test {
			has[s.dir] = has[s.dir] || s.tree.Doc != nil
		}
	}
	for dir, ok := range has {
		if !ok {
			t.Errorf("package %s has no package comment", dir)
		}
	}
}

func TestNoVaguePackages(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		if slices.Contains([]string{"util", "utils", "common", "shared", "types", "models", "helpers"}, s.tree.Name.Name) {
			t.Errorf("%s: package name %s says nothing", s.file, s.tree.Name.Name)
		}
	}
}
