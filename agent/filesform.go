package agent

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/llm/prose"
	"github.com/handrail-bot/handrail/agent/patch/fragment"
	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/speech"
)

// filesTurn renders an entry for a model that calls no tools: files appear under their
// paths, followed by the request and its end, and an answer only by the results that it asked for.
func (t *conversation) filesTurn(e entry) []llm.Message {
	if e.answer == nil {
		return []llm.Message{
			{Role: llm.RoleUser, Content: t.filesRequest(e), Images: pictures(e.images), Ours: e.nudge},
		}
	}
	raw := strings.TrimSpace(cmp.Or(e.answer.Again, e.answer.Raw, e.answer.Content))
	out := []llm.Message{{Role: llm.RoleAssistant, Content: raw}}
	var b strings.Builder
	for _, c := range e.calls {
		if said := filesResult(c, t.nonce); said != "" {
			b.WriteString(said + "\n\n")
		}
	}
	if b.Len() > 0 {
		out = append(out, llm.Message{Role: llm.RoleUser, Content: strings.TrimSpace(b.String())})
	}
	return out
}

// Ends of a request for a change: small models follow the last words.
const (
	makeChange = "\n\nMake this change. Write the path of the file, and below it the whole new file in a code fence."
	makeParts  = "\n\nMake this change. Write the path of the file, and below it only the function that changes, whole, in a code fence."
)

// minParts is the minimum size in bytes of a file that is changed by definitions of it. A small
// model needs minutes to write a longer file, and often copies it as it is.
const minParts = 1500

// inParts reports whether the files in view are to be changed by writing functions of them alone: not
// if an answer failed before, unless a file is too long to be written whole.
func inParts(view prose.View, failed bool) bool {
	if slices.ContainsFunc(view, func(f prose.File) bool { return f.Part }) { //control:parts-in-view
		return true
	}
	tooLong := slices.ContainsFunc(view, func(f prose.File) bool { return len(f.Text) > maxWhole })
	return hasParts(view) && (tooLong || !failed)
}

// hasParts reports whether each long file in view has functions that can be written alone.
func hasParts(view prose.View) bool {
	long := slices.DeleteFunc(slices.Clone(view), func(f prose.File) bool { return len(f.Text) <= minParts || f.Part })
	return len(long) > 0 && !slices.ContainsFunc(long, func(f prose.File) bool { return !fragment.Parts(f.Path, f.Text) })
}

// names reports whether a file in view or a word of the user has a name.
func (t *conversation) names(file string) bool {
	return slices.ContainsFunc(t.view(), func(f prose.File) bool { return path.Base(f.Path) == file }) ||
		slices.ContainsFunc(t.entries, func(e entry) bool { return e.person && strings.Contains(e.user, file) })
}

// filesRequest renders the files in view, followed by the user's message and its end.
func (t *conversation) filesRequest(e entry) string {
	var files strings.Builder
	var others []session.Item
	for _, it := range e.context {
		if it.Kind == session.ItemFile || it.Kind == session.ItemExplicit {
			text := it.Text
			if t.hidden != "" {
				text = fragment.Hide(it.Name, text, t.hidden)
			}
			files.WriteString(it.Name + "\n" + fence(it.Name, text) + "\n\n")
			continue
		}
		others = append(others, it)
	}
	if files.Len() == 0 {
		return e.provided + renderItems(t.nonce, others) + e.user
	}
	return files.String() + e.provided + renderItems(t.nonce, others) + "Task: " + e.user + t.filesEnd(e)
}

// filesEnd returns the end of the request of entry e.
func (t *conversation) filesEnd(e entry) string {
	switch {
	case !t.writes, t.hidden != "": // the words about the function come last
		return ""
	case inParts(viewOf([]entry{e}), t.failed()): //control:parts-of-long-files
		return makeParts
	}
	return makeChange
}

// filesResult renders the result of a call. A successful edit yields only its reminder.
func filesResult(c *session.CallState, nonce string) string {
	switch {
	case speech.IsEdit(c.Call) && c.Result != nil && c.Result.OK && !c.Result.Mistake:
		return c.Reminder
	case c.Name == "read_file" && c.Result != nil && c.Result.OK:
		return fmt.Sprintf("%s\n%s", pathArgument(c.Arguments), fence(pathArgument(c.Arguments), plainFile(c.Result.Content)))
	}
	return fmt.Sprintf("[TOOL RESULT: %s]\n%s", c.Name, fencedResult(c, nonce))
}

// plainFile removes the heading and the line numbers from a complete read_file result.
// Any other text is returned unchanged.
func plainFile(shown string) string {
	head, rest, ok := strings.Cut(shown, "\n")
	if !ok || !strings.HasPrefix(head, "File: ") ||
		!strings.HasSuffix(head, " lines)") && !strings.HasSuffix(head, "(1 line)") {
		return shown
	}
	var out strings.Builder
	n := 0
	for line := range strings.Lines(rest) {
		n++
		text, ok := strings.CutPrefix(line, strconv.Itoa(n)+" | ")
		if !ok {
			return shown
		}
		out.WriteString(text)
	}
	return out.String()
}

// fence wraps a text into a code fence that does not occur in it.
func fence(name, text string) string {
	marks := "```"
	for strings.Contains(text, marks) {
		marks += "`"
	}
	return marks + languageOf(name) + "\n" + strings.TrimSuffix(text, "\n") + "\n" + marks
}

// languageOf returns the info string of a file's fence.
func languageOf(name string) string {
	ext := strings.TrimPrefix(strings.ToLower(path.Ext(name)), ".")
	switch ext {
	case "py":
		return "python"
	case "js", "mjs", "cjs":
		return "javascript"
	case "ts":
		return "typescript"
	case "rb":
		return "ruby"
	case "rs":
		return "rust"
	case "yml":
		return "yaml"
	case "txt":
		return ""
	}
	return ext
}

// mergeSameRole merges consecutive messages of the same role: templates of small models require
// alternating roles.
func mergeSameRole(messages []llm.Message) []llm.Message {
	var out []llm.Message
	for _, m := range messages {
		if n := len(out); n > 0 && out[n-1].Role == m.Role && m.Role != llm.RoleSystem {
			out[n-1].Content = strings.TrimSpace(out[n-1].Content + "\n\n" + m.Content)
			out[n-1].Images = append(out[n-1].Images, m.Images...)
			out[n-1].Ours = out[n-1].Ours && m.Ours
			continue
		}
		out = append(out, m)
	}
	return out
}
