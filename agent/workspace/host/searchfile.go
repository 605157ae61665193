package host

import (
	"bytes"
	"context"
	"io"
	"path"

	"golang.org/x/sys/unix"

	"github.com/handrail-bot/handrail/agent/workspace"
)

const (
	window   = 4 << 20   // bytes searched in one piece
	maxFound = 256 << 20 // maximum number of bytes searched per file
)

// room holds the read buffers of one worker, reused for each file.
type room struct{ buf, low []byte }

// file searches one file in windows that end at a line's end.
func (s *searching) file(ctx context.Context, f *searched, r *room) {
	in, size, err := s.open(f)
	if err != nil {
		return // removed meanwhile, or not readable
	}
	defer in.Close()
	if want := int(min(size+1, window)); cap(r.buf) < want {
		r.buf = make([]byte, max(want, min(2*cap(r.buf), window)))
		if s.m.Folds() {
			r.low = make([]byte, len(r.buf))
		}
	}
	buf := r.buf
	w := windowed{s: s, f: f, line: 1, low: r.low}
	var have int
	var total int64
	for ctx.Err() == nil {
		n, err := io.ReadFull(in, buf[have:])
		if total == 0 && isBinary(buf[:min(n, sniffed)]) {
			return
		}
		total += int64(n)
		have += n
		if i := bytes.IndexByte(buf[:have], 0); i >= 0 { // text that turns binary, such as a sparse file
			have, total = i, maxFound
		}
		last := err != nil || total >= maxFound
		cut := have
		if !last {
			if cut = bytes.LastIndexByte(buf[:have], '\n') + 1; cut == 0 {
				cut = have // a line longer than a window
			}
		}
		w.scan(buf[:cut])
		if last {
			break
		}
		have = copy(buf, buf[cut:have])
	}
}

// rawFile is a file without the runtime's poller, which costs more than reading a small
// file.
type rawFile int

func (r rawFile) Read(p []byte) (int, error) {
	n, err := unix.Read(int(r), p)
	switch {
	case err != nil:
		return 0, err
	case n == 0 && len(p) > 0:
		return 0, io.EOF
	}
	return n, nil
}

// Close closes the file.
func (r rawFile) Close() error { return unix.Close(int(r)) }

func (s *searching) open(f *searched) (io.ReadCloser, int64, error) {
	if f.dir != nil {
		fd, size, err := f.dir.open(path.Base(f.path))
		return rawFile(fd), size, err
	}
	in, info, err := s.h.openFile(f.path)
	if err != nil {
		return nil, 0, err
	}
	return in, info.Size(), nil
}

// windowed searches a file window by window and counts its lines.
type windowed struct {
	s    *searching
	f    *searched
	line int // number of the window's first line
	low  []byte
}

// scan adds the matches in one window.
func (w *windowed) scan(buf []byte) {
	in := w.s.m.In(buf, w.low)
	at, n := 0, w.line // n is the number of the line at offset at
	for from := 0; ; {
		start, end, ok := in.Next(from)
		if !ok {
			break
		}
		n += bytes.Count(buf[at:start], []byte("\n"))
		at = start
		w.hit(buf, start, end, n)
		if from = end + 1; from >= len(buf) {
			break
		}
	}
	w.line += bytes.Count(buf, []byte("\n"))
}

// hit adds the lines of a match, from start to end, with their context.
func (w *windowed) hit(buf []byte, start, end, n int) {
	w.f.hits++
	if w.f.hits > w.s.limit || w.s.full.Load() {
		return
	}
	lo, first := start, n
	for i := 0; i < w.s.context && lo > 0; i++ {
		lo = lineStart(buf, lo-1)
		first--
	}
	hi := end
	for i := 0; i < w.s.context && hi < len(buf)-1; i++ {
		hi = lineEnd(buf, hi+1)
	}
	for at, k := lo, first; at <= hi && at < len(buf); k++ {
		stop := lineEnd(buf, at)
		w.add(k, buf[at:stop], at >= start && at <= end)
		at = stop + 1
	}
}

// add appends a line, or turns a context line into a match.
func (w *windowed) add(n int, line []byte, hit bool) {
	found := w.f.found
	for i := len(found) - 1; i >= 0 && found[i].N >= n; i-- {
		if found[i].N == n {
			found[i].Hit = found[i].Hit || hit
			return
		}
	}
	w.f.found = append(found, workspace.MatchLine{N: n, Text: w.s.m.Show(line), Hit: hit})
}
