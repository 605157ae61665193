package toolcall

import "strings"

// completeMark is how a model says that it is done; it is no prose, and stays.
const completeMark = "[TASK_COMPLETE]"

// stopWord returns the length of the word that ends a message at the start of
// s, 0 when none does.
func stopWord(s string) int {
	for _, w := range stopWords {
		if strings.HasPrefix(s, w) {
			return len(w)
		}
	}
	return 0
}

// afterStops skips the words at i that end a message, and returns i when none
// stands there.
func afterStops(s string, i int) int {
	for {
		j := skipSpace(s, i)
		n := stopWord(s[j:])
		if n == 0 {
			return i
		}
		i = j + n
	}
}

// blank reports whether s holds nothing that a reader would read.
func blank(s string) bool {
	for {
		s = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(s), completeMark))
		n := stopWord(s)
		if n == 0 && !strings.HasPrefix(s, completeMark) {
			return s == ""
		}
		s = s[n:]
	}
}

// settle drops the tentative segments that prose follows. end is where the
// text ends, or what is not decided yet begins.
func (s *scanner) settle(end int) {
	last := true // nothing but calls follows
	ok := make([]bool, len(s.segs))
	for i := len(s.segs) - 1; i >= 0; i-- {
		seg := s.segs[i]
		last = last && blank(s.s[min(seg.end, end):end])
		ok[i] = last || !seg.tentative
		end = seg.start
	}
	kept := s.segs[:0]
	explained := false // a fence or an object was shown, so the ones after it are shown too
	for i, seg := range s.segs {
		if len(seg.calls)+len(seg.errs) == 0 { // belongs to the call before it
			ok[i] = ok[i] && i > 0 && ok[i-1]
		}
		explained = explained || !ok[i]
		if ok[i] && (!explained || !seg.tentative) {
			kept = append(kept, seg)
		}
	}
	s.segs = kept
}

// partial returns where markup begins in a growing text.
func (s *scanner) partial() int {
	at := s.hold
	if at < 0 {
		at = len(s.s)
	}
	if s.settle(at); len(s.segs) > 0 {
		at = s.segs[0].start
	}
	return at
}

// maxErrors bounds what the model is told of broken calls.
const maxErrors = 10

// result puts calls, errors and remaining text together.
func (s *scanner) result() Parsed {
	s.settle(len(s.s))
	if len(s.segs) == 0 {
		return Parsed{Text: s.s}
	}
	var out Parsed
	var b strings.Builder
	from, gap := 0, ""
	for i, seg := range s.segs {
		gap = appendProse(&b, s.s[from:seg.start], gap, i == 0)
		if !strings.EqualFold(strings.TrimSpace(seg.kept), "json") { // a label, no prose
			gap = appendProse(&b, seg.kept, gap, false)
		}
		out.Calls = append(out.Calls, seg.calls...)
		for _, e := range seg.errs {
			if len(out.Errors) < maxErrors {
				out.Errors = append(out.Errors, e)
			}
		}
		from = afterStops(s.s, seg.end)
	}
	appendProse(&b, s.s[from:], gap, false)
	out.Text = b.String()
	return out
}

// appendProse adds the prose between two removed segments and returns the
// white space that it ends with.
func appendProse(b *strings.Builder, prose, gap string, first bool) string {
	const white = " \t\r\n"
	body := strings.Trim(prose, white)
	if body == "" {
		return wider(gap, prose)
	}
	lead := prose[:strings.Index(prose, body[:1])]
	if b.Len() > 0 {
		b.WriteString(wider(gap, lead))
	} else if first {
		b.WriteString(lead) // the text's own
	}
	b.WriteString(body)
	return prose[len(lead)+len(body):]
}

// wider returns the white space with more lines.
func wider(a, b string) string {
	if strings.Count(b, "\n") > strings.Count(a, "\n") || a == "" {
		return b
	}
	return a
}
