package gitops

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
)

// FileStat is what happened to one file between two commits.
type FileStat struct {
	Path           string
	Old            string // for a rename, where it was
	Kind           string // "create", "modify", "delete" or "rename"
	Added, Removed int    // lines; 0 for binary and very large files
	Binary         bool
	Object         string // mode and id of what is there now, such as "100644 e69de…"; "" when deleted
}

// The kinds of a [FileStat].
const (
	KindCreate = "create"
	KindModify = "modify"
	KindDelete = "delete"
	KindRename = "rename"
)

// DiffOptions narrows a diff.
type DiffOptions struct {
	Paths    []string // these files and directories; empty means all
	MaxBytes int      // of the text; 0 means no limit
	Binary   bool     // binary files are shown too, as git apply takes them
	Context  int      // lines around a change; 0 means 3, less than 0 none
}

// Diff compares the trees of two revisions ("" for the empty tree) and gives
// a unified patch that git can apply, and what happened to each file.
// Attributes are ignored. Files over 4 MiB, and without opt.Binary binary
// files, are named but not shown. Text over MaxBytes is cut after a whole file, with a last line
// that tells how many files are left out; stats are always complete.
func (m *Mirror) Diff(ctx context.Context, from, to string, opt DiffOptions) (text string, stats []FileStat, err error) {
	err = m.trees(ctx, from, to, func(o *odb, from, to plumbing.Hash) error {
		text, stats, err = o.patch(ctx, from, to, opt)
		return err
	})
	if err != nil {
		return "", nil, fmt.Errorf("diff: %w", err)
	}
	return text, stats, nil
}

// EachDiff is Diff one file after the other, in the order of the tree, for
// changes of any size. A renamed file is a deleted and a created one.
// MaxBytes bounds nothing.
func (m *Mirror) EachDiff(ctx context.Context, from, to string, opt DiffOptions, each func(text string, stat FileStat) error) error {
	var list []delta
	err := m.trees(ctx, from, to, func(o *odb, from, to plumbing.Hash) (err error) {
		list, err = o.diff(ctx, from, to, opt.Paths)
		return err
	})
	if err != nil {
		return fmt.Errorf("diff: %w", err)
	}
	for _, d := range list {
		var text string
		var stat FileStat
		err := m.use(func(o *odb) (err error) { // which may run twice, and each may not
			text, stat, err = o.filePatch(d, opt)
			return errors.Join(err, ctx.Err())
		})
		if err != nil {
			return fmt.Errorf("diff %s: %w", d.path, err)
		}
		if err := each(text, stat); err != nil {
			return err
		}
	}
	return nil
}

// trees calls fn with the trees of two revisions.
func (m *Mirror) trees(ctx context.Context, from, to string, fn func(o *odb, from, to plumbing.Hash) error) error {
	var ids [2]string
	for i, rev := range []string{from, to} {
		if rev == "" {
			continue
		}
		var err error
		if ids[i], err = m.Resolve(ctx, rev); err != nil {
			return err
		}
	}
	return m.use(func(o *odb) error {
		var trees [2]plumbing.Hash
		for i, id := range ids {
			if id == "" {
				continue
			}
			c, err := o.commit(id)
			if err != nil {
				return err
			}
			trees[i] = c.TreeHash
		}
		return fn(o, trees[0], trees[1])
	})
}

func (o *odb) patch(ctx context.Context, from, to plumbing.Hash, opt DiffOptions) (string, []FileStat, error) {
	list, err := o.diff(ctx, from, to, opt.Paths)
	if err != nil {
		return "", nil, err
	}
	if list, err = o.renames(ctx, list); err != nil {
		return "", nil, err
	}
	var b strings.Builder
	stats, left := make([]FileStat, 0, len(list)), 0
	for _, d := range list {
		if err := ctx.Err(); err != nil {
			return "", nil, err
		}
		text, stat, err := o.filePatch(d, opt)
		if err != nil {
			return "", nil, err
		}
		stats = append(stats, stat)
		if left > 0 || opt.MaxBytes > 0 && b.Len()+len(text) > opt.MaxBytes {
			left++
			continue
		}
		b.WriteString(text)
	}
	if left > 0 {
		fmt.Fprintf(&b, "# %d more files changed, left out for size\n", left)
	}
	return b.String(), stats, nil
}

func (o *odb) stats(ctx context.Context, from, to plumbing.Hash, paths []string) ([]FileStat, error) {
	_, stats, err := o.patch(ctx, from, to, DiffOptions{Paths: paths, MaxBytes: 1})
	return stats, err
}

// content gives what a diff shows of an entry; ok is false if it is not text.
func (o *odb) content(e entry) (list []string, ok bool, err error) {
	switch {
	case e.hash.IsZero():
		return nil, true, nil
	case e.mode == filemode.Submodule:
		return []string{"Subproject commit " + e.hash.String() + "\n"}, true, nil
	}
	r, size, err := o.open(plumbing.BlobObject, e.hash)
	if err != nil {
		return nil, false, err
	}
	r.Close()
	if size > maxDiffFile {
		return nil, false, nil
	}
	data, err := o.read(plumbing.BlobObject, e.hash, maxDiffFile)
	if err != nil || isBinary(data) {
		return nil, false, err
	}
	return lines(data), true, nil
}

// filePatch is the part of a patch about one path. A change of kind (a file
// becomes a symlink) is written as a deletion and a creation.
func (o *odb) filePatch(d delta, opt DiffOptions) (string, FileStat, error) {
	stat := FileStat{Path: d.path, Old: d.oldPath, Kind: d.kind(), Object: holds(d.to)}
	if stat.Kind == KindModify && class(d.from) != class(d.to) {
		gone, came := d, d
		gone.to, came.from = entry{}, entry{}
		first, was, err := o.filePatch(gone, opt)
		if err != nil {
			return "", stat, err
		}
		second, is, err := o.filePatch(came, opt)
		stat.Added, stat.Removed, stat.Binary = is.Added, was.Removed, was.Binary || is.Binary
		return first + second, stat, err
	}
	c := comparison{from: d.path, to: d.path}
	if d.oldPath != "" {
		c.from = d.oldPath
	}
	if d.from.hash.IsZero() {
		c.from = ""
	}
	if d.to.hash.IsZero() {
		c.to = ""
	}
	var okA, okB bool
	var err error
	if c.a, okA, err = o.content(d.from); err != nil {
		return "", stat, err
	}
	if c.b, okB, err = o.content(d.to); err != nil {
		return "", stat, err
	}
	text := header(d)
	if stat.Binary = !okA || !okB; stat.Binary {
		if d.from.hash == d.to.hash {
			return text, stat, nil
		}
		shown, err := o.binaryPatch(d, opt)
		if shown == "" {
			shown = c.binary()
		}
		return text + shown, stat, err
	}
	c.spans = compare(c.a, c.b)
	for _, s := range c.spans {
		stat.Removed += s.AEnd - s.A
		stat.Added += s.BEnd - s.B
	}
	return text + c.hunks(opt.Context), stat, nil
}

func (d delta) kind() string {
	switch {
	case d.oldPath != "":
		return KindRename
	case d.from.hash.IsZero():
		return KindCreate
	case d.to.hash.IsZero():
		return KindDelete
	}
	return KindModify
}

// holds names what an entry is, by mode and id.
func holds(e entry) string {
	if e.hash.IsZero() {
		return ""
	}
	return octal(e) + " " + e.hash.String()
}

// class is the part of a mode that a patch cannot change in place.
func class(e entry) filemode.FileMode {
	if e.mode.IsRegular() || e.mode == filemode.Executable {
		return filemode.Regular
	}
	return e.mode
}

func octal(e entry) string {
	m := e.mode
	if m == filemode.Deprecated {
		m = filemode.Regular
	}
	return fmt.Sprintf("%06o", uint32(m))
}

func header(d delta) string {
	from := d.path
	if d.oldPath != "" {
		from = d.oldPath
	}
	var b strings.Builder
	fmt.Fprintf(&b, "diff --git %s %s\n", quote("a/"+from), quote("b/"+d.path))
	switch {
	case d.from.hash.IsZero():
		fmt.Fprintf(&b, "new file mode %s\n", octal(d.to))
	case d.to.hash.IsZero():
		fmt.Fprintf(&b, "deleted file mode %s\n", octal(d.from))
	case octal(d.from) != octal(d.to):
		fmt.Fprintf(&b, "old mode %s\nnew mode %s\n", octal(d.from), octal(d.to))
	}
	if d.oldPath != "" {
		fmt.Fprintf(&b, "similarity index %d%%\nrename from %s\nrename to %s\n", d.score, quote(d.oldPath), quote(d.path))
	}
	if d.from.hash != d.to.hash {
		fmt.Fprintf(&b, "index %s..%s", d.from.hash, d.to.hash)
		if octal(d.from) == octal(d.to) {
			b.WriteString(" " + octal(d.to))
		}
		b.WriteString("\n")
	}
	return b.String()
}

// quote writes a name the way git does when it has characters that would
// break a line.
func quote(name string) string {
	plain := true
	for i := range len(name) {
		if c := name[i]; c < ' ' || c == '"' || c == '\\' || c >= 0x7f {
			plain = false
		}
	}
	if plain {
		return name
	}
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(name) {
		c := name[i]
		if j := strings.IndexByte("\a\b\t\n\v\f\r\"\\", c); j >= 0 {
			b.WriteByte('\\')
			b.WriteByte(`abtnvfr"\`[j])
		} else if c < ' ' || c >= 0x7f {
			fmt.Fprintf(&b, "\\%03o", c)
		} else {
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// comparison is two texts and where they differ. An empty name is a side
// that is not there.
type comparison struct {
	from, to string
	a, b     []string
	spans    []span
}

func (c comparison) names() (from, to string) {
	name := func(prefix, path string) string {
		if path == "" {
			return "/dev/null"
		}
		return quote(prefix + path)
	}
	return name("a/", c.from), name("b/", c.to)
}

func (c comparison) binary() string {
	from, to := c.names()
	return fmt.Sprintf("Binary files %s and %s differ\n", from, to)
}

// hunks writes the changed lines with lines around them.
func (c comparison) hunks(around int) string {
	if len(c.spans) == 0 {
		return ""
	}
	switch {
	case around == 0:
		around = 3
	case around < 0:
		around = 0
	}
	tab := func(n string) string { // git ends names with spaces by a tab
		if strings.Contains(n, " ") && n[0] != '"' {
			return n + "\t"
		}
		return n
	}
	from, to := c.names()
	var w strings.Builder
	fmt.Fprintf(&w, "--- %s\n+++ %s\n", tab(from), tab(to))
	for spans := c.spans; len(spans) > 0; {
		n := 1
		for n < len(spans) && spans[n].A-spans[n-1].AEnd <= 2*around {
			n++
		}
		c.hunk(&w, spans[:n], around)
		spans = spans[n:]
	}
	return w.String()
}

func (c comparison) hunk(w *strings.Builder, spans []span, around int) {
	first, last := spans[0], spans[len(spans)-1]
	pre := min(around, first.A)
	post := min(around, len(c.a)-last.AEnd)
	a0, a1, b0, b1 := first.A-pre, last.AEnd+post, first.B-pre, last.BEnd+post
	at := func(start, n int) string {
		if n > 0 {
			start++
		}
		if n == 1 {
			return fmt.Sprint(start)
		}
		return fmt.Sprintf("%d,%d", start, n)
	}
	fmt.Fprintf(w, "@@ -%s +%s @@\n", at(a0, a1-a0), at(b0, b1-b0))
	put := func(mark byte, list []string) {
		for _, l := range list {
			w.WriteByte(mark)
			w.WriteString(l)
			if !strings.HasSuffix(l, "\n") {
				w.WriteString("\n\\ No newline at end of file\n")
			}
		}
	}
	x := a0
	for _, s := range spans {
		put(' ', c.a[x:s.A])
		put('-', c.a[s.A:s.AEnd])
		put('+', c.b[s.B:s.BEnd])
		x = s.AEnd
	}
	put(' ', c.a[x:a1])
}
