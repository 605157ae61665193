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

// checked is an object with content that is verified against its id. Packs from a remote
// are verified on arrival, but the files of a user's clone are not trusted, and results
// derived from them are shared by id with other repositories.
type checked struct {
	plumbing.EncodedObject
	id plumbing.Hash
}

// Reader returns a reader that fails at the end if the content does not match the id.
func (c checked) Reader() (io.ReadCloser, error) {
	r, err := c.EncodedObject.Reader()
	if err != nil {
		return nil, err
	}
	s := &verifier{ReadCloser: r, of: c, sum: sha1.New(), left: c.Size()}
	fmt.Fprintf(s.sum, "%s %d\x00", c.Type(), c.Size())
	if err := s.verify(nil); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return s, nil
}

// verifier hashes the bytes read. A caller that knows the size may not read up to EOF,
// so the last bytes are returned only after the hash was verified.
type verifier struct {
	io.ReadCloser
	of   checked
	sum  hash.Hash
	left int64
}

func (s *verifier) Read(b []byte) (int, error) {
	n, err := s.ReadCloser.Read(b)
	s.sum.Write(b[:n])
	s.left -= int64(n)
	if wrong := s.verify(err); wrong != nil {
		return 0, wrong
	}
	return n, err
}

// verify returns an error if all content was read and does not match the id.
func (s *verifier) verify(read error) error {
	if s.left > 0 && !errors.Is(read, io.EOF) {
		return nil
	}
	if s.left != 0 || !bytes.Equal(s.sum.Sum(nil), s.of.id[:]) { //control:object-is-its-id
		return fmt.Errorf(
			"%s %s does not match its id: the repository is damaged, `git fsck` tells more",
			s.of.Type(),
			s.of.id,
		)
	}
	return nil
}
