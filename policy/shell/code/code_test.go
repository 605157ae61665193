package code

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// shown writes what was read as one line: the calls with their arguments, and what is not known.
func shown(p *Program) string {
	var b strings.Builder
	for _, c := range p.Calls {
		fmt.Fprintf(&b, "%d:%s(", c.Kind, c.Name)
		for i, a := range c.Args {
			if i > 0 {
				b.WriteString(",")
			}
			b.WriteString(strings.ReplaceAll(a, Gap, "?"))
		}
		b.WriteString(") ")
	}
	for _, u := range p.Unknown {
		b.WriteString("?" + u + " ")
	}
	if p.Opaque {
		b.WriteString("opaque")
	}
	return strings.TrimSpace(b.String())
}

func TestRead(t *testing.T) {
	for _, c := range []struct{ language, text, want string }{
		{"python", `print("os.system('x')") # os.system("y")`, ``},
		{"python", `import os; os.system("rm -rf " + "/")`, `1:os.system(rm -rf /)`},
		{"python", `import subprocess as s; s.run(["rm", "-rf", x])`, `1:s.run(rm,-rf,?)`},
		{"python", `from shutil import rmtree as r; d = "/"; r(d)`, `5:r(?)`},
		{"python", `open("a.txt", "w").write("x"); open("b").read()`, `7:open(a.txt)`},
		{"python", `__import__("os").system("id")`, `1:system(id)`},
		{"python", `from pathlib import Path; Path("/etc").rmdir()`, `4:rmdir(/etc)`},
		{"python", `frob.nicate(1)`, `?frob.nicate`},
		{"python", `yield from os.system("id")`, `1:os.system(id)`},
		{"python", `eval("print(1)")`, `2:eval(print(1))`},
		{"python", `print("a`, `opaque`},
		{"javascript", "require('child_process').execSync(`rm -rf ${x}`)", `1:execSync(rm -rf ?)`},
		{"javascript", `const {execSync} = require("child_process"); execSync("id")`, `1:execSync(id)`},
		{"javascript", `console.log(/exec("x")/.test(s)) // exec("y")`, ``},
		{"javascript", `console.log(process.env.HOME_TOKEN)`, `11:process.env.HOME_TOKEN(HOME_TOKEN)`},
		{"perl", `system "rm", "-rf", "/"; print qq{system("x")}`, `1:system(rm,-rf,/)`},
		{"perl", "print `id`; s/a/system(\"w\")/e", "1:`(id) 1:system(w)"},
		{"ruby", `puts %w[system exec].sort; FileUtils.rm_rf "/"`, `5:FileUtils.rm_rf(/)`},
		{"ruby", "system(\"echo #{`id`}\")", "1:system(echo ?,id) 1:`(id)"},
		{"php", `echo strlen("exec"); shell_exec("id");`, `1:shell_exec(id)`},
		{"lua", `print(1) -- os.execute("x")`, ``},
		{"lua", `os.execute "id"`, `1:os.execute(id)`},
		{"awk", `{ print $1 | "sort" } END { print > "out.txt" }`, `1:pipe(sort) 7:print(out.txt)`},
		{"awk", `$1 > 5 { s += $1 } END { print s }`, ``},
	} {
		if diff := cmp.Diff(c.want, shown(Read(c.language, c.text))); diff != "" {
			t.Errorf("%s: %s:\n%s", c.language, c.text, diff)
		}
	}
}

func TestUnescape(t *testing.T) {
	for in, want := range map[string]string{`a\n\t\\`: "a\n\t\\", `\x72\155`: "rm", `\u00e4`: "ä", `\0155`: "m", `a\`: `a\`, "a\\\nb": "ab", "plain": "plain"} {
		if got := Unescape(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// TestHostileTexts: what grows or repeats itself comes to an end soon.
func TestHostileTexts(t *testing.T) {
	nested := "1"
	for range 30 {
		nested = "eval \"#{eval '" + nested + "'}\""
	}
	for name, text := range map[string]string{
		"nested":   nested,
		"doubling": "a='aaaaaaaa';" + strings.Repeat("b=a+a;a=b+b;", 500),
		"brackets": strings.Repeat("f([{", 10_000),
		"quotes":   strings.Repeat("\"#{", 10_000),
		"commands": strings.Repeat("system 'x';", 6_000),
	} {
		for language := range grammars {
			begin := time.Now()
			Read(language, text)
			if took := time.Since(begin); took > time.Minute {
				t.Errorf("%s in %s took %s", name, language, took)
			}
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, s := range []string{`a("b`, "s{a}{b}e", "`${`${x}`}`", "%w(", "((((", "f'{x}'", "x=y;y=x;x()", `\`} {
		f.Add("perl", s)
		f.Add("ruby", s)
		f.Add("python", s)
		f.Add("javascript", s)
	}
	f.Fuzz(func(t *testing.T, language, text string) {
		p := Read(language, text)
		if len(p.Calls) > maxItems || len(p.Strings) > maxItems || len(p.Unknown) > maxItems {
			t.Errorf("%d calls, %d texts and %d names", len(p.Calls), len(p.Strings), len(p.Unknown))
		}
	})
}
