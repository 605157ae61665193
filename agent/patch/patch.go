// Package patch applies edits in the forms that models write: unified diffs with
// wrong line numbers, SEARCH/REPLACE blocks with other indentation, sketches with "…
// existing code …", whole files in code fences.
//
// It is pure and never guesses. If an edit has two readings, the error names them and
// shows the relevant text of the file. Text that an edit does not mention stays byte
// for byte: line endings, byte order mark, final newline.
//
//	patch.go      the API: Edit, Parse, Apply
//	unified.go    reading unified diffs
//	blocks.go     reading SEARCH/REPLACE blocks
//	locate.go     finding the lines of an edit in a file, choosing between places
//	apply.go      from a match to text, and the errors without one
//	indent.go     new lines in the style of the file
//	sketch.go     "… existing code …"
//	settle.go     merging a sketch, with parts whose places an answer decides
//	text.go       edits by string, by line and by range
//	document.go   a file's lines, line endings and final newline
//	compare.go    equality of lines, diffs to show
//	scope.go      the definition that a diff names, and its region
//	balance.go    brackets that an edit leaves over, lines that it repeats
//	nearest.go    the text most like lines that are missing
//	foreign.go    lines of edit formats and of Handrail, which no file has
//	omission.go   "// rest of code unchanged"
//	clean.go      wrapping that weak models put around a file; contents that are no file
package patch

import (
	"errors"
	"slices"
)

// Edit is a change to one file. Path and To are as written, without the a/ and b/ of
// diffs. Path is empty if the text does not name a file.
type Edit struct {
	Path   string
	To     string // new name, for a rename
	Create bool   // the file must not exist
	Delete bool
	hunks  []hunk
}

// Hunks returns the number of changes in the edit.
func (e Edit) Hunks() int { return len(e.hunks) }

// hunk is one change: context lines, lines to delete and lines to add, in order.
type hunk struct {
	lines   []hunkLine
	start   int    // 1-based line in the old file; 0 if unknown
	end     int    // last line of a range given without its text; 0 if none
	zero    bool   // the header covers no old lines
	section string // text after @@: a line above the hunk
	block   bool   // a SEARCH/REPLACE block: the file must have all of its lines
	fewer   bool   // context was dropped: it must fit in exactly one place
	splits  []hunk // alternative readings of a block with an uncertain divider
}

type hunkLine struct {
	op   byte // ' ', '-' or '+'
	text string
	eol  string // "\n", "\r\n", or "" if no newline follows
}

// Applied is the result of an edit. Notes say where the match was tolerant.
type Applied struct {
	Text  string
	Notes []string
}

// Parse reads the edits in text: a unified diff or SEARCH/REPLACE blocks, for one or
// several files, with or without surrounding prose and code fences. Edits of the same
// path are joined.
func Parse(text string) ([]Edit, error) {
	lines := splitText(text)
	parse := parseUnified
	for i := range lines {
		if isSearchMarker(lines[i].text) && closesLater(lines[i+1:]) {
			parse = parseBlocks
			break
		}
	}
	edits, err := parse(lines)
	if err != nil {
		return nil, err
	}
	edits = Join(edits)
	if len(edits) == 0 {
		return nil, errors.New(
			"parse edit: there is neither a unified diff (@@ … @@ and lines that start with -, + or a space) nor a <<<<<<< SEARCH block in it",
		)
	}
	return edits, nil
}

// Join merges edits of the same path, in order.
func Join(edits []Edit) []Edit {
	var out []Edit
	at := map[string]int{}
	for _, e := range edits {
		if len(e.hunks) == 0 && !e.Delete && !e.Create && e.To == "" {
			continue
		}
		if i, ok := at[e.Path]; ok {
			out[i].hunks = append(out[i].hunks, e.hunks...)
			out[i].Delete = out[i].Delete || e.Delete
			out[i].Create = out[i].Create || e.Create
			continue
		}
		at[e.Path] = len(out)
		out = append(out, e)
	}
	return out
}

// At returns the edit with line as the first line of its only hunk. A line number in
// the edit's own text takes precedence.
func (e Edit) At(line int) Edit {
	if len(e.hunks) == 1 && e.hunks[0].start == 0 && line > 0 {
		h := e.hunks[0]
		h.start = line
		e.hunks = []hunk{h}
	}
	return e
}

// Apply applies all hunks of the edit to before, or none. The error names the hunk
// that did not fit and shows the file's text there.
func (e Edit) Apply(before string) (Applied, error) {
	d := newDocument(before)
	p := applier{doc: d, before: slices.Clone(d.lines), total: len(e.hunks)}
	for i, h := range e.hunks {
		p.index = i + 1
		if err := p.apply(h); err != nil {
			return Applied{}, err
		}
	}
	return Applied{Text: d.String(), Notes: p.notes}, nil
}
