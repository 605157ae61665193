package untrusted

import "io"

// InertWriter passes text on and makes Actions runner commands in it inert, regardless of
// their origin: a model, a file, a program. A runner reads both output streams of a step
// and trims each line first. Writes may split the text anywhere. In JSON, no line starts
// with a colon, and escaping a character in a string does not change its value. An
// InertWriter is not safe for concurrent use.
type InertWriter struct {
	To   io.Writer
	JSON bool // the text is JSON

	midLine bool // the line has characters other than blanks
	colon   bool // the last byte was a colon, the first of its line
	hashes  int  // number of preceding number signs, at most two
}

// Write returns the length of p if the converted text was written completely.
func (l *InertWriter) Write(p []byte) (int, error) {
	out := make([]byte, 0, len(p)+8)
	for _, b := range p {
		switch {
		case b == ':' && l.colon:
			out = append(out, '\\')
		case b == '[' && l.hashes == 2 && l.JSON:
			out = append(out, `\u005b`...)
			l.hashes = 0
			continue
		case b == '[' && l.hashes == 2:
			out = append(out, ' ')
		}
		l.colon = b == ':' && !l.midLine
		switch {
		case b == '\n' || b == '\r':
			l.midLine = false
		case b > ' ' && b < 0x80: // beyond ASCII there may be blanks, which a runner trims
			l.midLine = true
		}
		if b == '#' {
			l.hashes = min(l.hashes+1, 2)
		} else {
			l.hashes = 0
		}
		out = append(out, b)
	}
	if _, err := l.To.Write(out); err != nil {
		return 0, err
	}
	return len(p), nil
}
