// Package patch turns edits as models write them into text as it was meant:
// unified diffs with wrong line numbers, SEARCH/REPLACE blocks with other
// indentation, sketches with "… existing code …", whole files in code fences.
//
// It is pure and never guesses: where an edit can be read in two ways, the
// error says which, and shows the text of the file it is about. What an edit
// does not speak of stays as it is, to the byte: line endings, byte order
// mark, final newline.
//
//	patch.go      the words: Edit, Parse, Apply
//	unified.go    reading unified diffs
//	blocks.go     reading SEARCH/REPLACE blocks
//	locate.go     where the lines of an edit are in a file, and which of several places is meant
//	heuristics.go signs that another place is meant, or that a line is no text of the file
//	apply.go      from a match to text
//	indent.go     new lines with the indentation of the file
//	text.go       edits by string, by line and by range
//	sketch.go     "… existing code …"
//	respell.go    the indentation of a sketch
//	clean.go      what weak models wrap around a file
//	shown.go      what Handrail itself writes around and in place of text
//	whole.go      what is surely no text of a new file, and Syntax
//	omission.go   "// rest of code unchanged"
//	form.go       keeping a file's line endings and final newline
//	compare.go    what differs between two texts, and when two lines are alike
//	diff.go       diffs to show; UnifiedFile and Count
package patch

import (
	"errors"
	"html"
	"slices"
	"strings"
)

// Edit is what is to be done to one file. Path and To are as written, without
// the a/ and b/ of diffs; Path is empty when the text does not name a file.
type Edit struct {
	Path   string
	To     string // new name, for a rename
	Create bool   // the file must not exist
	Delete bool
	hunks  []hunk
}

// Hunks returns how many changes the edit consists of.
func (e Edit) Hunks() int { return len(e.hunks) }

// hunk is one change: context lines, lines to delete and lines to add, in order.
type hunk struct {
	lines    []hunkLine
	start    int    // 1-based line in the old file, 0 when not known
	end      int    // last line of a range that is given without its text, 0 for none
	zero     bool   // the header says that no old lines are covered
	section  string // words after @@: a line that stands before the hunk
	block    bool   // a SEARCH/REPLACE block: all of its lines must be there
	fewer    bool   // context was left out: only one place may fit
	left     []leftOut
	numbered *hunk  // it had line numbers: as it was written
	splits   []hunk // further readings of a block whose divider is not certain
	source   int    // 1-based line of the text at which it starts
}

type hunkLine struct {
	op    byte // ' ', '-' or '+'
	text  string
	cr    bool // it ends in \r\n
	noEOL bool // nothing follows it, not even a newline
	raw   bool // it lacks the first column; only at the end of a hunk
}

// leftOut is a line of context that a hunk is located without. at is its place,
// counted from the hunk's first old line.
type leftOut struct {
	text string
	at   int
}

// Applied is the outcome of an edit. Notes say where tolerance was needed.
type Applied struct {
	Text  string
	Notes []string
}

// Parse reads the edits in text: a unified diff or SEARCH/REPLACE blocks, of
// one file or of several, with or without prose and code fences around them.
// Edits of the same path are joined.
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
	if len(edits) == 0 && strings.Contains(text, "&lt;&lt;&lt;&lt;&lt;") {
		return Parse(html.UnescapeString(text)) // escaped as a whole, markers and all
	}
	if len(edits) == 0 {
		return nil, errors.New("parse edit: there is neither a unified diff (@@ … @@ and lines that start with -, + or a space) nor a <<<<<<< SEARCH block in it")
	}
	return edits, nil
}

// Join puts edits of the same path together, in order.
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

// At returns the edit with line as the first line of its only hunk. A line that
// the text of the edit gives wins.
func (e Edit) At(line int) Edit {
	if len(e.hunks) == 1 && e.hunks[0].start == 0 && line > 0 {
		h := e.hunks[0]
		h.start = line
		e.hunks = []hunk{h}
	}
	return e
}

// Apply applies all hunks of the edit to before, or none: the error says
// which hunk did not fit and shows the file's text there.
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
