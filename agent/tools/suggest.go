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
	l, err := k.Files.List(ctx, ".", true, 5000)
	if err != nil {
		if errors.Is(err, workspace.ErrGone) {
			return err
		}
		return fs.ErrNotExist
	}
	base := path.Base(rel)
	var same, like []string
	for _, e := range l.Entries {
		p := strings.TrimSuffix(e.Path, "/")
		switch {
		case p != e.Path:
		case path.Base(p) == base:
			same = append(same, p)
		case strings.EqualFold(path.Base(p), base) || strings.EqualFold(stem(p), stem(base)):
			like = append(like, p)
		}
	}
	found := append(same, like...)
	if len(found) == 0 {
		return fs.ErrNotExist
	}
	if len(found) > 5 {
		found = found[:5]
	}
	return fmt.Errorf("%w; did you mean %s?", fs.ErrNotExist, strings.Join(found, " or "))
}

func stem(p string) string {
	b := path.Base(p)
	return strings.TrimSuffix(b, path.Ext(b))
}
