package code

import (
	_ "embed"
	"strings"
	"sync"
)

// Kind is the effect of a call.
type Kind int

// The kinds of calls. The arguments of Run are a shell line, or the words of a command.
// Eval runs text in the same language, Load a file. Env reads a variable of the
// environment, or all of it if there are no arguments. Connect opens a socket or listens
// on one. Move deletes its first argument and writes the others.
const (
	Harmless Kind = iota
	Run
	Eval
	Load
	Delete
	DeleteTree
	Move
	Write
	Fetch
	Send
	Connect
	Env
	Fork
	Signal
	Chdir
	decodes // decodes data into text
	module  // returns a library
	named   // calls or returns a function by its name
	same    // returns its arguments
	home    // returns the home directory
	here    // returns the working directory
)

// runs reports whether calls of the kind run or delete something. They count even if the
// function is only passed as an argument.
func (k Kind) runs() bool { return k >= Run && k <= DeleteTree }

// The relevant arguments of a call.
const (
	first = iota
	all
	last
	none
	receiver // the receiver of the method
	opened   // a file, and a mode
)

// entry describes a known name.
type entry struct {
	kind Kind
	args int
}

// verbs are the first words of the table's lines.
var verbs = map[string]entry{
	"ok":         {Harmless, none},
	"shell":      {Run, first},
	"words":      {Run, all},
	"receiver":   {Run, receiver},
	"eval":       {Eval, first},
	"load":       {Load, first},
	"delete":     {Delete, all},
	"tree":       {DeleteTree, all},
	"own-delete": {Delete, receiver},
	"own-tree":   {DeleteTree, receiver},
	"empty":      {Delete, first},
	"move":       {Move, all},
	"write":      {Write, first},
	"own-write":  {Write, receiver},
	"last-write": {Write, last},
	"open":       {Write, opened},
	"fetch":      {Fetch, first},
	"save":       {Fetch, all},
	"send":       {Send, first},
	"connect":    {Connect, none},
	"env":        {Env, none},
	"getenv":     {Env, first},
	"fork":       {Fork, none},
	"signal":     {Signal, all},
	"chdir":      {Chdir, first},
	"decode":     {decodes, none},
	"module":     {module, first},
	"named":      {named, all},
	"same":       {same, first},
	"path":       {same, all},
	"home":       {home, none},
	"cwd":        {here, none},
}

//go:embed calls.txt
var calls string

type tabled struct {
	byLanguage map[string]map[string]entry
	byProgram  map[string]string
}

// table is the parsed table, read on first use.
var table = sync.OnceValue(func() tabled {
	t := tabled{map[string]map[string]entry{}, map[string]string{}}
	var section map[string]entry
	for line := range strings.Lines(calls) {
		words := strings.Fields(line)
		switch {
		case len(words) == 0 || words[0] == "#":
			continue
		case words[0][0] == '[':
			section = map[string]entry{}
			language := strings.Trim(words[0], "[]")
			t.byLanguage[language] = section
			for _, p := range words[1:] {
				t.byProgram[p] = language
			}
			continue
		}
		for _, n := range words[1:] {
			if _, twice := section[n]; !twice {
				section[n] = verbs[words[0]]
			}
		}
	}
	return t
})

// LanguageOf returns the language of an interpreter, or "other" if it is unknown.
func LanguageOf(program string) string {
	if l, ok := table().byProgram[program]; ok {
		return l
	}
	return "other"
}
