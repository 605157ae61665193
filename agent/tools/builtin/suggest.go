package builtin

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"io"
	"path"
	"strings"

	"github.com/handrail-bot/handrail/agent/patch"
	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/tools"
	"github.com/handrail-bot/handrail/policy/pattern"
	"github.com/handrail-bot/handrail/policy/phrase"
)

// suggest tries a suggestion on the file. A suggestion that does not apply, changes
// nothing or breaks the syntax of the file is dropped, and the note tells the model.
func suggest(a tools.Args, f *session.Finding, text []string) (note string, err error) {
	if !a.Has("suggestion") {
		return "", nil
	}
	raw, err := a.Text("suggestion")
	if err != nil || strings.TrimSpace(raw) == "" {
		return "", err
	}
	before := strings.Join(text, "\n") + "\n"
	with := strings.TrimSuffix(strings.ReplaceAll(plainCode(f.Path, before, raw), "\r\n", "\n"), "\n")
	old := strings.Join(text[f.Line-1:f.Last()], "\n")
	with = withoutBlanks(f.Path, reindent(with, text[f.Line-1]), old)
	applied, err := patch.Lines(f.Line, f.Last(), with).Apply(before)
	if err != nil {
		return leftOut("it does not apply: " + err.Error()), nil
	}
	after := strings.Split(strings.TrimSuffix(applied.Text, "\n"), "\n")
	to := len(after) - (len(text) - f.Last())
	if to < f.Line-1 {
		return leftOut("it does not apply"), nil
	}
	got := strings.Join(after[f.Line-1:to], "\n")
	switch {
	case strings.ReplaceAll(applied.Text, "\r\n", "\n") == strings.ReplaceAll(before, "\r\n", "\n"):
		return leftOut("it is what stands there already"), nil
	case to-(f.Line-1) > 2*maxSpan:
		return leftOut(fmt.Sprintf("it has %s, and more than %d are no suggestion", phrase.Count(to-f.Line+1, "line"), 2*maxSpan)), nil
	}
	if err := checkSyntax(swap{f.Path, before, applied.Text, old, with}); err != nil { //control:suggestion-parses
		return leftOut("the file would not parse with it: " + err.Error()), nil
	}
	got = strings.ReplaceAll(got, "\r", "") // GitHub uses the line endings of the file
	f.Suggestion = &got
	return "", nil
}

func leftOut(why string) string { return "The suggestion was left out: " + cut(why, 300) + "." }

// plainCode removes the wrapping that models put around code.
func plainCode(name, before, raw string) string {
	s := strings.TrimPrefix(raw, "\n")
	if t := strings.TrimSpace(s); strings.HasPrefix(t, "```") && strings.HasSuffix(t, "```") && strings.Contains(t, "\n") {
		_, s, _ = strings.Cut(t, "\n")
		s = strings.TrimSuffix(strings.TrimSuffix(s, "```"), "\n")
	}
	s, _ = patch.Clean(name, before, s)
	return s
}

// reindent gives a suggestion the indentation of the replaced line, if the model omitted
// it.
func reindent(with, first string) string {
	margin := first[:len(first)-len(strings.TrimLeft(first, " \t"))]
	if margin == "" || with == "" || with[0] == ' ' || with[0] == '\t' {
		return with
	}
	list := strings.Split(with, "\n")
	for i, l := range list {
		if strings.TrimSpace(l) != "" {
			list[i] = margin + l
		}
	}
	return strings.Join(list, "\n")
}

// withoutBlanks removes the blanks at the ends of a suggestion's lines. In Markdown they count, and
// they stay if the replaced lines have some.
func withoutBlanks(name, with, old string) string {
	ext := strings.ToLower(path.Ext(name))
	if ext == ".md" || ext == ".markdown" || trailing().MatchString(strings.ReplaceAll(old, "\r", "")) {
		return with
	}
	return trailing().ReplaceAllString(with, "") //control:no-blanks-at-the-end
}

// trailing matches the blanks at the end of a line.
var trailing = pattern.Lazy(`(?m)[ \t]+$`)

// replacement is a replacement of lines in a file, with the whole file before and after.
type swap struct{ name, before, after, old, with string }

// checkSyntax returns an error if a change breaks the syntax of a file. For languages without a
// parser here, the lexical check must do: the change must leave open the same brackets and
// blocks as the old lines. That is no proof that the file parses.
func checkSyntax(c swap) error {
	check := func(string) error { return lexical(c) }
	switch strings.ToLower(path.Ext(c.name)) {
	case ".go":
		check = parseGo
	case ".json":
		check = parseJSON
	case ".xml", ".svg", ".xhtml":
		check = parseXML
	case ".md", ".txt", ".rst", ".adoc":
		return nil
	}
	if check(c.before) != nil { // it did not parse before, so only the change is checked
		return lexical(c) //control:suggestion-balances
	}
	return check(c.after)
}

func parseGo(text string) error {
	_, err := parser.ParseFile(token.NewFileSet(), "", text, parser.SkipObjectResolution)
	return err
}

func parseJSON(text string) error {
	var v any
	return json.Unmarshal([]byte(text), &v)
}

func parseXML(text string) error {
	d := xml.NewDecoder(strings.NewReader(text))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}
