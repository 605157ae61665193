package tools

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"golang.org/x/text/unicode/norm"

	"github.com/handrail-bot/handrail/agent/workspace"
)

// defaultRoot is the workspace path that most models assume.
const defaultRoot = "/workspace"

// Limits of the system on paths, in bytes.
const (
	maxPath = 4096
	maxName = 255
)

// Path returns the path argument of a call, relative to the root.
func (k *Kit) Path(ctx context.Context, a Args) (string, error) {
	raw, err := a.Need("path")
	if err != nil {
		return "", err
	}
	return k.Resolve(ctx, raw)
}

// Resolve turns a path as written by a model into one relative to the root. It
// accepts absolute paths inside the workspace only. If the path begins with the
// folder's own name and does not exist, the name is removed.
func (k *Kit) Resolve(ctx context.Context, raw string) (string, error) {
	p := strings.TrimSpace(raw)
	if len(p) > maxPath { //control:path-length
		return "", fmt.Errorf(
			"use path %q: it has %d bytes, and the longest that the system takes is %d",
			Shorten(p, 60),
			len(p),
			maxPath,
		)
	}
	for part := range strings.SplitSeq(p, "/") {
		if len(part) > maxName {
			return "", fmt.Errorf(
				"use path %q: a name in it has %d bytes, and the longest that the system takes is %d",
				Shorten(p, 60),
				len(part),
				maxName,
			)
		}
	}
	if n := len(p); n > 1 && strings.ContainsRune("`'\"", rune(p[0])) && p[0] == p[n-1] {
		p = p[1 : n-1]
	}
	p = strings.TrimPrefix(p, "file://")
	if strings.Contains(p, `\`) && !strings.Contains(p, "/") {
		p = strings.ReplaceAll(p, `\`, "/")
	}
	if strings.ContainsAny(p, "\x00\n\r") {
		return "", fmt.Errorf(
			"use path %q: it is invalid, because of a line break or a NUL character in it; give one path",
			raw,
		)
	}
	rel, err := k.relative(p)
	if errors.Is(err, workspace.ErrOutside) {
		return "", k.outside(ctx, p)
	}
	if err != nil {
		return "", err
	}
	if rel, err = k.stripName(ctx, rel); err != nil {
		return "", err
	}
	return k.composed(ctx, rel)
}

// composed returns rel with the names that exist in Unicode's other composition, as macOS writes them and
// models do not, in place of those of rel.
func (k *Kit) composed(ctx context.Context, rel string) (string, error) {
	if norm.NFD.String(rel) == norm.NFC.String(rel) {
		return rel, nil
	}
	at := ""
	for name := range strings.SplitSeq(rel, "/") {
		spelled := path.Join(at, name)
		for _, other := range []string{name, norm.NFC.String(name), norm.NFD.String(name)} {
			there, err := k.Exists(ctx, path.Join(at, other))
			if err != nil {
				return "", err
			}
			if there { //control:one-name
				spelled = path.Join(at, other)
				break
			}
		}
		at = spelled
	}
	return at, nil
}

func (k *Kit) relative(p string) (string, error) {
	if path.IsAbs(p) {
		in, ok := underRoot(k.Root, p)
		if !ok {
			in, ok = underRoot(defaultRoot, p)
		}
		if !ok {
			return "", fmt.Errorf("use path %q: %w", p, workspace.ErrOutside)
		}
		p = in
	}
	rel := path.Clean(p)
	if rel == ".." || strings.HasPrefix(rel, "../") || strings.HasPrefix(rel, "~") && (rel == "~" || rel[1] == '/') {
		return "", fmt.Errorf("use path %q: %w", p, workspace.ErrOutside)
	}
	return rel, nil
}

func underRoot(root, p string) (string, bool) {
	if root == "" {
		return "", false
	}
	abs, root := path.Clean(p), path.Clean(root)
	if abs == root {
		return ".", true
	}
	in, ok := strings.CutPrefix(abs, strings.TrimSuffix(root, "/")+"/")
	return in, ok
}

// stripName removes the folder's name from the front of rel, unless the root has an
// entry of that name.
func (k *Kit) stripName(ctx context.Context, rel string) (string, error) {
	first, rest, nested := strings.Cut(rel, "/")
	named := first == k.Name || k.Root != "" && first == path.Base(k.Root)
	if first == "." || !named {
		return rel, nil
	}
	there, err := k.Exists(ctx, first)
	if err != nil || there {
		return rel, err
	}
	if !nested {
		return ".", nil
	}
	return rest, nil
}

// Exists reports whether a file or directory exists at rel. A workspace that strips
// the folder's name by itself may answer for the shorter path.
func (k *Kit) Exists(ctx context.Context, rel string) (bool, error) {
	if k.Files == nil {
		return false, nil
	}
	f, err := k.Files.Read(ctx, rel, workspace.Range{From: 1, To: 1})
	if errors.Is(err, workspace.ErrNotFile) {
		var l workspace.Listing
		if l, err = k.Files.List(ctx, rel, false, 1); err == nil {
			return path.Clean(l.Base) == rel, nil
		}
	}
	switch {
	case err == nil:
		return f.Path == rel, nil
	case errors.Is(err, workspace.ErrGone), ctx.Err() != nil:
		return false, err
	}
	return !errors.Is(err, fs.ErrNotExist), nil // files hidden from the agent exist too
}

// Landing resolves the symlinks in rel, so that the approver sees, and the policy
// judges, the file that will be changed. Without a Changer it returns rel.
func (k *Kit) Landing(ctx context.Context, rel string) (string, error) {
	if k.Changes == nil {
		return rel, nil
	}
	done, todo, links := "", strings.Split(rel, "/"), 0
	for len(todo) > 0 {
		next := path.Join(done, todo[0])
		todo = todo[1:]
		target, err := k.Link(ctx, next, len(todo) > 0)
		if err != nil {
			return "", err
		}
		if target == "" {
			done = next
			continue
		}
		if links++; links > 8 {
			return "", fmt.Errorf("use path %q: too many symlinks: %w", rel, workspace.ErrNotFile)
		}
		to := path.Join(path.Dir(next), target)
		if path.IsAbs(target) || to == ".." || strings.HasPrefix(to, "../") {
			return "", fmt.Errorf("use path %q: it links to %q: %w", rel, target, workspace.ErrOutside)
		}
		todo, done = append(strings.Split(to, "/"), todo...), ""
	}
	return done, nil
}

// Link returns the target of the symlink at p, or "" if p is not a symlink. If inner
// is set, p must be a directory or a symlink; a file is an error.
func (k *Kit) Link(ctx context.Context, p string, inner bool) (string, error) {
	target, err := k.Changes.Readlink(ctx, p)
	if err != nil {
		if errors.Is(err, workspace.ErrGone) || ctx.Err() != nil {
			return "", err
		}
		return "", nil // a directory or missing
	}
	if inner {
		if target == "" { //control:file-in-path
			return "", fmt.Errorf("%s is a file, not a directory", p)
		}
		return target, nil
	}
	const longest = 4096
	_, _, err = k.Files.ReadAll(ctx, p, longest)
	if errors.Is(err, workspace.ErrGone) || errors.Is(err, workspace.ErrIgnored) || ctx.Err() != nil {
		return "", err
	}
	return target, nil
}
