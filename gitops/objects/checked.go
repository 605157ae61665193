package objects

import (
	"bytes"
	"crypto/sha1"
	"errors"
	"fmt"
	"hash"
	"io"

	"github.com/go-git/go-git/v5/plumbing"
)

// checked is an object whose content must be what its id says. Packs that come from a
// remote are summed as they arrive; the files of a clone may be anybody's work, and what
// is made of them is kept, under the same ids, for other repositories too.
type checked struct {
	plumbing.EncodedObject
	id plumbing.Hash
}

// Reader returns a reader that ends with an error where the content is another's.
func (c checked) Reader() (io.ReadCloser, error) {
	r, err := c.EncodedObject.Reader()
	if err != nil {
		return nil, err
	}
	s := &summed{ReadCloser: r, of: c, sum: sha1.New(), left: c.Size()}
	fmt.Fprintf(s.sum, "%s %d\x00", c.Type(), c.Size())
	if err := s.wrong(nil); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return s, nil
}

// summed sums what is read. Who reads just as many bytes as the object has asks for no
// more, so the last of them are given only when all of it is right.
type summed struct {
	io.ReadCloser
	of   checked
	sum  hash.Hash
	left int64
}

func (s *summed) Read(b []byte) (int, error) {
	n, err := s.ReadCloser.Read(b)
	s.sum.Write(b[:n])
	s.left -= int64(n)
	if wrong := s.wrong(err); wrong != nil {
		return 0, wrong
	}
	return n, err
}

// wrong returns an error when all was read, and it is not what was asked for.
func (s *summed) wrong(read error) error {
	if s.left > 0 && !errors.Is(read, io.EOF) {
		return nil
	}
	if s.left != 0 || !bytes.Equal(s.sum.Sum(nil), s.of.id[:]) { //control:object-is-its-id
		return fmt.Errorf("%s %s is not what its id says: the repository is damaged, `git fsck` tells more", s.of.Type(), s.of.id)
	}
	return nil
}
