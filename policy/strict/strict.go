// Package strict reads YAML written by hand: it reports every fault of a file with its
// line, its column and a suggestion, and rejects unknown keys.
package strict

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Fault is an error in a file, or a setting that will not work. Line and Column start at
// 1; 0 means unknown. Path leads to the key, by names and indexes. Key is the path in
// text form, such as "commands.allow[1]", or "" if Text itself names its subject.
type Fault struct {
	Path         []any  `json:"-"`
	Line, Column int    `json:"-"`
	Key          string `json:"-"`
	Text         string `json:"-"`
}

// At returns a fault for the key at a path.
func At(text string, path ...any) Fault { return Fault{Path: path, Key: Join(path), Text: text} }

// Join returns a path in text form.
func Join(path []any) string {
	var b strings.Builder
	for _, step := range path {
		switch s := step.(type) {
		case int:
			fmt.Fprintf(&b, "[%d]", s)
		case string:
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			b.WriteString(s)
		}
	}
	return b.String()
}

// Error returns "line 2, column 3: commands.allow[1]: …".
func (f Fault) Error() string {
	text := f.Text
	if f.Key != "" {
		text = f.Key + ": " + text
	}
	if f.Line == 0 {
		return text
	}
	return fmt.Sprintf("line %d, column %d: %s", f.Line, f.Column, text)
}

// Faults are all faults found, in the order of the file.
type Faults []Fault

// Error returns one line per fault.
func (f Faults) Error() string {
	lines := make([]string, len(f))
	for i, one := range f {
		lines[i] = one.Error()
	}
	return strings.Join(lines, "\n")
}

// Err returns f, or nil if f is empty.
func (f Faults) Err() error {
	if len(f) == 0 {
		return nil
	}
	return f
}

// Of returns the faults in an error. Any other error becomes a fault without a location.
func Of(err error) Faults {
	if err == nil {
		return nil
	}
	if all, ok := err.(interface{ Unwrap() []error }); ok {
		var out Faults
		for _, e := range all.Unwrap() {
			out = append(out, Of(e)...)
		}
		return out
	}
	var many Faults
	var one Fault
	switch {
	case errors.As(err, &many):
		return many
	case errors.As(err, &one):
		return Faults{one}
	}
	return Faults{{Text: err.Error()}}
}

// Both merges the faults of two passes over a file, in its order; those without a
// location come last. It drops faults of the second pass that merely follow from the
// first: a part that could not be read is incomplete.
func Both(first, second error) error {
	was := Of(first)
	out := slices.Clone(was)
	for _, f := range Of(second) {
		if !slices.ContainsFunc(was, f.follows) {
			out = append(out, f)
		}
	}
	line := func(f Fault) int { return cmp.Or(f.Line, math.MaxInt) }
	slices.SortStableFunc(
		out,
		func(a, b Fault) int { return cmp.Or(cmp.Compare(line(a), line(b)), cmp.Compare(a.Column, b.Column)) },
	)
	return out.Err()
}

// follows reports whether f is about the same part of the file as was, or about a part
// that contains it or is contained in it.
func (f Fault) follows(was Fault) bool {
	n := min(len(f.Path), len(was.Path))
	return n > 0 && slices.Equal(f.Path[:n], was.Path[:n])
}

// Document is a parsed file. It knows the locations of its keys.
type Document struct{ root *yaml.Node }

// Empty reports whether the document has no content.
func (d *Document) Empty() bool { return d.root == nil }

// Locate adds locations to the faults in an error that have none. under is the path to
// the part of the document that the faults are about.
func (d *Document) Locate(err error, under ...any) error {
	if err == nil {
		return nil
	}
	var out Faults
	for _, f := range Of(err) {
		f.Path = append(slices.Clone(under), f.Path...)
		if f.Line == 0 {
			f.Line, f.Column = d.place(f.Path)
		}
		out = append(out, f)
	}
	return out
}

// Has reports whether the file sets a path, and on which line. A key without a value
// counts too.
func (d *Document) Has(path ...any) (line int, ok bool) {
	n, ok := d.find(path)
	if !ok {
		return 0, false
	}
	return n.Line, true
}

// place returns the location of a path. For a missing key, it returns that of the nearest
// existing parent, unless that is the whole file.
func (d *Document) place(path []any) (line, column int) {
	n, ok := d.find(path)
	if n == nil || len(path) == 0 || !ok && n == d.root {
		return 0, 0
	}
	return n.Line, n.Column
}

// find returns the node at a path, or the last existing node on the way.
func (d *Document) find(path []any) (n *yaml.Node, ok bool) {
	if d == nil || d.root == nil {
		return nil, false
	}
	n = d.root
	for _, step := range path {
		next := Child(n, step)
		if next == nil {
			return n, false
		}
		n = next
	}
	return n, true
}

// Child returns the value of a key or the item of a list, or nil if there is none.
func Child(n *yaml.Node, step any) *yaml.Node {
	switch s := step.(type) {
	case int:
		if n.Kind == yaml.SequenceNode && s < len(n.Content) {
			return n.Content[s]
		}
	case string:
		for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == s {
				return n.Content[i+1]
			}
		}
	}
	return nil
}
