package base

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// writeAlone is the file in a base that lists contents that only its tree has. They are shared
// when the next tree is made, so that the first tree of a repository is not delayed. If
// all other bases are layers, that never happens.
const alone = "alone"

// writeAlone writes the list for share: for each content its path in the pool and in the tree.
// It returns the total size of these contents.
func (m *maker) writeAlone(file string, items []item) (bytes int64, err error) {
	var out strings.Builder
	for i, it := range items[:len(m.fresh)] {
		if m.fresh[i] {
			out.WriteString(poolPath(it) + " " + it.path + "\x00")
			bytes += m.stamps[i].size
		}
	}
	if out.Len() > 0 {
		err = os.WriteFile(file, []byte(out.String()), 0o644)
	}
	return bytes, err
}

// share moves contents that only one tree has to the pool. A failed link leaves the
// content to its tree.
func (s *Store) share(ctx context.Context) error {
	lists, err := filepath.Glob(s.at("bases/t-*/" + alone))
	if err != nil {
		return err
	}
	for _, name := range lists {
		if err := shareOne(ctx, s, name); err != nil &&
			!errors.Is(err, fs.ErrNotExist) { // a concurrent sweep may have removed it
			return err
		}
	}
	return nil
}

func shareOne(ctx context.Context, s *Store, list string) error {
	data, err := os.ReadFile(list)
	if err != nil {
		return err
	}
	tree := filepath.Dir(list) + "/tree/"
	for line := range strings.SplitSeq(strings.TrimSuffix(string(data), "\x00"), "\x00") {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		pooled, name, _ := strings.Cut(line, " ")
		pooled = s.at(pooled)
		if err := s.link(tree+name, pooled); errors.Is(err, fs.ErrNotExist) {
			_ = os.Mkdir(filepath.Dir(pooled), 0o755)
			_ = s.link(tree+name, pooled)
		}
	}
	return os.Remove(list)
}
