package code

const (
	python     Language = "python"
	js         Language = "javascript"
	perl       Language = "perl"
	ruby       Language = "ruby"
	php        Language = "php"
	lua        Language = "lua"
	awk        Language = "awk"
	sed        Language = "sed"
	editor     Language = "editor"
	tcl        Language = "tcl"
	powershell Language = "powershell"
	rlang      Language = "r"
	julia      Language = "julia"
	lisp       Language = "lisp"
	jvm        Language = "jvm"
	beam       Language = "beam"
	golang     Language = "go"
	octave     Language = "octave"
	other      Language = "other" // what has calls and texts as C has them
)

// programs lists the interpreters of each language.
var programs = []struct {
	lang  Language
	names string
}{
	{python, "python pypy ipython jython micropython sage"},
	{js, "node nodejs deno bun ts-node tsx qjs coffee javascript jrunscript"},
	{perl, "perl raku"},
	{ruby, "ruby irb jruby crystal"},
	{php, "php php-cgi"},
	{lua, "lua luajit"},
	{awk, "awk gawk mawk nawk original-awk busybox-awk"},
	{sed, "sed gsed"},
	{editor, "vi vim nvim view ex ed gdb lldb gnuplot dc"},
	{tcl, "tclsh wish expect tcl"},
	{powershell, "pwsh powershell"},
	{rlang, "R Rscript littler r"},
	{julia, "julia"},
	{lisp, "emacs guile sbcl clisp ecl clojure clj bb racket janet fennel hy csi chez"},
	{jvm, "groovy scala kotlin java jshell javac kotlinc"},
	{beam, "elixir iex erl escript"},
	{golang, "go"},
	{octave, "octave matlab"},
	{other, "osascript swift ghc runghc ghci ocaml rdmd nim swipl gforth c gcc cc tcc clang g++ clang++ rust rustc zig swiftc ocamlopt dmd dotnet csharp haskell d"},
}

// grammar says how a language writes names, texts and calls.
type grammar struct {
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
	member    string // the signs before a member
	concat    string // the signs that join texts
	newlines  bool   // a newline ends a statement
	bare      bool   // calls need no brackets
	values    bool   // the name of a function without brackets is a value
	escapes   *escapes
}

const cLetters = "n\nt\tr\ra\ab\bf\fv\v"

var cEscapes = &escapes{letters: cLetters + "e\x1b0\x00", octal: 3, hex: [2]int{1, 2}, unicode: true, wide: true, braces: "u", join: true, rest: 'd'}

var grammars = map[Language]*grammar{
	python: {comment: "#", quotes: `"'`, oneLine: `"'`, triple: true, interp: "{", member: ".", concat: "+", newlines: true, values: true,
		escapes: &escapes{letters: cLetters + "\\\\''\"\"", octal: 3, hex: [2]int{2, 2}, unicode: true, wide: true, join: true, opaque: "N", rest: 'k', runes: true}},
	js: {comment: "//", block: "/*…*/", quotes: "\"'`", oneLine: `"'`, interp: "$", patterns: true, letters: "$#", starts: "$#", member: ". ?. ::", concat: "+", values: true,
		escapes: &escapes{letters: "n\nt\tr\rb\bf\fv\v", octal: 3, hex: [2]int{2, 2}, unicode: true, braces: "u", join: true, rest: 'd', runes: true}},
	perl: {comment: "#", quotes: "\"'`", simple: "'", backquote: true, interp: "$@", heredoc: "<<", patterns: true, sigils: "$@%&", member: "->", concat: ".", bare: true,
		escapes: &escapes{letters: "n\nt\tr\ra\ab\bf\fe\x1b", octal: 3, hex: [2]int{0, 2}, braces: "xo", control: true, opaque: "NlLuUQEF", rest: 'd'}},
	ruby: {comment: "#", quotes: "\"'`", simple: "'", backquote: true, interp: "#", heredoc: "<<", patterns: true, sigils: "@$", member: ". &. ::", concat: "+", newlines: true, bare: true,
		escapes: &escapes{letters: cLetters + "e\x1bs ", octal: 3, hex: [2]int{1, 2}, unicode: true, braces: "u", join: true, opaque: "cCM", rest: 'd'}},
	php: {comment: "# //", block: "/*…*/", quotes: "\"'`", simple: "'", backquote: true, interp: "$", heredoc: "<<<", sigils: "$", starts: `\`, member: "-> ?-> ::", concat: ".", bare: true,
		escapes: &escapes{letters: "n\nt\tr\rv\ve\x1bf\f$$\\\\", octal: 3, hex: [2]int{1, 2}, braces: "u", rest: 'k'}},
	lua: {comment: "--", block: "--[[…]] --[=[…]=]", quotes: `"'`, oneLine: `"'`, member: ". :", concat: "..", bare: true, values: true,
		escapes: &escapes{letters: cLetters, decimal: true, hex: [2]int{2, 2}, braces: "u", opaque: "z", rest: 'd'}},
	awk: {comment: "#", quotes: `"`, oneLine: `"`, patterns: true, starts: "@", newlines: true, bare: true,
		escapes: &escapes{letters: "n\nt\tr\ra\ab\bf\fv\v\"\"\\\\//", octal: 3, opaque: "x", join: true, rest: 'o'}},
	rlang:  {comment: "#", quotes: "\"'", letters: ".", starts: ".", member: ":: ::: $ @", newlines: true, values: true, escapes: cEscapes},
	julia:  {comment: "#", block: "#=…=#", quotes: "\"'`", chars: true, triple: true, backquote: true, interp: "$", letters: "!", member: ".", concat: "*", newlines: true, values: true, escapes: cEscapes},
	lisp:   {comment: ";", block: "#|…|#", quotes: `"`, letters: "-+*/<>=!?.:%$_", starts: "-+*/<>=!?.:%$", escapes: cEscapes},
	jvm:    {comment: "//", block: "/*…*/", quotes: `"'`, oneLine: "'", triple: true, interp: "$", member: ". ?. ::", concat: "+", bare: true, newlines: true, escapes: cEscapes},
	beam:   {comment: "# %", quotes: `"'`, triple: true, interp: "#", letters: "?!", member: ". :", concat: "<> ++", bare: true, newlines: true, escapes: cEscapes},
	golang: {comment: "//", block: "/*…*/", quotes: "\"'`", oneLine: `"'`, chars: true, member: ".", concat: "+", newlines: true, values: true, escapes: cEscapes},
	octave: {comment: "# %", quotes: `"'`, simple: "'", oneLine: `"'`, member: ".", newlines: true, chars: true, escapes: cEscapes},
	powershell: {comment: "#", block: "<#…#>", quotes: `"'`, simple: "'", interp: "$", sigils: "$", letters: "-", member: ". :: ?.", concat: "+", newlines: true,
		escapes: &escapes{rest: 'k'}},
	other: {comment: "//", block: "/*…*/ (*…*)", quotes: `"'`, oneLine: "'", chars: true, triple: true, interp: "$", member: ". :: ->", concat: "+ ^ & ++ ~", bare: true, escapes: cEscapes},
}
