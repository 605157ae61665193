package speech

import (
	"testing"
	"unicode/utf8"

	"github.com/handrail-bot/handrail/agent/llm"
)

// FuzzAnswer hears a text in two pieces, cut anywhere: nothing panics, and valid
// text stays valid, in what is shown while it grows and in the answer.
func FuzzAnswer(f *testing.F) {
	for _, s := range []string{
		"", "é", "<think>é", "</think>修", "<think>a</think>修 [TASK_COMPLETE]", "[TASK_COMPLETE", "é\n```修\n<tool_call>{\"name\":\"write_file\",\"arguments\":{\"path\":\"é\",\"content\":\"```\"}}",
		"<write_file><path>修</path><content>\n```é", "```json\n{\"name\": \"read_file\"", "👩‍👩‍👧 [TASK_COMPLETE]```",
	} {
		f.Add(s, len(s)/2)
		f.Add(s+s, 1)
	}
	f.Fuzz(func(t *testing.T, text string, at int) {
		r := newRecorder(t)
		if at < 0 || at > len(text) {
			at = 0
		}
		for at < len(text) && !utf8.RuneStart(text[at]) {
			at++
		}
		for _, piece := range []string{text[:at], text[at:]} {
			r.Take(llm.Part{Content: piece})
			r.Take(llm.Part{Thinking: piece})
		}
		r.Take(llm.Part{Done: true})
		a := r.Answer(1)
		texts := []string{a.Content, a.Thinking, a.Raw, Words(r.Parser, text)}
		for _, s := range r.live {
			texts = append(texts, s.Content, s.Thinking, s.Title)
		}
		for _, c := range a.Calls {
			texts = append(texts, c.Name, string(c.Arguments))
		}
		for _, out := range texts {
			if utf8.ValidString(text) && !utf8.ValidString(out) {
				t.Errorf("%.200q becomes invalid: %.200q", text, out)
			}
		}
	})
}
