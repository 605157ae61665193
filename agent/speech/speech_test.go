package speech

import (
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/llm/toolcall"
	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/tools"
	"github.com/handrail-bot/handrail/agent/tools/builtin"
)

func TestSplitThinking(t *testing.T) {
	for _, tt := range []struct{ name, content, thinking, rest string }{
		{"none", "Just text.", "", "Just text."},
		{"at the start", "<think>a</think>\nb", "a", "b"},
		{"opening tag swallowed", "a\n</think>\n\nb", "a", "b"},
		{"never closed", "<think>a and <tool_call>", "a and <tool_call>", ""},
		{"in the middle", "one\n<think>two</think>\nthree", "two", "one\n\nthree"},
		{"twice", "<think>a</think>b<think>c</think>d", "a\nc", "bd"},
		{"middle, never closed", "one <think>two", "two", "one "},
		{"in a code span", "Write `<think>` before and `</think>` after.", "", "Write `<think>` before and `</think>` after."},
		{"in a fence", "```\n<think>x</think>\n```\ntext", "", "```\n<think>x</think>\n```\ntext"},
		{"other tags", "<thinking>a</thinking>b", "a", "b"},
		{"Magistral", "[THINK]a[/THINK]b", "a", "b"},
		{"Cohere", "<|START_THINKING|>a<|END_THINKING|>b", "a", "b"},
		{"Kimi", "◁think▷a◁/think▷b", "a", "b"},
		{"Seed", "<seed:think>a</seed:think>b", "a", "b"},
		{"Harmony", "<|channel|>analysis<|message|>a<|end|>b", "a", "b"},
		{"less than", "if a <think> b", "b", "if a "},
		{"empty", "<think></think>\n\nb", "", "b"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			thinking, rest := splitThinking("", tt.content)
			if thinking != tt.thinking || rest != tt.rest {
				t.Errorf("got %q, %q; want %q, %q", thinking, rest, tt.thinking, tt.rest)
			}
		})
	}
	if thinking, _ := splitThinking("native", "<think>inline</think>x"); thinking != "native\ninline" {
		t.Errorf("both kinds of thinking: %q", thinking)
	}
}

func TestDropEcho(t *testing.T) {
	const thinking = "I should read the file first.\nThen I change it."
	for _, tt := range []struct{ name, thinking, content, want string }{
		{"word for word", thinking, thinking + "\n\nReading.", "Reading."},
		{"other white space", thinking, "I should read  the file first. Then I\nchange it. Reading.", "Reading."},
		{"only the beginning of it", thinking, "I should read the file first.", "I should read the file first."},
		{"goes on", "I should read the file", "I should read the filesystem notes", "I should read the filesystem notes"},
		{"short and common", "Done.", "Done. I changed it.", "Done. I changed it."},
		{"nothing else", thinking, thinking + " [TASK_COMPLETE]", thinking + " [TASK_COMPLETE]"},
		{"no thinking", "", "Text.", "Text."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := dropEcho(tt.thinking, tt.content); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// recorder is a stream under a clock that a test moves.
type recorder struct {
	*Stream
	clock time.Time
	live  []Shown
}

func newRecorder(t *testing.T) *recorder {
	t.Helper()
	r := &recorder{clock: time.Unix(1000, 0)}
	all, err := tools.NewRegistry(builtin.Tools(tools.Config{})...)
	if err != nil {
		t.Fatal(err)
	}
	specs := tools.ForModel(all.Specs())
	for _, name := range []string{"write_file", "read_file"} {
		specs = append(specs, llm.ToolSpec{Name: name, Parameters: []byte(`{"type":"object","properties":{"path":{"type":"string"},"content":{"type":"string"}}}`)})
	}
	r.Stream = New(Config{
		Parser: toolcall.New(specs, all.Canonical), Now: func() time.Time { return r.clock }, Show: func(s Shown) { r.live = append(r.live, s) },
		Writes: func(tool string, arguments json.RawMessage) string {
			var a struct{ Path string }
			if tool != "write_file" || json.Unmarshal(arguments, &a) != nil {
				return ""
			}
			return a.Path
		},
	})
	return r
}

// after lets time pass and takes a part.
func (r *recorder) after(d time.Duration, p llm.Part) {
	r.clock = r.clock.Add(d)
	r.Take(p)
}

func (r *recorder) titles() []string {
	var out []string
	for _, l := range r.live {
		if l.Title != "" && !slices.Contains(out, l.Title) { // it is shown as long as it holds
			out = append(out, l.Title)
		}
	}
	return out
}

func (r *recorder) contents() []string {
	var out []string
	for _, l := range r.live {
		if l.Content != "" {
			out = append(out, l.Content)
		}
	}
	return out
}

func TestStreamShowsNoFragments(t *testing.T) {
	r := newRecorder(t)
	for _, piece := range []string{"**Wh", "at", " happens**", " here", ". [TASK", "_COMPLETE]"} {
		r.after(showEvery, llm.Part{Content: piece})
	}
	r.after(showEvery, llm.Part{Done: true})
	want := []string{"**What happens**", "**What happens** here", "**What happens** here.", "**What happens** here.", "**What happens** here."}
	if d := cmp.Diff(want, r.contents()); d != "" {
		t.Error(d)
	}
}

// A long answer in small pieces costs little: what was looked at is not looked
// at again with every piece. One more piece costs no more memory late in an
// answer than early.
func TestPieceCostsTheSameInALongAnswer(t *testing.T) {
	r := newRecorder(t)
	pieces := func(n int, every time.Duration) {
		for range n {
			r.after(every, llm.Part{Content: "word "})
		}
	}
	cost := func() uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		pieces(1000, 0) // no time passes, so nothing is shown
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	pieces(1000, time.Millisecond/2)
	early := cost()
	pieces(100_000, time.Millisecond/2)
	// The text itself may grow into a larger place, once or twice.
	if late := cost(); late > early+8*5*104_000 {
		t.Errorf("1,000 pieces take %d bytes, after 100,000 pieces %d", early, late)
	}
}

func TestStreamThrottles(t *testing.T) {
	r := newRecorder(t)
	for range 1000 {
		r.after(time.Millisecond, llm.Part{Content: "a word "})
	}
	if n := len(r.contents()); n < 1000/40 || n > 1000/32+2 {
		t.Errorf("shown %d times in a second, want about every %s", n, showEvery)
	}
}

func TestStreamFreezesAtACall(t *testing.T) {
	r := newRecorder(t)
	r.after(time.Second, llm.Part{Thinking: "hm"})
	r.after(3*time.Second, llm.Part{Thinking: " hm"})
	text := "I will write the file.\n<tool_call>{\"name\": \"write_file\", \"arguments\": {\"path\": \"src/foo.ts\", \"content\": \"x\"}}</tool_call>"
	for i := range len(text) {
		r.after(time.Second, llm.Part{Content: text[i : i+1]})
	}
	for _, c := range r.contents() {
		if !strings.HasPrefix("I will write the file.\n", c) {
			t.Fatalf("shown: %q", c)
		}
	}
	if d := cmp.Diff([]string{"Thought for 3s", "Writing foo.ts"}, r.titles()); d != "" {
		t.Error(d)
	}
}

// The time in which a server holds a call back is no thinking.
func TestThinkingTime(t *testing.T) {
	for name, tt := range map[string]struct {
		parts []llm.Part
		want  string
	}{
		"streamed": {[]llm.Part{{Thinking: "a"}, {Thinking: "b"}, {Thinking: "c"}}, "Thought for 2s"},
		"whole":    {[]llm.Part{{Thinking: "abc"}}, "Thought for 1s"},
		"inline":   {[]llm.Part{{Content: "<think>a"}, {Content: "b"}, {Content: "c"}, {Content: "</think>"}}, "Thought for 2s"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRecorder(t)
			for _, p := range tt.parts {
				r.after(time.Second, p)
			}
			r.after(40*time.Second, llm.Part{Calls: []llm.ToolCall{{Name: "write_file", Arguments: []byte(`{"path":"a/b.go"}`)}}})
			if d := cmp.Diff([]string{tt.want, "Writing b.go"}, r.titles()); d != "" {
				t.Error(d)
			}
		})
	}
}

// Whatever stands in thinking is never shown as an answer, at no moment.
func TestStreamHidesInlineThinking(t *testing.T) {
	text := "<think>secret plans <tool_call></think>The answer is ready now."
	for size := 1; size < 7; size++ {
		r := newRecorder(t)
		for at := 0; at < len(text); at += size {
			r.after(time.Second, llm.Part{Content: text[at:min(at+size, len(text))]})
		}
		r.after(time.Second, llm.Part{Done: true})
		shown := r.contents()
		for _, c := range shown {
			if strings.Contains(c, "secret") || strings.Contains(c, "think") || !strings.HasPrefix("The answer is ready now.", c) {
				t.Fatalf("pieces of %d: shown %q", size, c)
			}
		}
		if len(shown) == 0 || shown[len(shown)-1] != "The answer is ready now." {
			t.Errorf("pieces of %d: at last %q", size, shown)
		}
	}
}

func TestCompletionMark(t *testing.T) {
	for in, want := range map[string]string{
		"Done. [TASK_COMPLETE]": "Done.", "Done. [task_complete]": "Done.", "Done. [TASK_COMP": "Done.", "a[TASK_COMPLETE]b": "ab", "x[": "x[", "see [TASK 1]": "see [TASK 1]",
	} {
		got, _ := cutComplete(in)
		if got = cutBroken(got); got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
	}
	for n := 1; n < len(completeMark); n++ {
		if got := stripComplete("text " + completeMark[:n]); got != "text" {
			t.Errorf("growing mark %q is shown: %q", completeMark[:n], got)
		}
	}
}

func TestPrintedBesideNative(t *testing.T) {
	native := []session.Call{{Name: "read_file"}}
	got := dropDuplicates([]toolcall.Call{{Name: "read_file"}, {Name: "list_files"}}, native)
	if len(got) != 1 || got[0].Name != "list_files" {
		t.Errorf("%+v", got)
	}
}

// TestPiecesMakeNoDifference: however an answer is cut into pieces, the same is
// understood in the end, and what was shown on the way is a beginning of it.
func TestPiecesMakeNoDifference(t *testing.T) {
	for _, tt := range []struct {
		text  string
		calls int
	}{
		{"I will look at it first.\n\n<tool_call>{\"name\": \"read_file\", \"arguments\": {\"path\": \"a.go\"}}</tool_call>\nThen I go on with the rest.", 1},
		{"<think>Which file? <tool_call>no</tool_call></think>Let me read the file.\n```json\n{\"name\": \"read_file\", \"arguments\": {\"path\": \"a.go\"}}\n```\n", 1},
		{"The form is `<tool_call>{…}</tool_call>`, and a < b, and [1] is a list.\n{\"version\": 1}\n", 0},
		{"Writing the file now.\n<write_file><path>a.go</path><content>package a // </content> 日本語\n</content></write_file>[TASK_COMPLETE]", 1},
		{"Two calls follow here.\n[TOOL_CALLS]read_file[ARGS]{\"path\": \"a.go\"}[TOOL_CALLS]read_file[ARGS]{\"path\": \"b", 2},
		{"Reading it as asked.\nread_file\n{\"path\": \"a.go\"}", 1},
	} {
		want := said(t, tt.text, len(tt.text))
		if len(want.Calls) != tt.calls {
			t.Errorf("%q has %d calls, want %d", tt.text, len(want.Calls), tt.calls)
		}
		for size := 1; size < 20; size++ {
			if diff := cmp.Diff(want, said(t, tt.text, size)); diff != "" {
				t.Errorf("%q in pieces of %d (-want +got):\n%s", tt.text, size, diff)
			}
		}
	}
}

// said streams text in pieces of n bytes and returns the answer.
func said(t *testing.T, text string, n int) session.Answer {
	t.Helper()
	r := newRecorder(t)
	for from := 0; from < len(text); from += n {
		r.Take(llm.Part{Content: text[from:min(len(text), from+n)]})
		r.clock = r.clock.Add(showEvery)
	}
	r.Take(llm.Part{Done: true})
	a := r.Answer(1)
	for _, shown := range r.contents() {
		if !strings.HasPrefix(a.Content, shown) {
			t.Errorf("in pieces of %d was shown %q, and in the end %q", n, shown, a.Content)
		}
	}
	a.ThinkingMillis = 0 // depends on the clock
	return a
}

// A call that the end of the workspace cut off may be made again: nobody saw what it
// does. What is cut off each time is not made for ever.
func TestCutOffIsNoRepetition(t *testing.T) {
	t.Parallel()
	stopped := func(results ...bool) bool { // whether each was cut off
		h := NewHabits(func(string, json.RawMessage) string { return "" })
		call := func(n int) session.Call {
			return session.Call{ID: fmt.Sprint("c", n), Name: "run_terminal_command", Arguments: json.RawMessage(`{"command":"make"}`)}
		}
		for i, cut := range results {
			h.AddAnswer(&session.Answer{Calls: []session.Call{call(i)}})
			h.Result(&session.CallState{Call: call(i), Result: &session.Result{Call: call(i).ID, Cut: cut}})
		}
		last := call(len(results))
		h.AddAnswer(&session.Answer{Calls: []session.Call{last}})
		_, stop := h.Repeated(last.ID, 0)
		return stop
	}
	for _, c := range []struct {
		results []bool
		want    bool
	}{
		{[]bool{false}, false},
		{[]bool{false, false}, true},
		{[]bool{true, true}, false},
		{[]bool{true, true, true, true, true, true}, false},
		{[]bool{true, false, true, true}, false},
		{[]bool{true, false, true, true, false}, true},
		{[]bool{true, true, true, true, true, true, true}, true},
	} {
		if got := stopped(c.results...); got != c.want {
			t.Errorf("after %v the call is held back: %v", c.results, got)
		}
	}
}
