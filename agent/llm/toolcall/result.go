package toolcall

import "strings"

// completeMark is the model's mark for a completed task, which stays in the text.
const completeMark = "[TASK_COMPLETE]"

// stopWord returns the length of the stop word at the start of s, or 0.
func stopWord(s string) int {
	for _, w := range stopWords {
		if strings.HasPrefix(s, w) {
			return len(w)
		}
	}
	return 0
}

// afterStops skips the stop words at i; it returns i if there are none.
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

// blank reports whether s contains nothing but white space, marks and stop words.
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

// settle drops the tentative segments that are followed by prose. end is the end of the
// decided part of the text.
func (s *scanner) settle(end int) {
	last := true // only calls follow
	ok := make([]bool, len(s.segs))
	for i := len(s.segs) - 1; i >= 0; i-- {
		seg := s.segs[i]
		last = last && blank(s.s[min(seg.end, end):end])
		ok[i] = last || !seg.tentative
		end = seg.start
	}
	kept := s.segs[:0]
	explained := false // a block was only shown, so the tentative ones after it are, too
	for i, seg := range s.segs {
		if len(seg.calls)+len(seg.errs) == 0 { // part of the call before it
			ok[i] = ok[i] && i > 0 && ok[i-1]
		}
		explained = explained || !ok[i]
		if ok[i] && (!explained || !seg.tentative) {
			kept = append(kept, seg)
		}
	}
	s.segs = kept
}

// partial returns the offset of the first markup in a growing text.
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

// maxErrors is the maximum number of broken calls reported to the model.
const maxErrors = 10

// result returns the calls, the errors and the remaining text.
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
		if !strings.EqualFold(strings.TrimSpace(seg.kept), "json") { // a label, not prose
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

// appendProse adds the prose between two removed segments and returns its trailing white
// space.
func appendProse(b *strings.Builder, prose, gap string, first bool) string {
	const white = " \t\r\n"
	body := strings.Trim(prose, white)
	if body == "" {
		return moreLines(gap, prose)
	}
	lead := prose[:strings.Index(prose, body[:1])]
	if b.Len() > 0 {
		b.WriteString(moreLines(gap, lead))
	} else if first {
		b.WriteString(lead) // leading white space of the text is kept
	}
	b.WriteString(body)
	return prose[len(lead)+len(body):]
}

// moreLines returns the white space that has more lines.
func moreLines(a, b string) string {
	if strings.Count(b, "\n") > strings.Count(a, "\n") || a == "" {
		return b
	}
	return a
}
