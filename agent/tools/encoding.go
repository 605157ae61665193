package tools

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/unicode"
)

// Encoding is the character encoding of a file. The zero value is UTF-8.
type Encoding struct {
	name string
	enc  encoding.Encoding
}

// Name returns the name of the encoding, such as ISO-8859-1.
func (e Encoding) Name() string {
	if e.enc == nil {
		return "UTF-8"
	}
	return e.name
}

// Decode returns the text of a file and its encoding: UTF-8, UTF-16, GBK, ISO-8859-1 or
// Windows-1252. Other bytes are returned unchanged. [Encoding.Encode] always restores the
// same bytes. A wrong guess affects only new text.
func Decode(data []byte) (string, Encoding) {
	for _, e := range guesses(data) {
		text, err := e.enc.NewDecoder().Bytes(data)
		if err != nil || bytes.IndexByte(text, 0) >= 0 {
			continue
		}
		if again, err := e.Encode(string(text)); err == nil && bytes.Equal(again, data) {
			return string(text), e
		}
	}
	return string(data), Encoding{}
}

// guesses returns the possible encodings of a file other than UTF-8, likeliest first.
func guesses(data []byte) []Encoding {
	latin := Encoding{"ISO-8859-1", charmap.ISO8859_1}
	switch {
	case bytes.HasPrefix(data, []byte("\xff\xfe")):
		return []Encoding{{"UTF-16", unicode.UTF16(unicode.LittleEndian, unicode.UseBOM)}}
	case bytes.HasPrefix(data, []byte("\xfe\xff")):
		return []Encoding{{"UTF-16", unicode.UTF16(unicode.BigEndian, unicode.UseBOM)}}
	case bytes.IndexByte(data, 0) >= 0:
		return wide(data)
	case utf8.Valid(data):
		return nil
	}
	f := survey(data)
	switch {
	case f.utf8 > f.high/4: // UTF-8 with a few invalid bytes
		return nil
	case f.pairs*2 > f.high && f.kana*5 < f.pairs:
		return []Encoding{{"GBK", simplifiedchinese.GBK}, latin}
	case f.windows:
		return []Encoding{{"Windows-1252", charmap.Windows1252}, latin}
	}
	return []Encoding{latin}
}

// minWide is the minimum size in bytes of a text that is taken for UTF-16 by its zero bytes.
const minWide = 8

// wide returns the byte order of a text in UTF-16 without a mark of it: half of its characters
// are ASCII, so that the zero bytes are on one side, and all can be shown.
func wide(data []byte) []Encoding {
	var zeros [2]int
	for i, c := range data {
		if c == 0 {
			zeros[i%2]++
		}
	}
	e := Encoding{"UTF-16LE", unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM)}
	if zeros[0] > 0 {
		e = Encoding{"UTF-16BE", unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM)}
	}
	text, err := e.enc.NewDecoder().Bytes(data)
	odd := func(r rune) bool { return r < ' ' && !strings.ContainsRune("\t\n\r\f", r) || r == utf8.RuneError }
	if err != nil || len(data) < minWide || min(zeros[0], zeros[1]) > 0 || 4*max(zeros[0], zeros[1]) < len(data) ||
		bytes.IndexFunc(text, odd) >= 0 {
		return nil
	}
	return []Encoding{e}
}

// found counts features of the non-ASCII bytes of a text.
type found struct {
	high    int  // number of non-ASCII bytes; valid UTF-8 counts by characters
	utf8    int  // characters in valid UTF-8
	pairs   int  // byte pairs of common Chinese characters or punctuation
	kana    int  // pairs among them that may be Japanese in a similar encoding
	windows bool // has a character specific to Windows
}

func survey(data []byte) (f found) {
	for i := 0; i < len(data); i++ {
		c := data[i]
		if c < 0x80 {
			continue
		}
		f.high++
		f.windows = f.windows || c < 0xa0
		if r, n := utf8.DecodeRune(data[i:]); r != utf8.RuneError {
			f.utf8++
			i += n - 1
			continue
		}
		if i+1 < len(data) && data[i+1] >= 0xa1 && (c >= 0xb0 && c <= 0xd7 || c >= 0xa1 && c <= 0xa5) {
			f.pairs++
			if c == 0xa4 || c == 0xa5 {
				f.kana++
			}
			i++
		}
	}
	return f
}

func isCyrillic(r rune) bool { return r >= 0x400 && r < 0x500 }

// Encode returns the bytes of a text. The error names the first character that the
// encoding lacks.
func (e Encoding) Encode(text string) ([]byte, error) {
	if e.enc == nil {
		return []byte(text), nil
	}
	// GBK has Cyrillic letters, but a file with them is rather in a Cyrillic encoding that
	// looks like GBK.
	if e.enc == simplifiedchinese.GBK && strings.ContainsFunc(text, isCyrillic) {
		return nil, errors.New("the encoding of the file is not known; write new text in it in the letters A to Z")
	}
	if data, err := e.enc.NewEncoder().Bytes([]byte(text)); err == nil && utf8.ValidString(text) {
		return data, nil
	}
	for _, r := range text {
		if _, err := e.enc.NewEncoder().String(string(r)); err != nil || r == utf8.RuneError {
			return nil, fmt.Errorf("the file is in %s, which has no %q; "+
				"write it without that character, or as an escape of its language", e.name, r)
		}
	}
	return nil, fmt.Errorf("the file is in %s, and the text cannot be written in that", e.name)
}
