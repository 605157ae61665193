package prose

import (
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/policy/pattern"
)

// codeSpan matches code within a sentence.
var codeSpan = pattern.Lazy("`([^`\n]{4,400})`")

// Spoken reads an edit that a sentence states: "`old` should be `new`". It applies to answers
// of a model that was asked which line has to change, and wrote no file. The old code must
// occur once in the files in view, the new code not at all, and both must have half of their
// text in common. An answer with several such pairs is not accepted. If the old code is not quoted,
// the new code must be like exactly one line.
func Spoken(text string, view View) (Act, bool) {
	var found []Act
	spans := codeSpan().FindAllStringSubmatch(text, -1)
	for i := 1; i < len(spans); i++ {
		old, put := spans[i-1][1], spans[i][1]
		f, ok := view.only(old)
		if !ok || strings.Contains(f.Text, put) || !alike(old, put) {
			continue
		}
		at := strings.Index(f.Text, old)
		begin := strings.LastIndexByte(f.Text[:at], '\n') + 1
		end := at + len(old)
		if n := strings.IndexByte(f.Text[end:], '\n'); n >= 0 {
			end += n
		} else {
			end = len(f.Text)
		}
		line := f.Text[begin:end]
		found = append(found, f.replace(line, old, put))
	}
	if len(found) == 0 && len(spans) > 0 {
		return view.likeLine(spans)
	}
	if len(found) != 1 {
		return Act{}, false
	}
	return found[0], true
}

// replace returns the edit that puts a text in the place of another one of a line.
func (f File) replace(line, old, put string) Act {
	return Act{
		Kind: Blocks,
		Path: f.Path,
		Text: "<<<<<<< SEARCH\n" + line + "\n=======\n" + strings.Replace(line, old, put, 1) + "\n>>>>>>> REPLACE\n",
	}
}

// minLine is the minimum length in bytes of a line that is replaced by a similar one.
const minLine = 16

// likeLine replaces the only line in view that is like a quoted one. Other quoted code must be in
// view: names that the sentence is about.
func (v View) likeLine(spans [][]string) (Act, bool) {
	put := ""
	for _, s := range spans {
		switch {
		case slices.ContainsFunc(v, func(f File) bool { return f.Path == s[1] || strings.Contains(f.Text, s[1]) }):
		case put != "" || len(s[1]) < minLine:
			return Act{}, false
		default:
			put = strings.TrimSpace(s[1])
		}
	}
	var found []Act
	for _, f := range v {
		for line := range strings.Lines(f.Text) {
			line = strings.TrimRight(line, "\r\n")
			code := strings.TrimSpace(line)
			if put == "" || len(code) < minLine || !alike(code, put) {
				continue
			}
			found = append(found, f.replace(line, code, put))
		}
	}
	if len(found) != 1 {
		return Act{}, false
	}
	return found[0], true
}

// only returns the file in view that contains a text, if it occurs once in all of them.
func (v View) only(text string) (File, bool) {
	var in File
	n := 0
	for _, f := range v {
		if c := strings.Count(f.Text, text); c > 0 {
			n += c
			in = f
		}
	}
	return in, n == 1
}

// alike reports whether half of the longer text is a common beginning or end of both.
func alike(a, b string) bool {
	short, long := min(len(a), len(b)), max(len(a), len(b))
	from := 0
	for from < short && a[from] == b[from] {
		from++
	}
	to := 0
	for to < short-from && a[len(a)-1-to] == b[len(b)-1-to] {
		to++
	}
	return 2*(from+to) >= long
}
