package patch

import (
	"fmt"

	"github.com/handrail-bot/handrail/agent/patch/style"
)

// adopted returns the hunk of m with its new lines written as the file writes: a model
// that sends tabs as spaces, or quotes as others, does so in its new lines, too.
func (p *applier) adopted(m match) (hunk, error) {
	h := m.hunk
	h.lines = refine(h.lines)
	lines := make([]style.Line, len(h.lines))
	at := m.at
	for i, l := range h.lines {
		lines[i] = style.Line{Op: l.op, Text: l.text}
		if l.op != '+' {
			lines[i].File = p.doc.lines[at].text
			at++
		}
	}
	written, err := style.Adopt(texts(p.doc.lines), lines)
	if err != nil {
		return h, fmt.Errorf("apply edit: %s fits at lines %d-%d only if white space and the form of quotes do not count: %w. The file has there\n%s",
			h.describe(p.index, p.total), m.at+1, at, err, p.doc.region(m.at, at-m.at))
	}
	for i := range h.lines {
		h.lines[i].text = written[i]
	}
	return h, nil
}

// refine turns lines that a hunk both deletes and adds into context.
func refine(lines []hunkLine) []hunkLine {
	var out []hunkLine
	var old, add []string
	flush := func() {
		out = append(out, hunkLines(old, add, false)...)
		old, add = nil, nil
	}
	for _, l := range lines {
		switch {
		case l.noEOL:
			return append([]hunkLine(nil), lines...)
		case l.op == '-' && len(add) > 0:
			flush()
			old = append(old, l.text)
		case l.op == '-':
			old = append(old, l.text)
		case l.op == '+':
			add = append(add, l.text)
		default:
			flush()
			out = append(out, l)
		}
	}
	flush()
	return out
}
