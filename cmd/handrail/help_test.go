package main

import (
	"cmp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/alecthomas/kong"

	"github.com/handrail-bot/handrail/policy/longtest"
)

// TestHelpEverywhere asks each verb for help in each form, and for the version.
func TestHelpEverywhere(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	k, err := kong.New(&cli{}, kong.Name("handrail"))
	must(t, err)
	verbs := 0
	var walk func(n *kong.Node, words []string)
	walk = func(n *kong.Node, words []string) {
		verbs++
		forms := [][]string{append(slices.Clone(words), "--help"), append(slices.Clone(words), "-h"), append([]string{"help"}, words...)}
		if len(n.Positional) == 0 {
			forms = append(forms, append(slices.Clone(words), "help"))
		}
		want := strings.Join(append([]string{"Usage: handrail"}, words...), " ")
		first := ""
		for _, args := range forms {
			out, errs, code := atDoor(t, "", args...)
			first = cmp.Or(first, out)
			if code != exitDone || errs != "" || !strings.HasPrefix(out, want) {
				t.Errorf("%v: exit %d, stderr %q, stdout %q", args, code, errs, out)
			}
		}
		if !n.Hidden {
			checkHelp(t, want, len(words) > 0, first)
		}
		if out, errs, code := atDoor(t, "", append(slices.Clone(words), "--version")...); code != exitDone || errs != "" || !strings.HasPrefix(out, "handrail ") || strings.Count(out, "\n") != 1 {
			t.Errorf("%v --version: exit %d, stderr %q, stdout %q", words, code, errs, out)
		}
		for _, c := range n.Children {
			walk(c, append(slices.Clone(words), c.Name))
		}
	}
	walk(k.Model.Node, nil)
	if verbs < 30 {
		t.Errorf("only %d verbs were asked", verbs)
	}
}

// checkHelp checks that a help fits 80 columns, tells the kinds of values, and has the flags of a
// verb before those of all.
func checkHelp(t *testing.T, name string, isVerb bool, help string) {
	t.Helper()
	for line := range strings.Lines(help) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 80 {
			t.Errorf("%s: %d columns: %s", name, n, line)
		}
	}
	for _, kind := range []string{"=STRING", "=INT", "=PICTURE", "=TURNS"} {
		if strings.Contains(help, kind) {
			t.Errorf("%s: a value is called %s:\n%s", name, kind, help)
		}
	}
	if at := strings.Index(help, "\nFlags of all verbs:\n"); (at >= 0) != isVerb || isVerb && strings.Count(help[at:], "\n\n") > 0 {
		t.Errorf("%s: the flags of all verbs are not the last:\n%s", name, help)
	}
}

// TestVerbGrammar: a verb that is read alone has the flags, arguments and verbs that it has among the others.
func TestVerbGrammar(t *testing.T) {
	t.Parallel()
	whole, err := kong.New(&cli{}, kong.Name("handrail"))
	must(t, err)
	var words func(n *kong.Node) string
	words = func(n *kong.Node) string {
		out := n.Summary() + "\n"
		for _, list := range n.AllFlags(false) {
			for _, f := range list {
				out += f.String() + " " + f.Help + "\n"
			}
		}
		for _, c := range n.Children {
			out += words(c)
		}
		return out
	}
	for _, v := range whole.Model.Children {
		g, ok := verbGrammar([]string{v.Name})
		if !ok {
			t.Errorf("%s is not read alone", v.Name)
			continue
		}
		alone, err := kong.New(g.root, kong.Name("handrail"))
		must(t, err)
		if list := alone.Model.Children; len(list) != 1 || words(list[0]) != words(v) {
			t.Errorf("%s is alone\n%sand among the others\n%s", v.Name, words(alone.Model.Node), words(v))
		}
	}
	for _, args := range [][]string{nil, {"no-such-verb"}, {"--version"}, {"run", "--help"}, {"help", "run"}} {
		if _, ok := verbGrammar(args); ok {
			t.Errorf("%q needs all verbs", args)
		}
	}
}
