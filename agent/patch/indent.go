package patch

import "strings"

// pair is how a line is indented in the edit and in the file.
type pair struct{ edit, file string }

// indented returns the hunk of m with its new lines indented as the file is.
func (p *applier) indented(m match) hunk {
	h := m.hunk
	h.lines = refine(h.lines)
	var pairs []pair
	k := m.at
	same := true
	for _, l := range h.lines {
		if l.op == '+' {
			continue
		}
		f := p.doc.lines[k].text
		k++
		pr := pair{indentOf(l.text), indentOf(strings.TrimPrefix(f, bom))}
		if strings.TrimSpace(f) == "" && len(pairs) > 0 {
			pr = pairs[len(pairs)-1] // a blank line says nothing
		}
		same = same && pr.edit == pr.file
		pairs = append(pairs, pr)
	}
	if same {
		return h
	}
	next, taken := 0, 0 // old lines so far; those taken out right before
	for i, l := range h.lines {
		switch l.op {
		case ' ':
			next, taken = next+1, 0
		case '-':
			next, taken = next+1, taken+1
		case '+':
			if strings.TrimSpace(l.text) != "" {
				in := indentOf(l.text)
				h.lines[i].text = translate(in, pairs, min(next-taken, len(pairs)-1)) + l.text[len(in):]
			}
			taken = max(0, taken-1)
		}
	}
	return h
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

func indentOf(s string) string { return s[:len(s)-len(strings.TrimLeft(s, " \t"))] }

// translate turns an indentation of the edit into one of the file. near is
// the old line next to the new one.
func translate(in string, pairs []pair, near int) string {
	for d := 0; d < len(pairs); d++ {
		for _, i := range [...]int{near - d, near + d} {
			if i >= 0 && i < len(pairs) && pairs[i].edit == in {
				return pairs[i].file
			}
		}
	}
	if more, ok := constant(pairs, func(p pair) (string, bool) { return strings.CutSuffix(p.file, p.edit) }); ok {
		return more + in
	}
	if less, ok := constant(pairs, func(p pair) (string, bool) { return strings.CutSuffix(p.edit, p.file) }); ok {
		return strings.TrimPrefix(in, less)
	}
	return byUnit(in, pairs, near)
}

// constant returns what f finds in every pair, if that is the same.
func constant(pairs []pair, f func(pair) (string, bool)) (string, bool) {
	all := ""
	for i, p := range pairs {
		s, ok := f(p)
		if !ok || i > 0 && s != all {
			return "", false
		}
		all = s
	}
	return all, len(pairs) > 0
}

// byUnit counts indentation in the units of the edit and writes as many of
// the file's, starting from the nearest old line.
func byUnit(in string, pairs []pair, near int) string {
	var edits, files []string
	for _, p := range pairs {
		edits, files = append(edits, p.edit), append(files, p.file)
	}
	from, to := unit(append(edits, in)), unit(files)
	base := pairs[min(max(near, 0), len(pairs)-1)]
	depth := len(in)/len(from) - len(base.edit)/len(from)
	if strings.Contains(in, "\t") != strings.Contains(base.edit, "\t") && base.edit != "" {
		return in
	}
	if depth >= 0 {
		return base.file + strings.Repeat(to, depth)
	}
	drop := min(len(base.file), -depth*len(to))
	return base.file[:len(base.file)-drop]
}

// unit returns one step of indentation: a tab, or the greatest number of spaces
// that all indentations are made of.
func unit(indents []string) string {
	n := 0
	for _, s := range indents {
		if strings.HasPrefix(s, "\t") {
			return "\t"
		}
		for a, b := n, len(s); ; a, b = b, a%b {
			if b == 0 {
				n = a
				break
			}
		}
	}
	if n == 0 {
		return "    "
	}
	return strings.Repeat(" ", n)
}
