package outline

// byExtension maps file name extensions to languages.
var byExtension = map[string]string{
	"go": "go", "py": "python", "pyi": "python", "pyw": "python", "js": "javascript", "mjs": "javascript", "cjs": "javascript", "jsx": "javascript",
	"ts": "typescript", "mts": "typescript", "cts": "typescript", "tsx": "tsx", "rs": "rust", "java": "java", "c": "c",
	"h": "cpp", "cc": "cpp", "cpp": "cpp", "cxx": "cpp", "hpp": "cpp", "hh": "cpp", "hxx": "cpp", "inl": "cpp", "cs": "csharp", "rb": "ruby", "rake": "ruby",
	"php": "php", "kt": "kotlin", "kts": "kotlin", "swift": "swift", "scala": "scala", "sc": "scala", "sh": "shell", "bash": "shell", "bats": "shell", "lua": "lua",
}

var byName = map[string]string{"rakefile": "ruby", "gemfile": "ruby", ".bashrc": "shell", ".profile": "shell"}

// rules describe the syntax of a language.
type rules struct {
	line   []string    // prefixes of line comments
	block  [][2]string // delimiters of block comments
	nested bool        // block comments nest
	long   [][2]string // delimiters of strings that may span lines
	quotes string      // quotes of other strings
	lines  bool        // those may span lines, too
	insert string      // prefix of code in a string, such as ${
	word   string      // bytes allowed in a word besides letters and digits
	chars  bool        // ' begins a character literal, or is a token of its own
	quoted bool        // words may be in backquotes
	hash   bool        // a line that begins with # is a preprocessor directive
	define map[string]string
	parse  func(f *file, i int) int                      // reads the token at i; returns the number of tokens consumed
	name   func(f *file, i int) (name string, at, n int) // reads the name after a keyword: its index and number of tokens
	lex    func(s *source, i int) int                    // lexes tokens that only this language has, see texts.go
}

var slashes = []string{"//"}
var stars = [][2]string{{"/*", "*/"}}

// languages maps names to rules. It is read-only.
var languages = map[string]*rules{
	"go": {
		line:   slashes,
		block:  stars,
		long:   [][2]string{{"`", "`"}},
		quotes: `"'`,
		parse:  (*file).keyword,
		name:   plainName,
		define: map[string]string{"func": "func", "type": "type"},
	},
	"python": {
		line:   []string{"#"},
		long:   [][2]string{{`"""`, `"""`}, {"'''", "'''"}},
		quotes: `"'`,
		parse:  (*file).keyword,
		name:   pythonName,
		define: map[string]string{"class": "class", "def": "func"},
	},
	"rust": {
		line:   slashes,
		block:  stars,
		nested: true,
		quotes: `"`,
		lines:  true,
		chars:  true,
		lex:    (*source).rawRust,
		parse:  (*file).keyword,
		name:   rustName,
		define: map[string]string{
			"struct":      "struct",
			"enum":        "enum",
			"union":       "union",
			"type":        "type",
			"fn":          "func",
			"trait":       "trait",
			"mod":         "mod",
			"macro_rules": "macro",
		},
	},
	"ruby": {
		line:   []string{"#"},
		quotes: "\"'`",
		lines:  true,
		insert: "#{",
		word:   "?!@$",
		lex:    (*source).rubyText,
		parse:  (*file).keyword,
		name:   rubyName,
		define: map[string]string{"class": "class", "module": "module", "def": "func", "alias": "func"},
	},
	"php": {
		line:   []string{"//", "#"},
		block:  stars,
		quotes: `"'`,
		lines:  true,
		word:   "$",
		lex:    (*source).phpText,
		parse:  (*file).keyword,
		name:   phpName,
		define: map[string]string{
			"class":     "class",
			"interface": "interface",
			"trait":     "trait",
			"enum":      "enum",
			"function":  "func",
			"namespace": "namespace",
		},
	},
	"kotlin": {
		line:   slashes,
		block:  stars,
		nested: true,
		quoted: true,
		long:   [][2]string{{`"""`, `"""`}},
		quotes: `"`,
		chars:  true,
		insert: "${",
		parse:  (*file).keyword,
		name:   kotlinName,
		define: map[string]string{
			"class":     "class",
			"interface": "interface",
			"object":    "object",
			"fun":       "func",
			"typealias": "type",
		},
	},
	"swift": {
		line:   slashes,
		block:  stars,
		nested: true,
		quoted: true,
		long:   [][2]string{{`"""`, `"""`}, {`#"`, `"#`}},
		quotes: `"`,
		insert: `\(`,
		parse:  (*file).keyword,
		name:   swiftName,
		define: map[string]string{
			"class":     "class",
			"struct":    "struct",
			"enum":      "enum",
			"protocol":  "protocol",
			"extension": "extension",
			"actor":     "actor",
			"func":      "func",
			"typealias": "type",
		},
	},
	"scala": {
		line:   slashes,
		block:  stars,
		nested: true,
		quoted: true,
		long:   [][2]string{{`"""`, `"""`}},
		quotes: `"`,
		chars:  true,
		insert: "${",
		parse:  (*file).keyword,
		name:   scalaName,
		define: map[string]string{
			"trait":  "trait",
			"enum":   "enum",
			"class":  "class",
			"object": "object",
			"def":    "func",
			"type":   "type",
		},
	},
	"lua": {
		line:   []string{"--"},
		quotes: `"'`,
		lex:    (*source).luaText,
		parse:  (*file).keyword,
		name:   luaName,
		define: map[string]string{"function": "func"},
	},
	"shell": {
		line:   []string{"#"},
		quotes: "\"'`",
		lines:  true,
		insert: "$(",
		word:   "-:.@+",
		lex:    (*source).shellText,
		parse:  (*file).shellFunc,
		define: map[string]string{"function": "func"},
	},
	"java": {
		line:   slashes,
		block:  stars,
		long:   [][2]string{{`"""`, `"""`}},
		quotes: `"'`,
		word:   "$",
		parse:  (*file).member,
		define: map[string]string{"class": "class", "interface": "interface", "enum": "enum", "record": "record"},
	},
	"csharp": {
		line:   slashes,
		block:  stars,
		long:   [][2]string{{`"""`, `"""`}},
		quotes: `"'`,
		hash:   true,
		word:   "@",
		lex:    (*source).verbatim,
		parse:  (*file).member,
		define: map[string]string{
			"class":     "class",
			"interface": "interface",
			"struct":    "struct",
			"enum":      "enum",
			"record":    "record",
			"namespace": "namespace",
		},
	},
	"c": {line: slashes, block: stars, quotes: `"'`, hash: true, lex: (*source).rawCpp, parse: (*file).declaration,
		define: map[string]string{"struct": "struct", "union": "union", "enum": "enum"}},
	"cpp": {line: slashes, block: stars, quotes: `"'`, hash: true, lex: (*source).rawCpp, parse: (*file).declaration,
		define: map[string]string{
			"struct":    "struct",
			"union":     "union",
			"enum":      "enum",
			"class":     "class",
			"namespace": "namespace",
			"concept":   "concept",
		}},
	"javascript": script, "typescript": script, "tsx": script,
}

var script = &rules{
	line:   slashes,
	block:  stars,
	long:   [][2]string{{"`", "`"}},
	quotes: `"'`,
	insert: "${",
	word:   "$#",
	lex:    (*source).pattern,
	parse:  (*file).script,
}
