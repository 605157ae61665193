package command

import "strings"

// LabelCode puts label on a line of its own before each fenced block of text
// that holds more than one line.
func LabelCode(text, label string) string {
	var out, block strings.Builder
	var f fence
	lines := 0
	flush := func() {
		if lines > 3 { // two of them are the fences
			out.WriteString(label + "\n")
		}
		out.WriteString(block.String())
		block.Reset()
		lines = 0
	}
	for line := range strings.Lines(text) {
		before := f
		if f.inside(line) && f.mark+before.mark != "" {
			block.WriteString(line)
			lines++
			if f.mark == "" {
				flush()
			}
			continue
		}
		flush()
		out.WriteString(line)
	}
	flush()
	return out.String()
}
