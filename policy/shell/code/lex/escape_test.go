package lex

import (
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestEscapes compares the value of literals with what the interpreters
// themselves make of them.
func TestEscapes(t *testing.T) {
	t.Parallel()
	simple := func(without string) []string {
		var out []string
		for c := byte(' '); c < 0x7f; c++ {
			if strings.IndexByte(without, c) < 0 {
				out = append(out, "a\\"+string(c)+"1z")
			}
		}
		return out
	}
	numbers := []string{`\x41\x7e`, `\101\7x`, `\60\061`, `\\x41`, `\\\\n`, `a\
b`}
	for _, tt := range []struct {
		program     string
		args        []string
		quote       string
		line        string // a statement that prints a literal in hexadecimal digits
		bodies      []string
		begin, stop string
	}{
		{"python3", []string{"-W", "ignore", "-c"}, `"`, "print(%s.encode('utf-8','surrogatepass').hex())", append(simple("xuUN\""), append(numbers, `\u00e9\U0001F600`, `é`, `\377`)...), "", ""},
		{"python3", []string{"-W", "ignore", "-c"}, `'`, "print(b%s.hex())", append(simple("x'"), append(numbers, `\377\xff`)...), "", ""},
		{"python3", []string{"-W", "ignore", "-c"}, `"`, "print(r%s.encode().hex())", append(simple("\""), numbers...), "", ""},
		{"node", []string{"-e"}, `"`, "console.log(Buffer.from(%s).toString('hex'))", append(simple("xu\""), append(numbers, `\u00e9\u{1F600}`, `\ud83d\ude00`, `é`, `\377`)...), "", ""},
		{"node", []string{"-e"}, "`", "console.log(Buffer.from(%s).toString('hex'))", append(simple("xu0123456789`$"), `\x41$x{`, `é"'`), "", ""},
		{"perl", []string{"-e"}, `"`, "print unpack('H*', %s), \"\\n\";", append(simple("xcNopPluULQEF123456789\"$@"), append(numbers[:5], `\x{41}\x4`, `\cA\o{101}`, `é`)...), "", ""},
		{"perl", []string{"-e"}, `'`, "print unpack('H*', %s), \"\\n\";", append(simple("'"), numbers...), "", ""},
		{"ruby", []string{"-e"}, `"`, "puts %s.unpack1('H*')", append(simple("xucCM\"#"), append(numbers, `\u00e9\u{1F600 41}`, `é`)...), "", ""},
		{"ruby", []string{"-e"}, `'`, "puts %s.unpack1('H*')", append(simple("'"), numbers...), "", ""},
		{"php", []string{"-r"}, `"`, "echo bin2hex(%s), \"\\n\";", append(simple("xu\"$"), append(numbers, `\u{e9}\u{1F600}`, `é`, `\x4g`)...), "", ""},
		{"php", []string{"-r"}, `'`, "echo bin2hex(%s), \"\\n\";", append(simple("'"), numbers...), "", ""},
		{"lua5.4", []string{"-e"}, `"`, "h(%s)", []string{`a\n\t\\\"\'\a\b\f\r\v`, `\x41\65\065z`, `\u{e9}`, `é`, "a\\\nb"}, `function h(s) print((s:gsub(".", function(c) return string.format("%02x", c:byte()) end))) end`, ""},
		{"gawk", []string{}, `"`, `h(%s)`, []string{`a\n\t\\\"\/\a\b\f\r\v`, `\101\60z`, `é`}, "function h(s, i) { for (i = 1; i <= length(s); i++) printf \"%%02x\", o[substr(s, i, 1)]; print \"\" } BEGIN { for (i = 1; i < 256; i++) o[sprintf(\"%%c\", i)] = i\n", "}"},
	} {
		t.Run(tt.program+" "+tt.quote, func(t *testing.T) {
			if _, err := exec.LookPath(tt.program); err != nil {
				if strings.Contains(os.Getenv("HANDRAIL_REQUIRE_ENGINES"), "interpreters") {
					t.Fatalf("%s is not installed", tt.program)
				}
				t.Skipf("SKIPPED: %s is not installed", tt.program)
			}
			lang, _ := LanguageOf(tt.program)
			var lines, want []string
			for _, b := range tt.bodies {
				lit := tt.quote + b + tt.quote
				lines = append(lines, fmt.Sprintf(tt.line, lit))
				want = append(want, decodedBy(lang, fmt.Sprintf(tt.line, lit), tt.line))
			}
			text := strings.ReplaceAll(tt.begin, "%%", "%") + "\n" + strings.Join(lines, "\n") + "\n" + tt.stop
			cmd := exec.Command(tt.program, append(tt.args, text)...)
			if lang == Awk {
				cmd.Env = append(cmd.Environ(), "LC_ALL=C")
			}
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("%s: %v: %s", tt.program, err, out)
			}
			got := strings.Fields(string(out))
			if len(got) != len(want) {
				t.Fatalf("%d values of %d literals: %s", len(got), len(want), out)
			}
			for i, w := range want {
				if w != Gap && w != got[i] {
					t.Errorf("%s: %s has %s, was read as %s", tt.bodies[i], tt.program, got[i], w)
				}
			}
		})
	}
}

// decodedBy is the value of the first literal of a statement in hexadecimal
// digits, or a Gap if it is not plain.
func decodedBy(lang Language, text, line string) string {
	l := &lexer{lang: lang, g: Grammars[lang], s: text, line: 1}
	l.run()
	at := strings.Index(line, "%s")
	n := strings.Count(line[:at], "'") / 2 // literals of the statement before it
	for _, tok := range l.toks {
		if tok.Kind != Text {
			continue
		}
		if n--; n < 0 {
			if !tok.Plain {
				return Gap
			}
			return hex.EncodeToString([]byte(tok.Text))
		}
	}
	return "no literal"
}

// opened are texts that open without end.
var opened = []string{"(", "[{(", `"${`, "`${", `f"{`, `#{"`, "<<A\n", "'", `"`, "\\", "a.b(", "x=y=", "a,", "<", "s{", "%w(", "$x[", "{|a", "a=>", "(?{", "/*", "?", "|", "exec(", "eval('", "[[", "!", "e ", "s/a/b/;", "a=b;", "x ", "$", "function(", "lambda a", "- "}

// TestSteps reads texts that open without end. What the lexer looks at grows
// as the text does.
func TestSteps(t *testing.T) {
	t.Parallel()
	for _, part := range opened {
		for lang, g := range Grammars {
			text := strings.Repeat(part, 6_000/len(part))
			l := &lexer{lang: lang, g: g, s: text, line: 1}
			l.run()
			if l.steps > 10*len(text) {
				t.Errorf("%s: %d steps for %d bytes of %q", lang, l.steps, len(text), part)
			}
		}
	}
}
