package lsp

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
)

// Place is a place that a server names. Line is 0-based, as the server says, which may be none of the file's. A
// place in no file on the disk has no path, but its URI.
type Place struct {
	Path, URI string
	Line      int
	at        position
}

func placeAt(uri string, at position) Place {
	p := Place{Path: pathOf(uri), Line: at.Line, at: at}
	if p.Path == "" {
		p.URI = brief(uri, 200)
	}
	return p
}

// Byte returns the byte of a line at which a place begins.
func (c *Client) Byte(p Place, line []byte) int { return c.enc.byteAt(line, p.at.Character) }

// Ask is a question about the symbol at a position.
type Ask string

// The questions about a position.
const (
	Definition      Ask = "textDocument/definition"
	References      Ask = "textDocument/references"
	Declared        Ask = "textDocument/references with the declaration"
	Implementations Ask = "textDocument/implementation"
)

// location is a Location, or a LocationLink.
type location struct {
	URI    string `json:"uri"`
	Range  *span  `json:"range"`
	Target string `json:"targetUri"`
	Whole  *span  `json:"targetRange"`
	Select *span  `json:"targetSelectionRange"`
}

func (l location) place() Place {
	if l.Target != "" {
		return placeAt(l.Target, begin(l.Select, l.Whole))
	}
	return placeAt(l.URI, begin(l.Range, nil))
}

// begin returns the beginning of a range, or else of the one around it. Without any, it is no place of a text.
func begin(of, around *span) position {
	switch {
	case of != nil:
		return of.Start
	case around != nil:
		return around.Start
	}
	return position{-1, 0} //control:no-place-is-not-the-first
}

// at returns the parameters for a position in an open document.
func (c *Client) at(path string, p Position) map[string]any {
	c.mu.Lock()
	d := c.docs[path]
	c.mu.Unlock()
	var line []byte
	if d != nil {
		line, _ = LineAt(d.text, p.Line)
	}
	return map[string]any{
		"textDocument": map[string]any{"uri": uriOf(path)},
		"position":     position{p.Line, c.enc.column(line, p.Byte)},
	}
}

// Find returns the places that answer a question about a position of an open document.
func (c *Client) Find(ctx context.Context, ask Ask, path string, p Position) ([]Place, error) {
	provider := map[Ask]json.RawMessage{
		Definition:      c.caps.DefinitionProvider,
		References:      c.caps.ReferencesProvider,
		Declared:        c.caps.ReferencesProvider,
		Implementations: c.caps.ImplementationProvider,
	}[ask]
	if !has(provider) {
		return nil, ErrLacks
	}
	params := c.at(path, p)
	params["context"] = map[string]any{"includeDeclaration": ask == Declared}
	if err := c.reload(ctx); err != nil {
		return nil, err
	}
	method, _, _ := strings.Cut(string(ask), " ")
	var raw json.RawMessage
	if err := c.call(ctx, method, params, &raw); err != nil {
		return nil, err
	}
	var list []location
	if json.Unmarshal(raw, &list) != nil {
		var one location
		if err := json.Unmarshal(raw, &one); err != nil {
			return nil, fmt.Errorf("read answer of language server: %w", err)
		}
		list = []location{one}
	}
	seen := map[Place]bool{}
	var out []Place
	for _, l := range list {
		if at := l.place(); (at.Path != "" || at.URI != "") && !seen[at] {
			seen[at] = true
			out = append(out, at)
		}
	}
	return out, nil
}

// Symbol is a definition that a server names. Lines are 0-based; Depth is the number of
// symbols around it.
type Symbol struct {
	Name, Kind, Container string
	Path                  string
	Line, From, End       int // of the name, and of the whole definition
	Depth                 int
	at                    position
}

// Position returns the place of a symbol's name in the text of its file.
func (c *Client) Position(s Symbol, text []byte) Position {
	line, _ := LineAt(text, s.Line)
	return Position{s.Line, c.enc.byteAt(line, s.at.Character)}
}

// kinds are the names of the protocol's kinds of symbols.
var kinds = [...]string{
	"", "file", "module", "namespace", "package", "class", "method", "property", "field", "constructor", "enum",
	"interface", "function", "variable", "constant", "string", "number", "boolean", "array", "object", "key", "null",
	"enum member", "struct", "event", "operator", "type parameter",
}

func kindOf(n int) string {
	if n <= 0 || n >= len(kinds) {
		return "symbol"
	}
	return kinds[n]
}

// wireSymbol is a DocumentSymbol, a SymbolInformation or an item of a hierarchy.
type wireSymbol struct {
	Name      string       `json:"name"`
	Kind      int          `json:"kind"`
	Container string       `json:"containerName"`
	URI       string       `json:"uri"`
	Location  location     `json:"location"`
	Range     *span        `json:"range"`
	Select    *span        `json:"selectionRange"`
	Children  []wireSymbol `json:"children"`
}

// maxSymbols is the maximum number of symbols that are kept of an answer.
const maxSymbols = 5000

// Symbols returns the outline of an open document.
func (c *Client) Symbols(ctx context.Context, path string) ([]Symbol, error) {
	if !has(c.caps.DocumentSymbolProvider) {
		return nil, ErrLacks
	}
	var list []wireSymbol
	params := map[string]any{"textDocument": map[string]any{"uri": uriOf(path)}}
	if err := c.call(ctx, "textDocument/documentSymbol", params, &list); err != nil {
		return nil, err
	}
	var out []Symbol
	var add func(list []wireSymbol, container string, depth int)
	add = func(list []wireSymbol, container string, depth int) {
		for _, w := range list {
			if len(out) >= maxSymbols || depth > 20 {
				return
			}
			if w.Name == "" {
				continue
			}
			s := w.symbol()
			if w.Location.URI != "" && filepath.Base(s.Path) != filepath.Base(path) {
				continue // of another file
			}
			s.Path, s.Depth = path, depth
			if container != "" {
				s.Container = container
			}
			out = append(out, s)
			add(w.Children, w.Name, depth+1)
		}
	}
	add(list, "", 0)
	return out, nil
}

func (w wireSymbol) symbol() Symbol {
	s := Symbol{Name: brief(w.Name, 200), Kind: kindOf(w.Kind), Container: brief(w.Container, 200), Path: pathOf(w.URI)}
	whole := w.Range
	s.at = begin(w.Select, whole)
	if w.Location.URI != "" {
		s.Path, whole = pathOf(w.Location.URI), w.Location.Range
		s.at = begin(whole, nil)
	}
	s.Line, s.From, s.End = s.at.Line, s.at.Line, s.at.Line
	if whole != nil {
		s.From, s.End = whole.Start.Line, whole.End.Line
	}
	return s
}

func (w wireSymbol) place() Place { return placeAt(w.URI, begin(w.Select, w.Range)) }

// Search returns the symbols of the server's index that match a query.
func (c *Client) Search(ctx context.Context, query string) ([]Symbol, error) {
	if !has(c.caps.WorkspaceSymbolProvider) {
		return nil, ErrLacks
	}
	var list []wireSymbol
	if err := c.reload(ctx); err != nil {
		return nil, err
	}
	if err := c.call(ctx, "workspace/symbol", map[string]any{"query": query}, &list); err != nil {
		return nil, err
	}
	out := make([]Symbol, 0, len(list))
	for _, w := range list[:min(len(list), maxSymbols)] {
		if s := w.symbol(); s.Path != "" && s.Line >= 0 {
			out = append(out, s)
		}
	}
	return out, nil
}

// maxHover is the maximum size in bytes of a description.
const maxHover = 64 << 10

// Hover returns the description of the symbol at a position, as Markdown.
func (c *Client) Hover(ctx context.Context, path string, p Position) (string, error) {
	if !has(c.caps.HoverProvider) {
		return "", ErrLacks
	}
	var res struct {
		Contents json.RawMessage `json:"contents"`
	}
	if err := c.call(ctx, "textDocument/hover", c.at(path, p), &res); err != nil {
		return "", err
	}
	text := strings.TrimSpace(marked(res.Contents))
	return strings.ToValidUTF8(text[:min(len(text), maxHover)], ""), nil
}

// marked reads the three forms of a hover: a text, a text with its language, a list of them.
func marked(raw json.RawMessage) string {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil || list == nil {
		return part(raw)
	}
	parts := make([]string, len(list))
	for i, r := range list {
		parts[i] = part(r)
	}
	return strings.Join(parts, "\n\n")
}

// part reads a text, or one with its language.
func part(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var one struct {
		Kind, Language, Value string
	}
	if json.Unmarshal(raw, &one) != nil || one.Value == "" {
		return ""
	}
	if one.Kind == "" && one.Language != "" {
		return "```" + one.Language + "\n" + one.Value + "\n```"
	}
	return one.Value
}

// Direction is a direction in a hierarchy.
type Direction string

// The directions of calls and of types.
const (
	incoming   Direction = "incoming"
	outgoing   Direction = "outgoing"
	supertypes Direction = "supertypes"
	subtypes   Direction = "subtypes"
)

// Node is a symbol of a hierarchy. Sites are the lines of the calls, 0-based, in the file
// Caller.
type Node struct {
	Symbol
	Caller string
	Sites  []int
}

// Tree is a hierarchy in the order of a tree: a node is followed by the nodes below it. More is the
// number of nodes beyond the limit. Around are the places of the symbol itself and of the whole first
// level, with those beyond the limit.
type Tree struct {
	Nodes  []Node
	More   int
	Around []Place
}

// Hierarchy returns the calls or the types around the symbol at a position, depth levels far, at most
// most of them.
func (c *Client) Hierarchy(
	ctx context.Context, d Direction, path string, p Position, depth, most int,
) (out Tree, err error) {
	calls := d == incoming || d == outgoing
	provider, prepare := c.caps.TypeHierarchyProvider, "textDocument/prepareTypeHierarchy"
	if calls {
		provider, prepare = c.caps.CallHierarchyProvider, "textDocument/prepareCallHierarchy"
	}
	if !has(provider) {
		return out, ErrLacks
	}
	if err := c.reload(ctx); err != nil {
		return out, err
	}
	var roots []json.RawMessage
	if err := c.call(ctx, prepare, c.at(path, p), &roots); err != nil {
		return out, err
	}
	t := tree{c: c, direction: d, most: most, seen: map[string]bool{}}
	for _, root := range roots[:min(len(roots), maxRoots)] {
		var w wireSymbol
		if json.Unmarshal(root, &w) == nil {
			t.Around = append(t.Around, w.place())
			if err := t.below(ctx, root, w, 0, depth); err != nil {
				return out, err
			}
		}
	}
	return t.Tree, nil
}

// maxRoots is the maximum number of symbols at one position.
const maxRoots = 10

// tree collects the nodes of a hierarchy.
type tree struct {
	c         *Client
	direction Direction
	most      int
	seen      map[string]bool
	Tree
}

func (t *tree) below(ctx context.Context, raw json.RawMessage, of wireSymbol, depth, levels int) error {
	key := fmt.Sprint(of.URI, begin(of.Select, of.Range))
	if depth >= levels || t.seen[key] {
		return nil
	}
	t.seen[key] = true
	items, sites, err := t.next(ctx, raw)
	if err != nil {
		return err
	}
	for i, item := range items {
		var w wireSymbol
		if json.Unmarshal(item, &w) != nil {
			continue
		}
		if depth == 0 {
			t.Around = append(t.Around, w.place())
		}
		if len(t.Nodes) >= t.most {
			t.More++
			continue
		}
		n := Node{Symbol: w.symbol()}
		if n.Path == "" || n.Line < 0 {
			continue
		}
		n.Depth, n.Caller = depth, pathOf(of.URI)
		if t.direction == incoming {
			n.Caller = n.Path
		}
		for _, s := range sites[i] {
			if s.Start.Line >= 0 {
				n.Sites = append(n.Sites, s.Start.Line)
			}
		}
		t.Nodes = append(t.Nodes, n)
		if err := t.below(ctx, item, w, depth+1, levels); err != nil {
			return err
		}
	}
	return nil
}

// next returns the items one level on, with the places of the calls.
func (t *tree) next(ctx context.Context, item json.RawMessage) (items []json.RawMessage, sites [][]span, err error) {
	params := map[string]any{"item": item}
	if t.direction == supertypes || t.direction == subtypes {
		err = t.c.call(ctx, "typeHierarchy/"+string(t.direction), params, &items)
		return items, make([][]span, len(items)), err
	}
	var list []struct {
		From   json.RawMessage `json:"from"`
		To     json.RawMessage `json:"to"`
		Ranges []span          `json:"fromRanges"`
	}
	err = t.c.call(ctx, "callHierarchy/"+string(t.direction)+"Calls", params, &list)
	for _, l := range list {
		if l.From == nil {
			l.From = l.To
		}
		items, sites = append(items, l.From), append(sites, l.Ranges)
	}
	return items, sites, err
}

// Within reports whether a path is in a directory, or below it.
func Within(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, "../")
}
