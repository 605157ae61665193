package toolcall

import "strings"

// maxLine is how far back on its line the scanner looks for what announces a
// call.
const maxLine = 300

// shown says whether the markup from i to end is quoted in prose: between
// quotation marks, in a table or the items of a list that explain it, or in a
// sentence that speaks of what is written and goes on after it.
func (s *scanner) shown(i, end int) bool {
	from := max(0, i-maxLine)
	if n := len(s.segs); n > 0 {
		from = min(max(from, s.segs[n-1].end), i)
	}
	before := s.t[from:i]
	if nl := strings.LastIndexByte(before, '\n'); nl >= 0 {
		before = before[nl+1:]
	}
	for _, q := range [...][2]string{{`"`, `"`}, {"'", "'"}, {"“", "”"}, {"‘", "’"}, {"«", "»"}} {
		if strings.HasSuffix(before, q[0]) && s.has(end, q[1]) {
			return true
		}
	}
	lead := strings.TrimLeft(before, " \t")
	if lead == "" {
		return false
	}
	if lead[0] == '|' {
		return true
	}
	if !s.proseAfter(end) {
		return false
	}
	if rest := strings.TrimLeft(lead, "-*+0123456789.)"); rest != lead && strings.TrimSpace(rest) == "" {
		return true
	}
	return speaksOfText(lead)
}

// textWords are the words of sentences that speak of what is written.
var textWords = [...]string{"write", "writes", "wrote", "written", "print", "prints", "printed", "emit", "emits", "emitted", "output", "outputs",
	"send", "sends", "sent", "format", "syntax", "return", "returns", "contains", "means", "instead", "example", "e.g."}

// speaksOfText looks at the words before markup that stands within a sentence.
func speaksOfText(before string) bool {
	before = strings.TrimRight(before, " \t")
	if strings.IndexByte(":.!?", before[len(before)-1]) >= 0 && !strings.HasSuffix(before, "e.g.") {
		return false // the sentence is over: the model acts
	}
	sentence := strings.ToLower(lastSentence(before))
	if strings.HasSuffix(sentence, " like") || strings.HasSuffix(sentence, "such as") {
		return true
	}
	for n, word := range strings.Fields(sentence) {
		word = strings.Trim(word, ",:;()\"'")
		if contains(textWords[:], word) || n == 0 && (word == "use" || word == "using" || word == "wrap") {
			return true
		}
	}
	return false
}

// lastSentence returns the sentence that s ends in.
func lastSentence(s string) string {
	s = strings.TrimSpace(s)
	for i := len(s) - 2; i >= 0; i-- {
		switch s[i] {
		case '.', '!', '?':
			if (s[i+1] == ' ' || s[i+1] == '\n') && !strings.HasSuffix(s[:i], "e.g") && !strings.HasSuffix(s[:i], "i.e") {
				return s[i+2:]
			}
		case '\n':
			if s[i+1] == '\n' {
				return s[i+2:]
			}
		}
	}
	return s
}

// strongWords announce an example whatever follows it.
var strongWords = [...]string{"for example", "for instance", "e.g.", "example:", "example call", "an example"}

// announced says how the sentence before i introduces explicit markup: as an
// example, or as something that may be one.
func (s *scanner) announced(i int) (example, maybe bool) {
	from := max(0, i-200)
	if n := len(s.segs); n > 0 {
		from = min(max(from, s.segs[n-1].end), i)
	}
	before := strings.ToLower(lastSentence(s.t[from:i]))
	if strings.HasSuffix(before, ":") {
		for _, w := range strongWords {
			if strings.Contains(before, w) {
				return true, true
			}
		}
	}
	for _, w := range showWords {
		if strings.Contains(before, w) {
			return false, true
		}
	}
	return false, s.indentedCode(i)
}

// intends says whether the sentence before i says that the model is about to
// act: then a call without markup counts although it explains it afterwards.
func (s *scanner) intends(i int) bool {
	from := max(0, i-200)
	if n := len(s.segs); n > 0 {
		from = min(max(from, s.segs[n-1].end), i)
	}
	before := " " + strings.ToLower(lastSentence(strings.ReplaceAll(s.t[from:i], "’", "'")))
	acts := false
	for _, w := range [...]string{" i'll ", " i will ", " let me ", " let's ", " i'm going to ", " i am going to ", " i need to ", " i should "} {
		acts = acts || strings.Contains(before, w)
	}
	for _, w := range [...]string{"explain", "show", "describe", "format", "document", "tell", "say", "illustrate", "demonstrate", " you ", "if ", "would"} {
		acts = acts && !strings.Contains(before, w)
	}
	return acts
}

// showWords may announce an example; "it looks like the test fails" does not.
var showWords = [...]string{"for example", "for instance", "e.g.", "example of", "you could", "you would", "you can call", "you can use", "the format", "the syntax",
	"like so", "look like this", "looks like this", "call looks like", "call would"}

// indentedCode says whether i begins a code block of Markdown: four blanks
// after an empty line.
func (s *scanner) indentedCode(i int) bool {
	j := i
	for j > 0 && i-j < 64 && (s.t[j-1] == ' ' || s.t[j-1] == '\t') {
		j--
	}
	blanks := s.t[j:i]
	return (len(blanks) >= 4 || strings.Contains(blanks, "\t")) && strings.HasSuffix(strings.ReplaceAll(s.t[max(0, j-4):j], "\r", ""), "\n\n")
}

// placeholders are names of tools in explanations.
var placeholders = [...]string{"functionname", "toolname", "tool", "function", "name", "funcname", "yourtool", "mytool", "yourfunction", "myfunction", "methodname"}

// explained says whether explicit markup from i to end shows what a call
// looks like and calls nothing.
func (s *scanner) explained(seg segment, i int) bool {
	if s.shown(i, seg.end) {
		return true
	}
	for _, c := range seg.calls {
		if s.known(c.Name) != "" {
			return false
		}
	}
	if len(seg.calls) == 0 {
		return false
	}
	name := fold(seg.calls[0].Name)
	if contains(placeholders[:], name) || strings.HasPrefix(name, "example") {
		return true
	}
	return !s.ownLine(i) && s.proseAfter(seg.end)
}

// explicit takes a segment of explicit markup unless it is an example.
func (s *scanner) explicit(i int, seg segment, ok bool) (segment, bool) {
	if !ok || s.explained(seg, i) {
		return seg, false
	}
	example, maybe := s.announced(i)
	seg.tentative = seg.tentative || maybe
	return seg, !example
}

// comment skips an HTML comment at i, in which nothing is called.
func (s *scanner) comment(i int) (int, bool) {
	const open, closing = "<!--", "-->"
	if s.growingAt(i, open) && len(s.t)-i > 1 {
		s.hold = i
		return i, true
	}
	if !strings.HasPrefix(s.t[i:], open) {
		return i, false
	}
	if end := s.index(closing, i); end >= 0 {
		return end + len(closing), true
	}
	if s.grow {
		s.hold = i
		return i, true
	}
	return i + len(open), true
}
