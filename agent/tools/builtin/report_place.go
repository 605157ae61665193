package builtin

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/tools"
	"github.com/handrail-bot/handrail/policy/pattern"
	"github.com/handrail-bot/handrail/policy/phrase"
)

const maxFile = 4 << 20

// place reads the location of a finding, and returns the text of its file. Removed
// lines are in no file; they are looked up later in GitHub's diff. A line that is said to be
// removed, and is in the file with that number and the quoted text, is on the new side.
func (r reporter) place(
	ctx context.Context,
	a tools.Args,
	f *session.Finding,
) (text []string, notes []string, err error) {
	if f.Path, err = r.Path(ctx, a); err != nil {
		return nil, nil, err
	}
	if f.Line, err = a.Number("line", 0); err != nil {
		return nil, nil, err
	}
	if f.End, err = a.Number("end_line", 0); err != nil {
		return nil, nil, err
	}
	switch {
	case f.Line < 1:
		return nil, nil, a.Wrong("line %d is no line; lines count from 1", f.Line)
	case f.End != 0 && f.End < f.Line:
		return nil, nil, a.Wrong("end_line %d is before line %d", f.End, f.Line)
	case f.Last()-f.Line >= maxSpan:
		return nil, nil, a.Wrong(
			"a finding about %s is about none of them: name the few that are wrong, at most %d",
			phrase.Count(f.Last()-f.Line+1, "line"),
			maxSpan,
		)
	}
	if f.End == f.Line {
		f.End = 0
	}
	quoted, err := a.Text("code")
	if err != nil {
		return nil, nil, err
	}
	data, _, err := r.Files.ReadAll(ctx, f.Path, maxFile)
	text = strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	if f.Old {
		if want := firstQuoted(quoted); err != nil || want == "" || f.Last() > len(text) || strings.TrimSpace(text[f.Line-1]) != want {
			return nil, nil, nil
		}
		f.Old = false //control:old-side-put-right
		notes = append(notes, fmt.Sprintf("Line %d is in the file as it is now, so it was recorded on the new side.", f.Line))
	}
	if err != nil {
		return nil, nil, err
	}
	if note := follow(f, text, quoted); note != "" {
		notes = append(notes, note)
	}
	if f.Last() > len(text) { //control:finding-in-the-file
		return nil, nil, a.Wrong(
			"%s has %s, so there is no line %d; read it again for the right number",
			f.Path,
			phrase.Count(len(text), "line"),
			f.Last(),
		)
	}
	return text, notes, nil
}

// follow moves a finding to the quoted line, if the numbered line differs: models copy better
// than they count. Of several such lines it takes the nearest one, and none if two are as near.
func follow(f *session.Finding, text []string, quoted string) (note string) {
	want := firstQuoted(quoted)
	if want == "" || f.Line <= len(text) && strings.TrimSpace(text[f.Line-1]) == want {
		return ""
	}
	was, at, tie := f.Line, 0, false
	far := func(n int) int { return max(n-was, was-n) }
	for i, l := range text {
		switch {
		case strings.TrimSpace(l) != want:
		case at == 0 || far(i+1) < far(at):
			at, tie = i+1, false //control:nearest-quoted-line
		case far(i+1) == far(at):
			tie = true
		}
	}
	if at == 0 || tie {
		return ""
	}
	if f.End != 0 {
		f.End += at - was
	}
	f.Line = at
	return fmt.Sprintf("The line that you quote is line %d and not %d, so it was recorded there.", at, was)
}

// firstQuoted returns the first line of a quotation, without indentation.
func firstQuoted(quoted string) string {
	first, _, _ := strings.Cut(strings.TrimLeft(quoted, "\r\n"), "\n")
	return strings.TrimSpace(first)
}

// declaration matches the first line of a named declaration in the most common languages.
var declaration = pattern.Lazy(
	`^(?:export |default |public |private |protected |internal |static |abstract |final |async |override |virtual |pub(?:\([a-z]+\))? |unsafe |extern |inline |const fn |@\w+ )*` +
		`(?:func(?:\s*\([^)]*\))?|def|class|interface|trait|impl|struct|enum|fn|function\*?|module|namespace|type|object|record|sub|method)\s+([A-Za-z_$][\w$.]*)`,
)

// assigned matches a function that is named by an assignment, and method one that is
// named by its place in a class.
var (
	assigned = pattern.Lazy(
		`^(?:export )?(?:const|let|var)\s+([A-Za-z_$][\w$]*)\s*(?::[^=]+)?=\s*(?:async\s*)?(?:function\b|\(.*\)\s*(?::.*)?=>|[\w$]+\s*=>)`,
	)
	method = pattern.Lazy(
		`^(?:(?:public|private|protected|static|async|override|readonly|get|set|final|virtual|[\w<>\[\],.?]+)\s+)*([A-Za-z_$][\w$]*)\s*\([^;]*\)[^;]*\{\s*$`,
	)
	keyword = pattern.Lazy(`^(?:if|for|while|switch|catch|return|else|do|try|with|match|loop|select)$`)
)

// enclosing returns the name of the definition around a line, by indentation: the
// nearest line above that begins one and is indented less.
func enclosing(text []string, line int) string {
	var names []string
	depth := indent(text[line-1]) + 1
	for i := line - 1; i >= 0 && depth > 0; i-- {
		l := strings.TrimSpace(text[i])
		in := indent(text[i])
		if l == "" || in >= depth {
			continue
		}
		if name := defines(l); name != "" {
			names = append([]string{name}, names...)
		}
		if !strings.HasPrefix(l, ")") && !strings.HasPrefix(l, "}") { // the end of a previous block, or of a long header
			depth = in
		}
	}
	return strings.Join(names, ".")
}

func defines(l string) string {
	for _, re := range [...]*regexp.Regexp{declaration(), assigned(), method()} {
		if m := re.FindStringSubmatch(l); m != nil && !keyword().MatchString(m[1]) {
			return m[1]
		}
	}
	return ""
}

// indent returns the indentation of a line in columns; a tab counts as eight. A blank
// line has the largest, so it belongs to the block above.
func indent(l string) int {
	n := 0
	for _, c := range l {
		switch c {
		case ' ':
			n++
		case '\t':
			n += 8
		default:
			return n
		}
	}
	return 1 << 20
}
