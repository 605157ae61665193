package fragment

import (
	"strings"
	"testing"
)

// The functions that have the words of a request are taken from a file, in its order and within the size.
func TestExcerpt(t *testing.T) {
	const shop = `import math

RATE = 19


class Shop:
    """Sells things."""

    def greet(self, name):
        return "Hello " + name

    # sum of an order
    def total(self, items):
        return sum(items)

    def receipt(self, items):
        lines = [str(i) for i in items]
        return "\n".join(lines + ["sum: %d" % self.total(items)])


def discount(sum):
    return sum * 0.9
`
	const (
		total    = "    # sum of an order\n    def total(self, items):\n        return sum(items)"
		receipt  = "    def receipt(self, items):\n        lines = [str(i) for i in items]\n        return \"\\n\".join(lines + [\"sum: %d\" % self.total(items)])"
		discount = "def discount(sum):\n    return sum * 0.9"
	)
	for _, tt := range []struct {
		words string
		size  int
		want  []string
	}{
		{"discount", 5000, []string{discount}},
		{"receipt total", 5000, []string{total, receipt}},
		{"receipt total", len(receipt) + 5, []string{receipt}},
		{"order discount", 5000, []string{total, discount}},
		{"nothing", 5000, nil},
		{"total", 10, nil},
	} {
		got, most := Excerpt("shop.py", shop, strings.Fields(tt.words), tt.size)
		if want := strings.Join(tt.want, "\n\n"); got != want {
			t.Errorf("%q, %d: got\n%s\nwant\n%s", tt.words, tt.size, got, want)
		}
		if want := tt.size > 100; most != want {
			t.Errorf("%q, %d: most is %t", tt.words, tt.size, most)
		}
	}
	if got, _ := Excerpt("notes.txt", "total\n", []string{"total"}, 100); got != "" {
		t.Errorf("a text has %q", got)
	}
	const module = "module.exports = function (args) {\n  function total(a) {\n    return a.length;\n  }\n%s  return total(args);\n};\n"
	long := strings.Replace(module, "%s", strings.Repeat("  args.push(0);\n", 100), 1)
	want := "  function total(a) {\n    return a.length;\n  }"
	if got, most := Excerpt("index.js", long, []string{"total"}, 200); got != want || most {
		t.Errorf("of a long function: %q, %t", got, most)
	}
}
