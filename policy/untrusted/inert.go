package untrusted

import "io"

// InertWriter passes text on and makes inert what an Actions runner would take for a
// command, whoever wrote it: a model, a file, a program. A runner reads both streams
// of a step and trims a line before it reads it. The text may come in pieces of any
// size. In JSON no line starts with a colon, and a string is only spelled in another
// way, so its value stays the same. It is not safe for concurrent use.
type InertWriter struct {
	To   io.Writer
	JSON bool // what passes is JSON

	midLine bool // something other than blanks was written on this line
	colon   bool // the line's first character was a colon, just now
	hashes  int  // number signs just before, at most two
}

// Write reports the length of p when all of what it became was written.
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
		case b > ' ' && b < 0x80: // there are blanks beyond ASCII, and a runner trims them
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
