package code

import (
	_ "embed"
	"strings"
	"sync"
)

// Kind is what a call does.
type Kind int

// The kinds of calls. The arguments of Exec are the words of one command,
// those of Shell one shell line. Eval runs text of the same language, Load the
// file that it names. Env reads a variable of the environment, or all of it
// when it has no arguments. Connect opens or offers a socket.
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
	decodes // it makes a text of one that cannot be read
	module  // its value is the library that it names
	member  // its value is a member that goes by a name
	sends   // it calls what it names
	same    // its value is that of its first argument
	paths   // its value is a path put together from its arguments
	home    // its value is the home directory
	here    // its value is the working directory
)

// runs reports whether a call of the kind runs or deletes something, so that it counts
// where it is passed on, too.
func (k Kind) runs() bool { return k >= Exec && k <= DeleteTree }

// shape says which arguments of a call count.
type shape int

const (
	first shape = iota
	all
	program  // a program, and a list of its words
	zero     // a program, the name it is given, its words
	mode     // a mode, and then as zero
	receiver // what the method is called on
	last
	moved // what is moved, and where to
	opened
	none
	whole // it is no function
)

// entry is what is known of a name.
type entry struct {
	kind  Kind
	shape shape
}

// entries are the calls of a language.
type entries struct {
	calls map[string]entry
	awk   bool
	colon bool // members may stand behind a colon
}

// verbs are the words that begin a line of the table.
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

// table is read when the first text is looked at.
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
			t.byLanguage[language] = entries{section, language == "awk", language == "lua" || language == "beam"}
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

// LanguageOf is the language that an interpreter reads.
func LanguageOf(program string) string {
	if l, ok := table().byProgram[program]; ok {
		return l
	}
	return "other"
}
