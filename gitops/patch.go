package gitops

import (
	"bytes"
	"cmp"
	"compress/zlib"
	"encoding/ascii85"
	"fmt"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/filemode"

	"github.com/handrail-bot/handrail/gitops/objects"
)

func (d delta) kind() string {
	switch {
	case d.oldPath != "":
		return "rename"
	case d.from.Hash.IsZero():
		return "create"
	case d.to.Hash.IsZero():
		return KindDelete
	}
	return "modify"
}

// class returns the part of a mode that a patch cannot change in place.
func class(e objects.Entry) filemode.FileMode {
	if e.IsFile() {
		return filemode.Regular
	}
	return e.Mode
}

func octal(e objects.Entry) string {
	if e.Mode == filemode.Deprecated {
		e.Mode = filemode.Regular
	}
	return fmt.Sprintf("%06o", uint32(e.Mode))
}

// names returns the names of both sides of a change in a patch.
func (d delta) names() (from, to string) {
	name := func(prefix, path string, e objects.Entry) string {
		if e.Hash.IsZero() {
			return "/dev/null"
		}
		return quote(prefix + path)
	}
	return name("a/", cmp.Or(d.oldPath, d.path), d.from), name("b/", d.path, d.to)
}

// header returns git's header above the lines of a change.
func (d delta) header() string {
	from := cmp.Or(d.oldPath, d.path)
	var b strings.Builder
	fmt.Fprintf(&b, "diff --git %s %s\n", quote("a/"+from), quote("b/"+d.path))
	switch {
	case d.from.Hash.IsZero():
		fmt.Fprintf(&b, "new file mode %s\n", octal(d.to))
	case d.to.Hash.IsZero():
		fmt.Fprintf(&b, "deleted file mode %s\n", octal(d.from))
	case octal(d.from) != octal(d.to):
		fmt.Fprintf(&b, "old mode %s\nnew mode %s\n", octal(d.from), octal(d.to))
	}
	if d.oldPath != "" {
		fmt.Fprintf(&b, "similarity index %d%%\nrename from %s\nrename to %s\n", d.score, quote(from), quote(d.path))
	}
	if d.from.Hash != d.to.Hash {
		fmt.Fprintf(&b, "index %s..%s", d.from.Hash, d.to.Hash)
		if octal(d.from) == octal(d.to) {
			b.WriteString(" " + octal(d.to))
		}
		b.WriteString("\n")
	}
	return b.String()
}

// quote quotes a name as git does, if it has characters that would break a line.
func quote(name string) string {
	var b strings.Builder
	for i := range len(name) {
		c := name[i]
		if j := strings.IndexByte("\a\b\t\n\v\f\r\"\\", c); j >= 0 {
			b.WriteByte('\\')
			b.WriteByte(`abtnvfr"\`[j])
		} else if c < ' ' || c >= 0x7f {
			fmt.Fprintf(&b, "\\%03o", c)
		} else {
			b.WriteByte(c)
		}
	}
	if b.Len() == len(name) {
		return name
	}
	return `"` + b.String() + `"`
}

// withTab adds a tab to a name with spaces, as git does.
func withTab(name string) string {
	if strings.Contains(name, " ") && name[0] != '"' {
		return name + "\t"
	}
	return name
}

// binaryPatch encodes content for git apply: compressed, in lines of 52 bytes, each after
// its length as a letter.
func binaryPatch(data []byte) string {
	var packed bytes.Buffer
	z := zlib.NewWriter(&packed)
	_, _ = z.Write(data) // a bytes.Buffer does not fail
	_ = z.Close()
	var b strings.Builder
	fmt.Fprintf(&b, "GIT binary patch\nliteral %d\n", len(data))
	for packed.Len() > 0 {
		line := packed.Next(52)
		if n := byte(len(line)); n <= 26 {
			b.WriteByte('A' + n - 1)
		} else {
			b.WriteByte('a' + n - 27)
		}
		base85(&b, line)
		b.WriteByte('\n')
	}
	b.WriteString("\n")
	return b.String()
}

// base85 writes five characters of git's alphabet for each four bytes. The standard
// library has another alphabet, and abbreviates zeros.
func base85(b *strings.Builder, data []byte) {
	const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"
	for len(data) > 0 {
		var four [4]byte
		var five [5]byte
		data = data[copy(four[:], data):]
		if ascii85.Encode(five[:], four[:]) == 1 {
			five = [5]byte{'!', '!', '!', '!', '!'}
		}
		for _, c := range five {
			b.WriteByte(alphabet[c-'!'])
		}
	}
}
