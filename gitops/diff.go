package gitops

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/handrail-bot/handrail/gitops/lines"
	"github.com/handrail-bot/handrail/gitops/objects"
)

// FileStat describes the change of one file between two commits.
type FileStat struct {
	Path           string
	Old            string // previous path of a renamed file
	Kind           string // "create", "modify", "delete" or "rename"
	Added, Removed int    // lines; 0 for binary and very large files
	Binary         bool
	Object         string // new mode and id, such as "100644 e69de…"; empty if deleted
	Was            string // previous mode and id, at Old if renamed; empty if created
}

// KindDelete is the kind of a [FileStat] for a deleted file.
const KindDelete = "delete"

// DiffOptions narrows a diff.
type DiffOptions struct {
	Paths    []string // files and directories; empty means all
	MaxBytes int      // maximum length of the text; 0 means unlimited
	Binary   bool     // include binary files, in the format of git apply
	Context  int      // lines around a change; 0 means 3, a negative number none
}

// Diff compares the trees of two revisions ("" is the empty tree). It returns a unified
// patch for git apply, and the change of each file. Attributes are ignored. Files over 4
// MiB and, without opt.Binary, binary files are named but not shown. Text over MaxBytes
// is cut after a whole file, and a last line counts the omitted files; stats are always
// complete.
func (m *Mirror) Diff(
	ctx context.Context,
	from, to string,
	opt DiffOptions,
) (text string, stats []FileStat, err error) {
	err = m.trees(ctx, from, to, func(o *objects.DB, from, to plumbing.Hash) error {
		text, stats, err = patch(ctx, o, from, to, opt)
		return err
	})
	if err != nil {
		return "", nil, fmt.Errorf("diff: %w", err)
	}
	return text, stats, nil
}

// EachDiff is Diff for changes of any size: it calls each for one file after the other,
// in tree order. A renamed file is a deletion and a creation. MaxBytes is ignored.
func (m *Mirror) EachDiff(
	ctx context.Context,
	from, to string,
	opt DiffOptions,
	each func(text string, stat FileStat) error,
) error {
	var list []delta
	err := m.trees(ctx, from, to, func(o *objects.DB, from, to plumbing.Hash) (err error) {
		if list, err = diff(ctx, o, from, to, only(opt.Paths)); err == nil {
			err = prefetch(o, list)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("diff: %w", err)
	}
	for _, d := range list {
		var text string
		var stat FileStat
		err := m.pool.Use(
			ctx,
			func(o *objects.DB) (err error) { // Use may run its function twice, but each must not run twice
				text, stat, err = filePatch(o, d, opt)
				return errors.Join(err, ctx.Err())
			},
		)
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
func (m *Mirror) trees(
	ctx context.Context,
	from, to string,
	fn func(o *objects.DB, from, to plumbing.Hash) error,
) error {
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
	return m.pool.Use(ctx, func(o *objects.DB) error {
		a, err := o.TreeOf(ids[0])
		if err != nil {
			return err
		}
		b, err := o.TreeOf(ids[1])
		if err != nil {
			return err
		}
		return fn(o, a, b)
	})
}

func patch(ctx context.Context, o *objects.DB, from, to plumbing.Hash, opt DiffOptions) (string, []FileStat, error) {
	list, err := diff(ctx, o, from, to, only(opt.Paths))
	if err != nil {
		return "", nil, err
	}
	if err := prefetch(o, list); err != nil {
		return "", nil, err
	}
	if list, err = renames(ctx, o, list); err != nil {
		return "", nil, err
	}
	var b strings.Builder
	stats, left := make([]FileStat, 0, len(list)), 0
	for _, d := range list {
		text, stat, err := filePatch(o, d, opt)
		if err = errors.Join(err, ctx.Err()); err != nil {
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

func stats(ctx context.Context, o *objects.DB, from, to plumbing.Hash) ([]FileStat, error) {
	_, stats, err := patch(ctx, o, from, to, DiffOptions{MaxBytes: 1})
	return stats, err
}

// filePatch returns the patch of one path. A change of type (a file becomes a symlink) is
// written as a deletion and a creation.
func filePatch(o *objects.DB, d delta, opt DiffOptions) (string, FileStat, error) {
	stat := FileStat{Path: d.path, Old: d.oldPath, Kind: d.kind()}
	if !d.to.Hash.IsZero() {
		stat.Object = octal(d.to) + " " + d.to.Hash.String()
	}
	if !d.from.Hash.IsZero() {
		stat.Was = octal(d.from) + " " + d.from.Hash.String()
	}
	if stat.Kind == "modify" && class(d.from) != class(d.to) {
		first, gone, err := filePatch(o, delta{path: d.path, from: d.from}, opt)
		if err != nil {
			return "", stat, err
		}
		second, came, err := filePatch(o, delta{path: d.path, to: d.to}, opt)
		stat.Added, stat.Removed, stat.Binary = came.Added, gone.Removed, gone.Binary || came.Binary
		return first + second, stat, err
	}
	a, textA, err := content(o, d.from)
	if err != nil {
		return "", stat, err
	}
	b, textB, err := content(o, d.to)
	if err != nil {
		return "", stat, err
	}
	text := d.header()
	if stat.Binary = !textA || !textB; stat.Binary {
		switch {
		case d.from.Hash == d.to.Hash:
		case opt.Binary && (b != nil || d.to.Hash.IsZero()):
			text += binaryPatch(b)
		default:
			from, to := d.names()
			text += fmt.Sprintf("Binary files %s and %s differ\n", from, to)
		}
		return text, stat, nil
	}
	was, is := lines.Split(a), lines.Split(b)
	spans := lines.Compare(was, is)
	for _, s := range spans {
		stat.Removed += s.AEnd - s.A
		stat.Added += s.BEnd - s.B
	}
	if len(spans) > 0 {
		around := opt.Context
		if around == 0 {
			around = 3
		}
		from, to := d.names()
		text += "--- " + withTab(from) + "\n+++ " + withTab(to) + "\n" + lines.Hunks(was, is, spans, max(around, 0))
	}
	return text, stat, nil
}
