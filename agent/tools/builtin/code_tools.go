package builtin

// These tools ask language servers, and one reports problems in files. An answer without a result gives its
// reason, and then the result of a search.

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strings"

	"github.com/handrail-bot/handrail/agent/tools"
	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/policy"
)

// kind is one kind of question: a tool, and a value of "what" of the tool for small windows.
type kind struct {
	name, what string
	aliases    []string
	ask        workspace.CodeAsk
	doc        string
	nothing    string // "No … found"
	verb       string // for the title
	most       int
	ways       []string // directions; the first is the default
}

// ways is the direction that means all.
const ways = "both"

func kinds() []kind {
	return []kind{
		{
			name: "get_document_symbols", what: "outline", ask: workspace.AskOutline, most: 200, nothing: "symbols",
			verb: "Outlined", aliases: []string{"document_symbols"},
			doc: "What a file defines, with the lines of each definition. Use it before you read a large file.",
		},
		{
			name: "find_definition", what: "definition", ask: workspace.AskDefinition, most: 10, nothing: "definition",
			verb: "Looked up", aliases: []string{"go_to_definition", "goto_definition", "get_definition"},
			doc: "Where the symbol is defined, with the lines around it.",
		},
		{
			name: "find_references", what: "references", ask: workspace.AskReferences, most: 30, nothing: "references",
			verb: "Looked for uses of", aliases: []string{"get_references", "find_usages", "find_all_references"},
			doc: "All uses of the symbol, by file. Use it before you change shared code.",
		},
		{
			name: "find_implementations", what: "implementations", ask: workspace.AskImplementations, most: 30,
			nothing: "implementations", verb: "Looked for implementations of", aliases: []string{"get_implementations"},
			doc: "The implementations of an interface or of its method.",
		},
		{
			name: "find_symbol", what: "symbol", ask: workspace.AskSymbol, most: 30, nothing: "symbol",
			verb: "Looked for", aliases: []string{"workspace_symbol", "workspace_symbols", "search_symbols"},
			doc: "Definitions by name in the whole project, if the file is unknown.",
		},
		{
			name: "get_hover_info", what: "hover", ask: workspace.AskHover, most: 1, nothing: "information",
			verb: "Looked up the type of", aliases: []string{"hover", "get_hover"},
			doc: "The type, signature and documentation of the symbol.",
		},
		{
			name: "get_call_hierarchy", what: "calls", ask: workspace.AskCalls, most: 30, nothing: "calls",
			verb: "Looked for calls of", aliases: []string{"call_hierarchy"},
			doc: "The callers of a function, and the functions that it calls.", ways: []string{ways, "incoming", "outgoing"},
		},
		{
			name: "get_type_hierarchy", what: "types", ask: workspace.AskTypes, most: 30, nothing: "type hierarchy",
			verb: "Looked for the types around", aliases: []string{"type_hierarchy"},
			doc: "The types above and below a type, as a tree.", ways: []string{ways, "supertypes", "subtypes"},
		},
	}
}

// codeTools returns the tools of the family. They are announced to the model only if a language of
// the files has a server here.
func codeTools(k *tools.Kit) (out []tools.Tool) {
	if k.Code == nil || k.Search == nil || k.Files == nil {
		return nil
	}
	for _, kd := range kinds() {
		if kd.ask == workspace.AskOutline && len(k.Languages) == 0 {
			continue // list_code_definition_names answers to its name
		}
		out = append(out, navigation(k, kd))
	}
	return append(out, inOne(k), diagnostics(k))
}

func params(kd kind) []tools.Param {
	if kd.ask == workspace.AskSymbol {
		return []tools.Param{
			{Name: "query", Required: true, Doc: "Name, or a part of it.", Aliases: []string{"symbolName", "symbol", "name"}},
			{Name: "kind", Doc: "Such as function, class, method."},
			tools.PathParam("Only below this directory.", false),
		}
	}
	out := []tools.Param{tools.PathParam("The file with the symbol.", true)}
	if kd.ask == workspace.AskOutline {
		return out
	}
	out = append(out,
		tools.Param{Name: "symbolName", Doc: "Name in the file, also as Class.method.", Aliases: []string{
			"symbol", "name", "identifier", "symbol_name",
		}},
		tools.Param{Name: "line", Form: tools.Number, Doc: "Line of the symbol, from 1."},
		tools.Param{Name: "character", Form: tools.Number, Aliases: []string{"column", "col"}},
	)
	switch {
	case kd.ask == workspace.AskReferences:
		out = append(out, tools.Param{Name: "includeDeclaration", Form: tools.Flag})
	case len(kd.ways) > 0:
		out = append(out, tools.Param{Name: "direction", Enum: kd.ways, Doc: "Which way."})
	}
	if kd.ask == workspace.AskCalls {
		out = append(out, tools.Param{Name: "depth", Form: tools.Number, Doc: "Levels, at most 3."})
	}
	return out
}

func example(kd kind) string {
	switch kd.ask {
	case workspace.AskSymbol:
		return `{"query":"NAME"}`
	case workspace.AskOutline:
		return `{"path":"PATH"}`
	}
	return `{"path":"PATH","symbolName":"NAME"}`
}

func navigation(k *tools.Kit, kd kind) tools.Tool {
	n := navigator{k, kd}
	return tools.New(tools.Sheet{
		Name:    kd.name,
		Aliases: kd.aliases,
		Kind:    policy.Read,
		Doing:   "Analyzing code",
		Doc:     kd.doc,
		Untold:  len(k.Languages) == 0,
		Params:  params(kd),
		Example: example(kd),
	}, n.intent, n.run)
}

// inOne returns the one tool for small windows.
func inOne(k *tools.Kit) tools.Tool {
	of := func(a tools.Args) (navigator, error) {
		what, err := a.Need("what")
		if err != nil {
			return navigator{}, err
		}
		for _, kd := range kinds() {
			if strings.EqualFold(what, kd.what) || strings.EqualFold(what, kd.name) {
				return navigator{k, kd}, nil
			}
		}
		return navigator{}, a.Wrong("argument %q is none of those that are known", "what")
	}
	var whats []string
	for _, kd := range kinds() {
		whats = append(whats, kd.what)
	}
	return tools.New(tools.Sheet{
		Name:      "code",
		Kind:      policy.Read,
		Doing:     "Analyzing code",
		Essential: true,
		Small:     true,
		Untold:    len(k.Languages) == 0,
		Doc:       "Ask the language server where a symbol is defined, used or called.",
		Params: []tools.Param{
			{Name: "what", Required: true, Enum: whats, Doc: "The question."},
			{Name: "path", Doc: "The file with the symbol.", Few: true, Aliases: tools.PathNames()[1:]},
			{Name: "symbolName", Doc: "Its name.", Few: true, Aliases: []string{
				"symbol", "name", "identifier", "symbol_name", "query",
			}},
			{Name: "line", Form: tools.Number},
			{Name: "character", Form: tools.Number, Aliases: []string{"column", "col"}},
			{Name: "includeDeclaration", Form: tools.Flag},
			{Name: "direction"},
			{Name: "depth", Form: tools.Number},
			{Name: "kind"},
		},
		Example: `{"what":"definition","path":"PATH","symbolName":"NAME"}`,
	}, func(ctx context.Context, a tools.Args) (policy.Action, error) {
		n, err := of(a)
		if err != nil {
			return policy.Action{}, err
		}
		return n.intent(ctx, a)
	}, func(ctx context.Context, a tools.Args, emit tools.Progress) (tools.Result, error) {
		n, err := of(a)
		if err != nil {
			return tools.Result{}, err
		}
		return n.run(ctx, a, emit)
	})
}

type navigator struct {
	*tools.Kit
	kind
}

// query reads the arguments of a call.
func (n navigator) query(ctx context.Context, a tools.Args) (q workspace.CodeQuery, err error) {
	q = workspace.CodeQuery{Ask: n.ask, Max: n.most}
	text := func(name string) (s string) {
		if err == nil {
			s, err = a.Text(name)
		}
		return strings.TrimSpace(s)
	}
	number := func(name string) (v int) {
		if err == nil {
			v, err = a.Number(name, 0)
		}
		return max(v, 0)
	}
	q.Name, q.Kind, q.Direction = text("symbolName"), strings.ToLower(text("kind")), strings.ToLower(text("direction"))
	if q.Name == "" {
		q.Name = text("query")
	}
	q.Line, q.Character, q.Depth = number("line"), number("character"), min(number("depth"), 3)
	path := text("path")
	if err == nil {
		q.Declaration, err = a.Flag("includeDeclaration", true)
	}
	if err != nil {
		return q, err
	}
	switch {
	case n.ask == workspace.AskSymbol && q.Name == "":
		return q, a.Wrong("missing argument %q", "query")
	case n.ask != workspace.AskSymbol && path == "":
		return q, a.Wrong("missing argument %q", "path")
	case n.ask != workspace.AskSymbol && n.ask != workspace.AskOutline && q.Name == "" && q.Line == 0:
		return q, a.Wrong("argument %q or %q says which symbol is meant", "symbolName", "line")
	}
	if path != "" {
		q.Path, err = n.Resolve(ctx, path)
	}
	return q, err
}

func (n navigator) intent(ctx context.Context, a tools.Args) (policy.Action, error) {
	q, err := n.query(ctx, a)
	if err != nil {
		return policy.Action{}, err
	}
	if q.Path == "" {
		q.Path = "."
	}
	return policy.Action{Kind: policy.Read, Paths: []string{q.Path}}, nil
}

func (n navigator) run(ctx context.Context, a tools.Args, _ tools.Progress) (tools.Result, error) {
	q, err := n.query(ctx, a)
	if err != nil {
		return tools.Result{}, err
	}
	answers := []workspace.CodeAnswer{{}}
	directions := []string{q.Direction}
	if len(n.ways) > 0 && (q.Direction == "" || q.Direction == ways) {
		directions = n.ways[1:]
		answers = append(answers, workspace.CodeAnswer{})
	}
	found := 0
	for i, d := range directions {
		q.Direction = d
		if answers[i], err = n.Code.Code(ctx, q); err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				err = fmt.Errorf("look into %s: %w", q.Path, n.NotThere(ctx, q.Path))
			}
			return tools.Result{}, err
		}
		found += len(answers[i].Items)
	}
	name := answers[0].Name
	if name == "" {
		name = q.Path
	}
	title := fmt.Sprintf("%s %s", n.verb, name)
	if n.ask != workspace.AskHover {
		title += fmt.Sprintf(" (%d)", found)
	}
	text := ""
	switch {
	case answers[0].Text != "":
		text = tools.Shorten(answers[0].Text, maxHover) + notes(answers[0])
	case found == 0:
		text = n.nothingFound(ctx, q, answers[0])
	case len(n.ways) > 0:
		for i, d := range directions {
			text += tree(d, answers[i])
		}
		text += both(answers)
	case n.ask == workspace.AskReferences:
		text = grouped(answers[0])
	case n.ask == workspace.AskOutline:
		text = outlined(answers[0], tools.Room(ctx, maxSymbols))
	default:
		text = listed(answers[0])
	}
	return tools.Result{Content: text, Title: title}, nil
}

// nothingFound gives the reason, and the result of a search.
func (n navigator) nothingFound(ctx context.Context, q workspace.CodeQuery, a workspace.CodeAnswer) string {
	text := "No " + n.nothing + " found"
	name := a.Name
	if name != "" {
		text += " for " + name
	}
	if a.Why != "" {
		text += ": " + a.Why
	}
	text += "." + notes(a)
	head := ""
	if q.Ask == workspace.AskOutline {
		o, err := n.Search.Outline(ctx, workspace.OutlineQuery{Path: q.Path})
		if err != nil || len(o.Files) == 0 || len(o.Files[0].Defs) == 0 {
			return text
		}
		text += fmt.Sprintf("\nWithout a server, by %s:\n", o.Files[0].How)
		for _, d := range o.Files[0].Defs {
			text += fmt.Sprintf("%s%d | %s\n", strings.Repeat("  ", min(d.Depth, 8)), d.Line, d.Text)
		}
		return text
	}
	if name == "" {
		return text
	}
	word := `\b` + regexp.QuoteMeta(name) + `\b`
	find := func(pattern string) (workspace.Matches, error) {
		return n.Search.Search(ctx, workspace.Query{Pattern: pattern, Regex: true, Max: maxSearched})
	}
	var m workspace.Matches
	var err error
	switch q.Ask {
	case workspace.AskTypes:
		head = "Lines that define it or derive from it"
		m, err = find(`(?:^|\s)(?:class|interface|struct|record|enum|trait|object|type|impl|extends|implements)\b.*` + word)
	case workspace.AskDefinition:
		head = "Lines that seem to define it"
		m, err = find(`\b(?:func(?: *\([^)]*\))?|fn|def|function|class|interface|struct|record|enum|trait|object|type|module` +
			`|const|let|var) +` + word)
	}
	if len(m.Files) == 0 && err == nil {
		head = "A search for the word gives"
		m, err = find(word)
	}
	if err != nil || len(m.Files) == 0 {
		return text + fmt.Sprintf("\nNo file has the word %s.", name)
	}
	text += "\n" + head + ":\n"
	for _, f := range m.Files {
		for _, l := range f.Lines {
			if l.Hit {
				text += fmt.Sprintf("→ %s:%d: %s\n", f.Path, l.N, tools.Shorten(strings.TrimSpace(l.Text), maxItems))
			}
		}
	}
	if m.Left > 0 {
		text += fmt.Sprintf("[%d more lines; search_workspace shows them]\n", m.Left)
	}
	return text
}
