package gitops

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"syscall"

	"github.com/go-git/go-git/v5/plumbing/format/pktline"

	"github.com/handrail-bot/handrail/gitops/objects"
)

// framed is the body of a response in git's protocol: packets that begin with their length,
// up to an empty one. A response that is empty, cut or of another kind is
// [ErrUnavailable], whatever its status: it says nothing about the request, which can be
// repeated.
type framed struct {
	io.ReadCloser

	head  []byte // the length, as far as it was read
	left  int    // bytes left of the current packet
	ended bool   // the last packet was an empty one
	any   bool   // something was read
	err   error
}

// maxPacket is the maximum length of a packet in bytes, with its length.
const maxPacket = 65520

// Read implements io.Reader. Bytes that are no packets are not passed on.
func (f *framed) Read(p []byte) (int, error) {
	if f.err != nil {
		return 0, f.err
	}
	n, err := f.ReadCloser.Read(p)
	if bad := f.follow(p[:n]); bad != nil {
		f.err = bad
		return 0, bad
	}
	if err == io.EOF { //nolint:errorlint // readers return io.EOF itself
		err = f.atEnd()
	}
	switch {
	case err == nil || err == io.EOF || errors.Is(err, ErrUnavailable): //nolint:errorlint // likewise
	default:
		err = fmt.Errorf("%w: its answer breaks off: %w", ErrUnavailable, err)
	}
	f.err = err
	return n, err
}

// atEnd returns io.EOF if the response ends as it must.
func (f *framed) atEnd() error {
	switch {
	case !f.any:
		return fmt.Errorf("%w: its answer is empty", ErrUnavailable)
	case !f.ended: //control:git-answer-has-an-end
		return fmt.Errorf("%w: its answer breaks off", ErrUnavailable)
	}
	return io.EOF
}

// follow follows the packets through further bytes.
func (f *framed) follow(p []byte) error {
	f.any = f.any || len(p) > 0
	for len(p) > 0 {
		if n := min(f.left, len(p)); n > 0 {
			f.left, p = f.left-n, p[n:]
			continue
		}
		n := min(4-len(f.head), len(p))
		f.head, p = append(f.head, p[:n]...), p[n:]
		if f.ended = false; len(f.head) < 4 {
			return nil
		}
		size, err := strconv.ParseUint(string(f.head), 16, 16)
		if err != nil || size == 3 || size > maxPacket {
			return fmt.Errorf("%w: its answer cannot be read", ErrUnavailable)
		}
		f.head, f.ended, f.left = f.head[:0], size == 0, max(int(size)-4, 0)
	}
	return nil
}

// unreadableAnswer returns the error for a response that cannot be read, unless err is a
// failure of this machine, a refusal in words, or classified already.
func unreadableAnswer(err error) error {
	var here syscall.Errno
	var said *pktline.ErrorLine
	if err == nil || errors.As(err, &here) || errors.As(err, &said) || errors.Is(err, ErrUnavailable) ||
		errors.Is(err, objects.ErrTooLarge) {
		return err
	}
	return fmt.Errorf("%w: its answer cannot be read: %w", ErrUnavailable, err)
}
