package host

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/handrail-bot/handrail/agent/lsp"
	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/agent/workspace/outline"
)

// Limits of answers about code.
const (
	readyTime  = 20 * time.Second // for the first answer across files
	maxAlso    = 5
	maxTries   = 5 // occurrences of a name that are tried
	maxBeside  = 5 // symbols of a longer name beside those of the name
	maxOpened  = 30
	shownAbove = 2 // lines around a place
)

// question is one question about code on its way.
type question struct {
	*servers
	q      workspace.CodeQuery
	v      *server
	client *lsp.Client
	text   []byte
	abs    string
	read   map[string][][]byte // lines of files, see lineOf
	behind bool                // the server has had its time to get ready
	out    workspace.CodeAnswer
}

// code answers a question about code. That there is no answer is an answer, with its reason.
func (s *servers) code(ctx context.Context, q workspace.CodeQuery) (workspace.CodeAnswer, error) {
	s.asking.Add(1)
	defer s.asking.Add(-1)
	if q.Ask == workspace.AskSymbol && q.Path == "" {
		return s.everywhere(ctx, q)
	}
	rel, err := s.h.clean(q.Path)
	if err != nil {
		return workspace.CodeAnswer{}, err
	}
	text, err := survey{s.h}.source(rel)
	if err != nil {
		return workspace.CodeAnswer{}, err
	}
	for try := 1; ; try++ {
		x := question{servers: s, q: q, text: text, abs: path.Join(s.h.cfg.Root, rel)}
		x.out.Name = lastName(q.Name)
		var why string
		if x.v, why = s.serverFor(ctx, rel); why != "" {
			x.out.Why = why
			return x.out, nil
		}
		if x.client = x.v.client.Load(); x.client == nil {
			continue // it has just ended: the next try starts it again, or says why not
		}
		x.out.Server = x.v.Name
		if err = x.client.Sync(ctx, x.abs, text); err == nil {
			err = x.ask(ctx)
		}
		if err == nil || try > 1 || !x.gone() {
			return x.end(ctx, err)
		}
	}
}

// gone reports whether the server has ended.
func (x *question) gone() bool {
	select {
	case <-x.client.Gone():
		return true
	default:
		return false
	}
}

// end turns a failure of the server into the reason for an answer without items.
func (x *question) end(ctx context.Context, err error) (workspace.CodeAnswer, error) {
	var wrong *nameError
	switch {
	case err == nil:
	case errors.As(err, &wrong), ctx.Err() != nil:
		return x.out, err
	case errors.Is(err, lsp.ErrLacks):
		x.out.Lacks, x.out.Why = true, fmt.Sprintf("the language server %s does not have this", x.v.Name)
	case errors.Is(err, lsp.ErrSilent):
		x.out.Why = fmt.Sprintf("the language server %s did not answer in time; it may still be indexing", x.v.Name)
	default:
		x.out.Why = fmt.Sprintf("the language server %s failed: %s", x.v.Name, shorten(err.Error()))
	}
	return x.out, nil
}

func shorten(s string) string {
	if len(s) > 200 {
		s = strings.ToValidUTF8(s[:200], "") + "…"
	}
	return s
}

func (x *question) ask(ctx context.Context) error {
	if x.q.Ask == workspace.AskOutline { // of one file: the server need not know the others
		return x.outline(ctx)
	}
	x.waitFirst(ctx)
	switch x.q.Ask {
	case workspace.AskSymbol:
		return x.symbols(ctx, x.client)
	}
	places, err := x.positions(ctx)
	if err != nil {
		return err
	}
	for i, p := range places[:min(len(places), maxTries)] {
		err = x.at(ctx, p)
		found := len(x.out.Items) > 0 || x.out.Text != ""
		if err != nil && (i > 0 || errors.Is(err, lsp.ErrLacks) || errors.Is(err, lsp.ErrSilent)) || found {
			if found && len(places) > 1 {
				x.note("That is for line %d, one of %d with the name", p.Line+1, len(places))
			}
			return err
		}
	}
	return err
}

// waitFirst waits before the first answer until the server has ended the work that it
// announced. An answer during such work says so.
func (x *question) waitFirst(ctx context.Context) {
	x.v.mu.Lock()
	waited := x.v.waited
	x.v.waited, x.behind = true, false
	x.v.mu.Unlock()
	if waited && x.client.Busy() || !waited && !x.client.Ready(ctx, x.h.cfg.limit(readyTime)) { //control:first-answer-waits
		x.behind = true
		x.note("The language server %s is still indexing, so the answer may be incomplete", x.v.Name)
	}
}

func (x *question) note(format string, a ...any) {
	if text := fmt.Sprintf(format, a...); !slices.Contains(x.out.Notes, text) {
		x.out.Notes = append(x.out.Notes, text)
	}
}

// noteBehind notes that the server names lines that are not those of the files.
func (x *question) noteBehind() {
	x.note("The language server %s names lines that are not there: it is behind, and the answer may be wrong", x.v.Name)
}

// at asks about one position.
func (x *question) at(ctx context.Context, p lsp.Position) error {
	switch x.q.Ask {
	case workspace.AskDefinition:
		return x.places(ctx, lsp.Definition, p)
	case workspace.AskImplementations:
		return x.places(ctx, lsp.Implementations, p)
	case workspace.AskReferences:
		return x.references(ctx, p)
	case workspace.AskHover:
		text, err := x.client.Hover(ctx, x.abs, p)
		x.out.Text = text
		return err
	}
	return x.hierarchy(ctx, p)
}

// hierarchy asks for calls or types. The first level of callers is compared.
func (x *question) hierarchy(ctx context.Context, p lsp.Position) error {
	var t lsp.Tree
	ask := func() (around []lsp.Place, err error) {
		t, err = x.client.Hierarchy(ctx, lsp.Direction(x.q.Direction), x.abs, p, max(x.q.Depth, 1), x.q.Max)
		return t.Around, err
	}
	var expect expectation
	if x.q.Ask == workspace.AskCalls && x.q.Direction == "incoming" {
		expect = x.uses
	}
	name := x.nameAt(p)
	if _, err := x.compared(ctx, name, ask, expect); err != nil {
		return err
	}
	named := t.Around[:min(len(t.Around), 1)] // the symbol itself
	deep := false
	for _, n := range t.Nodes {
		item := x.item(lsp.Place{Path: n.Path, Line: n.Line}, 0)
		item.Kind, item.Name, item.Container, item.Depth = n.Kind, n.Name, n.Container, n.Depth
		seen := map[int]bool{}
		for _, site := range n.Sites {
			if !seen[site] {
				seen[site] = true
				item.Sites = append(item.Sites, site+1)
				if expect != nil && n.Depth == 0 {
					named = append(named, lsp.Place{Path: n.Caller, Line: site})
				}
			}
		}
		x.out.Items = append(x.out.Items, item)
		deep = deep || n.Depth > 0
	}
	x.unnamed(named, name)
	if deep && expect != nil {
		x.note("Only the first level of callers was compared with a search")
	}
	x.out.Left = t.More
	return nil
}

// places asks for definitions or implementations.
func (x *question) places(ctx context.Context, ask lsp.Ask, p lsp.Position) error {
	var expect expectation
	if ask == lsp.Implementations {
		expect = func(ctx context.Context, name string) (func([]lsp.Place) []workspace.CodeItem, error) {
			return x.implementers(ctx, name, p)
		}
	}
	find := func() ([]lsp.Place, error) { return x.client.Find(ctx, ask, x.abs, p) }
	name := x.nameAt(p)
	found, err := x.compared(ctx, name, find, expect)
	if ask == lsp.Definition {
		x.unnamed(found, name)
	}
	for _, f := range found {
		if len(x.out.Items) >= x.q.Max {
			x.out.Left++
			continue
		}
		x.out.Items = append(x.out.Items, x.item(f, shownAbove))
	}
	return err
}

// references asks for the references.
func (x *question) references(ctx context.Context, p lsp.Position) error {
	ask := lsp.References
	if x.q.Declaration {
		ask = lsp.Declared
	}
	x.out.Name = x.nameAt(p)
	find := func() (all []lsp.Place, err error) {
		seen := map[lsp.Place]bool{}
		for _, at := range x.merged(ctx, p) {
			more, err := x.client.Find(ctx, ask, x.abs, at)
			if err != nil {
				return nil, err
			}
			for _, place := range more {
				if !seen[place] && !x.isThis(place) {
					seen[place] = true
					all = append(all, place)
				}
			}
		}
		return all, nil
	}
	found, err := x.compared(ctx, x.out.Name, find, x.uses)
	if err != nil {
		return err
	}
	x.unnamed(found, x.out.Name)
	left := map[string]int{}
	type row struct {
		path string
		line int
	}
	seen := map[row]bool{}
	for _, f := range found {
		if seen[row{f.Path, f.Line}] {
			continue // a line is shown once, however often it has the name
		}
		seen[row{f.Path, f.Line}] = true
		if len(x.out.Items) < x.q.Max {
			x.out.Items = append(x.out.Items, x.item(f, 0))
			continue
		}
		x.out.Left++
		left[cmp.Or(x.rel(f.Path), f.Path)]++
	}
	for file, n := range left {
		x.out.More = append(x.out.More, workspace.FileLeft{Path: file, Count: n})
	}
	slices.SortFunc(x.out.More, func(a, b workspace.FileLeft) int { return strings.Compare(a.Path, b.Path) })
	return nil
}

// isThis reports whether a place is the word "this": a server names some of those in static members as uses of the
// class, and others not.
func (x *question) isThis(p lsp.Place) bool {
	if x.v.TSServer == "" {
		return false
	}
	line, ok := x.lineOf(x.rel(p.Path), p.Line)
	return ok && x.out.Name != "this" && wordAt(line, x.client.Byte(p, line)) == "this" //control:this-is-no-name
}

// merged returns a position with those of the other declarations of the same thing: TypeScript
// merges an interface and a constant of one name, and its server finds the uses of each alone.
func (x *question) merged(ctx context.Context, p lsp.Position) []lsp.Position {
	all := []lsp.Position{p}
	if x.v.TSServer == "" {
		return all
	}
	list, err := x.client.Symbols(ctx, x.abs)
	own := slices.IndexFunc(list, func(s lsp.Symbol) bool { return s.Line == p.Line && s.Name == x.nameAt(p) })
	if err != nil || own < 0 {
		return all
	}
	kinds := []string{list[own].Kind}
	for _, s := range list {
		if s.Name != list[own].Name || s.Container != list[own].Container || slices.Contains(kinds, s.Kind) {
			continue
		}
		if at, ok := x.named(s, s.Name); ok {
			all, kinds = append(all, at), append(kinds, s.Kind)
		}
	}
	return all
}

// named returns the position of a symbol's name; ok is false if its line does not have it, as of a server that is
// behind.
func (x *question) named(s lsp.Symbol, name string) (p lsp.Position, ok bool) {
	if p = x.client.Position(s, x.text); s.Line < 0 {
		return p, false
	}
	if x.nameAt(p) == name {
		return p, true
	}
	line, _ := lsp.LineAt(x.text, s.Line) // some give the beginning of the definition
	p.Byte = wordIn(line, name)
	return p, p.Byte >= 0 //control:symbol-has-its-name
}

// wordIn returns the first byte of a word in a line, or -1.
func wordIn(line []byte, name string) int {
	for at := 0; name != ""; at++ {
		i := bytes.Index(line[at:], []byte(name))
		if i < 0 {
			break
		}
		if at += i; wordAt(line, at) == name {
			return at
		}
	}
	return -1
}

func (x *question) nameAt(p lsp.Position) string {
	line, _ := lsp.LineAt(x.text, p.Line)
	return wordAt(line, p.Byte)
}

// outline returns the symbols of the file.
func (x *question) outline(ctx context.Context) error {
	list, err := x.client.Symbols(ctx, x.abs)
	odd := false
	names, without := 0, 0 // plain names, and those that their lines do not have
	for _, s := range list {
		line, ok := x.lineOf(x.rel(x.abs), s.Line)
		if !ok || s.From < 0 {
			odd = true
			continue
		}
		if wordAt([]byte(s.Name), 0) == s.Name {
			if names++; !bytes.Contains(line, []byte(s.Name)) {
				without++
			}
		}
		if len(x.out.Items) >= x.q.Max {
			x.out.Left++
			continue
		}
		x.out.Items = append(x.out.Items, workspace.CodeItem{
			Path:      x.rel(x.abs),
			Line:      min(s.From, s.Line) + 1,
			To:        s.End + 1,
			Kind:      s.Kind,
			Name:      s.Name,
			Container: s.Container,
			Depth:     s.Depth,
		})
	}
	if odd || 2*without > names { //control:outline-has-its-names
		x.noteBehind()
	}
	return err
}

// everywhere asks each server that has files here for symbols by name.
func (s *servers) everywhere(ctx context.Context, q workspace.CodeQuery) (workspace.CodeAnswer, error) {
	x := question{servers: s, q: q}
	x.out.Name = q.Name
	// A server knows the index only after a document was opened, so a file with the word is opened.
	named := workspace.Query{Pattern: regexp.QuoteMeta(lastName(q.Name)), Regex: true, Max: maxMatches}
	matches, err := s.h.search(ctx, named)
	if err != nil {
		return x.out, err
	}
	if err := s.refresh(ctx); err != nil {
		return x.out, err
	}
	asked := map[*server]bool{}
	if len(matches.Files) > 0 {
		x.out.Why = "no file that has this name has a language server here"
	}
	for _, f := range matches.Files {
		v, _ := s.kindFor(f.Path)
		if v == nil || asked[v] {
			continue
		}
		asked[v] = true
		why := s.start(ctx, v)
		if x.v, x.client = v, v.client.Load(); why != "" || x.client == nil {
			x.out.Why = why
			continue
		}
		text, err := survey{s.h}.source(f.Path)
		if err == nil {
			err = x.client.Sync(ctx, path.Join(s.h.cfg.Root, f.Path), text)
		}
		x.out.Why, x.out.Server = "", v.Name
		if err == nil {
			x.waitFirst(ctx)
			err = x.symbols(ctx, x.client)
		}
		if err != nil {
			if _, err := x.end(ctx, err); err != nil {
				return x.out, err
			}
		}
	}
	if len(x.out.Items) > 0 {
		x.out.Why = ""
	}
	return x.out, nil
}

// symbols adds symbols by name: exact ones first, then those that contain it.
func (x *question) symbols(ctx context.Context, client *lsp.Client) error {
	want := lastName(x.q.Name)
	var list []lsp.Symbol
	ask := func() (out []lsp.Place, err error) {
		list, err = client.Search(ctx, want)
		for _, s := range list {
			if lastName(s.Name) == want {
				out = append(out, lsp.Place{Path: s.Path, Line: s.Line})
			}
		}
		return out, err
	}
	found, err := x.compared(ctx, want, ask, x.definitions)
	if err != nil {
		return err
	}
	x.unnamed(found, want)
	exact := 0
	container := strings.TrimSuffix(strings.TrimSuffix(x.q.Name, want), ".")
	rank := func(s lsp.Symbol) int {
		switch name := lastName(s.Name); {
		case container != "" && name == want && strings.HasSuffix(s.Container+"."+s.Name, container+"."+want):
			return 0
		case name == want:
			return 1
		case strings.EqualFold(name, want):
			return 2
		case strings.Contains(strings.ToLower(name), strings.ToLower(want)):
			return 3
		}
		return 4
	}
	slices.SortStableFunc(list, func(a, b lsp.Symbol) int { return rank(a) - rank(b) })
	for _, s := range list {
		if rank(s) == 4 && rank(list[0]) < 4 {
			break // a server guesses
		}
		rel := x.rel(s.Path)
		if x.q.Kind != "" && s.Kind != x.q.Kind || x.q.Path != "" && !within(rel, x.q.Path) || rel == "" && rank(s) > 1 {
			continue
		}
		if rank(s) <= 1 {
			exact++
		}
		if len(x.out.Items) >= x.q.Max || exact > 0 && len(x.out.Items) >= exact+maxBeside {
			x.out.Left++
			continue
		}
		item := x.item(lsp.Place{Path: s.Path, Line: s.Line}, 0)
		item.Kind, item.Name, item.Container = s.Kind, s.Name, s.Container
		x.out.Items = append(x.out.Items, item)
	}
	return nil
}

func within(p, dir string) bool { return dir == "." || p == dir || strings.HasPrefix(p, dir+"/") }

// item shows a place with lines around it.
func (x *question) item(p lsp.Place, around int) workspace.CodeItem {
	rel := x.rel(p.Path)
	item := workspace.CodeItem{Path: rel, Line: p.Line + 1}
	lineOf := func(n int) ([]byte, bool) { return x.lineOf(rel, n) }
	if rel == "" {
		item.Path = p.Path
		text, err := outsideSource(p.Path, x.v.Server)
		if err != nil {
			return item
		}
		lineOf = func(n int) ([]byte, bool) { return lsp.LineAt(text, n) }
		if _, ok := lineOf(p.Line); !ok {
			x.noteBehind()
		}
	}
	for n := max(p.Line-around, 0); n <= p.Line+around; n++ {
		if line, ok := lineOf(n); ok {
			shown := strings.ToValidUTF8(string(line[:min(len(line), 300)]), "\uFFFD")
			item.Lines = append(item.Lines, workspace.MatchLine{N: n + 1, Text: shown, Hit: n == p.Line})
		}
	}
	return item
}

// outsideSource reads a file of the standard library or of a module. The server is not trusted: only
// source code of its languages is read for it.
func outsideSource(name string, s lsp.Server) ([]byte, error) {
	target, err := filepath.EvalSymlinks(name)
	if err != nil {
		return nil, err
	}
	for _, dir := range []string{"/proc", "/sys", "/dev"} {
		if lsp.Within(dir, target) {
			return nil, os.ErrPermission
		}
	}
	if !s.Serves(target) || !s.Serves(name) { //control:outside-is-source
		return nil, os.ErrPermission
	}
	f, err := os.Open(target)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(os.ErrPermission, err)
	}
	return io.ReadAll(io.LimitReader(f, 4<<20))
}

// nameError says that a position does not exist.
type nameError struct{ text string }

func (e *nameError) Error() string { return e.text }

func isWord(b byte) bool {
	return b == '_' || b == '$' || b >= 0x80 || b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z'
}

// wordAt returns the word at a byte of a line, or "".
func wordAt(line []byte, at int) string {
	from, to := min(at, len(line)), min(at, len(line))
	for from > 0 && isWord(line[from-1]) {
		from--
	}
	for to < len(line) && isWord(line[to]) {
		to++
	}
	return string(line[from:to])
}

// lastName returns the last part of a name path: "Class.method", "Class/method", "(*T).M".
func lastName(name string) string {
	return name[strings.LastIndexAny(name, "./:#")+1:]
}

// positions finds the positions that a query means, best first: line and character; the name, near the
// line; the first name of the line.
func (x *question) positions(ctx context.Context) ([]lsp.Position, error) {
	q := x.q
	line, ok := lsp.LineAt(x.text, max(q.Line-1, 0))
	if q.Line > 0 && !ok {
		return nil, &nameError{fmt.Sprintf("%s has no line %d", x.rel(x.abs), q.Line)}
	}
	switch {
	case q.Line > 0 && q.Character > 0:
		at := 0
		for i := range string(line) { // characters of the model
			if at = i; q.Character <= 1 {
				break
			}
			q.Character--
		}
		x.out.Name = wordAt(line, at)
		return []lsp.Position{{Line: q.Line - 1, Byte: at}}, nil
	case q.Name != "":
		return x.occurrences(ctx)
	}
	defs, _, _ := outline.Of(x.abs, x.text)
	for _, d := range defs {
		if at := bytes.Index(line, []byte(lastName(d.Name))); d.Line == q.Line && at >= 0 {
			x.note("Taken is %s, the first name of line %d", lastName(d.Name), q.Line)
			x.out.Name = lastName(d.Name)
			return []lsp.Position{{Line: q.Line - 1, Byte: at}}, nil
		}
	}
	if at := bytes.IndexFunc(line, func(r rune) bool { return r == '_' || r > 'A' }); at >= 0 {
		x.out.Name = wordAt(line, at)
		x.note("Taken is %s, the first name of line %d", x.out.Name, q.Line)
		return []lsp.Position{{Line: q.Line - 1, Byte: at}}, nil
	}
	return nil, &nameError{fmt.Sprintf("there is no name in line %d of %s", q.Line, x.rel(x.abs))}
}

// occurrences finds a name as a whole word, by exact case and else by any, nearest to the line of the query. A
// name path is looked up in the outline of the file.
func (x *question) occurrences(ctx context.Context) ([]lsp.Position, error) {
	name := lastName(x.q.Name)
	if container := strings.Trim(strings.TrimSuffix(x.q.Name, name), "./:#()*"); container != "" {
		whole := regexp.MustCompile(word(lastName(container)))
		if list, err := x.client.Symbols(ctx, x.abs); err == nil {
			for _, s := range list {
				if lastName(s.Name) != name || !whole.MatchString(s.Container+" "+s.Name) {
					continue
				}
				if at, ok := x.named(s, name); ok {
					return []lsp.Position{at}, nil
				}
			}
		}
	}
	for _, flags := range []string{"", "(?i)"} {
		re, err := regexp.Compile(flags + `(?:^|[^\pL\pN_$])(` + regexp.QuoteMeta(name) + `)(?:[^\pL\pN_$]|$)`)
		if err != nil {
			return nil, &nameError{fmt.Sprintf("%q is not a name", name)}
		}
		var out []lsp.Position
		for n, line := range bytes.Split(x.text, []byte("\n")) {
			if flags == "" && !bytes.Contains(line, []byte(name)) {
				continue // faster than the expression
			}
			if m := re.FindSubmatchIndex(line); m != nil {
				out = append(out, lsp.Position{Line: n, Byte: m[2]})
			}
		}
		if x.q.Line > 0 {
			slices.SortStableFunc(out, func(a, b lsp.Position) int {
				return distance(a.Line, x.q.Line-1) - distance(b.Line, x.q.Line-1)
			})
			out = out[:min(len(out), 1)]
		}
		if len(out) > 0 {
			return out, nil
		}
	}
	return nil, &nameError{fmt.Sprintf("%q is not in %s", name, x.rel(x.abs)) + x.near(name)}
}

func distance(a, b int) int { return max(a-b, b-a) }

// near names definitions of the file that begin as the name does.
func (x *question) near(name string) string {
	const alike = 3 // bytes
	defs, _, _ := outline.Of(x.abs, x.text)
	var names []string
	for _, d := range defs {
		n := lastName(d.Name)
		if len(n) >= alike && len(name) >= alike && strings.EqualFold(n[:alike], name[:alike]) && len(names) < 5 {
			names = append(names, n)
		}
	}
	if len(names) == 0 {
		return "; find_symbol looks in all files"
	}
	return "; it defines " + strings.Join(names, ", ")
}
