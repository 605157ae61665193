package builtin

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/handrail-bot/handrail/agent/tools"
	"github.com/handrail-bot/handrail/agent/workspace"
)

// request is one file of a call, with the lines to show.
type request struct {
	path   string
	ranges []workspace.Range
	note   string // set if path is not the requested one
}

// requests reads the files of a call, in all shapes that models send.
func (r reader) requests(ctx context.Context, a tools.Args) ([]request, error) {
	common, err := readRanges(a, a.Values)
	if err != nil {
		return nil, err
	}
	list, err := requestItems(a, a.Items("files"), 0)
	if err != nil {
		return nil, err
	}
	if raw, ok := a.Values["path"]; ok { // some models send it beside files
		more, err := requestItems(a, tools.Elements(raw), 0)
		if err != nil {
			return nil, err
		}
		for _, w := range more {
			if !slices.ContainsFunc(list, func(f request) bool { return f.path == w.path }) {
				list = append(list, w)
			}
		}
	}
	switch {
	case len(list) == 0:
		return nil, a.Wrong("missing argument %q", "path")
	case len(list) > maxFiles:
		return nil, a.Wrong(
			"%d files in one call; at most %d are read, so ask for the others in another call",
			len(list),
			maxFiles,
		)
	case len(common) > 0 && len(list) > 1:
		return nil, a.Wrong("a range of lines for %d files; give each file its own lines in files", len(list))
	case len(common) > 0 && len(list[0].ranges) == 0:
		list[0].ranges = common
	}
	if err := column(a, list); err != nil {
		return nil, err
	}
	for i := range list {
		p := list[i].path
		rel, err := r.Resolve(ctx, p)
		if err != nil {
			return nil, err
		}
		if bare, ranges, ok := suffixRange(rel); ok && len(list[i].ranges) == 0 {
			if there, err := r.Exists(ctx, rel); err != nil {
				return nil, err
			} else if !there {
				rel, list[i].ranges = bare, ranges
			}
		}
		if list[i].path, list[i].note, err = r.Existing(ctx, rel); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// column reads the first character of a line to show.
func column(a tools.Args, list []request) error {
	n, err := a.Number("column", 0)
	if err != nil || n <= 1 {
		return err
	}
	if len(list) != 1 || len(list[0].ranges) != 1 || list[0].ranges[0].From != list[0].ranges[0].To {
		return a.Wrong("a column is one of a single line: give that line, such as \"lines\": \"12\"")
	}
	list[0].ranges[0].Column = n
	return nil
}

// suffixRange reads "a.go:10-50", "a.go:10" and "a.go:L10-L50".
func suffixRange(p string) (string, []workspace.Range, bool) {
	i := strings.LastIndexAny(p, ":#")
	if i <= 0 {
		return p, nil, false
	}
	rs, ok := parseRanges(p[i+1:])
	return p[:i], rs, ok
}

// requestItems reads paths, and objects with a path. Models may nest further objects
// under "file".
func requestItems(a tools.Args, items []json.RawMessage, depth int) ([]request, error) {
	var out []request
	for _, item := range items {
		var more []request
		var err error
		if f, ok := tools.Fields(item); ok {
			more, err = requestObject(a, f, depth)
		} else if s, ok := tools.Plain(item); ok {
			more, err = requestText(a, s)
		} else {
			err = a.Wrong("argument %q must be a path or a list of them", "files")
		}
		if err != nil {
			return nil, err
		}
		out = append(out, more...)
	}
	return out, nil
}

func requestObject(a tools.Args, f map[string]json.RawMessage, depth int) ([]request, error) {
	for _, key := range [...]string{"file", "files"} {
		if in := f[key]; depth < 3 && len(in) > 0 && (in[0] == '[' || in[0] == '{') {
			return requestItems(a, tools.Elements(in), depth+1)
		}
	}
	name, ok := tools.Pick(f, tools.PathNames()...)
	if !ok {
		return nil, a.Wrong("every element of %q needs a path", "files")
	}
	ranges, err := readRanges(a, f)
	return []request{{path: name, ranges: ranges}}, err
}

func requestText(a tools.Args, s string) ([]request, error) {
	if strings.HasPrefix(strings.TrimSpace(s), "<") {
		return xmlRequests(a, s)
	}
	var out []request
	for line := range strings.Lines(s) {
		if line = strings.TrimSpace(line); line != "" {
			out = append(out, request{path: line})
		}
	}
	return out, nil
}

// xmlRequests reads <file><path>…</path><line_range>1-50</line_range></file>.
func xmlRequests(a tools.Args, s string) ([]request, error) {
	var doc struct {
		Files []struct {
			Path   string   `xml:"path"`
			Ranges []string `xml:"line_range"`
		} `xml:"file"`
	}
	if err := xml.Unmarshal([]byte("<args>"+s+"</args>"), &doc); err != nil || len(doc.Files) == 0 {
		return nil, a.Wrong("argument %q is not a path", "path")
	}
	var out []request
	for _, f := range doc.Files {
		rs, ok := parseRanges(strings.Join(f.Ranges, ","))
		if !ok && len(f.Ranges) > 0 {
			return nil, a.Wrong("%q is no range of lines", strings.Join(f.Ranges, ","))
		}
		out = append(out, request{path: strings.TrimSpace(f.Path), ranges: rs})
	}
	return out, nil
}

// readRanges reads the ranges of lines in f. The keys of f may be folded.
func readRanges(a tools.Args, f map[string]json.RawMessage) ([]workspace.Range, error) {
	if raw, ok := anyOf(f, "lines", "line_range", "line_ranges", "range", "ranges", "view_range"); ok {
		rs, ok := rangeValue(raw)
		if !ok {
			return nil, a.Wrong("%s is no range of lines; write it as \"1-50\"", tools.Shorten(string(raw), 60))
		}
		return rs, nil
	}
	from, err1 := readLineNumber(a, f, "start_line", "from", "from_line", "start")
	to, err2 := readLineNumber(a, f, "end_line", "to", "to_line", "end")
	offset, err3 := readLineNumber(a, f, "offset")
	limit, err4 := readLineNumber(a, f, "limit", "line_count", "max_lines")
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return nil, err
	}
	if from == 0 && offset > 0 {
		from = offset
	}
	if to == 0 && limit > 0 {
		to = max(from, 1) + limit - 1
	}
	to = max(to, 0) // -1 means the end
	if from <= 0 && to == 0 {
		return nil, nil
	}
	r := workspace.Range{From: max(from, 1), To: to}
	if r.To > 0 && r.To < r.From {
		return nil, a.Wrong("lines %d to %d: the first comes after the last", r.From, r.To)
	}
	return []workspace.Range{r}, nil
}

// anyOf returns the first of names that has a value in f.
func anyOf(f map[string]json.RawMessage, names ...string) (json.RawMessage, bool) {
	for _, n := range names {
		for _, k := range [...]string{n, tools.FoldKey(n)} {
			if v, ok := f[k]; ok && string(v) != "null" && string(v) != `""` && string(v) != "[]" {
				return v, true
			}
		}
	}
	return nil, false
}

func readLineNumber(a tools.Args, f map[string]json.RawMessage, names ...string) (int, error) {
	raw, ok := anyOf(f, names...)
	if !ok {
		return 0, nil
	}
	s, _ := tools.Plain(raw)
	n, err := strconv.Atoi(strings.TrimSpace(s))
	if err != nil {
		return 0, a.Wrong("argument %q must be a whole number, not %s", names[0], tools.Shorten(string(raw), 60))
	}
	return n, nil
}

// rangeValue reads "1-50", [1,50], ["1-50","60-70"], [[1,50]] and
// {"start":1,"end":50}.
func rangeValue(raw json.RawMessage) ([]workspace.Range, bool) {
	raw = tools.Unwrap(raw)
	var pair []int
	if json.Unmarshal(raw, &pair) == nil && len(pair) == 2 {
		return parseRanges(fmt.Sprintf("%d-%d", pair[0], max(pair[1], 0)))
	}
	if f, ok := tools.Fields(raw); ok {
		from, _ := tools.Pick(f, "start", "from", "start_line")
		to, _ := tools.Pick(f, "end", "to", "end_line")
		return parseRanges(from + "-" + to)
	}
	if s, ok := tools.Plain(raw); ok {
		return parseRanges(s)
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		return nil, false
	}
	var out []workspace.Range
	for _, item := range list {
		rs, ok := rangeValue(item)
		if !ok {
			return nil, false
		}
		out = append(out, rs...)
	}
	return out, true
}

// parseRanges reads "1-50, 100-150", "L10-L50", "7", "20-" and "3:9".
func parseRanges(s string) ([]workspace.Range, bool) {
	var out []workspace.Range
	for _, part := range strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ';' }) {
		part = strings.NewReplacer("L", "", "l", "", "–", "-", "—", "-", "..", "-", ":", "-", " to ", "-", " ", "").Replace(strings.TrimSpace(part))
		a, b, two := strings.Cut(part, "-")
		from, err := strconv.Atoi(a)
		if err != nil || from < 0 {
			return nil, false
		}
		to := from
		if two {
			if to = 0; b != "" {
				if to, err = strconv.Atoi(b); err != nil {
					return nil, false
				}
			}
		}
		if to != 0 && to < from {
			return nil, false
		}
		out = append(out, workspace.Range{From: max(from, 1), To: to})
	}
	return out, len(out) > 0
}
