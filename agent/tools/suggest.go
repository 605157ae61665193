package tools

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/handrail-bot/handrail/agent/workspace"
)

// NotThere returns the error for a missing file. It names the paths that may have
// been meant.
func (k *Kit) NotThere(ctx context.Context, rel string) error {
	if k.Search == nil {
		return fs.ErrNotExist
	}
	pattern := rel
	if strings.ContainsAny(rel, "*?[{") { // an escaped path is matched as a whole
		pattern = globless.Replace(path.Base(rel))
	}
	names, err := k.Search.Find(ctx, workspace.NameQuery{Pattern: pattern})
	if err != nil {
		if errors.Is(err, workspace.ErrGone) {
			return err
		}
		return fs.ErrNotExist
	}
	base := path.Base(rel)
	var found []string
	for _, p := range names.Paths {
		alike := names.Near || strings.EqualFold(path.Base(p), base) || strings.EqualFold(stem(p), stem(base))
		if alike && !strings.HasSuffix(p, "/") && len(found) < maxMeant {
			found = append(found, p)
		}
	}
	if len(found) == 0 {
		return fs.ErrNotExist
	}
	return fmt.Errorf("%w; did you mean %s?", fs.ErrNotExist, strings.Join(found, " or "))
}

// Nearest returns the only file in the workspace with the name of rel in another
// directory. It is for reading and changing existing files; a new file is created at
// rel. Ignored and hidden files do not count.
func (k *Kit) Nearest(ctx context.Context, rel string) (found string, ok bool, err error) {
	base := path.Base(rel)
	if k.Search == nil || base == "." || base == ".." || base == "/" {
		return "", false, nil
	}
	names, err := k.Search.Find(ctx, workspace.NameQuery{Pattern: globless.Replace(base)})
	if err != nil {
		if errors.Is(err, workspace.ErrGone) || ctx.Err() != nil {
			return "", false, err
		}
		return "", false, nil
	}
	for _, p := range names.Paths {
		if path.Base(p) != base || strings.HasSuffix(p, "/") || names.Near {
			continue
		}
		if found != "" { //control:only-candidate
			return "", false, nil
		}
		found = p
	}
	return found, found != "" && found != rel, nil
}

// Existing returns rel if it exists, or else the only file of that name with a note
// for the model.
func (k *Kit) Existing(ctx context.Context, rel string) (at, note string, err error) {
	there, err := k.Exists(ctx, rel)
	if err != nil || there {
		return rel, "", err
	}
	near, ok, err := k.Nearest(ctx, rel)
	if err != nil || !ok {
		return rel, "", err
	}
	return near, fmt.Sprintf("There is no %s; %s is the only file of that name.", rel, near), nil
}

// outside returns the error for a path outside the workspace. It names the file
// inside that may have been meant.
func (k *Kit) outside(ctx context.Context, p string) error {
	err := fmt.Errorf("use path %q: %w", p, workspace.ErrOutside)
	if k.Files == nil || !path.IsAbs(p) {
		return err
	}
	for rest := path.Clean(p)[1:]; rest != ""; {
		if _, none := k.Files.Read(ctx, rest, workspace.Range{From: 1, To: 1}); none == nil {
			return fmt.Errorf("%w; did you mean %s?", err, rest)
		}
		_, rest, _ = strings.Cut(rest, "/")
	}
	if near, ok, _ := k.Nearest(ctx, p); ok {
		return fmt.Errorf("%w; did you mean %s?", err, near)
	}
	return err
}

// OnlyCase returns an existing path that differs from rel only in case, or "". It is
// for a file about to be created.
func (k *Kit) OnlyCase(ctx context.Context, rel string) (string, error) {
	dir, missing := path.Dir(rel), rel
	for dir != "." {
		there, err := k.Exists(ctx, dir)
		if err != nil {
			return "", err
		}
		if there {
			break
		}
		dir, missing = path.Dir(dir), dir
	}
	const most = 5000
	list, err := k.Files.List(ctx, dir, false, most)
	if err != nil {
		if errors.Is(err, workspace.ErrGone) || ctx.Err() != nil {
			return "", err
		}
		return "", nil // nothing to compare with
	}
	for _, e := range list.Entries {
		p := path.Join(dir, path.Base(e.Path))
		if p != missing && strings.EqualFold(p, missing) {
			return p + strings.TrimPrefix(rel, missing), nil
		}
	}
	return "", nil
}

// maxMeant is the maximum number of suggested paths.
const maxMeant = 5

// globless escapes a file name, so that it is not taken for a glob.
var globless = strings.NewReplacer("*", `\*`, "?", `\?`, "[", `\[`, "{", `\{`)

func stem(p string) string {
	b := path.Base(p)
	return strings.TrimSuffix(b, path.Ext(b))
}
