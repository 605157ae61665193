package lex

import (
	"slices"
	"strings"
)

// Language is a family of interpreters that read the same texts.
type Language string

// The languages that are read.
const (
	Python     Language = "python"
	JS         Language = "javascript"
	Perl       Language = "perl"
	Ruby       Language = "ruby"
	PHP        Language = "php"
	Lua        Language = "lua"
	Awk        Language = "awk"
	Sed        Language = "sed"
	Editor     Language = "editor"
	Tcl        Language = "tcl"
	Powershell Language = "powershell"
	R          Language = "r"
	Julia      Language = "julia"
	Lisp       Language = "lisp"
	JVM        Language = "jvm"
	Beam       Language = "beam"
	Golang     Language = "go"
	octave     Language = "octave"
	Other      Language = "other" // what has calls and texts as C has them
)

// programs lists the interpreters of each language.
var programs = []struct {
	lang  Language
	names string
}{
	{Python, "python pypy ipython jython micropython sage"},
	{JS, "node nodejs deno bun ts-node tsx qjs coffee javascript jrunscript"},
	{Perl, "perl raku"},
	{Ruby, "ruby irb jruby crystal"},
	{PHP, "php php-cgi"},
	{Lua, "lua luajit"},
	{Awk, "awk gawk mawk nawk original-awk busybox-awk"},
	{Sed, "sed gsed"},
	{Editor, "vi vim nvim view ex ed gdb lldb gnuplot dc"},
	{Tcl, "tclsh wish expect tcl"},
	{Powershell, "pwsh powershell"},
	{R, "R Rscript littler r"},
	{Julia, "julia"},
	{Lisp, "emacs guile sbcl clisp ecl clojure clj bb racket janet fennel hy csi chez"},
	{JVM, "groovy scala kotlin java jshell javac kotlinc"},
	{Beam, "elixir iex erl escript"},
	{Golang, "go"},
	{octave, "octave matlab"},
	{Other, "osascript swift ghc runghc ghci ocaml rdmd nim swipl gforth c gcc cc tcc clang g++ clang++ rust rustc zig swiftc ocamlopt dmd dotnet csharp haskell d"},
}

// Gap stands in a text for a part that is not known.
const Gap = "\x00"

// MaxNested is how deep texts in texts are looked for.
const MaxNested = 8

// Grammar says how a language writes names, texts and calls.
type Grammar struct {
	comment   string // what opens a comment, up to the end of the line
	block     string // the two ends of a longer one
	quotes    string // what opens a text
	simple    string // those in which only the delimiter is escaped
	oneLine   string // those that end on their line
	chars     bool   // a single quote opens a character, or nothing
	triple    bool   // three quotation marks open a longer text
	backquote bool   // a text between backquotes is run
	interp    string // what opens a part that is replaced
	heredoc   string // what opens a here-document
	patterns  bool   // slashes enclose a regular expression
	sigils    string // what names of variables start with
	letters   string // what stands in names besides letters and digits
	starts    string // what names start with besides letters
	Member    string // the signs before a member
	Concat    string // the signs that join texts
	Newlines  bool   // a newline ends a statement
	Bare      bool   // calls need no brackets
	Values    bool   // the name of a function without brackets is a value
	escapes   *escapes
}

const cLetters = "n\nt\tr\ra\ab\bf\fv\v"

var cEscapes = &escapes{letters: cLetters + "e\x1b0\x00", octal: 3, hex: [2]int{1, 2}, unicode: true, wide: true, braces: "u", join: true, rest: 'd'}

// Grammars says how each language writes.
var Grammars = map[Language]*Grammar{
	Python: {comment: "#", quotes: `"'`, oneLine: `"'`, triple: true, interp: "{", Member: ".", Concat: "+", Newlines: true, Values: true,
		escapes: &escapes{letters: cLetters + "\\\\''\"\"", octal: 3, hex: [2]int{2, 2}, unicode: true, wide: true, join: true, opaque: "N", rest: 'k', runes: true}},
	JS: {comment: "//", block: "/*…*/", quotes: "\"'`", oneLine: `"'`, interp: "$", patterns: true, letters: "$#", starts: "$#", Member: ". ?. ::", Concat: "+", Values: true,
		escapes: &escapes{letters: "n\nt\tr\rb\bf\fv\v", octal: 3, hex: [2]int{2, 2}, unicode: true, braces: "u", join: true, rest: 'd', runes: true}},
	Perl: {comment: "#", quotes: "\"'`", simple: "'", backquote: true, interp: "$@", heredoc: "<<", patterns: true, sigils: "$@%&", Member: "->", Concat: ".", Bare: true,
		escapes: &escapes{letters: "n\nt\tr\ra\ab\bf\fe\x1b", octal: 3, hex: [2]int{0, 2}, braces: "xo", control: true, opaque: "NlLuUQEF", rest: 'd'}},
	Ruby: {comment: "#", quotes: "\"'`", simple: "'", backquote: true, interp: "#", heredoc: "<<", patterns: true, sigils: "@$", Member: ". &. ::", Concat: "+", Newlines: true, Bare: true,
		escapes: &escapes{letters: cLetters + "e\x1bs ", octal: 3, hex: [2]int{1, 2}, unicode: true, braces: "u", join: true, opaque: "cCM", rest: 'd'}},
	PHP: {comment: "# //", block: "/*…*/", quotes: "\"'`", simple: "'", backquote: true, interp: "$", heredoc: "<<<", sigils: "$", starts: `\`, Member: "-> ?-> ::", Concat: ".", Bare: true,
		escapes: &escapes{letters: "n\nt\tr\rv\ve\x1bf\f$$\\\\", octal: 3, hex: [2]int{1, 2}, braces: "u", rest: 'k'}},
	Lua: {comment: "--", block: "--[[…]] --[=[…]=]", quotes: `"'`, oneLine: `"'`, Member: ". :", Concat: "..", Bare: true, Values: true,
		escapes: &escapes{letters: cLetters, decimal: true, hex: [2]int{2, 2}, braces: "u", opaque: "z", rest: 'd'}},
	Awk: {comment: "#", quotes: `"`, oneLine: `"`, patterns: true, starts: "@", Newlines: true, Bare: true,
		escapes: &escapes{letters: "n\nt\tr\ra\ab\bf\fv\v\"\"\\\\//", octal: 3, opaque: "x", join: true, rest: 'o'}},
	R:      {comment: "#", quotes: "\"'", letters: ".", starts: ".", Member: ":: ::: $ @", Newlines: true, Values: true, escapes: cEscapes},
	Julia:  {comment: "#", block: "#=…=#", quotes: "\"'`", chars: true, triple: true, backquote: true, interp: "$", letters: "!", Member: ".", Concat: "*", Newlines: true, Values: true, escapes: cEscapes},
	Lisp:   {comment: ";", block: "#|…|#", quotes: `"`, letters: "-+*/<>=!?.:%$_", starts: "-+*/<>=!?.:%$", escapes: cEscapes},
	JVM:    {comment: "//", block: "/*…*/", quotes: `"'`, oneLine: "'", triple: true, interp: "$", Member: ". ?. ::", Concat: "+", Bare: true, Newlines: true, escapes: cEscapes},
	Beam:   {comment: "# %", quotes: `"'`, triple: true, interp: "#", letters: "?!", Member: ". :", Concat: "<> ++", Bare: true, Newlines: true, escapes: cEscapes},
	Golang: {comment: "//", block: "/*…*/", quotes: "\"'`", oneLine: `"'`, chars: true, Member: ".", Concat: "+", Newlines: true, Values: true, escapes: cEscapes},
	octave: {comment: "# %", quotes: `"'`, simple: "'", oneLine: `"'`, Member: ".", Newlines: true, chars: true, escapes: cEscapes},
	Powershell: {comment: "#", block: "<#…#>", quotes: `"'`, simple: "'", interp: "$", sigils: "$", letters: "-", Member: ". :: ?.", Concat: "+", Newlines: true,
		escapes: &escapes{rest: 'k'}},
	Other: {comment: "//", block: "/*…*/ (*…*)", quotes: `"'`, oneLine: "'", chars: true, triple: true, interp: "$", Member: ". :: ->", Concat: "+ ^ & ++ ~", Bare: true, escapes: cEscapes},
}

// LanguageOf returns the language that a program reads, by the name of the
// program without its directory: "python3.11" reads Python.
func LanguageOf(program string) (Language, bool) {
	for _, name := range []string{program, strings.TrimRight(program, "0123456789.-")} {
		for _, l := range programs {
			if slices.Contains(strings.Fields(l.names), name) {
				return l.lang, true
			}
		}
	}
	return "", false
}
