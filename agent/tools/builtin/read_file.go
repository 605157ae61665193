package builtin

import (
	"context"
	_ "embed" // the description
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/tools"
	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/policy"
)

//go:embed read_file.md
var readFileDoc string

// Limits of one call.
const (
	maxFiles     = 5
	chunkLines   = 100
	maxLines     = 2000      // lines of one file
	maxReadBytes = 120 << 10 // bytes of all files
	maxReadLine  = 2000      // bytes of one line
	fetchLines   = 1000      // lines per request to the workspace
	maxOutline   = 2000      // bytes of the outline of omitted lines
)

func readFile(k *tools.Kit) tools.Tool {
	if k.Files == nil {
		return nil
	}
	path := tools.PathParam("File.", false)
	path.Form, path.Schema, path.Asked = tools.Free, `{"type":"string"}`, true
	r := reader{k}
	return tools.New(
		tools.Sheet{
			Name:      "read_file",
			Doc:       readFileDoc,
			Few:       `Read a file. Lines have numbers ("12 | text"), which are not part of it.`,
			Kind:      policy.Read,
			Essential: true,
			Aliases: []string{
				"read", "view_file", "open_file", "cat_file", "read_files", "read_many_files", "get_file_contents", "cat",
				"view", "file_read", "open", "show_file",
			},
			Params: []tools.Param{
				path,
				{
					Name:    "files",
					Form:    tools.Free,
					Schema:  `{"type":"array","items":{"type":"object","properties":{"path":{"type":"string"},"lines":{"type":"string"}},"required":["path"]}}`,
					Doc:     "Several.",
					Aliases: []string{"paths", "file_paths", "filePaths", "filenames"},
				},
				{
					Name:    "lines",
					Few:     true,
					Form:    tools.Free,
					Schema:  `{"type":"string"}`,
					Doc:     "Such as 1-50 or 1-50,100-150; all when absent.",
					Aliases: []string{"line_range", "line_ranges", "range", "ranges", "view_range"},
				},
				{
					Name:    "start_line",
					Form:    tools.Number,
					Aliases: []string{"from", "from_line", "start", "start_line_one_indexed", "line", "startline_number"},
				},
				{Name: "column", Form: tools.Number, Aliases: []string{"start_column", "char_offset"}},
				{Name: "end_line", Form: tools.Number, Aliases: []string{"to", "to_line", "end", "end_line_one_indexed"}},
				{Name: "offset", Form: tools.Number, Aliases: []string{"line_offset"}},
				{Name: "limit", Form: tools.Number, Aliases: []string{"line_count", "max_lines", "num_lines", "line_limit"}},
				{
					Name:    "should_read_entire_file",
					Form:    tools.Flag,
					Aliases: []string{"read_entire_file", "whole_file", "encoding"},
				},
			},
			Example: `{"path":"PATH","lines":"1-80"}`,
		},
		r.intent,
		r.run,
	)
}

type reader struct{ *tools.Kit }

func (r reader) intent(ctx context.Context, a tools.Args) (policy.Action, error) {
	list, err := r.requests(ctx, a)
	if err != nil {
		return policy.Action{}, err
	}
	action := policy.Action{Kind: policy.Read}
	for _, w := range list {
		action.Paths = append(action.Paths, w.path)
	}
	return action, nil
}

func (r reader) run(ctx context.Context, a tools.Args, emit tools.Progress) (tools.Result, error) {
	list, err := r.requests(ctx, a)
	if err != nil {
		return tools.Result{}, err
	}
	room := tools.Room(ctx, maxReadBytes)
	o := &output{room: room - min(room/4, maxOutline), images: maxImages, emit: emit}
	var failed []error
	for i, w := range list {
		if i > 0 {
			o.b.WriteByte('\n')
		}
		if err := r.readOne(ctx, w, o); err != nil {
			if errors.Is(err, workspace.ErrGone) || ctx.Err() != nil {
				return tools.Result{}, err
			}
			if errors.Is(err, fs.ErrNotExist) {
				err = fmt.Errorf("read %s: %w", w.path, r.NotThere(ctx, w.path))
			}
			failed = append(failed, tools.Complain(err))
			fmt.Fprintf(&o.b, "File: %s\n[not read: %v]\n", w.path, tools.Complain(err))
		}
	}
	if len(failed) == len(list) {
		return tools.Result{}, errors.Join(failed...)
	}
	name := list[0].path
	if n := len(list) - 1; n > 0 {
		name += fmt.Sprintf(" and %d more", n)
	}
	out := tools.Result{Content: o.b.String(), Title: "Read " + name, Images: o.blobs, Mistake: len(failed) > 0}
	if out.Mistake {
		out.Class = tools.ClassOf(failed[0], tools.Spec{})
	}
	return out, nil
}

// output collects the result of a call, within its limits.
type output struct {
	b      strings.Builder
	room   int // bytes of text that may still be added
	lines  int // lines shown of the last file
	images int // bytes of pictures that may still be added
	blobs  []session.Blob
	emit   tools.Progress
}

// readOne reads one file.
func (r reader) readOne(ctx context.Context, w request, o *output) error {
	f, err := r.Files.Read(ctx, w.path, w.first())
	if err != nil {
		return err
	}
	if w.note != "" {
		fmt.Fprintf(&o.b, "[%s]\n", w.note)
	}
	if f.Binary {
		return r.binary(ctx, w, f, o)
	}
	if isPointer(f) {
		o.b.WriteString("[a pointer of Git LFS: the content of this file is not in the workspace]\n")
	}
	if otherEncoding(f) {
		if done, err := r.showDecoded(ctx, w, f, o); done || err != nil {
			return err
		}
	}
	from, to, err := w.show(
		f,
		o,
		func(lines workspace.Range) (workspace.File, error) { return r.Files.Read(ctx, f.Path, lines) },
	)
	if err != nil || from == 0 {
		return err
	}
	return r.writeRest(ctx, f.Path, workspace.Range{From: from, To: to}, o)
}

// writeRest names the omitted lines, outlines their content, and tells how to continue.
func (r reader) writeRest(ctx context.Context, name string, left workspace.Range, o *output) error {
	next := min(left.To, left.From+max(o.lines, chunkLines)-1)
	fmt.Fprintf(
		&o.b,
		"[cut: lines %d-%d are not shown; read on with \"lines\": \"%d-%d\"",
		left.From,
		left.To,
		left.From,
		next,
	)
	if r.Search == nil {
		o.b.WriteString("]\n")
		return nil
	}
	out, err := r.Search.Outline(ctx, workspace.OutlineQuery{Path: name})
	if errors.Is(err, workspace.ErrGone) || ctx.Err() != nil {
		return errors.Join(err, ctx.Err())
	}
	var defs strings.Builder
	for _, f := range out.Files {
		for _, d := range f.Defs {
			if d.Line < left.From || d.Line > left.To {
				continue
			}
			if defs.Len() > maxOutline-300 {
				defs.WriteString("…\n")
				break
			}
			fmt.Fprintf(&defs, "%s%d | %s\n", strings.Repeat("  ", min(d.Depth, 8)), d.Line, tools.Shorten(d.Text, 120))
		}
	}
	if defs.Len() == 0 { // also if the language is unknown
		o.b.WriteString("]\n")
		return nil
	}
	fmt.Fprintf(&o.b, ". In them:]\n%s", defs.String())
	return nil
}

// isPointer reports whether a file is a pointer of Git LFS.
func isPointer(f workspace.File) bool {
	return f.Size < 1024 && len(f.Chunks) > 0 && f.Chunks[0].From == 1 &&
		f.Chunks[0].Lines[0] == "version https://git-lfs.github.com/spec/v1"
}

// otherEncoding reports whether a file seems to have an encoding other than UTF-8.
func otherEncoding(f workspace.File) bool {
	return slices.ContainsFunc(f.Chunks, func(c workspace.Chunk) bool {
		return slices.ContainsFunc(c.Lines, func(s string) bool { return strings.ContainsRune(s, utf8.RuneError) })
	})
}

// showDecoded shows a text in an encoding other than UTF-8. It reports false if f is none.
func (r reader) showDecoded(ctx context.Context, w request, f workspace.File, o *output) (bool, error) {
	data, _, err := r.Files.ReadAll(ctx, w.path, maxDocument)
	switch {
	case errors.Is(err, workspace.ErrGone), ctx.Err() != nil:
		return false, errors.Join(err, ctx.Err())
	case err != nil:
		return false, nil // perhaps too large; the caller shows the raw bytes
	}
	text, form := tools.Decode(data)
	control := func(c rune) bool { return unicode.IsControl(c) && !strings.ContainsRune("\t\n\r\f\v\x1b", c) }
	if form.Name() == "UTF-8" || strings.ContainsFunc(text, control) {
		return false, nil
	}
	_, _, err = w.show(linesOf(f.Path, text, w.first()), o, func(part workspace.Range) (workspace.File, error) {
		return linesOf(f.Path, text, part), nil
	})
	return true, err
}

// linesOf returns a part of a text as if it had been read from a file.
func linesOf(name, text string, r workspace.Range) workspace.File {
	all := strings.Split(strings.TrimSuffix(strings.ReplaceAll(text, "\r\n", "\n"), "\n"), "\n")
	f := workspace.File{Path: name, Lines: len(all)}
	if from := min(max(r.From, 1), len(all)+1); from <= len(all) {
		f.Chunks = []workspace.Chunk{{From: from, Lines: slices.Clone(all[from-1 : max(from-1, min(r.To, len(all)))])}}
	}
	if r.Column > 1 && len(f.Chunks) > 0 && len(f.Chunks[0].Lines) > 0 {
		line := []rune(f.Chunks[0].Lines[0])
		f.Chunks[0].Lines[0] = string(line[min(len(line), r.Column-1):])
	}
	return f
}

// first returns the range of the first read of a file.
func (w request) first() workspace.Range {
	if len(w.ranges) == 0 {
		return fetchRange(1, 0)
	}
	r := fetchRange(w.ranges[0].From, w.ranges[0].To)
	r.Column = w.ranges[0].Column
	return r
}

// fetchRange returns the next range to request from the workspace, beginning at from.
// If to is 0, the range extends to the end of the file.
func fetchRange(from, to int) workspace.Range {
	if to == 0 || to-from >= fetchLines {
		to = from + fetchLines - 1
	}
	return workspace.Range{From: from, To: to}
}

// rangesText lists the ranges within a file of so many lines, or returns "".
func rangesText(ranges []workspace.Range, lines int) string {
	var out []string
	for _, r := range ranges {
		if r.From > lines {
			continue
		}
		to := min(r.To, lines)
		if r.To == 0 {
			to = lines
		}
		out = append(out, fmt.Sprintf("%d-%d", r.From, to))
	}
	return strings.Join(out, ", ")
}

// show writes the numbered lines in chunks of 100. got has the first lines; read
// fetches more. It returns the range that did not fit, or zeros.
func (w request) show(
	got workspace.File,
	o *output,
	read func(workspace.Range) (workspace.File, error),
) (from, to int, err error) {
	if shown := rangesText(w.ranges, got.Lines); shown != "" {
		fmt.Fprintf(&o.b, "File: %s (lines %s of %d)\n", got.Path, shown, got.Lines)
	} else if fmt.Fprintf(&o.b, "File: %s (%d line%s)\n", got.Path, got.Lines, tools.Plural(got.Lines)); got.Lines == 0 {
		o.b.WriteString("(empty file)\n")
		return 0, 0, nil
	}
	if got.More != "" {
		fmt.Fprintf(&o.b, "[the file goes on behind line %d: %s]\n", got.Lines, got.More)
	}
	ranges := w.ranges
	if len(ranges) == 0 {
		ranges = []workspace.Range{{From: 1}}
	}
	shown := 0
	o.lines = 0
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
				return from, last, nil
			}
			chunk := workspace.Range{From: from, To: min(last, from+chunkLines-1)}
			lines, err := chunkOf(&got, chunk, last, read)
			if err != nil {
				return 0, 0, err
			}
			o.emit(fmt.Sprintf("Reading %s, lines %d–%d", w.path, chunk.From, chunk.To))
			n := o.number(workspace.Range{From: chunk.From, Column: want.Column}, lines)
			shown += n
			o.lines = shown
			from += n
			if n == 0 || n < len(lines) || len(lines) < chunk.To-chunk.From+1 {
				if n < chunk.To-chunk.From+1 && from <= last {
					return from, last, nil
				}
				return 0, 0, nil
			}
		}
	}
	return 0, 0, nil
}

// chunkOf returns the lines of a range. If got lacks them, it reads more, up to line
// last.
func chunkOf(
	got *workspace.File,
	want workspace.Range,
	last int,
	read func(workspace.Range) (workspace.File, error),
) ([]string, error) {
	cut := func() ([]string, bool) {
		for _, c := range got.Chunks {
			if c.From <= want.From && c.From+len(c.Lines) > want.To {
				return c.Lines[want.From-c.From : want.To-c.From+1], true
			}
		}
		return nil, false
	}
	if lines, ok := cut(); ok {
		return lines, nil
	}
	f, err := read(fetchRange(want.From, last))
	if err != nil {
		return nil, err
	}
	got.Chunks = f.Chunks
	if lines, ok := cut(); ok {
		return lines, nil
	}
	for _, c := range f.Chunks { // the file shrank, or the response was full
		if c.From == want.From {
			return c.Lines[:min(len(c.Lines), want.To-want.From+1)], nil
		}
	}
	return nil, nil
}

// number writes the lines of a range with their numbers until the room is used up. It
// returns the number of lines written.
func (o *output) number(at workspace.Range, lines []string) int {
	for i, s := range lines {
		if o.room <= 0 {
			return i
		}
		n := o.b.Len()
		o.b.WriteString(strconv.Itoa(at.From + i))
		o.b.WriteString(" | ")
		switch part := fit(s); {
		case at.Column > 1 && s == "":
			fmt.Fprintf(&o.b, "[the line ends before column %d]", at.Column)
		case part == s:
			o.b.WriteString(s)
		default:
			fmt.Fprintf(
				&o.b,
				`%s… [line cut: for more, "lines": "%d", "column": %d]`,
				part,
				at.From+i,
				max(at.Column, 1)+utf8.RuneCountInString(part),
			)
		}
		o.b.WriteByte('\n')
		o.room -= o.b.Len() - n
	}
	return len(lines)
}

// fit shortens a line to the length shown at once.
func fit(s string) string {
	if len(s) <= maxReadLine {
		return s
	}
	n := maxReadLine
	for !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
