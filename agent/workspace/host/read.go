package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"syscall"

	"github.com/handrail-bot/handrail/agent/workspace"
)

func (h *host) read(ctx context.Context, p string, ranges []workspace.Range) (*workspace.ReadResult, error) {
	rel, err := h.clean(p)
	if err != nil {
		return nil, err
	}
	f, info, err := h.openFile(rel)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	out := &workspace.ReadResult{File: workspace.File{Path: rel, Size: info.Size()}}
	if err := readRanges(ctx, f, ranges, out); err != nil {
		return nil, fmt.Errorf("read %s: %w", rel, err)
	}
	return out, nil
}

// chunk reads a piece of a file for ReadAll and Content.
func (h *host) chunk(p workspace.ChunkParams) (*workspace.ChunkResult, error) {
	rel, err := h.clean(string(p.Path))
	if err != nil {
		return nil, err
	}
	if p.Raw {
		return h.rawChunk(rel, p)
	}
	f, info, err := h.openFile(rel)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return pieceOf(f, info, p)
}

// rawChunk is chunk without following symlinks: the content of a symlink is its target.
func (h *host) rawChunk(rel string, p workspace.ChunkParams) (*workspace.ChunkResult, error) {
	info, err := h.root.Lstat(rel)
	if err != nil {
		return nil, rootError(err)
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		target, err := h.root.Readlink(rel)
		if err != nil {
			return nil, rootError(err)
		}
		return &workspace.ChunkResult{Data: []byte(target), Mode: fs.ModeSymlink | 0o777, Size: int64(len(target))}, nil
	}
	f, err := h.root.OpenFile(rel, syscall.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if errors.Is(err, syscall.ENXIO) || errors.Is(err, syscall.ELOOP) {
		return nil, fmt.Errorf("open %s: %w", rel, workspace.ErrNotFile)
	}
	if err != nil {
		return nil, rootError(err)
	}
	defer f.Close()
	if info, err = f.Stat(); err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("open %s: %w", rel, notFile(info))
	}
	return pieceOf(f, info, p)
}

func pieceOf(f io.ReaderAt, info fs.FileInfo, p workspace.ChunkParams) (*workspace.ChunkResult, error) {
	out := &workspace.ChunkResult{Mode: info.Mode(), Size: info.Size(), Stamp: stampOf(info)}
	if p.Limit > 0 && info.Size() > p.Limit {
		return out, fmt.Errorf("read %s: %d bytes, the limit is %d: %w", p.Path, info.Size(), p.Limit, workspace.ErrTooLarge)
	}
	if p.Stamp != "" && p.Stamp != out.Stamp {
		return out, fmt.Errorf("read %s: it was changed meanwhile, read it again", p.Path)
	}
	if p.Offset < 0 {
		return out, fmt.Errorf("read %s: offset %d: %w", p.Path, p.Offset, fs.ErrInvalid)
	}
	buf := make([]byte, max(0, min(workspace.MaxChunk, info.Size()-p.Offset)))
	n, err := f.ReadAt(buf, p.Offset)
	if err != nil && !errors.Is(err, io.EOF) {
		return out, fmt.Errorf("read %s: %w", p.Path, err)
	}
	out.Data = buf[:n]
	out.More = n > 0 && p.Offset+int64(n) < info.Size()
	return out, nil
}

func stampOf(info fs.FileInfo) string {
	ino := uint64(0)
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		ino = st.Ino
	}
	return fmt.Sprintf("%d/%d/%d", ino, info.Size(), info.ModTime().UnixNano())
}
