package filter

import (
	"strings"
	"sync"
	"testing"

	"github.com/handrail-bot/handrail/policy/shell/argv"
)

// TestRun holds the tools to what the real ones print.
func TestRun(t *testing.T) {
	for command, c := range map[string]struct{ in, want string }{
		"tr a-c x":                 {"abcd\n", "xxxd\n"},
		"tr -d b":                  {"abcb\n", "ac\n"},
		"tr [:lower:] [:upper:]":   {"rm -rf\n", "RM -RF\n"},
		"cut -d: -f2":              {"a:b:c\nd\n", "b\nd\n"},
		"cut -c1-2,4":              {"abcde\n", "abd\n"},
		"rev":                      {"fr- mr\n", "rm -rf\n"},
		"tac":                      {"a\nb\n", "b\na\n"},
		"head -n 1":                {"a\nb\n", "a\n"},
		"head -c 2":                {"abc\n", "ab"},
		"tail -c +2":               {"abc", "bc"},
		"base64 -d":                {"cm0gLXJm\n", "rm -rf"},
		"base32 -d":                {"OJWSALLSMY======", "rm -rf"},
		"xxd -r -p":                {"726d\n", "rm"},
		"sed s/a/b/":               {"aa\nca\n", "ba\ncb\n"},
		"sed s/a/b/g":              {"aa\n", "bb\n"},
		`sed s/\(a*\)b/[\1]/`:      {"aab\n", "[aa]\n"},
		"sed -E s/(a+)b/<&>/":      {"aab\n", "<aab>\n"},
		"awk {print$2}":            {"", ""},
		"paste -s -d,":             {"a\nb\n", "a,b\n"},
		"cat":                      {"a", "a"},
		"sort":                     {"b\na\n", "b\na\n"}, // in any order the lines are there
		"awk -F: {_print_$1,$3_}":  {"a:b:c\n", "a c\n"},
		`awk BEGIN{print_"r\x6d"}`: {"", "rm\n"},
	} {
		t.Run(command, func(t *testing.T) {
			words := strings.Fields(command)
			for i := range words {
				words[i] = strings.ReplaceAll(words[i], "_", " ")
			}
			got, ok := Run(words[0], argv.Of(words[1:]...), c.in)
			if want := c.want; ok && got != want || !ok && want != "" {
				t.Errorf("%q of %q is %q, %t; want %q", command, c.in, got, ok, want)
			}
		})
	}
	for _, command := range []string{"tr -c a b", "base64", "sed p", "awk {system($0)}", "cut -x", "frob"} {
		words := strings.Fields(command)
		if out, ok := Run(words[0], argv.Of(words[1:]...), "a\n"); ok {
			t.Errorf("%q is %q, and cannot be known", command, out)
		}
	}
}

func TestPrintf(t *testing.T) {
	for want, args := range map[string][]string{
		"rm -rf":   {"%s -%s", "rm", "rf"},
		"a\nb\n":   {`%s\n`, "a", "b"},
		"rm":       {`\x72\155`},
		"a\tb":     {"%b", `a\tb`},
		"005":      {"%03d", "5"},
		"100%":     {"100%%"},
		"":         {},
		"a: b: c:": {"%s: %s: %s:", "a", "b", "c"},
	} {
		if got, ok := Printf(args); !ok || got != want {
			t.Errorf("printf %q is %q, %t; want %q", args, got, ok, want)
		}
	}
	if out, ok := Printf([]string{"%99999999d", "1"}); ok {
		t.Errorf("a wide format is %d bytes", len(out))
	}
}

// TestPrintfAtOnce: what several sessions print at once does not mix.
func TestPrintfAtOnce(t *testing.T) {
	var all sync.WaitGroup
	for _, text := range []string{"make build", "go test ./...", "ls -la src"} {
		all.Go(func() {
			for range 20_000 {
				if got, ok := Printf([]string{"%s", text}); !ok || got != text {
					t.Errorf("printf %q is %q, %t", text, got, ok)
					return
				}
			}
		})
	}
	all.Wait()
}

func TestSequence(t *testing.T) {
	for command, want := range map[string]string{"3": "1\n2\n3\n", "2 3": "2\n3\n", "5 -2 1": "5\n3\n1\n", "1 0 3": "", "3 1": ""} {
		if got, ok := Sequence(argv.Of(strings.Fields(command)...)); !ok || got != want {
			t.Errorf("seq %s is %q, %t", command, got, ok)
		}
	}
	if got, _ := Sequence(argv.Of("100000")); strings.Count(got, "\n") > maxRounds {
		t.Error("a long sequence is not cut")
	}
}

func TestUnescape(t *testing.T) {
	for s, want := range map[string]string{`\x72\155`: "rm", `a\tb`: "a\tb", `\u00e4`: "ä", `\q`: `\q`, `a\`: `a\`, `\cA`: "\x01"} {
		if got := Unescape(s, false); got != want {
			t.Errorf("%q is %q, want %q", s, got, want)
		}
	}
	if got := Unescape(`a\0162m\cb`, true); got != "arm" {
		t.Errorf("echo makes it %q", got)
	}
}
