package toolcall

import (
	"strings"
	"testing"
)

// TestBounds: texts far longer than answers are read whole as long as they are ordinary;
// calls longer than all answers, and more calls than any answer has, are not made.
func TestBounds(t *testing.T) {
	const call = "\n<tool_call>{\"name\": \"get_time\", \"arguments\": {}}</tool_call>\n"
	file := func(n int) string {
		return `<tool_call>{"name": "write_file", "arguments": {"path": "a", "content": "` + strings.Repeat("x", n) + `"}}</tool_call>`
	}
	p := newParser(t)
	for name, c := range map[string]struct {
		text          string
		calls, errors int
		rest          string
	}{
		"prose before a call":    {text: strings.Repeat("The quick brown fox, and it's a dog.\n\n", 50_000) + call, calls: 1, rest: "dog."},
		"code before a call":     {text: strings.Repeat("\tif a[i] < b { c() }\n[1, 2],\n{\n<p>x</p>\n", 10_000) + call, calls: 1},
		"a long call":            {text: file(maxCall * 9 / 10), calls: 1},
		"too long a call":        {text: file(maxCall), errors: 1},
		"too many calls":         {text: strings.Repeat(call, 2*maxSegments), calls: maxSegments, rest: "get_time"},
		"too many in one mark":   {text: "<tool_call>" + strings.Repeat(`{"name": "get_time", "arguments": {}}`, 2*maxCalls), calls: maxCalls, rest: "get_time"},
		"too long an element":    {text: "<write_file><path>a</path><content>" + strings.Repeat("x\n", maxCall) + "</content></write_file>", calls: 1, rest: "x"},
		"after too many guesses": {text: "x" + strings.Repeat("<read_file>y", 100_000) + call, rest: "get_time"},
	} {
		t.Run(name, func(t *testing.T) {
			got := p.Parse(c.text)
			if len(got.Calls) != c.calls || len(got.Errors) != c.errors || !strings.Contains(got.Text, c.rest) {
				t.Errorf("%d calls, errors %.300q, text %.300q", len(got.Calls), got.Errors, got.Text)
			}
			for _, call := range got.Calls {
				if len(call.Arguments) > maxCall && !call.Truncated {
					t.Errorf("a call of %d bytes", len(call.Arguments))
				}
			}
		})
	}
}
