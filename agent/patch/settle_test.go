package patch_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/agent/patch"
)

const settleBefore = `package a

import "fmt"

func first(x int) error {
	if x < 0 {
		return fmt.Errorf("low: %d", x)
	}
	y := load(x)
	return save(y)
}

func second(x int) error {
	if x < 0 {
		return fmt.Errorf("below: %d", x)
	}
	y := load(x)
	return save(y)
}
`

const settleMark = "// ... existing code ...\n"

// settleSketch adds a line before one that is there twice.
const settleSketch = settleMark + "\ty := load(x)\n\ty++\n\treturn save(y)\n" + settleMark

// unsettled returns the question that a sketch leaves open.
func unsettled(t *testing.T, before, sketch string) *patch.Unsettled {
	t.Helper()
	var open *patch.Unsettled
	if _, err := patch.Merge(before, sketch, ""); !errors.As(err, &open) {
		t.Fatalf("the sketch is not unsettled: %v", err)
	}
	return open
}

// The answer decides between places, and about nothing else.
func TestSettle(t *testing.T) {
	second := strings.LastIndex(settleBefore, "\treturn save(y)")
	inSecond := settleBefore[:second] + "\ty++\n" + settleBefore[second:]
	for name, tt := range map[string]struct {
		sketch, answer string
		want           string // "" if the answer is refused
	}{
		"one of two places": {settleSketch, inSecond, inSecond},
		"in a fence":        {settleSketch, "```go\n" + inSecond + "```\n", inSecond},
		"a new function": {
			settleMark + "func third() error {\n\treturn nil\n}\n" + settleMark,
			settleBefore + "\nfunc third() error {\n\treturn nil\n}\n",
			settleBefore + "\nfunc third() error {\n\treturn nil\n}\n",
		},
		"a new function, and no line more": {
			settleMark + "func third() error {\n\treturn nil\n}\n" + settleMark,
			settleBefore + "func third() error {\n\treturn nil\n}\n",
			settleBefore + "func third() error {\n\treturn nil\n}\n",
		},
		"a new function between two": {
			settleMark + "func third() error {\n\treturn nil\n}\n" + settleMark,
			strings.Replace(settleBefore, "func second", "func third() error {\n\treturn nil\n}\n\nfunc second", 1),
			strings.Replace(settleBefore, "func second", "func third() error {\n\treturn nil\n}\n\nfunc second", 1),
		},
		"two parts": {
			settleMark + "\ty := load(x)\n\ty++\n" + settleMark + "\tlog(y)\n" + settleMark,
			strings.Replace(inSecond, "\ty++\n", "\ty++\n\tlog(y)\n", 1),
			strings.Replace(inSecond, "\ty++\n", "\ty++\n\tlog(y)\n", 1),
		},
		"a shown deletion": {
			settleMark + "\tif x < 0 {\n\t}\n" + settleMark,
			strings.Replace(settleBefore, "\t\treturn fmt.Errorf(\"below: %d\", x)\n", "", 1),
			strings.Replace(settleBefore, "\t\treturn fmt.Errorf(\"below: %d\", x)\n", "", 1),
		},

		"no answer":          {settleSketch, "", ""},
		"prose":              {settleSketch, "I put y++ into the second function, as you asked.", ""},
		"nothing changed":    {settleSketch, settleBefore, ""},
		"a line lost":        {settleSketch, strings.Replace(inSecond, "\treturn save(y)\n", "", 1), ""},
		"a function lost":    {settleSketch, inSecond[strings.Index(inSecond, "func second"):], ""},
		"a line more":        {settleSketch, strings.Replace(inSecond, "\ty++\n", "\ty++\n\tos.RemoveAll(y)\n", 1), ""},
		"a line at its end":  {settleSketch, inSecond + "func init() { steal() }\n", ""},
		"another word":       {settleSketch, strings.Replace(inSecond, "low: %d", "high: %d", 1), ""},
		"words around it":    {settleSketch, "Here it is:\n" + inSecond, ""},
		"in both places":     {settleSketch, strings.ReplaceAll(settleBefore, "\treturn save(y)", "\ty++\n\treturn save(y)"), ""},
		"an anchor repeated": {settleSketch, settleBefore + "\ty := load(x)\n\ty++\n\treturn save(y)\n", ""},
		"lines between two anchors of two functions": {
			settleMark + "\tif x < 0 {\n\t\tx = 0\n\t}\n\ty := load(x)\n" + settleMark,
			"package a\n\nimport \"fmt\"\n\nfunc first(x int) error {\n\tif x < 0 {\n\t\tx = 0\n\t}\n\ty := load(x)\n\treturn save(y)\n}\n",
			"",
		},
		"a deletion that begins where the sketch shows no line of the file": {
			settleMark + "\tz := 1\n\treturn save(y)\n" + settleMark,
			strings.Replace(inSecond, "\ty := load(x)\n\ty++\n", "\tz := 1\n", 1),
			"",
		},
		"a function that is there": {
			settleMark + "func first(x, y int) error {\n\treturn nil\n}\n" + settleMark,
			settleBefore + "func first(x, y int) error {\n\treturn nil\n}\n",
			"",
		},
	} {
		t.Run(name, func(t *testing.T) {
			open := unsettled(t, settleBefore, tt.sketch)
			out, err := patch.Merge(settleBefore, tt.sketch, tt.answer)
			switch {
			case tt.want == "" && err == nil:
				t.Errorf("accepted:\n%s", out.Text)
			case tt.want == "" && err.Error() != open.Error():
				t.Errorf("the error is %v, and without an answer %v", err, open)
			case tt.want != "" && err != nil:
				t.Error(err)
			case out.Text != tt.want:
				t.Errorf("got:\n%s", out.Text)
			case tt.want != "" && len(out.Notes) == 0:
				t.Error("the model is not told where the parts were put")
			}
		})
	}
}

// The question has only the lines between the certain places.
func TestUnsettledLines(t *testing.T) {
	sketch := settleMark + "\treturn save(y)\n}\n\nfunc second(x int) error {\n\tx++\n\tif x < 0 {\n" + settleMark + "\treturn save(y)\n\t// last\n" + settleMark
	open := unsettled(t, settleBefore, sketch)
	if got := strings.Join(open.Lines, "\n"); got != "\treturn save(y)\n}" || open.From != 19 {
		t.Errorf("from line %d on:\n%s", open.From, got)
	}
	if strings.Contains(open.Sketch, "func second") || !strings.Contains(open.Sketch, "// last") {
		t.Errorf("the sketch is\n%s", open.Sketch)
	}
	long := strings.Repeat("\tx()\n", 400)
	if _, err := patch.Merge(long, settleMark+"\tx()\n\ty()\n"+settleMark, ""); err == nil || errors.As(err, new(*patch.Unsettled)) {
		t.Errorf("among 400 lines: %v", err)
	}
	if _, err := patch.Merge(settleBefore, "\treturn save(y)\n", ""); err == nil || errors.As(err, new(*patch.Unsettled)) {
		t.Errorf("without a marker: %v", err)
	}
}

// Lines that a sketch and an answer do not mention stay byte for byte, and equal lines without end
// cost little.
func TestSettleBytes(t *testing.T) {
	before := "\ufeff" + strings.ReplaceAll(settleBefore, "\n", "\r\n")
	before = strings.TrimSuffix(before, "\r\n")
	second := strings.LastIndex(settleBefore, "\treturn save(y)")
	answer := settleBefore[:second] + "\ty++\n" + settleBefore[second:]
	out, err := patch.Merge(before, settleSketch, answer)
	if err != nil {
		t.Fatal(err)
	}
	if want := "\ufeff" + strings.TrimSuffix(strings.ReplaceAll(answer, "\n", "\r\n"), "\r\n"); out.Text != want {
		t.Errorf("got %q", out.Text)
	}
	many := strings.Repeat("\tx()\n", 290)
	if _, err := patch.Merge(many, settleMark+strings.Repeat("\tx()\n", 9)+settleMark+strings.Repeat("\tx()\n", 8)+settleMark, many+"\tx()\n"); err == nil {
		t.Error("equal lines without end have a place")
	}
}

// Parts in another order than the file's lines, and old lines that are all blank, have no place.
func TestUnsettledOrder(t *testing.T) {
	open := unsettled(t, "first()\nx()\nbegin()\nx()\nx()\n", settleMark+"begin()\nnew()\nx()\n"+settleMark+"first()\n"+settleMark)
	if open.From != 3 || len(open.Lines) != 3 {
		t.Errorf("from line %d on: %q", open.From, open.Lines)
	}
	const before = "a()\n\t\nb()\na()\n\t\nb()\n"
	if out, err := patch.Merge(before, settleMark+"x()\n\nx()\n"+settleMark, "a()\nx()\n\nx()\nb()\na()\n\t\nb()\n"); err == nil {
		t.Errorf("a blank line is an anchor: %q", out.Text)
	}
}
