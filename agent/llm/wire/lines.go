package wire

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// MaxLine is the maximum length in bytes of a line that [Lines] returns. A tool call
// that writes a file arrives as one line.
const MaxLine = 16 << 20

// ErrLongLine is the error of [Lines.Next] for a line longer than [MaxLine].
var ErrLongLine = fmt.Errorf("line longer than %d bytes", MaxLine)

// Lines reads an answer line by line. It is not safe for concurrent use.
type Lines struct {
	r    *bufio.Reader
	buf  []byte
	fail error
}

// NewLines returns the lines of r.
func NewLines(r io.Reader) *Lines { return &Lines{r: bufio.NewReaderSize(r, 16<<10)} }

// Next returns the next non-blank line without its line ending, surrounding space and
// byte order mark. It is valid until the next call. whole is false if the stream
// ended within the line. The error is io.EOF at a clean end.
func (l *Lines) Next() (line []byte, whole bool, err error) {
	for {
		line, whole, err := l.next()
		if line = bytes.TrimPrefix(bytes.TrimSpace(line), []byte("\ufeff")); err != nil || len(line) > 0 {
			return line, whole, err
		}
	}
}

func (l *Lines) next() ([]byte, bool, error) {
	if l.fail != nil {
		return nil, false, l.fail
	}
	l.buf = l.buf[:0]
	for {
		part, err := l.r.ReadSlice('\n')
		if err == nil && len(l.buf) == 0 {
			return part, true, nil
		}
		l.buf = append(l.buf, part...)
		switch {
		case len(l.buf) > MaxLine:
			l.fail = ErrLongLine
			return nil, false, l.fail
		case err == nil:
			return l.buf, true, nil
		case errors.Is(err, bufio.ErrBufferFull):
		default:
			l.fail = err
			if len(bytes.TrimSpace(l.buf)) > 0 {
				return l.buf, false, nil
			}
			return nil, false, err
		}
	}
}

// IsPage reports whether a line belongs to a web page, which means that a proxy or a
// sign-in page answered.
func IsPage(line []byte) bool { return bytes.HasPrefix(line, []byte("<")) } //control:page-is-no-answer
