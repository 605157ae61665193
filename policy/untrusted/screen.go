package untrusted

import "strings"

// Screen converts terminal output to the text that a terminal would show: valid UTF-8,
// without escape sequences, with the final state of overwritten lines.
func Screen(p []byte) string {
	text := strings.ToValidUTF8(string(p), "\uFFFD")
	if !strings.ContainsFunc(text, isControl) {
		return text
	}
	text = StripEscapes(text)
	text = strings.ReplaceAll(text, "\r\n", "\n")
	var out strings.Builder
	out.Grow(len(text))
	for line := range strings.Lines(text) {
		out.WriteString(overwritten(line))
	}
	return out.String()
}

func isControl(r rune) bool { return (r < ' ' && r != '\n' && r != '\t') || (r >= 0x7f && r < 0xa0) }

// overwritten resolves carriage returns and backspaces in one line.
func overwritten(line string) string {
	if !strings.ContainsFunc(line, isControl) {
		return line
	}
	body, end := strings.CutSuffix(line, "\n")
	body = strings.TrimRight(body, "\r")
	if i := strings.LastIndexByte(body, '\r'); i >= 0 {
		body = body[i+1:]
	}
	var out []rune
	for _, r := range body {
		switch {
		case r == '\b':
			if len(out) > 0 {
				out = out[:len(out)-1]
			}
		case !isControl(r):
			out = append(out, r)
		}
	}
	if end {
		out = append(out, '\n')
	}
	return string(out)
}
