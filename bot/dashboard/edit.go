package dashboard

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/agent/session"
)

// callView is a call for display.
type callView struct {
	Name  string
	About string     // path or command, on one line
	Lines []diffLine // the edit
	Text  string     // other arguments
}

// diffLine is a line of an edit. Kind is a class of the style sheet: add, del, hunk or "".
type diffLine struct{ Kind, Text string }

// maxDiffLines limits the lines of one edit in a story.
const maxDiffLines = 400

// call returns a call for display. Its arguments tell by their names what they are.
func callOf(c session.Call) callView {
	v := callView{Name: line(c.Name, 60)}
	var args map[string]json.RawMessage
	if json.Unmarshal(c.Arguments, &args) != nil {
		v.Text = show(string(c.Arguments))
		return v
	}
	var rest []string
	for _, key := range slices.Sorted(maps.Keys(args)) {
		text := textOf(args[key])
		switch key {
		case "path", "command", "query", "url", "question":
			if v.About == "" && !strings.Contains(text, "\n") {
				v.About = line(text, 200)
				continue
			}
			rest = append(rest, key+": "+text)
		case "diff", "patch":
			v.Lines = append(v.Lines, diffLines(text)...)
		case "content", "new_string", "replace", "text":
			v.Lines = append(v.Lines, marked("add", text)...)
		case "old_string", "search":
			v.Lines = append(marked("del", text), v.Lines...)
		default:
			rest = append(rest, key+": "+text)
		}
	}
	v.Lines = v.Lines[:min(len(v.Lines), maxDiffLines)]
	v.Text = show(strings.Join(rest, "\n"))
	return v
}

// textOf returns an argument as text: a string's content, or JSON.
func textOf(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}

func marked(kind, text string) []diffLine {
	var out []diffLine
	for l := range strings.Lines(show(text)) {
		out = append(out, diffLine{kind, strings.TrimSuffix(l, "\n")})
	}
	return out
}

// diffLines marks the lines of a diff, or of blocks to search and replace.
func diffLines(text string) []diffLine {
	var out []diffLine
	block := ""
	for l := range strings.Lines(show(text)) {
		l = strings.TrimSuffix(l, "\n")
		kind := block
		switch {
		case strings.HasPrefix(l, "<<<<<<< "):
			kind, block = "hunk", "del"
		case strings.HasPrefix(l, "=======") && block == "del":
			kind, block = "hunk", "add"
		case strings.HasPrefix(l, ">>>>>>> "):
			kind, block = "hunk", ""
		case block != "":
		case strings.HasPrefix(l, "+++"), strings.HasPrefix(l, "---"), strings.HasPrefix(l, "@@"), strings.HasPrefix(l, "diff "):
			kind = "hunk"
		case strings.HasPrefix(l, "+"):
			kind = "add"
		case strings.HasPrefix(l, "-"):
			kind = "del"
		}
		out = append(out, diffLine{kind, l})
	}
	return out
}

// isPlainPath reports whether a command can name a path: it reads as one word, and as
// neither a number nor a flag.
func isPlainPath(path string) bool {
	odd := func(r rune) bool {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		return !letter && (r < '0' || r > '9') && !strings.ContainsRune("_./-", r)
	}
	return strings.ContainsAny(path, "./") && !strings.HasPrefix(path, "-") && !strings.ContainsFunc(path, odd)
}
