package base

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// alone is the file in a base that says which contents only its tree has. They are
// shared when another tree is made, which the first one of a repository needs not wait
// for, and which does not come where others are layers.
const alone = "alone"

// alone writes what share reads, for each content its place in the pool and in the tree,
// and returns how many bytes these contents are.
func (m *maker) alone(file string, items []item) (bytes int64, err error) {
	var out strings.Builder
	for i, it := range items[:len(m.fresh)] {
		if m.fresh[i] {
			out.WriteString(pooled(it) + " " + it.path + "\x00")
			bytes += m.stamps[i].size
		}
	}
	if out.Len() > 0 {
		err = os.WriteFile(file, []byte(out.String()), 0o644)
	}
	return bytes, err
}

// share puts the contents that only one tree has where others find them. What cannot be
// shared stays that tree's.
func (s *Store) share(ctx context.Context) error {
	lists, err := filepath.Glob(s.at("bases/t-*/" + alone))
	if err != nil {
		return err
	}
	for _, name := range lists {
		if err := shareOne(ctx, s, name); err != nil && !errors.Is(err, fs.ErrNotExist) { // a sweep may be faster
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
