package outline

// byExtension is the language of a file by what its name ends in.
var byExtension = map[string]string{
	"go": "go", "py": "python", "pyi": "python", "pyw": "python", "js": "javascript", "mjs": "javascript", "cjs": "javascript", "jsx": "javascript",
	"ts": "typescript", "mts": "typescript", "cts": "typescript", "tsx": "tsx", "rs": "rust", "java": "java", "c": "c",
	"h": "cpp", "cc": "cpp", "cpp": "cpp", "cxx": "cpp", "hpp": "cpp", "hh": "cpp", "hxx": "cpp", "inl": "cpp", "cs": "csharp", "rb": "ruby", "rake": "ruby",
	"php": "php", "kt": "kotlin", "kts": "kotlin", "swift": "swift", "scala": "scala", "sc": "scala", "sh": "shell", "bash": "shell", "bats": "shell", "lua": "lua",
}

var byName = map[string]string{"rakefile": "ruby", "gemfile": "ruby", ".bashrc": "shell", ".profile": "shell"}

// rules say how a language is taken apart.
type rules struct {
	line   []string    // what begins a comment that ends with the line
	block  [][2]string // comments of several lines
	nested bool        // they may be in one another
	long   [][2]string // texts that may have several lines
	quotes string      // what begins and ends other texts
	lines  bool        // those may have several lines, too
	insert string      // what begins a piece of code in a text, such as ${
	word   string      // what may be in a word, beside letters and digits
	chars  bool        // ' begins one character, or stands for itself
	quoted bool        // words may stand in backquotes
	hash   bool        // a line that begins with # is for the preprocessor
	define map[string]string
	parse  func(f *file, i int) int                      // looks at a token; returns how many it took
	name   func(f *file, i int) (name string, at, n int) // reads the name behind a word: where it is, and of how many tokens
	lex    func(s *source, i int) int                    // what only this language has: returns where it ends, or i
}

var slashes = []string{"//"}
var stars = [][2]string{{"/*", "*/"}}

// languages is filled in once; it is not changed.
var languages = map[string]*rules{
	"go":     {line: slashes, block: stars, long: [][2]string{{"`", "`"}}, quotes: `"'`, parse: (*file).keyword, name: plainName, define: map[string]string{"func": "func", "type": "type"}},
	"python": {line: []string{"#"}, long: [][2]string{{`"""`, `"""`}, {"'''", "'''"}}, quotes: `"'`, parse: (*file).keyword, name: pythonName, define: map[string]string{"class": "class", "def": "func"}},
	"rust": {line: slashes, block: stars, nested: true, quotes: `"`, lines: true, chars: true, lex: (*source).rawRust, parse: (*file).keyword, name: rustName,
		define: map[string]string{"struct": "struct", "enum": "enum", "union": "union", "type": "type", "fn": "func", "trait": "trait", "mod": "mod", "macro_rules": "macro"}},
	"ruby": {line: []string{"#"}, quotes: "\"'`", lines: true, insert: "#{", word: "?!@$", lex: (*source).rubyText, parse: (*file).keyword, name: rubyName,
		define: map[string]string{"class": "class", "module": "module", "def": "func", "alias": "func"}},
	"php": {line: []string{"//", "#"}, block: stars, quotes: `"'`, lines: true, word: "$", lex: (*source).phpText, parse: (*file).keyword, name: phpName,
		define: map[string]string{"class": "class", "interface": "interface", "trait": "trait", "enum": "enum", "function": "func", "namespace": "namespace"}},
	"kotlin": {line: slashes, block: stars, nested: true, quoted: true, long: [][2]string{{`"""`, `"""`}}, quotes: `"`, chars: true, insert: "${", parse: (*file).keyword, name: kotlinName,
		define: map[string]string{"class": "class", "interface": "interface", "object": "object", "fun": "func", "typealias": "type"}},
	"swift": {line: slashes, block: stars, nested: true, quoted: true, long: [][2]string{{`"""`, `"""`}, {`#"`, `"#`}}, quotes: `"`, insert: `\(`, parse: (*file).keyword, name: swiftName,
		define: map[string]string{"class": "class", "struct": "struct", "enum": "enum", "protocol": "protocol", "extension": "extension", "actor": "actor", "func": "func", "typealias": "type"}},
	"scala": {line: slashes, block: stars, nested: true, quoted: true, long: [][2]string{{`"""`, `"""`}}, quotes: `"`, chars: true, insert: "${", parse: (*file).keyword, name: scalaName,
		define: map[string]string{"trait": "trait", "enum": "enum", "class": "class", "object": "object", "def": "func", "type": "type"}},
	"lua": {line: []string{"--"}, quotes: `"'`, lex: (*source).luaText, parse: (*file).keyword, name: luaName, define: map[string]string{"function": "func"}},
	"shell": {line: []string{"#"}, quotes: "\"'`", lines: true, insert: "$(", word: "-:.@+", lex: (*source).shellText, parse: (*file).shellFunc,
		define: map[string]string{"function": "func"}},
	"java": {line: slashes, block: stars, long: [][2]string{{`"""`, `"""`}}, quotes: `"'`, word: "$", parse: (*file).member,
		define: map[string]string{"class": "class", "interface": "interface", "enum": "enum", "record": "record"}},
	"csharp": {line: slashes, block: stars, long: [][2]string{{`"""`, `"""`}}, quotes: `"'`, hash: true, word: "@", lex: (*source).verbatim, parse: (*file).member,
		define: map[string]string{"class": "class", "interface": "interface", "struct": "struct", "enum": "enum", "record": "record", "namespace": "namespace"}},
	"c": {line: slashes, block: stars, quotes: `"'`, hash: true, lex: (*source).rawCpp, parse: (*file).declaration,
		define: map[string]string{"struct": "struct", "union": "union", "enum": "enum"}},
	"cpp": {line: slashes, block: stars, quotes: `"'`, hash: true, lex: (*source).rawCpp, parse: (*file).declaration,
		define: map[string]string{"struct": "struct", "union": "union", "enum": "enum", "class": "class", "namespace": "namespace", "concept": "concept"}},
	"javascript": script, "typescript": script, "tsx": script,
}

var script = &rules{line: slashes, block: stars, long: [][2]string{{"`", "`"}}, quotes: `"'`, insert: "${", word: "$#", lex: (*source).pattern, parse: (*file).script}
