package tools

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/unicode"
)

// Encoding is how the text of a file is written in bytes. The zero value is UTF-8.
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

// Decode returns the text of a file, and how it was written: in UTF-8, in UTF-16 with a
// byte order mark, in GBK, ISO-8859-1 or Windows-1252. Other bytes are returned as they
// are. [Encoding.Encode] makes the same bytes of the text again in any case: only what is
// new in a text suffers from an encoding that was not guessed well.
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

// guesses returns the encodings other than UTF-8 that a file may be in, the likely first.
func guesses(data []byte) []Encoding {
	latin := Encoding{"ISO-8859-1", charmap.ISO8859_1}
	switch {
	case bytes.HasPrefix(data, []byte("\xff\xfe")):
		return []Encoding{{"UTF-16", unicode.UTF16(unicode.LittleEndian, unicode.UseBOM)}}
	case bytes.HasPrefix(data, []byte("\xfe\xff")):
		return []Encoding{{"UTF-16", unicode.UTF16(unicode.BigEndian, unicode.UseBOM)}}
	case utf8.Valid(data), bytes.IndexByte(data, 0) >= 0:
		return nil
	}
	f := survey(data)
	switch {
	case f.utf8 > f.high/4: // a text in UTF-8 with a few bytes that are none
		return nil
	case f.pairs*2 > f.high && f.kana*5 < f.pairs:
		return []Encoding{{"GBK", simplifiedchinese.GBK}, latin}
	case f.windows:
		return []Encoding{{"Windows-1252", charmap.Windows1252}, latin}
	}
	return []Encoding{latin}
}

// found is what the bytes of a text beyond ASCII look like.
type found struct {
	high    int  // how many they are, but for those of UTF-8 by characters
	utf8    int  // characters of UTF-8
	pairs   int  // two that are a common Chinese character, or a sign of such texts
	kana    int  // of them, those that are Japanese in an encoding much like it
	windows bool // one is a sign that only Windows has
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

// Encode returns the bytes of a text, or an error that names the first character that the
// encoding does not have.
func (e Encoding) Encode(text string) ([]byte, error) {
	if e.enc == nil {
		return []byte(text), nil
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
