package docker

import (
	"bufio"
	"encoding/binary"
	"io"
	"net"
	"strings"
	"sync"
)

// stream is the attached connection: writes go to the host's stdin, and reads come from
// its stdout. The daemon sends stdout and stderr in frames; Read extracts stdout.
type stream struct {
	conn net.Conn
	in   *bufio.Reader
	left int // bytes left of the current frame
	mu   sync.Mutex
	errs []byte
}

// Kinds of frames.
const (
	frameOutput = 1
	frameErrors = 2
)

func (s *stream) Read(p []byte) (int, error) {
	for s.left == 0 {
		var head [8]byte
		if _, err := io.ReadFull(s.in, head[:]); err != nil {
			return 0, err
		}
		n := int64(binary.BigEndian.Uint32(head[4:]))
		if head[0] == frameOutput {
			s.left = int(n)
			continue
		}
		if err := s.skip(io.LimitReader(s.in, n), head[0] == frameErrors); err != nil {
			return 0, err
		}
	}
	n, err := s.in.Read(p[:min(len(p), s.left)])
	s.left -= n
	return n, err
}

// skip reads r to its end. If isError is set, it keeps the beginning as the complaint.
func (s *stream) skip(r io.Reader, isError bool) error {
	if isError {
		s.mu.Lock()
		room := int64(max(0, 4096-len(s.errs)))
		s.mu.Unlock()
		text, err := io.ReadAll(io.LimitReader(r, room))
		if err != nil {
			return err
		}
		s.mu.Lock()
		s.errs = append(s.errs, text...)
		s.mu.Unlock()
	}
	_, err := io.Copy(io.Discard, r)
	return err
}

func (s *stream) complaint() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.TrimSpace(string(s.errs))
}

func (s *stream) Write(p []byte) (int, error) { return s.conn.Write(p) }

// Close hangs up; the host then exits.
func (s *stream) Close() error { return s.conn.Close() }
