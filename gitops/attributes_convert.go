package gitops

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/ianaindex"
	"golang.org/x/text/encoding/unicode"
)

// conversion is what git does to the content of a file before it commits it.
type conversion struct {
	Filter   string // name of a filter; "" if there is none
	Encoding string // of the file in a work tree; "" means that of the repository
	text     ends
	ident    bool // $Id$ has an id in a work tree
}

// identKeyword matches $Id$ as it is in a work tree.
var identKeyword = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\$Id:[^$\n]*\$`) })

// ends is the treatment of the ends of lines.
type ends int

const (
	raw  ends = iota // as they are
	auto             // LF, if the content is a text
	lf               // LF
)

// Convert returns the conversion that attributes ask for.
func (o attributesOwner) Convert(of map[string]attributeValue) conversion {
	c := conversion{Filter: of["filter"].word(), Encoding: of["working-tree-encoding"].word(), ident: of["ident"] == set}
	text, ok := of["text"]
	if !ok || text == "" {
		text = of["crlf"] // its old name
	}
	switch {
	case text == unset:
	case text == "auto":
		c.text = auto
	case text == set, text == "input", of["eol"] == "lf", of["eol"] == "crlf":
		c.text = lf
	case o.Auto: //control:autocrlf-counts
		c.text = auto
	}
	return c
}

// word returns the text of a value.
func (v attributeValue) word() string {
	if v == set || v == unset {
		return ""
	}
	return string(v)
}

// Plain reports whether contents stay as they are.
func (c conversion) Plain() bool { return c == conversion{} }

// Content returns a content as it is committed. before is the committed one, nil if there
// is none: under text=auto, a text that was committed with CRLF keeps it.
func (c conversion) Content(data, before []byte) ([]byte, error) {
	if c.Encoding != "" {
		var err error
		if data, err = toUTF8(data, c.Encoding); err != nil {
			return nil, err
		}
	}
	if c.text != raw && bytes.Contains(data, []byte("\r\n")) && (c.text == lf || !keepsEnds(data, before)) {
		data = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
	}
	if c.ident { //control:ident-counts
		data = identKeyword().ReplaceAllLiteral(data, []byte("$Id$"))
	}
	return data, nil
}

// keepsEnds reports whether text=auto leaves the ends of the lines as they are.
func keepsEnds(data, before []byte) bool {
	return isBinary(data) || bytes.Contains(before, []byte("\r\n")) && !isBinary(before)
}

// isBinary guesses as git does: a text has no NUL, no lone CR, and few other control
// characters.
func isBinary(data []byte) bool {
	printable, other := 0, 0
	for i, c := range data {
		switch {
		case c == 0, c == '\r' && (i+1 == len(data) || data[i+1] != '\n'):
			return true
		case c == '\r', c == '\n':
		case c == 127, c < 32 && c != '\b' && c != '\t' && c != '\f' && c != 27:
			other++
		default:
			printable++
		}
	}
	if len(data) > 0 && data[len(data)-1] == 26 { // the end of a DOS text
		other--
	}
	return printable>>7 < other
}

// toUTF8 decodes a content. A workspace shows files as they are committed, so
// UTF-8 stays.
func toUTF8(data []byte, name string) ([]byte, error) {
	if bytes.IndexByte(data, 0) < 0 && bytes.IndexByte(data, 27) < 0 && utf8.Valid(data) {
		return data, nil
	}
	enc, err := find(name)
	if err != nil {
		return nil, fmt.Errorf("`.gitattributes` says that it is in %s, which is not known here", name)
	}
	text, err := enc.NewDecoder().Bytes(data)
	if err != nil || bytes.ContainsRune(text, utf8.RuneError) {
		return nil, fmt.Errorf("`.gitattributes` says that it is in %s, and it is not", name)
	}
	return text, nil
}

func find(name string) (encoding.Encoding, error) {
	switch upper := strings.ToUpper(name); upper {
	case "UTF-16", "UTF16":
		return unicode.UTF16(unicode.BigEndian, unicode.ExpectBOM), nil
	case "UTF-16LE", "UTF-16LE-BOM", "UTF-16BE", "UTF-16BE-BOM":
		order := unicode.LittleEndian
		if strings.HasPrefix(upper, "UTF-16BE") {
			order = unicode.BigEndian
		}
		return unicode.UTF16(order, unicode.UseBOM), nil
	}
	if enc, err := ianaindex.IANA.Encoding(name); err == nil && enc != nil {
		return enc, nil
	}
	return htmlindex.Get(name) // it knows other spellings
}
