// Package strict reads YAML as people get it wrong: it finds every fault of a file, with
// its line and column and what was probably meant, and takes no key that it does not
// know.
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

// Fault is one thing that is wrong with a file, or that will not work. Line and Column
// count from 1; 0 is for a place that is not known. Path leads to the key, by names and
// indexes; Key is that as people write it, such as "commands.allow[1]", or "" where the
// text itself says what it is about.
type Fault struct {
	Path         []any  `json:"-"`
	Line, Column int    `json:"-"`
	Key          string `json:"-"`
	Text         string `json:"-"`
}

// At returns a fault of the key at a path.
func At(text string, path ...any) Fault { return Fault{Path: path, Key: Join(path), Text: text} }

// Join writes a path as people do.
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

// Faults are all that were found, in the order of the file.
type Faults []Fault

// Error returns a line for each.
func (f Faults) Error() string {
	lines := make([]string, len(f))
	for i, one := range f {
		lines[i] = one.Error()
	}
	return strings.Join(lines, "\n")
}

// Err returns f, and nil when there is none.
func (f Faults) Err() error {
	if len(f) == 0 {
		return nil
	}
	return f
}

// Of returns the faults in an error; one without a place for any other error.
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

// Both joins what was found in two looks at one file, in its order; what has no place in it
// is last. Of the second, what only follows
// from the first is left out: a part that could not be read lacks what it needs.
func Both(first, second error) error {
	was := Of(first)
	out := slices.Clone(was)
	for _, f := range Of(second) {
		if !slices.ContainsFunc(was, f.follows) {
			out = append(out, f)
		}
	}
	line := func(f Fault) int { return cmp.Or(f.Line, math.MaxInt) }
	slices.SortStableFunc(out, func(a, b Fault) int { return cmp.Or(cmp.Compare(line(a), line(b)), cmp.Compare(a.Column, b.Column)) })
	return out.Err()
}

// follows reports whether a fault is about the part of the file that another is about, or
// about what that is in or consists of.
func (f Fault) follows(was Fault) bool {
	n := min(len(f.Path), len(was.Path))
	return n > 0 && slices.Equal(f.Path[:n], was.Path[:n])
}

// Document is a file that was read. It knows where its keys are.
type Document struct{ root *yaml.Node }

// Empty reports whether nothing was read.
func (d *Document) Empty() bool { return d.root == nil }

// Locate returns an error whose faults have their places, where they had none. Under is the path to the part
// of the document that the faults are about.
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

// Has reports whether the file says something at a path, and on which line; a key
// without a value counts as well.
func (d *Document) Has(path ...any) (line int, ok bool) {
	n, ok := d.find(path)
	if !ok {
		return 0, false
	}
	return n.Line, true
}

// place returns where the nearest part of a path stands: of a key that is missing, that
// is what it would be in, if that is not the whole file.
func (d *Document) place(path []any) (line, column int) {
	n, ok := d.find(path)
	if n == nil || len(path) == 0 || !ok && n == d.root {
		return 0, 0
	}
	return n.Line, n.Column
}

// find returns the node at a path, or the last one on the way.
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

// Child returns the value of a key or the item of a list, nil when there is none.
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
