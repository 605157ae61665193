package review

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/policy/longtest"
)

// lie is a false statement of a reviewer about a pull request, and the push that follows it.
type lie struct {
	file, good, bad string
	says            map[string]any // of the fault
	line            int            // of the fault
	suggests        string         // "" if there is no suggestion
	then            string         // name of the file after a push, "" if it stays
	pushed          string         // its text after that push
	at              int            // the line of the fault after it
	again           string         // the words of the fault after it
	in              string         // the definition that it is in after it
}

const (
	shop    = "def total(items):\n    n = 0\n    for i in items:\n        n += i\n    return n\n\n\ndef first(items):\n    return items[1]\n"
	shopBad = "def total(items):\n    n = 0\n    for i in items:\n        n -= i\n    return n\n\n\ndef first(items):\n    return items[1]\n"
)

// forty returns a program in which one line stands forty times; the n-th of them is faulty code.
func forty(n int) string {
	var b strings.Builder
	for i := range 40 {
		fmt.Fprintf(&b, "def step_%d(x):\n    y = x + %d\n    return y\n", i, i)
		if i == n {
			b.WriteString("\n\ndef last(x):\n    return y\n")
		}
	}
	return b.String()
}

// lies are told of numbers, ends of lines, blanks, names and words.
func lies() map[string]lie {
	crlf := func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }
	third := strings.Replace(shop, "items[1]", "items[2]", 1)
	above, below, _ := strings.Cut(third, "\n\n\n")
	thirdMoved := below + "\n\n" + above + "\n"
	return map[string]lie{
		"renamed and moved": {
			file: "shop.py", good: shop, bad: third, line: 9, says: map[string]any{"line": 8, "code": "return items[2]"},
			then: "sums.py", pushed: "\"\"\"Sums.\"\"\"\n\n\n" + thirdMoved, at: 5, in: "first", again: "It is not what comes at the beginning.",
		},
		"moved above another": {
			file: "move.py", good: shop, bad: third, line: 9, says: map[string]any{"line": 7, "code": "return items[2]"},
			pushed: thirdMoved, at: 2, in: "first", again: "It is not what comes at the beginning.",
		},
		"line ends of another system": {
			file: "dos.py", good: crlf(shop), bad: crlf(shopBad), line: 4, says: map[string]any{"line": 3, "code": "n -= i\r", "suggestion": "n += i\r\n"}, suggests: "        n += i",
			pushed: shopBad, at: 4, in: "total", again: "Every item is taken away.",
		},
		"no end of the last line": {
			file: "end.py", good: shop, bad: strings.TrimSuffix(third, "\n"), line: 9,
			says: map[string]any{"line": 9, "code": "    return items[2]\n", "suggestion": "    return items[0]\n"}, suggests: "    return items[0]",
			pushed: third, at: 9, in: "first", again: "It is the third one.",
		},
		"a line that stands forty times": {
			file: "forty.py", good: strings.Replace(forty(20), "def last(x):\n    return y", "def last(x):\n    return x", 1), bad: forty(20), line: 67,
			says: map[string]any{"line": 68, "code": "return y", "suggestion": "return x"}, suggests: "    return x",
			pushed: "# Steps.\n" + forty(20), at: 68, in: "last", again: "There is no y here.",
		},
		"blanks at the end": {
			file: "blank.py", good: shop, bad: shopBad, line: 4, says: map[string]any{"line": 4, "code": "n -= i   ", "suggestion": "n += i  \t"}, suggests: "        n += i",
			pushed: strings.Replace(shopBad, "n = 0", "n = 0  # none yet", 1), at: 4, in: "total", again: "The items are subtracted.",
		},
		"in another language": {
			file: "language.py", good: shop, bad: shopBad, line: 4, says: map[string]any{"line": 4}, at: 5, in: "total", again: "合计的符号反了。",
			pushed: "# Sums.\n" + shopBad,
		},
		"the definition has another name": {
			file: "name.py", good: shop, bad: shopBad, line: 4, says: map[string]any{"line": 4}, at: 4, in: "amount", again: "Le total diminue.",
			pushed: strings.Replace(shopBad, "def total", "def amount", 1),
		},
	}
}

// TestLies: a reviewer's mistakes about numbers, ends of lines, blanks and names are put right, and a fault
// that a push moves, renames or writes with other line ends is not told again, in whatever words and language.
func TestLies(t *testing.T) {
	longtest.Leave(t)
	all := map[string]string{}
	list := lies()
	for _, l := range list {
		all[l.file] = l.good
	}
	p := host(t, all)
	placed, suggested, wanted, twice := 0, 0, 0, 0
	for name, l := range list {
		branch := strings.ReplaceAll(name, " ", "-")
		p.pull(branch, map[string]string{l.file: l.bad})
		args := map[string]any{"path": l.file, "severity": "high", "claim": "The sum goes down.", "why": "Follow it."}
		for k, v := range l.says {
			args[k] = v
		}
		f := reported(t, l.file, l.bad, "STANDS. It happens.", args)
		got := p.post(f)
		if len(got) != 1 || got[0].Line != l.line {
			t.Errorf("%s: said %+v, want line %d", name, got, l.line)
			continue
		}
		placed++
		if l.suggests != "" {
			wanted++
			if strings.Contains(got[0].Body, "```suggestion\n"+l.suggests+"\n```") {
				suggested++
			} else {
				t.Errorf("%s: suggests otherwise: %q", name, got[0].Body)
			}
		}
		to := l.file
		if l.then != "" {
			to = l.then
			_, err := p.gh.Remove(repository, branch, "kim", l.file)
			p.must(err)
		}
		p.push(branch, map[string]string{to: l.pushed})
		again := session.Finding{Path: to, Line: l.at, In: l.in, Severity: session.High, Claim: l.again, Why: "Follow it."}
		if got := p.post(again); len(got) != 0 || p.comments()[0].Resolved {
			twice++
			t.Errorf("%s: resolved is %v, said again: %+v", name, p.comments()[0].Resolved, got)
		}
	}
	t.Logf("right lines %d of %d, right suggestions %d of %d, said twice or ended %d", placed, len(list), suggested, wanted, twice)
	if slices.Contains([]int{placed, suggested}, 0) {
		t.Error("nothing was said")
	}
}
