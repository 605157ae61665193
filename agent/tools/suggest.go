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

// NotThere returns the error for a file that does not exist. It names the paths
// that may have been meant.
func (k *Kit) NotThere(ctx context.Context, rel string) error {
	if k.Search == nil {
		return fs.ErrNotExist
	}
	names, err := k.Search.Find(ctx, workspace.NameQuery{Pattern: globless.Replace(rel)})
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
		if alike && !strings.HasSuffix(p, "/") && len(found) < mostMeant {
			found = append(found, p)
		}
	}
	if len(found) == 0 {
		return fs.ErrNotExist
	}
	return fmt.Errorf("%w; did you mean %s?", fs.ErrNotExist, strings.Join(found, " or "))
}

// OnlyCase returns the path of what is there already and is named like rel but for upper
// and lower case, or "". It is for a file that is about to be made.
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

// mostMeant is how many paths are named that may have been meant.
const mostMeant = 5

// globless keeps the name of a file from being taken for a glob.
var globless = strings.NewReplacer("*", `\*`, "?", `\?`, "[", `\[`, "{", `\{`)

func stem(p string) string {
	b := path.Base(p)
	return strings.TrimSuffix(b, path.Ext(b))
}
