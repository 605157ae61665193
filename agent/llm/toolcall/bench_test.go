package toolcall

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/policy/longtest"
)

// hostile are texts made to be slow; each is grown to any size.
var hostile = map[string]func(n int) string{
	"nested braces":          repeat(`{`),
	"nested in markup":       after("<tool_call>", repeat(`{"a":`)),
	"nested lists":           after("<tool_call>", repeat(`[`)),
	"brackets on lines":      repeat("[\n"),
	"braces on lines":        repeat("{\n"),
	"call-like lines":        repeat("{\"arguments\": \"\n"),
	"call-like lists":        repeat("[{\"name\": [\n"),
	"unclosed tags":          repeat(`<tool_call>`),
	"unclosed tags on lines": repeat("<tool_call>\n"),
	"open objects":           repeat(`<tool_call>{"name": "x", `),
	"broken objects":         repeat(`<tool_call>{"name": "read_file", "arguments": {"a": "b" ((`),
	"placeholders":           repeat(`<tool_call>{"name": "read_file", "arguments": ...`),
	"less-than":              repeat(`<`),
	"tags":                   repeat(`<a>`),
	"tool tags":              repeat(`<read_file>`),
	"tool tags with paths":   repeat(`<read_file><path>`),
	"closed paths":           repeat(`<read_file><path>a</path>x`),
	"values without end":     repeat(`<write_file><content>a</content>x`),
	"elements":               after("<read_file>", repeat(`<a>`)),
	"elements with text":     repeat(`<read_file><a><b><c><d>x`),
	"parameters":             repeat(`<function=read_file><parameter=path>`),
	"long string":            after(`<tool_call>{"name": "x", "arguments": {"a": "`, repeat(`a`)),
	"quotes":                 after(`<tool_call>{"name": "x", "arguments": {"a": "`, repeat(`"`)),
	"quotes and commas":      after(`<tool_call>{"name": "x", "arguments": {"a": "`, repeat(`",`)),
	"quotes and braces":      after(`<tool_call>{"name": "x", "arguments": {"a": "`, repeat(`"}`)),
	"quotes and blanks":      after(`<tool_call>{"name": "x", "arguments": {"a": "`, repeat(`"      `)),
	"backslashes":            after(`<tool_call>{"name": "x", "arguments": {"a": "`, repeat(`\`)),
	"bad escapes":            after(`<tool_call>{"name": "x", "arguments": {"a": "`, repeat(`\d`)),
	"triple quotes":          after(`<tool_call>{"name": "x", "arguments": {"a": `, repeat(`"""`)),
	"open comments":          after(`<tool_call>{`, repeat(`/*`)),
	"backticks":              repeat("`a"),
	"growing backticks":      growing("`"),
	"fences":                 repeat("```json\n{\"name\": \"\n"),
	"closed fences":          repeat("```json\n{\"name\": \"read_file\", \"x\": [\n```\n"),
	"plain fences":           repeat("```\n<tool_call>\n"),
	"fences of calls":        repeat("```json\n{\"name\": \"get_time\", \"arguments\": {}}\n```\n"),
	"calls":                  repeat(`<tool_call>{"name": "get_time", "arguments": {}}</tool_call>`),
	"calls and prose":        repeat(`<tool_call>{"name": "get_time", "arguments": {}}</tool_call> a `),
	"entities":               repeat(`&lt;`),
	"entity tags":            repeat(`&lt;tool_call&gt;`),
	"entity calls":           repeat(`&lt;tool_call&gt;{`),
	"think":                  repeat(`a<think>`),
	"think on lines":         repeat("</think>\n"),
	"channels":               repeat(`<|channel|>`),
	"messages":               repeat(`<|channel|>commentary to=functions.x<|message|>`),
	"analysis":               repeat(`<|channel|>analysis<|message|>`),
	"marks":                  repeat(`[TOOL_CALLS]`),
	"args":                   repeat(`[TOOL_CALLS]read_file[ARGS]`),
	"python":                 repeat("[read_file("),
	"python on lines":        repeat("[read_file(\n"),
	"python arguments":       after("[read_file(", repeat("a=(")),
	"actions":                repeat("Action: read_file\n"),
	"actions with input":     repeat("Action: read_file\nAction Input: {\"\n"),
	"functools":              repeat("functools[\n"),
	"functools strings":      repeat("functools[\"\n"),
	"glm keys":               repeat("<tool_call>x<arg_key>"),
	"glm pairs":              after("<tool_call>x", repeat("<arg_key>k</arg_key><arg_value>v")),
	"CDATA":                  after("<write_file><content>", repeat("<![CDATA[")),
	"attributes":             repeat(`<read_file a="`),
	"prose":                  repeat("The quick brown fox, and it's a dog.\n\n"),
	"control characters":     after(`<tool_call>{"name": "x", "arguments": {"a": "`, repeat("\x00")),
	"white space":            after("<tool_call>", repeat("\n")),
	"tilde fences":           repeat("~~~\n"),
	"quotations":             repeat("> a\n"),
	"escaped string":         after(`<tool_call>{"name": "x", "arguments": "`, repeat(`{\"a\":`)),
	"markers in a string":    after(`<tool_call>{"name": "x", "arguments": {"a": "`, repeat(`"x</tool_call>`)),
	"quoted keys":            after(`<tool_call>{"name": "x", "arguments": {`, repeat(`"a "`)),
	"joined strings":         after(`<tool_call>{"name": "x", "arguments": {"a": `, repeat(`"b" + `)),
	"missed quotes":          after(`<tool_call>{"name": "x", "arguments": {"a": "b`, repeat(`, "c": "d`)),
	"stripped messages":      repeat("assistantcommentary to=functions.read_file json{"),
	"stripped on lines":      repeat("commentary to=functions.read_file\n"),
	"comments":               repeat("<!-- "),
	"comments and calls":     repeat("<!-- <tool_call>{"),
	"labels":                 repeat("Tool call: {\"name\": \"\n"),
	"names and objects":      repeat("read_file\n{\"path\": \n"),
	"names on lines":         repeat("read_file\n"),
	"recipients":             repeat(">>>read_file\n{"),
	"doubled braces":         after("<tool_call>", repeat("{{\"a\": ")),
	"prose in tags":          repeat("<tool_call>\nsome words {\n"),
	"lines of keys":          repeat("<tool_call>name: read_file\npath: a\n"),
	"examples":               repeat("For example:\n<tool_call>{\"name\": \"get_time\"}</tool_call>\n"),
	"calls in quotes":        repeat(`"<tool_call>{"name": "get_time"}</tool_call>"`),
	"nested parameters":      after("<function=write_file><parameter=content>", repeat("<function=a></parameter></function>")),
	"pairs without end":      after("<tool_call>write_file", repeat("<arg_key>path</arg_key><arg_value>")),
	"indented":               repeat("\n\n      <tool_call>"),
	"bare numbers":           after(`<tool_call>{"a": `, repeat("0")),
	"tags after a word":      after("a ", repeat("<tool_call>")),
	"names":                  numbered("<a%d>"),
	"entity words":           repeat("&lt;a&gt;"),
	"entity tokens":          repeat("&lt;|"),
	"objects in one mark":    after("<tool_call>", repeat(`{"name": "get_time", "arguments": {}}`)),
	"control characters raw": after("<write_file><content>", repeat("\x00")),
	"files on lines":         repeat("a.go\n"),
	"patches":                repeat("*** Begin Patch\n"),
	"patches as examples":    repeat("For example:\n*** Begin Patch\n"),
	"one end of blocks": func(n int) string {
		return strings.Repeat("a.go\n<<<<<<< SEARCH\n", n/20) + ">>>>>>> REPLACE\n"
	},
	"search blocks":     repeat("a.go\n<<<<<<< SEARCH\nb\n"),
	"shell blocks":      repeat("```sh\nls\n```\n"),
	"objects in a line": repeat(`Now. {"name": "`),
	"single quotes":     repeat(`<tool_call>{'a': 'b</tool_call>`),
}

func repeat(s string) func(int) string {
	return func(n int) string { return strings.Repeat(s, n/len(s)+1) }
}

func after(head string, f func(int) string) func(int) string {
	return func(n int) string { return head + f(n) }
}

// numbered repeats a format with growing numbers.
func numbered(format string) func(int) string {
	return func(n int) string {
		var b strings.Builder
		for i := 0; b.Len() < n; i++ {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
}

// growing repeats s once, twice, three times and so on.
func growing(s string) func(int) string {
	return func(n int) string {
		var b strings.Builder
		for i := 1; b.Len() < n; i++ {
			b.WriteString(strings.Repeat(s, i) + "a")
		}
		return b.String()
	}
}

// TestHostileIsLinear compares two sizes of every hostile text: four times the
// text takes four times as long, sixteen times when time is quadratic. What is
// fast at both sizes is not compared, and what seems slow is measured again, so
// a busy machine does not matter.
func TestHostileIsLinear(t *testing.T) {
	longtest.Leave(t)
	p := newForms(t)
	for name, f := range hostile {
		t.Run(name, func(t *testing.T) {
			large := once(p, f(1<<18))
			if large <= 500*time.Millisecond {
				return
			}
			small := fastest(p, f(1<<16))
			for again := 0; large > 500*time.Millisecond && large > 12*small; again++ {
				if again == 5 {
					t.Fatalf("64 KB took %v, 256 KB %v", small, large)
				}
				large = min(large, fastest(p, f(1<<18)))
			}
		})
	}
}

func fastest(p *Parser, text string) time.Duration {
	return min(once(p, text), once(p, text))
}

func once(p *Parser, text string) time.Duration {
	start := time.Now()
	p.Parse(text)
	p.Partial(text)
	return time.Since(start)
}

const hostileSize = 10 << 20

func BenchmarkHostile10MB(b *testing.B) {
	p := newForms(b)
	for name, f := range hostile {
		text := f(hostileSize)
		b.Run(strings.ReplaceAll(name, " ", "_"), func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			defer reportProcessor(b, processor(b))
			for b.Loop() {
				p.Parse(text)
			}
		})
	}
}

func BenchmarkParse4KB(b *testing.B) {
	p := newParser(b)
	text := "I will write the file.\n\n<tool_call>{\"name\": \"write_file\", \"arguments\": {\"path\": \"a.go\", \"content\": \"" +
		strings.Repeat(`func f() {\n\treturn \"x\"\n}\n`, 130) + "\"}}</tool_call>"
	b.SetBytes(int64(len(text)))
	defer reportProcessor(b, processor(b))
	for b.Loop() {
		p.Parse(text)
	}
}

// processor returns the processor time of this process so far, which says more than the
// clock on a machine with other work.
func processor(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// reportProcessor reports the processor time of an iteration, since began.
func reportProcessor(b *testing.B, began time.Duration) {
	b.Helper()
	b.ReportMetric(float64(processor(b)-began)/float64(b.N), "cpu-ns/op")
}

func BenchmarkPartial4KB(b *testing.B) {
	p := newParser(b)
	text := strings.Repeat("Some prose about `code`, and a < b.\n", 115) + "<tool_call>{\"name\": \"write_"
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		p.Partial(text)
	}
}
