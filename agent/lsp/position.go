package lsp

import (
	"bytes"
	"fmt"
	"unicode/utf16"
	"unicode/utf8"
)

// encoding is the unit of a server's columns.
type encoding int

const (
	utf16Units encoding = iota
	utf8Units
)

// encodingOf reads the answer of a server. UTF-16 is the default of the protocol.
func encodingOf(name string) (encoding, error) {
	switch name {
	case "", "utf-16":
		return utf16Units, nil
	case "utf-8":
		return utf8Units, nil
	}
	return 0, fmt.Errorf("it counts columns in %.20q, which was not offered", name)
}

// position is a place as servers write it, 0-based, with the column in their units.
type position struct {
	Line      int `json:"line"`
	Character int `json:"character"`
}

type span struct {
	Start position `json:"start"`
	End   position `json:"end"`
}

// Position is a place in a text: the line, 0-based, and the byte in it.
type Position struct{ Line, Byte int }

// LineAt returns a line without its end. ok is false beyond the last one.
func LineAt(text []byte, n int) (line []byte, ok bool) {
	for range n {
		i := bytes.IndexByte(text, '\n')
		if i < 0 {
			return nil, false
		}
		text = text[i+1:]
	}
	line, _, _ = bytes.Cut(text, []byte("\n"))
	return bytes.TrimSuffix(line, []byte("\r")), n >= 0
}

// OddLines reports whether a text has ends of lines beside line feeds, such as lone carriage returns. The protocol
// counts those, many servers do not, and some count others.
func OddLines(text []byte) bool {
	const separators = "\u2028\u2029"
	if bytes.ContainsAny(text, separators) {
		return true
	}
	return bytes.Count(text, []byte("\r")) > bytes.Count(text, []byte("\r\n"))
}

// column returns a byte of a line in the units of the server.
func (e encoding) column(line []byte, at int) int {
	at = min(max(at, 0), len(line))
	if e == utf8Units {
		return at
	}
	n := 0
	for _, r := range string(line[:at]) {
		n += units(r)
	}
	return n
}

func units(r rune) int {
	if n := utf16.RuneLen(r); n > 0 {
		return n
	}
	return 1
}

// byteAt is the inverse of column. A column behind the end of the line is its end.
func (e encoding) byteAt(line []byte, column int) int {
	if e == utf8Units {
		return min(max(column, 0), len(line))
	}
	at := 0
	for column > 0 && at < len(line) {
		r, size := utf8.DecodeRune(line[at:])
		column -= units(r)
		at += size
	}
	return at
}
