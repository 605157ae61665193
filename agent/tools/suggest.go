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

// mostMeant is how many paths are named that may have been meant.
const mostMeant = 5

// globless keeps the name of a file from being taken for a glob.
var globless = strings.NewReplacer("*", `\*`, "?", `\?`, "[", `\[`, "{", `\{`)

func stem(p string) string {
	b := path.Base(p)
	return strings.TrimSuffix(b, path.Ext(b))
}
