package code

import (
	_ "embed"
	"strings"
	"sync"

	"github.com/handrail-bot/handrail/policy/shell/code/lex"
	"github.com/handrail-bot/handrail/policy/shell/code/vocabulary"
)

type shape int

// The shapes of calls: which of their arguments count.
const (
	shapeFirst shape = iota // the first
	shapeArgs               // all of them
	shapeFile               // a program and its words
	shapeZero               // a program, the name it is given, its words
	shapeMode               // a mode, and then as shapeZero
	shapeRecv               // what the method is called on
	shapeLast               // the last
	shapeMove               // what is moved, and where to
	shapeOpen               // a file and a mode
	shapeNone               // none are needed
	shapeValue              // it is no function
)

// entry is what is known of a name.
type entry struct {
	kind   Kind
	shape  shape
	fold   string // how its value is computed
	passed bool   // counts when it is passed on and not called
	piped  bool   // the program writes what the command reads
}

func (e entry) executes() bool { return e.kind >= Exec && e.kind <= Load && e.fold == "" }

// place reports whether the value is a directory that goes by a name.
func (e entry) place() bool {
	_, ok := vocabulary.Directory(e.fold)
	return ok
}

// needsNoArgs reports whether a name may be a call as it stands.
func (e entry) needsNoArgs() bool {
	return e.place() || (e.kind == Delete || e.kind == DeleteTree) && e.shape == shapeRecv
}

// with is the entry when the call has the named arguments.
func (e entry) with(named map[string]value) entry {
	if v, ok := named["recursive"]; ok && e.kind == Delete && v.name != "false" {
		e.kind = DeleteTree
	}
	return e
}

// verbs are the words that open a line of a table.
var verbs = map[string]entry{
	"shell":      {kind: Shell, shape: shapeFirst, passed: true},
	"pipe":       {kind: Shell, shape: shapeFirst, passed: true, piped: true},
	"words":      {kind: Shell, shape: shapeArgs, passed: true},
	"pipewords":  {kind: Shell, shape: shapeArgs, passed: true, piped: true},
	"file":       {kind: Exec, shape: shapeFile, passed: true, piped: true},
	"zero":       {kind: Exec, shape: shapeZero, passed: true},
	"mode":       {kind: Exec, shape: shapeMode, passed: true},
	"receiver":   {kind: Shell, shape: shapeRecv, passed: true},
	"eval":       {kind: Eval, shape: shapeFirst, passed: true},
	"load":       {kind: Load, shape: shapeFirst, passed: true},
	"delete":     {kind: Delete, shape: shapeArgs, passed: true},
	"tree":       {kind: DeleteTree, shape: shapeArgs, passed: true},
	"empty":      {kind: Delete, shape: shapeFirst, passed: true},
	"own-delete": {kind: Delete, shape: shapeRecv},
	"own-tree":   {kind: DeleteTree, shape: shapeRecv},
	"move":       {kind: Write, shape: shapeMove},
	"write":      {kind: Write, shape: shapeFirst},
	"own-write":  {kind: Write, shape: shapeRecv},
	"last-write": {kind: Write, shape: shapeLast},
	"open":       {kind: Write, shape: shapeOpen},
	"fetch":      {kind: Fetch, shape: shapeFirst},
	"send":       {kind: Send, shape: shapeFirst},
	"send-any":   {kind: Send, shape: shapeNone},
	"connect":    {kind: Connect, shape: shapeNone},
	"env":        {kind: Env, shape: shapeValue},
	"getenv":     {kind: Env, shape: shapeFirst},
	"fork":       {kind: Fork, shape: shapeNone},
	"signal":     {kind: Signal, shape: shapeArgs},
	"chdir":      {kind: Chdir, shape: shapeFirst},
	"grow":       {kind: Grow, shape: shapeNone},
}

//go:embed calls.txt
var calls string

// tables holds the tables of all languages, ready to look into. A name that
// starts with a dot is a method of any receiver; the key *name finds the last
// part of a name that was put together from a text.
var tables = sync.OnceValue(func() map[lex.Language]map[string]entry {
	all := map[lex.Language]map[string]entry{}
	var t map[string]entry
	for line := range strings.Lines(calls) {
		names := strings.Fields(line)
		switch {
		case len(names) == 0 || names[0] == "#":
			continue
		case names[0][0] == '[':
			t = map[string]entry{}
			all[lex.Language(strings.Trim(names[0], "[]"))] = t
			continue
		}
		e, ok := verbs[names[0]]
		if !ok {
			e.fold = strings.TrimPrefix(names[0], "=")
		}
		for _, n := range names[1:] {
			t[n] = e
			last := "*" + n[strings.LastIndexAny(n, "./")+1:]
			if _, taken := t[last]; !taken && e.executes() {
				t[last] = e
			}
		}
	}
	return all
})
