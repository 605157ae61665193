package code

import (
	_ "embed"
	"strings"
	"sync"
)

// Kind is the effect of a call.
type Kind int

// The kinds of calls. The arguments of Exec are the words of one command, those of Shell
// one shell line. Eval runs text in the same language, Load a file. Env reads a variable
// of the environment, or all of it if there are no arguments. Connect opens a socket or
// listens on one.
const (
	Harmless Kind = iota
	Exec
	Shell
	Eval
	Load
	Delete
	DeleteTree
	Write
	Fetch
	Send
	Connect
	Env
	Fork
	Signal
	Chdir
	decodes // decodes data into text
	module  // returns the named library
	member  // returns the named member
	sends   // calls the named function
	same    // returns its first argument
	paths   // joins its arguments to a path
	home    // returns the home directory
	here    // returns the working directory
)

// runs reports whether calls of the kind run or delete something. They count even if the
// function is only passed as an argument.
func (k Kind) runs() bool { return k >= Exec && k <= DeleteTree }

// shape selects the relevant arguments of a call.
type shape int

const (
	first shape = iota
	all
	program  // a program, and a list of arguments
	zero     // a program, its argv[0], and its arguments
	mode     // a mode, then as in zero
	receiver // the receiver of the method
	last
	moved // source and destination of a move
	opened
	none
	whole // not a function
)

// entry describes a known name.
type entry struct {
	kind  Kind
	shape shape
}

// entries are the known calls of a language.
type entries struct {
	calls map[string]entry
	awk   bool
	colon bool // members may follow a colon
}

// verbs are the first words of the table's lines.
var verbs = map[string]entry{
	"ok":         {Harmless, none},
	"shell":      {Shell, first},
	"pipe":       {Shell, first},
	"words":      {Shell, all},
	"pipewords":  {Shell, all},
	"file":       {Exec, program},
	"zero":       {Exec, zero},
	"mode":       {Exec, mode},
	"receiver":   {Shell, receiver},
	"eval":       {Eval, first},
	"load":       {Load, first},
	"delete":     {Delete, all},
	"tree":       {DeleteTree, all},
	"empty":      {Delete, first},
	"own-delete": {Delete, receiver},
	"own-tree":   {DeleteTree, receiver},
	"move":       {Write, moved},
	"write":      {Write, first},
	"own-write":  {Write, receiver},
	"last-write": {Write, last},
	"open":       {Write, opened},
	"fetch":      {Fetch, first},
	"send":       {Send, first},
	"connect":    {Connect, none},
	"env":        {Env, whole},
	"getenv":     {Env, first},
	"fork":       {Fork, none},
	"signal":     {Signal, all},
	"chdir":      {Chdir, first},
	"decode":     {decodes, first},
	"module":     {module, first},
	"member":     {member, first},
	"sends":      {sends, first},
	"same":       {same, first},
	"path":       {paths, all},
	"home":       {home, none},
	"cwd":        {here, none},
}

//go:embed calls.txt
var calls string

type tabled struct {
	byLanguage map[string]entries
	byProgram  map[string]string
}

// table is the parsed table, read on first use.
var table = sync.OnceValue(func() tabled {
	t := tabled{map[string]entries{}, map[string]string{}}
	var section map[string]entry
	for line := range strings.Lines(calls) {
		words := strings.Fields(line)
		switch {
		case len(words) == 0 || words[0] == "#":
			continue
		case words[0][0] == '[':
			section = map[string]entry{}
			language := strings.Trim(words[0], "[]")
			t.byLanguage[language] = entries{section, language == "awk", language == "lua"}
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

func tables() map[string]entries { return table().byLanguage }

// LanguageOf returns the language of an interpreter, or "other" if it is unknown.
func LanguageOf(program string) string {
	if l, ok := table().byProgram[program]; ok {
		return l
	}
	return "other"
}
