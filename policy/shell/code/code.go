// Package code reads program texts that are handed to the interpreter of
// another language than the shell: python -c, node -e, perl -e, an awk or sed
// script, a here-document. It does not run or type-check them. It finds the
// calls that execute, delete, write, send or read the environment, and says
// of each argument whether it is a plain literal. One lexer and one reader of
// expressions serve all languages; what differs is data: a grammar and a
// table of calls per language. The package is pure and total: every text has
// an answer, in time linear in its length.
package code

import (
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/policy/shell/code/lex"
)

// Language is a family of interpreters, see [lex.Language].
type Language = lex.Language

// Gap stands in an Arg's Text for a part that is not known.
const Gap = lex.Gap

// LanguageOf returns the language that a program reads, see [lex.LanguageOf].
func LanguageOf(program string) (Language, bool) { return lex.LanguageOf(program) }

// Kind is what a call does.
type Kind int

// The kinds of calls. The arguments of Exec are the words of one command,
// those of Shell one shell line. Eval is text of the same language that is
// not a plain literal (a plain one is read in place); Load runs the file that
// it names. Env reads a variable of the environment, or all of it when it has
// no arguments. Connect opens or offers a socket. Grow takes memory.
const (
	Exec Kind = iota + 1
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
	Grow
)

// Arg is an argument. A Text that is not Plain is what is known of it, with a
// Gap for each part that is not.
type Arg struct {
	Text  string
	Plain bool
}

// Call is a call that matters. Name is its full name as the language's
// library has it, whatever it was imported as. Dir is the directory that the
// call runs in, if it names one. Input lists what the called program may read
// on its standard input, as far as the text holds it.
type Call struct {
	Kind  Kind
	Name  string
	Args  []Arg
	Dir   []Arg
	Input []Arg
	Line  int
}

// Program is what a text does. Opaque reports that it executes something that
// is not a plain literal, or could not be read to its end; then any of the
// Strings may be what it executes or deletes. Strings are the literals of the
// text, whole and in pieces. Stdin reports that the text reads its standard
// input, Endless that it has a loop without an end.
type Program struct {
	Calls   []Call
	Strings []string
	Opaque  bool
	Stdin   bool
	Endless bool

	read int // the size of the texts that were read, one in another
}

const (
	maxDepth   = 40      // nesting of brackets, and of texts in texts
	maxText    = 1 << 20 // longer texts are not read
	maxInner   = 1 << 18 // texts in texts, all together
	maxStrings = 4096    // literals that are reported, and calls
)

// Read finds the calls of text that matter.
func Read(lang lex.Language, text string) Program {
	p := &Program{}
	readText(lang, text, p, 0)
	if !p.Endless {
		p.Calls = slices.DeleteFunc(p.Calls, func(c Call) bool { return c.Kind == Grow })
	}
	for _, c := range p.Calls {
		if c.executes() && (len(c.Args) == 0 || slices.ContainsFunc(c.Args, func(a Arg) bool { return !a.Plain })) {
			p.Opaque = true
		}
	}
	return *p
}

func (c Call) executes() bool { return c.Kind <= Load }

// readText adds what text does to p. Texts in texts come here again.
func readText(lang lex.Language, text string, p *Program, nested int) {
	if nested > 0 {
		p.read += len(text) + 1
	}
	if nested > lex.MaxNested || len(text) > maxText || p.read > maxInner || len(p.Calls) > maxStrings {
		p.Opaque = true
		return
	}
	switch lang {
	case lex.Sed:
		readSed(text, p)
	case lex.Editor:
		readEditor(text, p, nested)
	case lex.Tcl, lex.Powershell:
		readWords(lang, text, p, nested)
	}
	g, ok := lex.Grammars[lang]
	if !ok {
		return
	}
	if lang == lex.PHP && (strings.Contains(text, "<?php") || strings.Contains(text, "<?=")) {
		page := text
		text = phpCode(page)
		if strings.IndexAny(strings.TrimSpace(page), "<#") != 0 { // what stands before a tag may be the program
			readText(lang, strings.ReplaceAll(page, "<?", "< ?"), p, nested+1)
		}
	}
	toks, ok := lex.Tokens(lang, g, text)
	p.Opaque = p.Opaque || !ok
	newReader(lang, toks, p, nested).all()
}

// phpCode is the program in a page: what stands between the tags.
func phpCode(page string) string {
	var b strings.Builder
	for {
		html, rest, ok := strings.Cut(page, "<?")
		b.WriteString(strings.Repeat("\n", strings.Count(html, "\n")))
		if !ok {
			return b.String()
		}
		rest = strings.TrimPrefix(rest, "php")
		text, after, _ := strings.Cut(rest, "?>")
		b.WriteString(strings.TrimPrefix(text, "=") + ";")
		page = after
	}
}
