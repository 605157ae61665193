package gitops

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
)

// base85 is the alphabet of git's binary patches.
const base85 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"

// binaryPatch writes the content that a binary file comes to have, or gives
// "" when it is not wanted or too large.
func (o *odb) binaryPatch(d delta, opt DiffOptions) (string, error) {
	if !opt.Binary {
		return "", nil
	}
	var data []byte
	if !d.to.hash.IsZero() {
		r, size, err := o.open(plumbing.BlobObject, d.to.hash)
		if err != nil {
			return "", err
		}
		r.Close()
		if size > maxDiffFile {
			return "", nil
		}
		if data, err = o.read(plumbing.BlobObject, d.to.hash, maxDiffFile); err != nil {
			return "", err
		}
	}
	var packed bytes.Buffer
	z := zlib.NewWriter(&packed)
	if _, err := z.Write(data); err != nil {
		return "", err
	}
	if err := z.Close(); err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "GIT binary patch\nliteral %d\n", len(data))
	for rest := packed.Bytes(); len(rest) > 0; {
		n := min(len(rest), 52)
		line85(&b, rest[:n])
		rest = rest[n:]
	}
	b.WriteString("\n")
	return b.String(), nil
}

// line85 writes at most 52 bytes as a line: its length as a letter, then five
// characters for each four bytes.
func line85(b *strings.Builder, data []byte) {
	n := byte(len(data))
	if n <= 26 {
		b.WriteByte('A' + n - 1)
	} else {
		b.WriteByte('a' + n - 27)
	}
	for len(data) > 0 {
		var four [4]byte
		data = data[copy(four[:], data):]
		v := binary.BigEndian.Uint32(four[:])
		var five [5]byte
		for i := 4; i >= 0; i-- {
			five[i] = base85[v%85]
			v /= 85
		}
		b.Write(five[:])
	}
	b.WriteByte('\n')
}
