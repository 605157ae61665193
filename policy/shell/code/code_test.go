package code

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/policy/shell/code/lex"
)

// testCase is one program of testdata/cases.txt.
type testCase struct{ program, name, text, want string }

func readCases(t testing.TB) []testCase {
	t.Helper()
	data, err := os.ReadFile("testdata/cases.txt")
	if err != nil {
		t.Fatal(err)
	}
	var all []testCase
	for _, part := range strings.Split("\n"+string(data), "\n-- ")[1:] {
		head, body, ok := strings.Cut(part, " --\n")
		program, name, named := strings.Cut(head, " ")
		at := strings.LastIndex("\n"+body, "\n→")
		if !ok || !named || at < 0 {
			t.Fatalf("no case: %q", part)
		}
		want := strings.TrimSpace(strings.TrimPrefix(("\n" + body)[at:], "\n→"))
		all = append(all, testCase{program, name, strings.TrimSuffix(body[:max(at-1, 0)], "\n"), want})
	}
	return all
}

// summary writes what a program does in one line: kind(arguments), and … for
// what is not known.
func summary(p Program) string {
	names := [...]string{"", "Exec", "Shell", "Eval", "Load", "Delete", "DeleteTree", "Write", "Fetch", "Send", "Connect", "Env", "Fork", "Signal", "Chdir", "Grow"}
	list := func(args []Arg) string {
		var b []string
		for _, a := range args {
			s := strings.ReplaceAll(a.Text, Gap, "…")
			if a.Plain {
				s = fmt.Sprintf("%q", s)
			}
			b = append(b, s)
		}
		return strings.Join(b, " ")
	}
	var out []string
	for _, c := range p.Calls {
		s := names[c.Kind] + "(" + list(c.Args) + ")"
		if len(c.Dir) > 0 {
			s += " in " + list(c.Dir)
		}
		if len(c.Input) > 0 {
			s += " < " + list(c.Input)
		}
		out = append(out, s)
	}
	if p.Opaque {
		out = append(out, "opaque")
	}
	if p.Endless {
		out = append(out, "endless")
	}
	return strings.Join(out, "; ")
}

func TestRead(t *testing.T) {
	t.Parallel()
	for _, c := range readCases(t) {
		t.Run(c.program+"/"+c.name, func(t *testing.T) {
			lang, ok := LanguageOf(c.program)
			if !ok {
				t.Fatalf("%s: no language", c.program)
			}
			if got := summary(Read(lang, c.text)); got != c.want {
				t.Errorf("%s\n got %s\nwant %s", c.text, got, c.want)
			}
		})
	}
}

// TestReadPrefix reads every beginning of every case: a text that breaks off
// is read to its end, too, and what executes before the break is still found.
func TestReadPrefix(t *testing.T) {
	t.Parallel()
	for _, c := range readCases(t) {
		lang, _ := LanguageOf(c.program)
		for n := range c.text {
			Read(lang, c.text[:n])
		}
		cut := Read(lang, c.text+"\n\n")
		if whole := Read(lang, c.text); len(cut.Calls) != len(whole.Calls) {
			t.Errorf("%s %s: %d calls, and %d with a blank line at the end", c.program, c.name, len(whole.Calls), len(cut.Calls))
		}
	}
}

func TestReadStrings(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, program, text, want string }{
		{"as it stands", "python3", `print(open("/root/.ssh/id_rsa").read())`, "/root/.ssh/id_rsa"},
		{"joined", "python3", `open("/root/.s" + "sh/id_rsa")`, "/root/.ssh/id_rsa"},
		{"path", "python3", `import os; open(os.path.join("/root", ".ssh", "id_rsa"))`, "/root/.ssh/id_rsa"},
		{"decoded", "node", `fs.readFileSync(atob("L2V0Yy9zaGFkb3c="))`, "/etc/shadow"},
		{"beside a variable", "node", "fs.readFileSync(`${home}/.npmrc`)", "/.npmrc"},
		{"word of a list", "perl", `for (qw(/etc/shadow /x)) { open F, $_ }`, "/etc/shadow"},
		{"in a text that is evaluated", "ruby", `eval "File.read('/etc/shadow')"`, "/etc/shadow"},
		{"symbol", "ruby", `Kernel.send(:system)`, "system"},
		{"sed reads", "sed", `1r /etc/shadow`, "/etc/shadow"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			lang, _ := LanguageOf(tt.program)
			p := Read(lang, tt.text)
			for _, s := range p.Strings {
				if s == tt.want {
					return
				}
			}
			t.Errorf("%q is not in %q", tt.want, p.Strings)
		})
	}
}

func TestReadStdin(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		program, text string
		want          bool
	}{
		{"python", `import sys,os; os.system(sys.stdin.read())`, true},
		{"python", `exec(input())`, true},
		{"perl", `system($_) while <>`, true},
		{"perl", `print $x < 3`, false},
		{"ruby", `system gets`, true},
		{"node", `eval(require("fs").readFileSync(0))`, true},
		{"php", `eval(file_get_contents("php://stdin"));`, true},
		{"python", `print(1)`, false},
	} {
		lang, _ := LanguageOf(tt.program)
		if got := Read(lang, tt.text).Stdin; got != tt.want {
			t.Errorf("%s %s: reads its input: %v, want %v", tt.program, tt.text, got, tt.want)
		}
	}
}

func TestLanguageOf(t *testing.T) {
	t.Parallel()
	for program, want := range map[string]Language{
		"python3.11": lex.Python, "python": lex.Python, "pypy3": lex.Python, "nodejs": lex.JS, "deno": lex.JS, "perl5.36": lex.Perl, "lua5.4": lex.Lua, "gawk": lex.Awk, "Rscript": lex.R,
		"bash": "", "cat": "", "": "", "g++": lex.Other, "php8.2": lex.PHP,
	} {
		if got, ok := LanguageOf(program); got != want || ok != (want != "") {
			t.Errorf("LanguageOf(%q) = %q, %v; want %q", program, got, ok, want)
		}
	}
}

// TestReadSteps reads texts that open without end. What the reader looks
// at grows as the text does.
func TestReadSteps(t *testing.T) {
	t.Parallel()
	for _, part := range []string{"(", "[{(", `"${`, "`${", `f"{`, `#{"`, "<<A\n", "'", `"`, "\\", "a.b(", "x=y=", "a,", "<", "s{", "%w(", "$x[", "{|a", "a=>", "(?{", "/*", "?", "|", "exec(", "eval('", "[[", "!", "e ", "s/a/b/;", "a=b;", "x ", "$", "function(", "lambda a", "- "} {
		for lang, g := range lex.Grammars {
			text := strings.Repeat(part, 6_000/len(part))
			toks, _ := lex.Tokens(lang, g, text)
			r := newReader(lang, toks, &Program{}, 0)
			r.all()
			if r.steps > 600*len(toks)+1<<17 {
				t.Errorf("%s: %d steps for %d bytes of %q", lang, r.steps, len(text), part)
			}
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, c := range readCases(f) {
		lang, _ := LanguageOf(c.program)
		f.Add(string(lang), c.text)
	}
	f.Fuzz(func(t *testing.T, lang, text string) {
		p := Read(Language(lang), text)
		for _, c := range p.Calls {
			for _, a := range c.Args {
				if a.Plain && strings.Contains(a.Text, Gap) && !strings.Contains(text, Gap) && !strings.Contains(text, "\\") && !strings.Contains(text, "@") {
					t.Errorf("%s: %q is plain and has a gap", c.Name, a.Text)
				}
			}
		}
		if again := Read(Language(lang), text); len(again.Calls) != len(p.Calls) || again.Opaque != p.Opaque {
			t.Errorf("read twice, %d and %d calls", len(p.Calls), len(again.Calls))
		}
	})
}

func BenchmarkRead(b *testing.B) {
	cases := readCases(b)
	size := 0
	for _, c := range cases {
		size += len(c.text)
	}
	b.SetBytes(int64(size))
	for b.Loop() {
		for _, c := range cases {
			lang, _ := LanguageOf(c.program)
			Read(lang, c.text)
		}
	}
}
