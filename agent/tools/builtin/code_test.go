package builtin

import (
	"context"
	"io/fs"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/tools"
	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/policy"
)

// scripted answers each question in the same way.
type scripted struct {
	workspace.Files
	workspace.Searcher
	workspace.Shell
	answer   workspace.CodeAnswer
	problems []workspace.FileProblems
	asked    []workspace.CodeQuery
	found    workspace.Matches
	searched workspace.Query
}

func (s *scripted) Search(_ context.Context, q workspace.Query) (workspace.Matches, error) {
	s.searched = q
	return s.found, nil
}

func (s *scripted) Languages(context.Context, []workspace.LanguageServer) ([]workspace.Language, error) {
	return nil, nil
}

func (s *scripted) Code(_ context.Context, q workspace.CodeQuery) (workspace.CodeAnswer, error) {
	s.asked = append(s.asked, q)
	return s.answer, nil
}

func (s *scripted) Problems(context.Context, workspace.ProblemsQuery) ([]workspace.FileProblems, error) {
	return s.problems, nil
}

func (s *scripted) List(context.Context, string, bool, int) (workspace.Listing, error) {
	return workspace.Listing{}, workspace.ErrNotFile
}

func (s *scripted) ReadAll(_ context.Context, path string, _ int64) ([]byte, fs.FileMode, error) {
	if path == "bad.go" {
		return []byte("package"), 0, nil
	}
	return []byte("package m\n"), 0, nil
}

func (s *scripted) Read(_ context.Context, path string, _ ...workspace.Range) (workspace.File, error) {
	return workspace.File{Path: path}, nil
}

func registry(t *testing.T, s *scripted, languages ...workspace.Language) *tools.Registry {
	t.Helper()
	r, err := tools.NewRegistry(codeTools(tools.NewKit(tools.Config{
		Files: s, Search: s, Shell: s, Code: s, Languages: languages,
	}))...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func ask(t *testing.T, r *tools.Registry, name, arguments string) string {
	t.Helper()
	tool, ok := r.Find(name)
	if !ok {
		t.Fatalf("there is no tool %s", name)
	}
	res, err := tool.Run(t.Context(), session.Call{Name: name, Arguments: []byte(arguments)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return res.Content
}

var goHere = workspace.Language{Server: "gopls", Extensions: []string{".go"}}

func placeOf(path string, line int, text string) workspace.CodeItem {
	return workspace.CodeItem{Path: path, Line: line, Lines: []workspace.MatchLine{{N: line, Text: text, Hit: true}}}
}

// TestNotes: an answer that may be incomplete says so, and says where the name also stands.
func TestNotes(t *testing.T) {
	s := &scripted{answer: workspace.CodeAnswer{
		Name:     "Hub",
		Items:    []workspace.CodeItem{placeOf("a.go", 3, "func Hub() {"), placeOf("a.go", 9, "\tHub()"), placeOf("b.go", 1, "Hub()")},
		Left:     7,
		More:     []workspace.FileLeft{{Path: "c.go", Count: 7}},
		Also:     []workspace.CodeItem{{Path: "d.go", Line: 12}, {Path: "e.go", Line: 40}},
		AlsoMore: 2,
	}}
	want := "── a.go ── (2)\n→ 3: func Hub() {\n→ 9: Hub()\n── b.go ── (1)\n→ 1: Hub()\n" +
		"… and 7 more in 1 file: c.go (7)\n\n" +
		"[This may be incomplete: the name also stands in d.go:12, e.go:40, and in 2 more files.]"
	for _, call := range [][2]string{
		{"find_references", `{"path":"a.go","symbolName":"Hub"}`},
		{"find_usages", `{"file":"a.go","symbol":"Hub","line":3}`},
		{"code", `{"what":"references","path":"a.go","symbolName":"Hub"}`},
		{"code", `{"what":"find_references","path":"a.go","symbolName":"Hub"}`},
	} {
		if d := cmp.Diff(want, ask(t, registry(t, s, goHere), call[0], call[1])); d != "" {
			t.Errorf("%s: %s", call[0], d)
		}
	}
}

// TestNoPosition: a call that names no symbol is told how to.
func TestNoPosition(t *testing.T) {
	tool, _ := registry(t, &scripted{}, goHere).Find("find_definition")
	_, err := tool.Run(t.Context(), session.Call{Name: "find_definition", Arguments: []byte(`{"path":"a.go"}`)}, nil)
	if err == nil || !strings.Contains(err.Error(), `"symbolName"`) {
		t.Errorf("%v", err)
	}
}

// TestBothDirections: without a direction a hierarchy is asked for in both.
func TestBothDirections(t *testing.T) {
	s := &scripted{answer: workspace.CodeAnswer{Name: "f", Items: []workspace.CodeItem{
		{Path: "a.go", Line: 3, Kind: "function", Name: "g", Sites: []int{4, 5}},
	}}}
	s.answer.Notes = []string{"That is for line 9, one of 4 with the name"}
	want := "incoming:\n  function g  a.go:3, called in lines 4, 5\noutgoing:\n  function g  a.go:3, called in lines 4, 5\n" +
		"\n[That is for line 9, one of 4 with the name.]"
	if d := cmp.Diff(want, ask(t, registry(t, s, goHere), "get_call_hierarchy", `{"path":"a.go","symbolName":"f","depth":9}`)); d != "" {
		t.Error(d)
	}
	if len(s.asked) != 2 || s.asked[0].Direction != "incoming" || s.asked[1].Direction != "outgoing" || s.asked[0].Depth != 3 {
		t.Errorf("asked was %+v", s.asked)
	}
}

// TestTypesWithoutAServer: if the server has no hierarchies of types, the lines that define a type or derive from it
// stand in for one.
func TestTypesWithoutAServer(t *testing.T) {
	s := &scripted{answer: workspace.CodeAnswer{Name: "Hub", Lacks: true, Why: "the language server fake does not have this"}}
	s.found = workspace.Matches{Files: []workspace.FileMatches{
		{Path: "b.py", Lines: []workspace.MatchLine{{N: 3, Text: "class B(Hub):", Hit: true}}},
	}}
	want := "No type hierarchy found for Hub: the language server fake does not have this.\n" +
		"Lines that define it or derive from it:\n→ b.py:3: class B(Hub):\n"
	if d := cmp.Diff(want, ask(t, registry(t, s, goHere), "get_type_hierarchy", `{"path":"a.go","symbolName":"Hub"}`)); d != "" {
		t.Error(d)
	}
	if re := regexp.MustCompile(s.searched.Pattern); !re.MatchString("class B(Hub):") || re.MatchString("x = Hub()") || re.MatchString("see :class:`Hub`") {
		t.Errorf("searched is %q", s.searched.Pattern)
	}
}

// TestManySites: of many calls in one function the first are shown.
func TestManySites(t *testing.T) {
	s := &scripted{answer: workspace.CodeAnswer{Name: "f", Items: []workspace.CodeItem{
		{Path: "a.go", Line: 3, Kind: "function", Name: "g", Sites: []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}},
	}}}
	want := "incoming:\n  function g  a.go:3, called in lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 2 more\n"
	got := ask(t, registry(t, s, goHere), "get_call_hierarchy", `{"path":"a.go","symbolName":"f","direction":"incoming"}`)
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// TestOffered: models hear of the tools only if a language here has a server.
func TestOffered(t *testing.T) {
	for _, languages := range [][]workspace.Language{nil, {goHere}} {
		r := registry(t, &scripted{}, languages...)
		for _, spec := range r.Specs() {
			if spec.Untold != (len(languages) == 0) {
				t.Errorf("%s with %d languages: not announced is %t", spec.Name, len(languages), spec.Untold)
			}
			if spec.Small != (spec.Name == "code") {
				t.Errorf("%s is only for small windows: %t", spec.Name, spec.Small)
			}
		}
	}
}

// TestCheckers: the project's own checker is a command, which passes the gate.
func TestCheckers(t *testing.T) {
	for _, test := range []struct {
		languages []workspace.Language
		path      string
		want      policy.Action
	}{
		{nil, "a b/x.go", policy.Action{Kind: policy.Execute, Command: "go vet ./'a b'"}},
		{nil, "x.md", policy.Action{Kind: policy.Read}},
		{[]workspace.Language{goHere}, "x.go", policy.Action{Kind: policy.Read}},
	} {
		tool, _ := registry(t, &scripted{}, test.languages...).Find("get_diagnostics")
		got, err := tool.Intent(t.Context(), session.Call{Name: "get_diagnostics", Arguments: []byte(`{"path":"` + test.path + `"}`)})
		if err != nil || got.Kind != test.want.Kind || got.Command != test.want.Command {
			t.Errorf("%s: %+v, %v", test.path, got, err)
		}
	}
}

// TestOnlyFresh: no list is shown that may be about an earlier text.
func TestOnlyFresh(t *testing.T) {
	item := workspace.Problem{Line: 5, Column: 12, Severity: 1, Code: "TS2304", Message: "Cannot find name 'c'.", Text: "\tc()"}
	s := &scripted{problems: []workspace.FileProblems{
		{Path: "a.ts", State: "fresh", Source: "tsls", Items: []workspace.Problem{item, {Line: 7, Severity: 4}}},
		{Path: "b.ts", State: "settling", Why: "it has not checked this text yet", Items: []workspace.Problem{item}},
	}}
	got := ask(t, registry(t, s, workspace.Language{Server: "tsls", Extensions: []string{".ts"}}), "get_diagnostics", `{"path":"a.ts"}`)
	want := "── a.ts ── (by tsls)\n→ 5:12 error TS2304: Cannot find name 'c'.\n  c()\n" +
		"[b.ts: no answer: it has not checked this text yet; ask again.]\n"
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if strings.Count(got, "TS2304") != 1 {
		t.Error("a list that is not fresh is shown")
	}
}

// TestNoAnswerIsNoPraise: files that the server has not checked do not pass as fine, also if they parse.
func TestNoAnswerIsNoPraise(t *testing.T) {
	var list []workspace.FileProblems
	for _, name := range []string{"a.go", "b.go", "c.go", "d.go", "e.go", "f.go", "g.go"} {
		list = append(list, workspace.FileProblems{Path: name, State: "settling", Why: "it is late"})
	}
	s := &scripted{problems: list}
	late := "[a.go, b.go, c.go, d.go, e.go and 2 more: it parses; no answer about the rest: it is late; ask again.]\n"
	if d := cmp.Diff(late, ask(t, registry(t, s, goHere), "get_diagnostics", `{"path":"a.go"}`)); d != "" {
		t.Error(d)
	}
	s.problems = append(list, workspace.FileProblems{Path: "h.go", State: "fresh"})
	if d := cmp.Diff("No diagnostics found.\n"+late, ask(t, registry(t, s, goHere), "get_diagnostics", `{"path":"a.go"}`)); d != "" {
		t.Error(d)
	}
	s.problems = []workspace.FileProblems{{Path: "bad.go", State: "settling", Why: "it is late"}}
	if got := ask(t, registry(t, s, goHere), "get_diagnostics", `{"path":"bad.go"}`); !strings.HasPrefix(got, "── bad.go ── (by its parser)\n→ 1") {
		t.Errorf("with a mistake: %q", got)
	}
	s.problems = []workspace.FileProblems{{Path: "h.go", State: "fresh", Left: 7, Items: []workspace.Problem{{Line: 1, Severity: 1}}}}
	if got := ask(t, registry(t, s, goHere), "get_diagnostics", `{"path":"h.go"}`); !strings.HasSuffix(got, "[7 more not shown]\n") {
		t.Errorf("a long list: %q", got)
	}
}

// TestSearchedDefinition: without a server, lines that seem to define a name stand in for its definition.
func TestSearchedDefinition(t *testing.T) {
	s := &scripted{answer: workspace.CodeAnswer{Name: "Hub", Why: "there is no language server for .md files here"}}
	s.found = workspace.Matches{Files: []workspace.FileMatches{
		{Path: "b.go", Lines: []workspace.MatchLine{{N: 3, Text: "func (h *T) Hub() {", Hit: true}}},
	}}
	want := "No definition found for Hub: there is no language server for .md files here.\n" +
		"Lines that seem to define it:\n→ b.go:3: func (h *T) Hub() {\n"
	if d := cmp.Diff(want, ask(t, registry(t, s, goHere), "find_definition", `{"path":"a.md","symbolName":"Hub"}`)); d != "" {
		t.Error(d)
	}
	re := regexp.MustCompile(s.searched.Pattern)
	for line, defines := range map[string]bool{
		"func (h *T) Hub() {": true, "def Hub(self):": true, "export class Hub<T> {": true, "pub fn Hub() {": true, "x = Hub()": false,
		"func TestHub() { Hub() }": false,
	} {
		if re.MatchString(line) != defines {
			t.Errorf("%q is a definition: %t", line, !defines)
		}
	}
}
