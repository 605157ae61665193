package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/agent/lsp/lsptest"
	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/policy/longtest"
)

// fakeServer makes this program a language server, for files with the extension in fakeFiles.
const (
	fakeServer = "FAKE_LANGUAGE_SERVER"
	fakeFiles  = "FAKE_LANGUAGE_SERVER_FILES"
	fakeStarts = "FAKE_LANGUAGE_SERVER_STARTS" // file that gets its process ID
	fakeIndex  = "FAKE_LANGUAGE_SERVER_INDEX"  // file that gets the questions
)

func TestMain(m *testing.M) {
	if kind := os.Getenv(fakeBrowser); kind != "" {
		browse(kind)
	}
	if lies, yes := os.LookupEnv(fakeServer); yes {
		if f, err := os.OpenFile(os.Getenv(fakeStarts), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644); err == nil {
			fmt.Fprintln(f, os.Getpid())
			f.Close()
		}
		s := &lsptest.Server{Lies: lies, Ext: os.Getenv(fakeFiles), Ended: func() { os.Exit(3) }, Index: os.Getenv(fakeIndex)}
		s.Serve(struct {
			io.Reader
			io.WriteCloser
		}{os.Stdin, os.Stdout})
		os.Exit(0)
	}
	longtest.Wide(16)
	os.Exit(m.Run())
}

// served is a workspace on some files, with a fake language server for .x files, or those of another
// extension.
type served struct {
	*testing.T
	*workspace.Workspace
	dir    string
	starts string // file with the process IDs of the server
}

func serve(t *testing.T, lies string, files map[string]string, limits workspace.Limits, exts ...string) served {
	t.Helper()
	return serveIn(t, Config{Limits: limits}, lies, files, exts...)
}

// unhurried makes time limits of seconds ones of minutes: a busy machine is no fault of an answer.
const unhurried = 30

func serveIn(t *testing.T, cfg Config, lies string, files map[string]string, exts ...string) served {
	t.Helper()
	ext := strings.Join(exts, "")
	if ext == "" {
		ext = "x"
	}
	dir, base := t.TempDir(), t.TempDir()
	for name, text := range files {
		for _, at := range []string{dir, base} {
			if err := os.WriteFile(filepath.Join(at, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	ours, theirs := net.Pipe()
	ended := make(chan error, 1)
	starts := filepath.Join(t.TempDir(), "starts")
	cfg.Root, cfg.Base, cfg.slower = dir, base, cmp.Or(cfg.slower, unhurried)
	cfg.Env = []string{"PATH=" + os.Getenv("PATH"), fakeServer + "=" + lies, fakeFiles + "=." + ext, fakeStarts + "=" + starts,
		fakeIndex + "=" + filepath.Join(filepath.Dir(starts), "index")}
	go func() { ended <- Serve(t.Context(), theirs, cfg) }()
	ws, err := workspace.Connect(t.Context(), workspace.Config{Engine: "test", Conn: ours})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(ws.Close(t.Context()), <-ended); err != nil {
			t.Error(err)
		}
	})
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	list, err := ws.Languages(t.Context(), []workspace.LanguageServer{
		{Name: "none", Command: []string{"/nowhere/server"}, Extensions: []string{"y"}},
		{Name: "fake", Command: []string{self}, Extensions: []string{ext}},
	})
	if err != nil || len(list) != 1 || list[0].Server != "fake" || !slices.Equal(list[0].Extensions, []string{"." + ext}) {
		t.Fatalf("languages are %+v, %v", list, err)
	}
	return served{t, ws, dir, starts}
}

func (s served) ask(q workspace.CodeQuery) workspace.CodeAnswer {
	s.Helper()
	q.Max, q.Declaration = 30, true
	a, err := s.Code(s.Context(), q)
	if err != nil {
		s.Fatal(err)
	}
	return a
}

func placesOf(items []workspace.CodeItem) string {
	var out []string
	for _, i := range items {
		out = append(out, i.Path+":"+string(rune('0'+i.Line)))
	}
	return strings.Join(out, " ")
}

var threeFiles = map[string]string{
	"a.x": "func Hub\nHub\n",
	"b.x": "use Hub\n",
	"c.x": "\nHub and Hub\n",
	"n.y": "Hub\n",
}

func TestCodeAnswers(t *testing.T) {
	t.Parallel()
	s := serve(t, lsptest.Busy, threeFiles, workspace.Limits{})
	a := s.ask(workspace.CodeQuery{Ask: workspace.AskDefinition, Path: "b.x", Name: "Hub"})
	if got := placesOf(a.Items); got != "a.x:1" {
		t.Errorf("the first answer does not wait: %q: %+v", got, a)
	}
	a = s.ask(workspace.CodeQuery{Ask: workspace.AskReferences, Path: "b.x", Name: "Hub"})
	if got := placesOf(a.Items); got != "a.x:1 a.x:2 b.x:1 c.x:2" || len(a.Also) > 0 || len(a.Notes) > 0 {
		t.Errorf("references are %q: %+v", got, a)
	}
	a = s.ask(workspace.CodeQuery{Ask: workspace.AskDefinition, Path: "b.x", Name: "Hub"})
	if got := placesOf(a.Items); got != "a.x:1" || a.Items[0].Lines[0].Text != "func Hub" || !a.Items[0].Lines[0].Hit {
		t.Errorf("the definition is %q: %+v", got, a)
	}
	a = s.ask(workspace.CodeQuery{Ask: workspace.AskDefinition, Path: "n.y", Name: "Hub"})
	if a.Why != "there is no language server for .y files here" {
		t.Errorf("without a server: %+v", a)
	}
	a = s.ask(workspace.CodeQuery{Ask: workspace.AskTypes, Path: "a.x", Name: "Hub", Direction: "subtypes"})
	if !a.Lacks {
		t.Errorf("without the feature: %+v", a)
	}
	a = s.ask(workspace.CodeQuery{Ask: workspace.AskSymbol, Name: "Hub"})
	if got := placesOf(a.Items); got != "a.x:1" {
		t.Errorf("the symbol is at %q: %+v", got, a)
	}
	for _, q := range []workspace.CodeQuery{
		{Ask: workspace.AskDefinition, Path: "a.x", Name: "Hubb"},
		{Ask: workspace.AskDefinition, Path: "a.x", Line: 9},
	} {
		if _, err := s.Code(t.Context(), q); err == nil {
			t.Errorf("%+v has an answer", q)
		}
	}
}

// TestIncompleteAnswers: a server that knows only open documents is asked again with those that have
// the word. What is missing then is told.
func TestIncompleteAnswers(t *testing.T) {
	t.Parallel()
	s := serve(t, lsptest.Partial, threeFiles, workspace.Limits{})
	a := s.ask(workspace.CodeQuery{Ask: workspace.AskReferences, Path: "a.x", Name: "Hub", Line: 1})
	if got := placesOf(a.Items); got != "a.x:1 a.x:2 b.x:1 c.x:2" || len(a.Also) > 0 {
		t.Errorf("references are %q: %+v", got, a)
	}
	one := map[string]string{"a.x": "func Hub\n", "b.x": "use Hub\n"}
	s = serve(t, lsptest.Missing, one, workspace.Limits{})
	a = s.ask(workspace.CodeQuery{Ask: workspace.AskReferences, Path: "a.x", Name: "Hub", Line: 1})
	if got := placesOf(a.Items); got != "a.x:1" || placesOf(a.Also) != "b.x:1" {
		t.Errorf("references are %q, not told are %q", got, placesOf(a.Also))
	}
}

// TestLyingServers: places that are not there are not shown, and the answer says that it may be wrong.
func TestLyingServers(t *testing.T) {
	t.Parallel()
	all := "a.x:1 b.x:1 c.x:2"
	for lies, want := range map[string][2]string{ // files that are not named, and a part of the notes
		lsptest.Null:     {all, ""},
		lsptest.Negative: {"b.x:1 c.x:2", "names lines that are not there"},
		lsptest.Else:     {all, "5 of the places are in no file that can be read: jdt://contents/"},
		lsptest.Host:     {all, "5 of the places are in no file that can be read: file://elsewhere/"},
		lsptest.Pieces:   {all, ""},
		lsptest.Shifted:  {"", "4 of the places are in lines without Hub"}, // another line has it, too
	} {
		s := serve(t, lies, threeFiles, workspace.Limits{})
		a := s.ask(workspace.CodeQuery{Ask: workspace.AskReferences, Path: "a.x", Name: "Hub", Line: 1})
		if lies == lsptest.Negative {
			want[0] = placesOf(a.Also) // its files are named
		}
		if len(a.Items) > 0 && lies != lsptest.Shifted || placesOf(a.Also) != want[0] || !strings.Contains(strings.Join(a.Notes, "\n"), want[1]) {
			t.Errorf("%s: %+v", lies, a)
		}
		a = s.ask(workspace.CodeQuery{Ask: workspace.AskOutline, Path: "a.x"})
		if lies == lsptest.Negative && (len(a.Items) > 0 || !strings.Contains(strings.Join(a.Notes, "\n"), want[1])) {
			t.Errorf("%s: an outline: %+v", lies, a)
		}
		a = s.ask(workspace.CodeQuery{Ask: workspace.AskCalls, Direction: "incoming", Path: "a.x", Name: "Hub"})
		if len(a.Items) > 0 {
			t.Errorf("%s: callers: %+v", lies, a)
		}
	}
	s := serve(t, lsptest.Huge, threeFiles, workspace.Limits{})
	for range 2 {
		a := s.ask(workspace.CodeQuery{Ask: workspace.AskReferences, Path: "a.x", Name: "Hub"})
		if !strings.Contains(a.Why, "it sent a message of 41943040 bytes") && !strings.Contains(a.Why, "has ended by itself 2 times") {
			t.Errorf("an answer of 40 MB: %q", a.Why)
		}
	}
}

// TestBehind: places that do not have the name, or are in files that do not exist, are told, whatever the question;
// and symbols in other lines lead to no other name.
func TestBehind(t *testing.T) {
	t.Parallel()
	files := map[string]string{"a.x": "func Hub\n\nHub\n", "b.x": "use Hub()\n\nx\n", "c.x": "\nHub\n"}
	without := " in lines without Hub: under another name, or the language server is behind"
	const behind = "names lines that are not there"
	for _, test := range []struct {
		lies  string
		q     workspace.CodeQuery
		items string
		note  string
	}{
		{lsptest.Shifted, workspace.CodeQuery{Ask: workspace.AskDefinition, Path: "b.x", Name: "Hub"}, "a.x:2", without},
		{lsptest.Shifted, workspace.CodeQuery{Ask: workspace.AskCalls, Direction: "incoming", Path: "a.x", Name: "Hub"}, "b.x:2", without},
		{lsptest.Sunken, workspace.CodeQuery{Ask: workspace.AskSymbol, Name: "Hub"}, "a.x:2", without},
		{lsptest.Sunken, workspace.CodeQuery{Ask: workspace.AskOutline, Path: "a.x"}, "a.x:2", behind},
		{lsptest.Sunken, workspace.CodeQuery{Ask: workspace.AskReferences, Path: "a.x", Name: "Hub.Hub"}, "a.x:1 a.x:3 b.x:1 c.x:2", ""},
		{lsptest.Spread, workspace.CodeQuery{Ask: workspace.AskReferences, Path: "a.x", Name: "Hub"}, "a.x:1 a.x:3 b.x:1 c.x:2", behind},
		{lsptest.Drive, workspace.CodeQuery{Ask: workspace.AskDefinition, Path: "a.x", Name: "Hub"}, "/c:DIR/a.x:1", ""},
	} {
		s := serve(t, test.lies, files, workspace.Limits{})
		a := s.ask(test.q)
		items := strings.ReplaceAll(placesOf(a.Items), s.dir, "DIR")
		if items != test.items || !strings.Contains(strings.Join(a.Notes, "\n"), test.note) {
			t.Errorf("%s: %s: %q: %q", test.lies, test.q.Ask, items, a.Notes)
		}
	}
}

// TestPositions: line and character are a position; a name is found by exact case and else by any, near the line; a
// line alone means its first name.
func TestPositions(t *testing.T) {
	t.Parallel()
	s := serve(t, "", map[string]string{"a.x": "func Hub\nfunc HUB\n\nlone word\n"}, workspace.Limits{})
	for _, test := range []struct {
		q    workspace.CodeQuery
		want string
	}{
		{workspace.CodeQuery{Name: "HUB"}, "HUB"},
		{workspace.CodeQuery{Name: "hub"}, "Hub"},
		{workspace.CodeQuery{Name: "hub", Line: 3}, "HUB"},
		{workspace.CodeQuery{Line: 4}, "lone"},
		{workspace.CodeQuery{Line: 4, Character: 6}, "word"},
		{workspace.CodeQuery{Name: "Hub", Line: 4, Character: 6}, "word"},
	} {
		test.q.Ask, test.q.Path = workspace.AskHover, "a.x"
		if a := s.ask(test.q); a.Text != "```go\nfunc "+test.want+"\n```" {
			t.Errorf("%+v: %+v", test.q, a)
		}
	}
}

// TestOneRequest: a question to a warm server is one request.
func TestOneRequest(t *testing.T) {
	t.Parallel()
	s := serve(t, "", threeFiles, workspace.Limits{})
	for _, ask := range []workspace.CodeAsk{workspace.AskDefinition, workspace.AskReferences, workspace.AskHover} {
		q := workspace.CodeQuery{Ask: ask, Path: "a.x", Name: "Hub", Line: 1}
		s.ask(q)
		before := s.questions()
		s.ask(q)
		if now := s.questions(); len(now) != len(before)+1 {
			t.Errorf("%s: asked was %q", ask, now[len(before):])
		}
	}
}

// questions returns the questions that the server was asked.
func (s served) questions() []string {
	s.Helper()
	data, err := os.ReadFile(filepath.Join(filepath.Dir(s.starts), "index"))
	if err != nil && !os.IsNotExist(err) {
		s.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(data)), "\n")
}

// TestManyPlaces: of an answer with many places in a line each line is shown once, and the others are counted.
func TestManyPlaces(t *testing.T) {
	t.Parallel()
	files := map[string]string{"a.x": "func Hub\n" + strings.Repeat("Hub\n", 99) + strings.Repeat("x\n", 20_000)}
	s := serve(t, lsptest.Flood, files, workspace.Limits{})
	a := s.ask(workspace.CodeQuery{Ask: workspace.AskReferences, Path: "a.x", Name: "Hub"})
	if len(a.Items) != 30 || a.Left != 70 || len(a.More) != 1 {
		t.Errorf("%d places, %d more in %+v", len(a.Items), a.Left, a.More)
	}
}

// TestEndlessWork: an answer during work that does not end says so, and is waited for once.
func TestEndlessWork(t *testing.T) {
	t.Parallel()
	s := serveIn(t, Config{}, lsptest.Endless+","+lsptest.Partial, threeFiles)
	s.ask(workspace.CodeQuery{Ask: workspace.AskDefinition, Path: "a.x", Name: "Hub"})
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute) // less than a second wait
	defer cancel()
	q := workspace.CodeQuery{Ask: workspace.AskReferences, Path: "a.x", Name: "Hub", Declaration: true, Max: 30}
	a, err := s.Code(ctx, q)
	if err != nil || !slices.Contains(a.Notes, "The language server fake is still indexing, so the answer may be incomplete") {
		t.Errorf("%+v, %v", a, err)
	}
}

// TestToldWhileStarting: a file that changes while a server starts, after the server has read it, is told, too.
func TestToldWhileStarting(t *testing.T) {
	t.Parallel()
	s := serve(t, lsptest.Slow, threeFiles, workspace.Limits{})
	q := workspace.CodeQuery{Ask: workspace.AskDefinition, Path: "a.x", Name: "Hub"} // is compared with no search
	first := make(chan workspace.CodeAnswer)
	go func() { first <- s.ask(q) }()
	for !slices.Contains(s.questions(), "initialize") {
		<-time.After(10 * time.Millisecond)
	}
	if err := s.Write(t.Context(), "b.x", []byte("\n\nfunc Hub\n")); err != nil {
		t.Fatal(err)
	}
	s.ask(workspace.CodeQuery{Ask: workspace.AskDefinition, Path: "n.y", Name: "Hub"}) // looks for changes
	if err := os.WriteFile(filepath.Join(s.dir, "ready"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	<-first
	if got := placesOf(s.ask(q).Items); got != "a.x:1 b.x:3" {
		t.Errorf("definitions are %q", got)
	}
}

// TestServerStates: a server that is here says its version; for files without one there is a way to install it.
func TestServerStates(t *testing.T) {
	t.Parallel()
	s := serve(t, "", map[string]string{"a.x": "func Hub\n", "b.x": "", "c.java": "", "d.txt": ""}, workspace.Limits{})
	got, err := s.Servers(t.Context())
	if err != nil || len(got) != 2 {
		t.Fatalf("%+v, %v", got, err)
	}
	is, is2 := got[0], got[1]
	if is.Server != "fake" || !is.Installed || is.Files != 2 || is.Version != "1.2.3" || is.Start <= 0 || is.Why != "" {
		t.Errorf("installed is %+v", is)
	}
	if is2.Server != "jdtls" || is2.Installed || is2.Files != 1 || !slices.Equal(is2.Extensions, []string{".java"}) || is2.Install == "" {
		t.Errorf("missing is %+v", is2)
	}
	s = serve(t, lsptest.UTF7, map[string]string{"a.x": ""}, workspace.Limits{})
	if got, err := s.Servers(t.Context()); err != nil || len(got) != 1 || !strings.Contains(got[0].Why, "does not start") {
		t.Errorf("one that does not start: %+v, %v", got, err)
	}
}

// TestNamesInComments: a file with a name in comments alone is not expected in an answer, unless its language
// has types there.
func TestNamesInComments(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ ext, text, also string }{
		{"rs", "/* as\n * hub */\n", ""},
		{"rs", "x // hub\n", ""},
		{"rs", "\nhub // as\n", "z.rs:2"},
		{"rs", "/*\n*/ hub\n", "z.rs:2"},
		{"js", "/** hub */\n", "z.js:1"},
	} {
		files := map[string]string{"a." + test.ext: "fn hub() {}\n", "z." + test.ext: test.text}
		s := serve(t, lsptest.Missing, files, workspace.Limits{}, test.ext)
		a := s.ask(workspace.CodeQuery{Ask: workspace.AskReferences, Path: "a." + test.ext, Name: "hub"})
		if placesOf(a.Items) != "a."+test.ext+":1" || placesOf(a.Also) != test.also {
			t.Errorf("%q: found is %q, missing is %q", test.text, placesOf(a.Items), placesOf(a.Also))
		}
	}
}

// TestIncompleteCallersAndDefinitions: callers, implementations and symbols by name are compared as references are.
// The outline does not know the language .x, so that Python's is taken.
func TestIncompleteCallersAndDefinitions(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"a.py": "def hub():\n    pass\n", "b.py": "def b():\n    hub()\n\n    def hub():\n        pass\n",
		"c.py": "class C:\n    def hub():\n        pass\n    x = hub()\n",
	}
	for _, test := range []struct {
		q           workspace.CodeQuery
		all, before string // what is found, and without the last one
	}{
		{workspace.CodeQuery{Ask: workspace.AskCalls, Direction: "incoming", Path: "a.py", Name: "hub"}, "a.py:1 b.py:2 b.py:4 c.py:2 c.py:4", ""},
		{workspace.CodeQuery{Ask: workspace.AskImplementations, Path: "a.py", Name: "hub"}, "a.py:1 b.py:4 c.py:2", "a.py:1 b.py:4"},
		{workspace.CodeQuery{Ask: workspace.AskSymbol, Name: "hub"}, "a.py:1 b.py:4 c.py:2", "a.py:1 b.py:4"},
		{workspace.CodeQuery{Ask: workspace.AskSymbol, Name: "hub", Path: "b.py"}, "b.py:4", "b.py:4"},
	} {
		s := serve(t, lsptest.Partial, files, workspace.Limits{}, "py")
		if a := s.ask(test.q); placesOf(a.Items) != test.all || len(a.Also) > 0 {
			t.Errorf("%s: found is %q: %+v", test.q.Ask, placesOf(a.Items), a)
		}
		if test.before == "" {
			continue
		}
		s = serve(t, lsptest.Missing, files, workspace.Limits{}, "py")
		a := s.ask(test.q)
		also := "c.py:2"
		if test.q.Path == "b.py" {
			also = ""
		}
		if placesOf(a.Items) != test.before || placesOf(a.Also) != also {
			t.Errorf("%s: found is %q, missing is %q", test.q.Ask, placesOf(a.Items), placesOf(a.Also))
		}
	}
	one := map[string]string{"a.py": "def hub(): pass\n", "b.py": "hub()\n"}
	s := serve(t, lsptest.Missing, one, workspace.Limits{}, "py")
	a := s.ask(workspace.CodeQuery{Ask: workspace.AskCalls, Direction: "incoming", Path: "a.py", Name: "hub"})
	if placesOf(a.Also) != "b.py:1" {
		t.Errorf("calls: missing is %q: %+v", placesOf(a.Also), a)
	}
}

// TestDerivedTypes: lines that derive from a type are expected among its implementations, and in Go the types
// with all methods of an interface.
func TestDerivedTypes(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		ext, name string
		files     map[string]string
		want      string
	}{
		{"py", "Shape", map[string]string{
			"a.py": "class Shape:\n    pass\n", "b.py": "# Shape\nclass Round(Shape):\n    pass\n", "c.py": "x = Shape()\n",
		}, "b.py:2"},
		{"ts", "Shape", map[string]string{
			"a.ts": "export interface Shape { area(): number }\n", "b.ts": "import { Shape } from './a'\nclass R implements Other,Shape {}\n",
		}, "b.ts:2"},
		{"go", "Shape", map[string]string{
			"a.go": "package m\n\ntype Shape interface {\n\tArea() int\n\tName() string\n}\n",
			"b.go": "package m\n\nfunc (r *Round) Area() int { return 1 }\n\nfunc (r Half) Area() int { return 1 }\n",
			"c.go": "package m\n\nfunc (r *Round) Name() string { return \"\" }\n",
		}, "b.go:3"},
	} {
		s := serve(t, "", test.files, workspace.Limits{}, test.ext)
		a := s.ask(workspace.CodeQuery{Ask: workspace.AskImplementations, Path: "a." + test.ext, Name: test.name, Line: 1 + 2*strings.Count(test.ext, "go")})
		if got := placesOf(a.Also); got != test.want {
			t.Errorf("%s: missing is %q, want %q: %+v", test.ext, got, test.want, a)
		}
	}
}

// TestComparedInPart: with more lines or files than are compared the answer says so.
func TestComparedInPart(t *testing.T) {
	t.Parallel()
	files := map[string]string{"a.x": "func Hub\n", "b.x": strings.Repeat("Hub\n", maxMatches)}
	s := serve(t, "", files, workspace.Limits{})
	a := s.ask(workspace.CodeQuery{Ask: workspace.AskReferences, Path: "a.x", Name: "Hub"})
	want := "Compared were only the first 5000 of 5001 lines with the name, so the answer may be incomplete"
	if !slices.Contains(a.Notes, want) {
		t.Errorf("references: %q", a.Notes)
	}
	files = map[string]string{}
	for n := range maxDefining + 1 {
		files[fmt.Sprintf("m%d.py", n)] = "def hub(): pass\n"
	}
	s = serve(t, "", files, workspace.Limits{}, "py")
	a = s.ask(workspace.CodeQuery{Ask: workspace.AskSymbol, Name: "hub"})
	want = "Compared were only the first 300 of 301 files with the name, so the answer may be incomplete"
	if !slices.Contains(a.Notes, want) {
		t.Errorf("symbols: %q", a.Notes)
	}
}

// TestCommandsAreTold: a command makes, changes and removes files, and moves one.
func TestCommandsAreTold(t *testing.T) {
	t.Parallel()
	s := serve(t, "", threeFiles, workspace.Limits{})
	q := workspace.CodeQuery{Ask: workspace.AskReferences, Path: "a.x", Name: "Hub", Line: 1}
	s.ask(q)
	line := "rm b.x; mv c.x d.x; echo 'Hub 2' > e.x; printf 'func Hub\\n' > a.x; echo Hub > .gitignore"
	if _, err := s.Workspace.Run(t.Context(), workspace.Command{Line: line}, nil); err != nil {
		t.Fatal(err)
	}
	if got := placesOf(s.ask(q).Items); got != "a.x:1 d.x:2 e.x:1" {
		t.Errorf("references are %q", got)
	}
	if err := s.Write(t.Context(), "e.x", []byte("\nHub\n")); err != nil {
		t.Fatal(err)
	}
	if got := placesOf(s.ask(q).Items); got != "a.x:1 d.x:2 e.x:2" {
		t.Errorf("after a write references are %q", got)
	}
	for text, want := range map[string]string{"\n\nHub": "b.x:3", "use Hub": "b.x:1"} { // another text, and that of the base
		if _, err := s.Workspace.Run(t.Context(), workspace.Command{Line: "rm -f b.x"}, nil); err != nil {
			t.Fatal(err)
		}
		s.ask(q)
		if _, err := s.Workspace.Run(t.Context(), workspace.Command{Line: "echo '" + text + "' > b.x"}, nil); err != nil {
			t.Fatal(err)
		}
		a := s.ask(q)
		if got := placesOf(a.Items); got != "a.x:1 "+want+" d.x:2 e.x:2" || len(a.Also) > 0 {
			t.Errorf("after b.x was made again references are %q", got)
		}
	}
}

// TestDeafServer: a server that does not hear of changes is given the files whose lines it has wrong.
func TestDeafServer(t *testing.T) {
	t.Parallel()
	s := serve(t, lsptest.Deaf, threeFiles, workspace.Limits{})
	q := workspace.CodeQuery{Ask: workspace.AskReferences, Path: "a.x", Name: "Hub", Line: 1}
	s.ask(q)
	line := "printf '\\n\\nuse Hub\\n' > b.x; rm c.x"
	if _, err := s.Workspace.Run(t.Context(), workspace.Command{Line: line}, nil); err != nil {
		t.Fatal(err)
	}
	a := s.ask(q)
	if got := placesOf(a.Items); got != "a.x:1 a.x:2 b.x:3" || !strings.Contains(strings.Join(a.Notes, "\n"), "lines that are not there") {
		t.Errorf("references are %q: %+v", got, a)
	}
}

// TestOddLines: an answer about a file with ends of lines that servers count in other ways says so.
func TestOddLines(t *testing.T) {
	t.Parallel()
	s := serve(t, lsptest.Returns, map[string]string{"a.x": "func Hub\n", "b.x": "x\ry\ruse Hub\nHub\n\n\n"}, workspace.Limits{})
	a := s.ask(workspace.CodeQuery{Ask: workspace.AskReferences, Path: "a.x", Name: "Hub"})
	if !strings.HasPrefix(strings.Join(a.Notes, "\n"), "Lines of b.x may be wrong") {
		t.Errorf("%+v", a)
	}
}

// TestThisIsNoName: places with "this" are no references to a class.
func TestThisIsNoName(t *testing.T) {
	t.Parallel()
	s := serve(t, lsptest.TSServer+","+lsptest.This, map[string]string{"a.x": "func Hub\nthis Hub\nthis\n"}, workspace.Limits{})
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	known := workspace.LanguageServer{Name: "typescript-language-server", Command: []string{self}, Extensions: []string{"x"}}
	if _, err := s.Languages(t.Context(), []workspace.LanguageServer{known}); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"Hub": "a.x:1 a.x:2", "this": "a.x:2 a.x:3"} {
		a := s.ask(workspace.CodeQuery{Ask: workspace.AskReferences, Path: "a.x", Name: name})
		if got := placesOf(a.Items); got != want || len(a.Notes) > 1 {
			t.Errorf("references to %s are %q: %+v", name, got, a)
		}
	}
}

// TestSymbolsBeside: beside a symbol of the name only a few with longer names are shown, and none that the server
// guesses.
func TestSymbolsBeside(t *testing.T) {
	t.Parallel()
	text := "func Hub\nfunc other\n"
	for _, more := range "ABCDEFGH" {
		text += "func Hub" + string(more) + "\n"
	}
	s := serve(t, lsptest.Guesses, map[string]string{"a.x": text}, workspace.Limits{})
	a := s.ask(workspace.CodeQuery{Ask: workspace.AskSymbol, Name: "Hub"})
	if len(a.Items) != 1+maxBeside || a.Items[0].Name != "Hub" || a.Items[1].Name != "HubA" || a.Left != 3 {
		t.Errorf("%d symbols and %d more: %+v", len(a.Items), a.Left, a.Items)
	}
}

// TestProgramsAreTold: so are files that a program changes, while it runs and at its end.
func TestProgramsAreTold(t *testing.T) {
	t.Parallel()
	s := serve(t, "", threeFiles, workspace.Limits{})
	q := workspace.CodeQuery{Ask: workspace.AskReferences, Path: "a.x", Name: "Hub", Line: 1}
	s.ask(q)
	conn, err := s.Start(t.Context(), workspace.Program{Argv: []string{"sh", "-c", "echo Hub > d.x; echo; read go; echo Hub > e.x; echo"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"a.x:1 a.x:2 b.x:1 c.x:2 d.x:1", "a.x:1 a.x:2 b.x:1 c.x:2 d.x:1 e.x:1"} {
		if _, err := conn.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		if got := placesOf(s.ask(q).Items); got != want {
			t.Errorf("references are %q, want %q", got, want)
		}
		_, _ = conn.Write([]byte("\n")) // the second one finds it ended
	}
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
}

func problems(s served, q workspace.ProblemsQuery) string {
	s.Helper()
	q.Within = 10 * time.Minute // on a busy machine
	list, err := s.Problems(s.Context(), q)
	if err != nil {
		s.Fatal(err)
	}
	var out []string
	for _, f := range list {
		lines := func(list []workspace.Problem) (text string) {
			for _, p := range list {
				text += string(rune('0' + p.Line))
			}
			return text
		}
		before := "?"
		if f.Known {
			before = lines(f.Before)
		}
		out = append(out, f.Path+" "+f.State+" "+before+">"+lines(f.Items))
	}
	return strings.Join(out, ", ")
}

// TestProblems: the problems of changed files come with those before.
func TestProblems(t *testing.T) {
	t.Parallel()
	s := serve(t, lsptest.Late, map[string]string{"a.x": "BROKEN\n", "b.x": "\n"}, workspace.Limits{})
	changed := workspace.ProblemsQuery{Changed: true}
	if got := problems(s, changed); got != "" {
		t.Errorf("at first: %q", got)
	}
	if err := s.Write(t.Context(), "a.x", []byte("BROKEN\nBROKEN\n")); err != nil {
		t.Fatal(err)
	}
	if got := problems(s, changed); got != "a.x fresh 1>12" {
		t.Errorf("after a write: %q", got)
	}
	if _, err := s.Workspace.Run(t.Context(), workspace.Command{Line: "echo ok > a.x; echo BROKEN > b.x; echo BROKEN > c.x"}, nil); err != nil {
		t.Fatal(err)
	}
	if got := problems(s, changed); got != "a.x fresh 12>, b.x fresh >1, c.x fresh >1" {
		t.Errorf("after a command: %q", got)
	}
	if got := problems(s, workspace.ProblemsQuery{Paths: []string{"a.x"}, Base: true}); got != "a.x fresh 1>" {
		t.Errorf("beside the base: %q", got)
	}
}

// TestProblemsInTheBase: the base of a file is seen with the base of the other changed files. An error there is
// not of the change, and one that the change of another file brings is.
func TestProblemsInTheBase(t *testing.T) {
	t.Parallel()
	s := serve(t, "", map[string]string{"a.x": "func Hub\n", "b.x": "needs Hub\n", "c.x": "BROKEN\n"}, workspace.Limits{})
	for name, text := range map[string]string{"a.x": "func Other\n", "b.x": "needs Hub\n\n", "c.x": "BROKEN\n\n", "d.x": "BROKEN\n"} {
		if err := s.Write(t.Context(), name, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	q := workspace.ProblemsQuery{Paths: []string{"a.x", "b.x", "c.x", "d.x"}, Base: true}
	for range 2 {
		if got := problems(s, q); got != "a.x fresh >, b.x fresh >1, c.x fresh 1>1, d.x fresh >1" {
			t.Errorf("beside the base: %q", got)
		}
	}
	if got := problems(s, workspace.ProblemsQuery{Paths: []string{"b.x"}}); !strings.HasSuffix(got, ">1") {
		t.Errorf("as it is: %q", got)
	}
}

// TestParsers: files without a server are parsed by a program of their language.
func TestParsers(t *testing.T) {
	t.Parallel()
	s := serve(t, "", map[string]string{"a.sh": "echo\n", "a.x": ""}, workspace.Limits{})
	if err := s.Write(t.Context(), "a.sh", []byte("echo\nfi\n")); err != nil {
		t.Fatal(err)
	}
	if got := problems(s, workspace.ProblemsQuery{Changed: true}); got != "a.sh fresh >2" {
		t.Errorf("a script: %q", got)
	}
}

// TestServerEnds: a server that crashes is started again once; one that takes too much memory is
// not.
func TestServerEnds(t *testing.T) {
	t.Parallel()
	s := serve(t, lsptest.Crash, threeFiles, workspace.Limits{})
	q := workspace.CodeQuery{Ask: workspace.AskReferences, Path: "a.x", Name: "Hub"}
	if a := s.ask(q); len(a.Items) > 0 || !strings.Contains(a.Why, "failed") {
		t.Errorf("a crash: %+v", a)
	}
	if a := s.ask(q); a.Why != "the language server fake has ended by itself 2 times and is not started again" {
		t.Errorf("the second crash: %+v", a)
	}
	s = serve(t, lsptest.Hungry, threeFiles, workspace.Limits{MemoryBytes: 300 << 20})
	s.ask(q)
	until := time.Now().Add(10 * time.Minute)
	want := "the language server fake was stopped: it used more than 150 MB"
	for a := s.ask(q); a.Why != want; a = s.ask(q) {
		if time.Now().After(until) {
			t.Fatalf("a server with too much memory: %+v", a)
		}
		<-time.After(100 * time.Millisecond)
	}
}

// TestHalfEnds: a server that closes its output and stays is ended, and so is the program that one leaves with its
// output when it ends.
func TestHalfEnds(t *testing.T) {
	t.Parallel()
	for _, lies := range []string{lsptest.HangUp, lsptest.Orphan} {
		s := serveIn(t, Config{slower: 3}, lies, threeFiles) // answers have a minute, the end is seen after two seconds
		q := workspace.CodeQuery{Ask: workspace.AskReferences, Path: "a.x", Name: "Hub"}
		if a := s.ask(q); !strings.HasSuffix(a.Why, "the language server fake failed: it has ended") {
			t.Fatalf("%s: %+v", lies, a)
		}
		if a := s.ask(q); a.Why != "the language server fake has ended by itself 2 times and is not started again" {
			t.Errorf("%s: the second time: %+v", lies, a)
		}
		list, err := os.ReadFile(s.starts)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range strings.Fields(string(list)) {
			pid, err := strconv.Atoi(text)
			for until := time.Now().Add(10 * time.Minute); err == nil && syscall.Kill(pid, 0) == nil; {
				if time.Now().After(until) {
					t.Fatalf("%s: server %d goes on", lies, pid)
				}
				<-time.After(20 * time.Millisecond)
			}
		}
	}
}

// TestManyProblems: a list that is cut is not compared with another one.
func TestManyProblems(t *testing.T) {
	t.Parallel()
	s := serve(t, "", map[string]string{"a.x": strings.Repeat("BROKEN\n", 300)}, workspace.Limits{})
	for n, want := range []string{"? 200 101", "? 200 100"} {
		text := strings.Repeat("\n", n) + strings.Repeat("BROKEN\n", 301-n)
		if err := s.Write(t.Context(), "a.x", []byte(text)); err != nil {
			t.Fatal(err)
		}
		list, err := s.Problems(t.Context(), workspace.ProblemsQuery{Changed: true, Within: 10 * time.Minute})
		if err != nil || len(list) != 1 {
			t.Fatalf("%+v, %v", list, err)
		}
		f := list[0]
		got := fmt.Sprintf("%d %d", len(f.Items), f.Left)
		if !f.Known {
			got = "? " + got
		}
		if got != want {
			t.Errorf("edit %d: %s, want %s", n, got, want)
		}
	}
}

// TestServerIdles: a server that is not asked ends, and starts again at the next question, however often.
func TestServerIdles(t *testing.T) {
	t.Parallel()
	s := serveIn(t, Config{idleServer: 1500 * time.Millisecond}, "", threeFiles)
	for n := 1; n <= maxRestarts+2; n++ {
		a := s.ask(workspace.CodeQuery{Ask: workspace.AskReferences, Path: "a.x", Name: "Hub"})
		if got := placesOf(a.Items); got != "a.x:1 a.x:2 b.x:1 c.x:2" {
			t.Fatalf("question %d: %q: %+v", n, got, a)
		}
		list, err := os.ReadFile(s.starts)
		pids := strings.Fields(string(list))
		if err != nil || len(pids) != n {
			t.Fatalf("question %d: started are %q, %v", n, pids, err)
		}
		pid, err := strconv.Atoi(pids[n-1])
		if err != nil {
			t.Fatal(err)
		}
		for until := time.Now().Add(10 * time.Minute); syscall.Kill(pid, 0) == nil; {
			if time.Now().After(until) {
				t.Fatalf("server %d goes on without questions", n)
			}
			<-time.After(20 * time.Millisecond)
		}
	}
}

// TestOutsideSource: a server that names a file outside gets only source code of its language shown.
func TestOutsideSource(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	files := map[string]string{"lib.go": "package lib\n", "secret.env": "KEY=1\n"}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("secret.env", filepath.Join(dir, "link.go")); err != nil {
		t.Fatal(err)
	}
	var h host
	h.cfg.Root = dir
	h.servers.begin(&h)
	gopls := h.servers.known[0]
	if text, err := outsideSource(filepath.Join(dir, "lib.go"), gopls); err != nil || string(text) != "package lib\n" {
		t.Errorf("source code: %q, %v", text, err)
	}
	for _, name := range []string{"secret.env", "link.go", "missing.go", "../" + filepath.Base(dir)} {
		if text, err := outsideSource(filepath.Join(dir, name), gopls); err == nil {
			t.Errorf("%s is read: %q", name, text)
		}
	}
}

// TestInstalledServers: those of the operator are used for files without a server of the workspace.
func TestInstalledServers(t *testing.T) {
	own, dir := t.TempDir(), t.TempDir()
	t.Setenv("PATH", own)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(dir, "basedpyright", "bin")
	err = errors.Join(
		os.MkdirAll(bin, 0o755),
		os.Symlink(self, filepath.Join(bin, "basedpyright-langserver")),
		os.Symlink(self, filepath.Join(own, "pyright-langserver")),
	)
	if err != nil {
		t.Fatal(err)
	}
	s := serveIn(t, Config{LSP: dir}, "", map[string]string{"a.py": "func Hub\n"}, "py")
	check := func(want string, bundled bool) {
		t.Helper()
		list, err := s.Languages(t.Context(), nil)
		if err != nil || len(list) != 1 || list[0].Server != want {
			t.Fatalf("languages are %+v, %v, want %s", list, err, want)
		}
		states, err := s.Servers(t.Context())
		if err != nil || len(states) != 1 {
			t.Fatalf("servers are %+v, %v", states, err)
		}
		if v := states[0]; v.Server != want || !v.Installed || v.Bundled != bundled || v.Why != "" {
			t.Errorf("the server is %+v", v)
		}
		if a := s.ask(workspace.CodeQuery{Ask: workspace.AskDefinition, Path: "a.py", Name: "Hub"}); a.Server != want || placesOf(a.Items) != "a.py:1" {
			t.Errorf("the answer is %+v", a)
		}
	}
	check("pyright", false)
	if err := os.Remove(filepath.Join(own, "pyright-langserver")); err != nil {
		t.Fatal(err)
	}
	check("basedpyright", true)
}

// TestWarm: a server that keeps an index gets questions about all files, and ends; others do not start.
func TestWarm(t *testing.T) {
	t.Parallel()
	s := serve(t, "", map[string]string{"a.go": "func Hub\n", "b.go": "Hub\n"}, workspace.Limits{}, "go")
	if made, err := s.Warm(t.Context()); err != nil || len(made) > 0 {
		t.Errorf("a server without an index made %q, %v", made, err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	gopls := []workspace.LanguageServer{{Name: "gopls", Command: []string{self}, Extensions: []string{"go"}}}
	if _, err := s.Languages(t.Context(), gopls); err != nil {
		t.Fatal(err)
	}
	if made, err := s.Warm(t.Context()); err != nil || !slices.Equal(made, []string{"gopls"}) {
		t.Fatalf("made are %q, %v", made, err)
	}
	asked, err := os.ReadFile(filepath.Join(filepath.Dir(s.starts), "index"))
	if err != nil || !strings.Contains(string(asked), "textDocument/implementation\ntextDocument/references\n") {
		t.Errorf("asked was %q, %v", asked, err)
	}
	list, err := os.ReadFile(s.starts)
	pid, wrong := strconv.Atoi(strings.TrimSpace(string(list))) // of one server
	if err := errors.Join(err, wrong); err != nil {
		t.Fatal(err)
	}
	for until := time.Now().Add(10 * time.Minute); syscall.Kill(pid, 0) == nil; {
		if time.Now().After(until) {
			t.Fatal("the server goes on")
		}
		<-time.After(20 * time.Millisecond)
	}
	if a := s.ask(workspace.CodeQuery{Ask: workspace.AskDefinition, Path: "a.go", Name: "Hub"}); placesOf(a.Items) != "a.go:1" {
		t.Errorf("afterwards it answers %+v", a)
	}
}

// TestProblemsOfTheBase: problems before count as those of the base only if no other file differed from it.
func TestProblemsOfTheBase(t *testing.T) {
	t.Parallel()
	files := map[string]string{"a.x": "func Hub\n", "b.x": "needs Hub\nBROKEN\n"}
	of := func(s served, q workspace.ProblemsQuery) (text string) {
		t.Helper()
		q.Within = 10 * time.Minute // on a busy machine
		list, err := s.Problems(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range list {
			if f.OfBase {
				text += f.Path
				for _, p := range f.Base {
					text += fmt.Sprintf(" %d", p.Line)
				}
				text += ","
			}
		}
		return text
	}
	write := func(s served, name, text string) {
		t.Helper()
		if err := s.Write(t.Context(), name, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	check := func(what, got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("%s: %q, want %q", what, got, want)
		}
	}
	changed := workspace.ProblemsQuery{Changed: true}
	s := serve(t, "", files, workspace.Limits{})
	check("without a change", of(s, workspace.ProblemsQuery{Paths: []string{"b.x"}}), "b.x 2,")

	s = serve(t, "", files, workspace.Limits{})
	write(s, "b.x", "needs Hub\n\nBROKEN\nBROKEN\n")
	check("the first edit", of(s, changed), "b.x 2,")
	write(s, "b.x", "needs Hub\nBROKEN\n\n")
	check("what was told", of(s, changed), "")
	write(s, "b.x", files["b.x"])
	check("the base again", of(s, changed), "b.x 2,")
	write(s, "b.x", "needs Hub\nBROKEN\nBROKEN\n")
	check("once more", of(s, changed), "")
	write(s, "b.x", files["b.x"])
	check("the state before", problems(s, changed), "b.x fresh 23>2")

	s = serve(t, "", files, workspace.Limits{})
	write(s, "a.x", "func Other\n")
	write(s, "b.x", "needs Hub\n\nBROKEN\n")
	check("two edits", of(s, changed), "")
	both := workspace.ProblemsQuery{Paths: []string{"a.x", "b.x"}, Base: true}
	check("set back", of(s, both), "a.x,b.x 2,")
	check("one of two set back", of(s, workspace.ProblemsQuery{Paths: []string{"b.x"}, Base: true}), "")
	write(s, "c.x", "func Hub\n")
	check("beside a new file", of(s, both), "")
}
