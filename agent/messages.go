package agent

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/handrail-bot/handrail/agent/compact"
	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

// messages renders the conversation, without the system prompt. With native calls each
// result is a separate message. In the text form the results of an answer are one user
// message; in the files form consecutive messages to the model are merged as well.
func (t *conversation) messages(form llm.Form) []llm.Message {
	out := make([]llm.Message, 0, 2*len(t.entries))
	alone := form == llm.FormFiles && t.line != nil
	for i, e := range t.entries {
		from := len(out)
		switch {
		case alone && i < len(t.entries)-1: // the rest of the conversation invites the whole file
		case e.gone: //control:taken-back
		case form == llm.FormFiles:
			out = append(out, t.filesTurn(e)...)
		case e.answer == nil:
			out = append(
				out,
				llm.Message{
					Role:    llm.RoleUser,
					Content: e.provided + renderItems(t.nonce, e.context) + e.user,
					Images:  pictures(e.images),
					Ours:    e.nudge,
				},
			)
		case form == llm.FormText:
			out = append(out, textTurn(e, t.nonce)...)
		default:
			out = append(out, nativeTurn(e)...)
		}
		if most := t.cut(i); most > 0 {
			compact.Shorten(out[from:], most)
		}
	}
	if form == llm.FormFiles {
		return mergeSameRole(out)
	}
	return out
}

func pictures(blobs []session.Blob) [][]byte {
	var out [][]byte
	for _, b := range blobs {
		out = append(out, b.Data)
	}
	return out
}

func nativeTurn(e entry) []llm.Message {
	head := llm.Message{Role: llm.RoleAssistant, Content: e.answer.Content, Thinking: e.answer.Thinking}
	out := []llm.Message{head}
	for _, c := range e.calls {
		out[0].Calls = append(out[0].Calls, llm.ToolCall{ID: c.ID, Name: c.Name, Arguments: c.Arguments})
		out = append(
			out,
			llm.Message{Role: llm.RoleTool, ToolName: c.Name, ToolCallID: c.ID, Content: resultText(c), Images: images(c)},
		)
	}
	return out
}

// textTurn renders an answer as the model wrote it. Native calls are converted to text in
// case the server no longer accepts native calls.
func textTurn(e entry, nonce string) []llm.Message {
	raw := cmp.Or(e.answer.Again, e.answer.Raw, e.answer.Content)
	for _, c := range e.calls {
		if !c.Text {
			raw += fmt.Sprintf("\n<tool_call>{\"name\": %q, \"arguments\": %s}</tool_call>", c.Name, c.Arguments)
		}
	}
	out := []llm.Message{{Role: llm.RoleAssistant, Content: strings.TrimSpace(raw)}}
	if len(e.calls) == 0 {
		return out
	}
	var b strings.Builder
	var pics [][]byte
	for _, c := range e.calls {
		fmt.Fprintf(&b, "[TOOL RESULT: %s]\n%s\n\n", c.Name, fencedResult(c, nonce)) //control:fence-results
		pics = append(pics, images(c)...)
	}
	return append(out, llm.Message{Role: llm.RoleUser, Content: strings.TrimSpace(b.String()), Images: pics})
}

// resultText returns the result of a call as the model sees it.
func resultText(c *session.CallState) string {
	text := "(no result: the session was interrupted before this call ran)"
	if c.Result != nil {
		text = c.Result.Content
	}
	if c.Reminder != "" {
		text += "\n\n" + c.Reminder
	}
	return text
}

func images(c *session.CallState) [][]byte {
	if c.Result == nil {
		return nil
	}
	return pictures(c.Result.Images)
}

// nonceOf returns the code in the fences of a session: the caller's random nonce, or else
// one derived from the session's id, which is random on the command line.
func nonceOf(t session.Task) string {
	if t.Nonce != "" {
		return t.Nonce
	}
	sum := sha256.Sum256([]byte(t.Session + "\x00" + t.Base))
	return hex.EncodeToString(sum[:8])
}

// fencedResult is told with the output of the tool between marks that the output cannot close.
// In the text form results are part of a user message; without marks a file could forge a
// turn. The engine's own words (a refusal, a reminder) stay outside of the marks.
func fencedResult(c *session.CallState, nonce string) string {
	if nonce == "" || c.Result == nil || !c.Started && !c.Result.Mistake {
		return resultText(c)
	}
	text, tail := resultText(c), ""
	if c.Reminder != "" {
		tail = "\n\n" + c.Reminder
		text = strings.TrimSuffix(text, tail)
	}
	label := "result of " + c.Name
	if strings.Contains(strings.ToLower(text), "untrusted") || strings.Contains(text, nonce) {
		return untrusted.Fence(nonce, label, text) + tail //control:fence-nonce
	}
	// The text was cleaned when it was recorded, and contains nothing like a mark.
	return "<untrusted " + nonce + " \"" + label + "\">\n" + text + "\n</untrusted " + nonce + ">" + tail
}
