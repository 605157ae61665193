package tools

import (
	"context"
	_ "embed" // the description
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/policy"
)

//go:embed read_file.md
var readFileDoc string

// The limits of one call.
const (
	maxFiles     = 5
	chunkLines   = 100
	maxLines     = 2000      // of one file
	maxReadBytes = 120 << 10 // of all files
	maxReadLine  = 2000      // bytes of one line
	smallFile    = 4 << 20   // read chunk by chunk; a larger one in one go, because each chunk costs a scan
)

func readFile(k *kit) *tool {
	if k.Files == nil {
		return nil
	}
	path := pathParam("File to read, relative to the workspace root. Several, up to 5, as [{\"path\":…,\"lines\":\"1-50\"}] in files.", false)
	path.kind, path.schema = free, `{"type":"string"}`
	r := reader{k}
	return &tool{
		sheet: sheet{name: "read_file", doc: readFileDoc,
			params: []param{
				path,
				{name: "files", kind: free, schema: `{"type":"array","items":{"type":"object","properties":{"path":{"type":"string"},"lines":{"type":"string"}},"required":["path"]}}`,
					doc: "Several files to read in one call.", aliases: []string{"paths", "file_paths", "filePaths", "filenames"}},
				{name: "lines", kind: free, schema: `{"type":"string"}`, doc: "Lines to read, such as 1-50 or 1-50,100-150; the whole file when absent.",
					aliases: []string{"line_range", "line_ranges", "range", "ranges", "view_range"}},
				{name: "start_line", kind: number, doc: "First line.", aliases: []string{"from", "from_line", "start", "start_line_one_indexed", "line", "startline_number"}},
				{name: "end_line", kind: number, doc: "Last line.", aliases: []string{"to", "to_line", "end", "end_line_one_indexed"}},
				{name: "offset", kind: number, doc: "First line, with limit.", aliases: []string{"line_offset"}},
				{name: "limit", kind: number, doc: "Number of lines.", aliases: []string{"line_count", "max_lines", "num_lines", "line_limit"}},
				{name: "should_read_entire_file", kind: flag, doc: "Ignored.", aliases: []string{"read_entire_file", "whole_file", "encoding"}},
			},
			example: `{"path":"src/main.go","lines":"1-80"}`},
		intent: r.intent, run: r.run,
	}
}

type reader struct{ *kit }

// wanted is one file with the lines to show.
type wanted struct {
	path   string
	ranges []workspace.Range
}

func (r reader) intent(ctx context.Context, a args) (policy.Action, error) {
	list, err := r.wanted(ctx, a)
	if err != nil {
		return policy.Action{}, err
	}
	action := policy.Action{Kind: policy.Read}
	for _, w := range list {
		action.Paths = append(action.Paths, w.path)
	}
	return action, nil
}

// wanted reads the shapes in which models ask for files.
func (r reader) wanted(ctx context.Context, a args) ([]wanted, error) {
	items := a.items("files")
	if raw, ok := a.values["path"]; ok {
		items = append(items, elements(raw)...)
	}
	common, err := a.ranges(a.values)
	if err != nil {
		return nil, err
	}
	list, err := a.wantedItems(items, 0)
	if err != nil {
		return nil, err
	}
	switch {
	case len(list) == 0:
		return nil, a.sheet.wrong("missing argument %q", "path")
	case len(list) > maxFiles:
		return nil, a.sheet.wrong("%d files in one call; at most %d are read, so ask for the others in another call", len(list), maxFiles)
	case len(common) > 0 && len(list) > 1:
		return nil, a.sheet.wrong("a range of lines for %d files; give each file its own lines in files", len(list))
	case len(common) > 0 && len(list[0].ranges) == 0:
		list[0].ranges = common
	}
	for i := range list {
		p := list[i].path
		rel, err := r.resolve(ctx, p)
		if err != nil {
			return nil, err
		}
		if bare, ranges, ok := suffixRange(rel); ok && len(list[i].ranges) == 0 {
			if there, err := r.exists(ctx, rel); err != nil {
				return nil, err
			} else if !there {
				rel, list[i].ranges = bare, ranges
			}
		}
		list[i].path = rel
	}
	return list, nil
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

func (a args) wantedItems(items []json.RawMessage, depth int) ([]wanted, error) {
	var out []wanted
	for _, item := range items {
		if f, ok := fields(item); ok {
			for _, key := range [...]string{"file", "files"} {
				if in := f[key]; depth < 3 && len(in) > 0 && (in[0] == '[' || in[0] == '{') {
					more, err := a.wantedItems(elements(in), depth+1)
					if err != nil {
						return nil, err
					}
					out = append(out, more...)
				}
			}
			name, ok := pick(f, pathNames()...)
			if !ok {
				if len(out) == 0 {
					return nil, a.sheet.wrong("every element of %q needs a path", "files")
				}
				continue
			}
			ranges, err := a.ranges(f)
			if err != nil {
				return nil, err
			}
			out = append(out, wanted{name, ranges})
			continue
		}
		s, ok := plain(item)
		if !ok {
			return nil, a.sheet.wrong("argument %q must be a path or a list of them", "files")
		}
		if strings.HasPrefix(strings.TrimSpace(s), "<") {
			more, err := a.xmlWanted(s)
			if err != nil {
				return nil, err
			}
			out = append(out, more...)
			continue
		}
		for line := range strings.Lines(s) {
			if line = strings.TrimSpace(line); line != "" {
				out = append(out, wanted{path: line})
			}
		}
	}
	return out, nil
}

// xmlWanted reads <file><path>…</path><line_range>1-50</line_range></file>.
func (a args) xmlWanted(s string) ([]wanted, error) {
	var doc struct {
		Files []struct {
			Path   string   `xml:"path"`
			Ranges []string `xml:"line_range"`
		} `xml:"file"`
	}
	if err := xml.Unmarshal([]byte("<args>"+s+"</args>"), &doc); err != nil || len(doc.Files) == 0 {
		return nil, a.sheet.wrong("argument %q is not a path", "path")
	}
	var out []wanted
	for _, f := range doc.Files {
		rs, ok := parseRanges(strings.Join(f.Ranges, ","))
		if !ok && len(f.Ranges) > 0 {
			return nil, a.sheet.wrong("%q is no range of lines", strings.Join(f.Ranges, ","))
		}
		out = append(out, wanted{strings.TrimSpace(f.Path), rs})
	}
	return out, nil
}

// ranges reads the lines that are asked for in f, whose keys may be folded.
func (a args) ranges(f map[string]json.RawMessage) ([]workspace.Range, error) {
	get := func(names ...string) (json.RawMessage, bool) {
		for _, n := range names {
			for _, k := range [...]string{n, foldKey(n)} {
				if v, ok := f[k]; ok && string(v) != "null" && string(v) != `""` && string(v) != "[]" {
					return v, true
				}
			}
		}
		return nil, false
	}
	if raw, ok := get("lines", "line_range", "line_ranges", "range", "ranges", "view_range"); ok {
		rs, ok := rangeValue(raw)
		if !ok {
			return nil, a.sheet.wrong("%s is no range of lines; write it as \"1-50\"", shorten(string(raw), 60))
		}
		return rs, nil
	}
	number := func(names ...string) (int, error) {
		raw, ok := get(names...)
		if !ok {
			return 0, nil
		}
		s, _ := plain(raw)
		n, err := strconv.Atoi(strings.TrimSpace(s))
		if err != nil {
			return 0, a.sheet.wrong("argument %q must be a whole number, not %s", names[0], shorten(string(raw), 60))
		}
		return n, nil
	}
	from, err1 := number("start_line", "from", "from_line", "start")
	to, err2 := number("end_line", "to", "to_line", "end")
	offset, err3 := number("offset")
	limit, err4 := number("limit", "line_count", "max_lines")
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return nil, err
	}
	if from == 0 && offset > 0 {
		from = offset
	}
	if to == 0 && limit > 0 {
		to = max(from, 1) + limit - 1
	}
	if to < 0 {
		to = 0 // -1 means the end
	}
	if from <= 0 && to == 0 {
		return nil, nil
	}
	r := workspace.Range{From: max(from, 1), To: to}
	if r.To > 0 && r.To < r.From {
		return nil, a.sheet.wrong("lines %d to %d: the first comes after the last", r.From, r.To)
	}
	return []workspace.Range{r}, nil
}

// rangeValue reads "1-50", [1,50], ["1-50","60-70"], [[1,50]] and
// {"start":1,"end":50}.
func rangeValue(raw json.RawMessage) ([]workspace.Range, bool) {
	raw = unwrapString(raw)
	var pair []int
	if json.Unmarshal(raw, &pair) == nil && len(pair) == 2 {
		return parseRanges(fmt.Sprintf("%d-%d", pair[0], max(pair[1], 0)))
	}
	if f, ok := fields(raw); ok {
		from, _ := pick(f, "start", "from", "start_line")
		to, _ := pick(f, "end", "to", "end_line")
		return parseRanges(from + "-" + to)
	}
	if s, ok := plain(raw); ok {
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

func (r reader) run(ctx context.Context, a args, emit Progress) (Result, error) {
	list, err := r.wanted(ctx, a)
	if err != nil {
		return Result{}, err
	}
	o := &output{room: maxReadBytes, images: maxImages, emit: emit}
	var failed []error
	for i, w := range list {
		if i > 0 {
			o.b.WriteByte('\n')
		}
		if err := r.one(ctx, w, o); err != nil {
			if errors.Is(err, workspace.ErrGone) || ctx.Err() != nil {
				return Result{}, err
			}
			if errors.Is(err, fs.ErrNotExist) {
				err = fmt.Errorf("read %s: %w", w.path, r.notThere(ctx, w.path))
			}
			failed = append(failed, complain(err))
			fmt.Fprintf(&o.b, "File: %s\n[not read: %v]\n", w.path, complain(err))
		}
	}
	if len(failed) == len(list) {
		return Result{}, errors.Join(failed...)
	}
	name := list[0].path
	if n := len(list) - 1; n > 0 {
		name += fmt.Sprintf(" and %d more", n)
	}
	return Result{Content: o.b.String(), Title: "Read " + name, Images: o.blobs, Mistake: len(failed) > 0}, nil
}

// output collects what a call shows, within its limits.
type output struct {
	b      strings.Builder
	room   int // bytes of text that may still be added
	images int // bytes of pictures that may still be added
	blobs  []session.Blob
	emit   Progress
}

// one reads one file.
func (r reader) one(ctx context.Context, w wanted, o *output) error {
	first := workspace.Range{From: 1, To: chunkLines}
	if len(w.ranges) > 0 {
		first = firstChunk(w.ranges[0])
	}
	f, err := r.Files.Read(ctx, w.path, first)
	if err != nil {
		return err
	}
	if f.Binary {
		return r.binary(ctx, w.path, f, o)
	}
	if len(w.ranges) == 0 {
		fmt.Fprintf(&o.b, "File: %s (%d line%s)\n", f.Path, f.Lines, plural(f.Lines))
		if f.Lines == 0 {
			o.b.WriteString("(empty file)\n")
			return nil
		}
	} else {
		fmt.Fprintf(&o.b, "File: %s (lines %s of %d)\n", f.Path, rangesText(w.ranges, f.Lines), f.Lines)
	}
	return r.text(ctx, w, f, o)
}

func firstChunk(r workspace.Range) workspace.Range {
	if r.To == 0 || r.To-r.From >= chunkLines {
		r.To = r.From + chunkLines - 1
	}
	return r
}

func rangesText(ranges []workspace.Range, lines int) string {
	var out []string
	for _, r := range ranges {
		to := r.To
		if to == 0 || to > lines {
			to = max(lines, r.From)
		}
		out = append(out, fmt.Sprintf("%d-%d", r.From, to))
	}
	return strings.Join(out, ", ")
}

// text writes the numbered lines, a chunk of 100 at a time. got is the first
// chunk.
func (r reader) text(ctx context.Context, w wanted, got workspace.File, o *output) error {
	ranges := w.ranges
	if len(ranges) == 0 {
		ranges = []workspace.Range{{From: 1}}
	}
	shown := 0
	for _, want := range ranges {
		last := got.Lines
		if want.To > 0 {
			last = min(want.To, last)
		}
		if want.From > got.Lines {
			fmt.Fprintf(&o.b, "[line %d is beyond the end: the file has %d lines]\n", want.From, got.Lines)
			continue
		}
		for from := want.From; from <= last; {
			if shown >= maxLines || o.room <= 0 {
				fmt.Fprintf(&o.b, "[cut: lines %d-%d are not shown; ask for them by lines]\n", from, last)
				return nil
			}
			chunk := workspace.Range{From: from, To: min(last, from+chunkLines-1)}
			if got.Size > smallFile {
				chunk.To = min(last, from+maxLines-shown-1)
			}
			lines, err := r.chunk(ctx, w.path, chunk, got)
			if err != nil {
				return err
			}
			o.emit(fmt.Sprintf("Reading %s, lines %d–%d", w.path, chunk.From, chunk.To))
			n := o.number(chunk.From, lines)
			shown += n
			from += n
			if n == 0 || n < len(lines) || len(lines) < chunk.To-chunk.From+1 {
				if n < chunk.To-chunk.From+1 && from <= last {
					fmt.Fprintf(&o.b, "[cut: lines %d-%d are not shown; ask for them by lines]\n", from, last)
				}
				return nil
			}
		}
	}
	return nil
}

// chunk returns lines of a range, from what is there already if it has them.
func (r reader) chunk(ctx context.Context, p string, want workspace.Range, got workspace.File) ([]string, error) {
	for _, c := range got.Chunks {
		if c.From <= want.From && c.From+len(c.Lines) > want.To {
			return c.Lines[want.From-c.From : want.To-c.From+1], nil
		}
	}
	f, err := r.Files.Read(ctx, p, want)
	if err != nil {
		return nil, err
	}
	if len(f.Chunks) == 0 {
		return nil, nil
	}
	return f.Chunks[0].Lines, nil
}

// number writes lines with their numbers while there is room, and says how
// many.
func (o *output) number(from int, lines []string) int {
	for i, s := range lines {
		if o.room <= 0 {
			return i
		}
		n := o.b.Len()
		o.b.WriteString(strconv.Itoa(from + i))
		o.b.WriteString(" | ")
		o.b.WriteString(shorten(s, maxReadLine))
		o.b.WriteByte('\n')
		o.room -= o.b.Len() - n
	}
	return len(lines)
}
