package dashboard

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/workspace/outline"
)

// callView is a call for display.
type callView struct {
	Name  string
	About string     // path or command, on one line
	Lines []diffLine // the edit
	Text  string     // other arguments
}

// diffLine is a line of an edit. Kind is a class of the style sheet: add, del, hunk or "".
// Parts are Text in the colours of its language; without any it has none.
type diffLine struct {
	Kind, Text string
	Parts      []outline.Part
	lead       int // bytes of Text before the file's own
}

// maxDiffLines limits the lines of one edit in a story.
const maxDiffLines = 400

// callOf returns a call for display, with the names of its arguments.
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
	colour(v.About, v.Lines)
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
		out = append(out, diffLine{Kind: kind, Text: strings.TrimSuffix(l, "\n")})
	}
	return out
}

// diffLines marks the lines of a diff, or of blocks to search and replace.
func diffLines(text string) []diffLine {
	var out []diffLine
	block := ""
	for l := range strings.Lines(show(text)) {
		l = strings.TrimSuffix(l, "\n")
		kind, lead := block, 0
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
			kind, lead = "add", 1
		case strings.HasPrefix(l, "-"):
			kind, lead = "del", 1
		case strings.HasPrefix(l, " "):
			lead = 1
		}
		out = append(out, diffLine{Kind: kind, Text: l, lead: lead})
	}
	return out
}

// colour gives the lines of a diff the colours of their languages. name is the file until
// the diff names another one. The two sides of a hunk are read for themselves, so that
// a text or comment of several lines is known.
func colour(name string, lines []diffLine) {
	begin := 0
	for i := 0; i <= len(lines); i++ {
		if i < len(lines) && lines[i].Kind != "hunk" {
			continue
		}
		colourSide(name, lines[begin:i], "del")
		colourSide(name, lines[begin:i], "add")
		if begin = i + 1; i == len(lines) {
			return
		}
		for _, mark := range []string{"--- ", "+++ "} {
			if file, ok := strings.CutPrefix(lines[i].Text, mark); ok && !strings.HasPrefix(file, "/dev/null") {
				name = file
			}
		}
	}
}

// colourSide colours the lines of one side of a hunk. Lines of both sides get the colours
// of the side that comes last.
func colourSide(name string, lines []diffLine, kind string) {
	var b strings.Builder
	var side []*diffLine
	for i, l := range lines {
		if l.Kind == "" || l.Kind == kind {
			b.WriteString(l.Text[l.lead:] + "\n")
			side = append(side, &lines[i])
		}
	}
	parts := outline.Colour(name, b.String())
	if parts == nil {
		return
	}
	for _, l := range side {
		l.Parts = nil
		if l.lead > 0 {
			l.Parts = append(l.Parts, outline.Part{Text: l.Text[:l.lead]})
		}
		for open := true; open && len(parts) > 0; {
			text, rest, ends := strings.Cut(parts[0].Text, "\n")
			if text != "" {
				l.Parts = append(l.Parts, outline.Part{Kind: parts[0].Kind, Text: text})
			}
			if parts[0].Text = rest; !ends || rest == "" {
				parts = parts[1:]
			}
			open = !ends
		}
	}
}

// word returns a path as an argument of a command, or "" if it cannot be one: it has to
// read as one word, and as neither a number nor a flag.
func word(path string) string {
	odd := func(r rune) bool {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		return !letter && (r < '0' || r > '9') && !strings.ContainsRune("_./-", r)
	}
	switch {
	case path == "" || strings.HasPrefix(path, "-") || strings.ContainsFunc(path, odd):
		return ""
	case !strings.ContainsAny(path, "./"):
		if strings.ContainsFunc(path, func(r rune) bool { return r < '0' || r > '9' }) {
			return "`" + path + "`"
		}
		return ""
	}
	return path
}

// plainPaths returns the paths of files as arguments. It returns none if one cannot be.
func plainPaths(files []session.FileChange) (out []string) {
	for _, f := range files {
		w := word(f.Path)
		if w == "" {
			return nil
		}
		out = append(out, w)
	}
	return out
}
