// Package compact fits a conversation into the model's context. It estimates the length,
// selects the part to be replaced by a summary, and writes the summary itself if the
// model cannot.
package compact

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/agent/llm"
)

// BytesPerToken is the average number of bytes of code and English per token, measured
// over several tokenizers. [Ratio.Learn] corrects it.
const BytesPerToken = 3.85

// perMessage is the overhead of a message in bytes: role and markers.
const perMessage = 8

// Ratio converts bytes into tokens. The zero value uses [BytesPerToken].
type Ratio struct {
	bytesPerToken float64
}

// Learn corrects the ratio by a server's token count for a prompt of the given size.
// Implausible counts are ignored, such as those of servers that report only the part that
// was not cached.
func (r *Ratio) Learn(bytes, tokens int) {
	if tokens <= 0 || bytes < 1000 {
		return
	}
	got := float64(bytes) / float64(tokens)
	if got >= 1.5 && got <= 6 {
		r.bytesPerToken = got
	}
}

// Tokens estimates the number of tokens in a text of the given size, rounded up.
func (r Ratio) Tokens(bytes int) int {
	per := r.bytesPerToken
	if per == 0 {
		per = BytesPerToken
	}
	return int(float64(bytes)/per) + 1
}

// Bytes returns the number of bytes in the given number of tokens, the reverse of Tokens.
func (r Ratio) Bytes(tokens int) int {
	per := r.bytesPerToken
	if per == 0 {
		per = BytesPerToken
	}
	return int(float64(tokens) * per)
}

// Size returns the size of a request in bytes, with an allowance for markers. Each
// picture counts as about a thousand tokens.
func Size(req llm.Request) int {
	n := 0
	for _, m := range req.Messages {
		n += MessageSize(m)
	}
	for _, t := range req.Tools {
		n += len(t.Name) + len(t.Description) + len(t.Parameters) + perMessage
	}
	return n
}

// MessageSize returns the size of one message in bytes; see [Size].
func MessageSize(m llm.Message) int {
	n := perMessage + len(m.Content) + len(m.Thinking) + len(m.ToolName) + len(m.Images)*3850
	for _, c := range m.Calls {
		n += len(c.Name) + len(c.Arguments) + perMessage
	}
	return n
}

// Tail returns the index of the first piece of a conversation that is kept after a
// summary. It keeps as many pieces as fit into limit bytes, at least the last one.
// sizes[0] is the task, which is always kept and never part of the tail. Tail returns
// len(sizes) if nothing can be left out.
func Tail(sizes []int, limit int) int {
	if len(sizes) < 3 {
		return len(sizes)
	}
	from, sum := len(sizes)-1, sizes[len(sizes)-1]
	for from > 1 && sum+sizes[from-1] <= limit {
		from--
		sum += sizes[from]
	}
	if from <= 1 {
		from = 2 // something must go: the oldest piece
	}
	return from
}

// Cuts are the maximum lengths of pieces in bytes, the mildest first.
var Cuts = [...]int{16000, 6000, 2000, 600, 200, 60}

// Shorten modifies messages so that no text in them is much longer than most bytes.
func Shorten(messages []llm.Message, most int) {
	for i := range messages {
		shorten(&messages[i], most)
	}
}

// shorten cuts the long texts of m. Arguments stay valid JSON, or else the server would
// reject the conversation.
func shorten(m *llm.Message, most int) {
	m.Content = Middle(m.Content, most)
	m.Thinking = Middle(m.Thinking, most/4)
	m.Calls = slices.Clone(m.Calls)
	for i, c := range m.Calls {
		if len(c.Arguments) > most {
			m.Calls[i].Arguments = json.RawMessage(fmt.Sprintf(`{"left_out":"arguments of %d bytes"}`, len(c.Arguments)))
		}
	}
}

// Instruction asks a model for a summary of a transcript.
const Instruction = `Summarize the work so far for the agent that goes on with it. Keep every fact it needs: ` +
	`what was asked, which files were read and what matters in them, which files were changed and how, ` +
	`commands run and their results, failed attempts and why they failed, decisions, and what is still to do. ` +
	`Name files, functions and lines exactly. Write plain text, no tool calls, at most 400 words.`

// Transcript renders messages as text for a summary, the oldest first, at most limit
// bytes; long pieces are shortened in their middle.
func Transcript(messages []llm.Message, limit int) string {
	if len(messages) == 0 {
		return ""
	}
	each := max(200, limit/len(messages))
	var b strings.Builder
	for _, m := range messages {
		fmt.Fprintf(&b, "%s:", m.Role)
		if m.ToolName != "" {
			fmt.Fprintf(&b, " [%s]", m.ToolName)
		}
		b.WriteString(" " + Middle(m.Content, each) + "\n")
		for _, c := range m.Calls {
			fmt.Fprintf(&b, "  call %s %s\n", c.Name, Middle(string(c.Arguments), each/2))
		}
	}
	return Middle(b.String(), limit)
}

// Empty reports whether a summary by a model is too short to be of use.
func Empty(summary string) bool { return len(strings.Fields(summary)) < 3 }

// leftOut is the approximate length of the note about the missing bytes.
const leftOut = 40

// Middle shortens s to about limit bytes by removing its middle, on rune boundaries, and
// states the number of bytes removed.
func Middle(s string, limit int) string {
	if len(s) <= limit || len(s) <= leftOut+limit {
		return s
	}
	head := strings.ToValidUTF8(s[:limit*2/3], "")
	tail := strings.ToValidUTF8(s[len(s)-limit/3:], "")
	return fmt.Sprintf("%s\n[%d bytes left out]\n%s", head, len(s)-len(head)-len(tail), tail)
}

// Fallback returns a summary made without a model: the calls, and the first line
// of each result.
func Fallback(messages []llm.Message, limit int) string {
	var b strings.Builder
	b.WriteString("Earlier steps, shortened:\n")
	for _, m := range messages {
		for _, c := range m.Calls {
			fmt.Fprintf(&b, "- called %s %s\n", c.Name, Middle(string(c.Arguments), 160))
		}
		line, _, _ := strings.Cut(strings.TrimSpace(m.Content), "\n")
		if line != "" {
			fmt.Fprintf(&b, "- %s: %s\n", m.Role, Middle(line, 200))
		}
	}
	return Middle(b.String(), limit)
}
