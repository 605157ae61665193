package toolcall

import "strings"

// stopWords end a message and are not prose.
var stopWords = [...]string{"[TASK_COMPLETE]", "<|im_end|>", "</s>", "<|eot_id|>", "<|eom_id|>", "<end_of_turn>", "<|end|>", "<|eot|>", "<|observation|>", "<|user|>", "<|stop|>", "<eos>", "<bot_end>", "<|endoftext|>", "<｜end▁of▁sentence｜>"}

// stopWord returns the length of the word at i that ends a message, 0 when
// none does. [TASK_COMPLETE] is not the model's own and stays.
func (s *scanner) stopWord(i int) int {
	for _, w := range stopWords[1:] {
		if s.has(i, w) {
			return len(w)
		}
	}
	return 0
}

// afterStops skips the words at i that end a message, and returns i when none
// stands there.
func (s *scanner) afterStops(i int) int {
	for {
		j := s.space(i)
		n := 0
		if j < len(s.t) && s.t[j] == '<' {
			n = s.stopWord(j)
		}
		if n == 0 {
			return i
		}
		i = j + n
	}
}

// blank says whether s holds nothing that a reader would read.
func blank(s string) bool {
	s = strings.TrimSpace(s)
	for s != "" {
		cut := false
		for _, w := range stopWords {
			if strings.HasPrefix(s, w) {
				s, cut = strings.TrimSpace(s[len(w):]), true
			}
		}
		if !cut {
			return false
		}
	}
	return true
}

// settle drops the tentative segments that prose follows. end is where the
// text ends, or what is not decided yet begins.
func (s *scanner) settle(end int) {
	last := true // nothing but calls follows
	kept := s.segs[:0]
	ok := make([]bool, len(s.segs))
	for i := len(s.segs) - 1; i >= 0; i-- {
		seg := s.segs[i]
		last = last && blank(s.t[min(seg.end, end):end])
		ok[i] = last || !seg.tentative
		end = seg.start
	}
	explained := false // a fence or an object was shown, so the ones after it are shown too
	for i, seg := range s.segs {
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
		at = len(s.t)
	}
	s.settle(at)
	if len(s.segs) > 0 {
		at = s.segs[0].start
	}
	return at
}

// maxErrors bounds what the model is told of broken calls.
const maxErrors = 10

// result puts calls, errors and remaining text together.
func (s *scanner) result() Parsed {
	s.settle(len(s.t))
	if len(s.segs) == 0 {
		return Parsed{Text: s.t}
	}
	var out Parsed
	var b strings.Builder
	from := 0
	gap, first := "", true
	for _, seg := range s.segs {
		gap = appendProse(&b, s.t[from:seg.start], gap, first)
		first = false
		out.Calls = append(out.Calls, seg.calls...)
		for _, e := range seg.errs {
			if len(out.Errors) < maxErrors {
				out.Errors = append(out.Errors, e)
			}
		}
		from = s.afterStops(seg.end)
	}
	appendProse(&b, s.t[from:], gap, false)
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
