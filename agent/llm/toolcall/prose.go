package toolcall

import (
	"slices"
	"strings"
)

// before returns up to n bytes before i, but nothing before the end of the last call.
func (x *text) before(i, n int) string { return x.s[min(max(0, i-n, x.from), i):i] }

// containsAny reports whether one of the words is in s.
func containsAny(s string, words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(s, w) })
}

// acceptExplicit accepts a segment with explicit markup that begins at i unless it is an
// example.
func (s *scanner) acceptExplicit(i int, seg segment, ok bool) (segment, bool) {
	if !ok || s.quotes(i, seg.end) || s.placeholders(i, seg) {
		return seg, false
	}
	example, maybe := s.announced(i)
	seg.tentative = seg.tentative || maybe
	return seg, !example
}

// maxLine is the number of bytes before a call that are searched for its announcement.
const maxLine = 300

// quotes reports whether markup is quoted in prose: between quotation marks, in a table,
// in an explaining list item, or in the middle of a sentence about writing.
func (x *text) quotes(i, end int) bool {
	before := x.before(i, maxLine)
	before = before[strings.LastIndexByte(before, '\n')+1:]
	for _, q := range [...][2]string{{`"`, `"`}, {"'", "'"}, {"“", "”"}, {"‘", "’"}, {"«", "»"}} {
		if strings.HasSuffix(before, q[0]) && x.has(end, q[1]) {
			return true
		}
	}
	lead := strings.TrimLeft(before, " \t")
	if lead == "" || lead[0] == '|' {
		return lead != ""
	}
	if !x.proseAfter(end) {
		return false
	}
	rest := strings.TrimLeft(lead, "-*+0123456789.)")
	return rest != lead && strings.TrimSpace(rest) == "" || speaksOfText(lead)
}

// proseAfter reports whether text follows on the same line.
func (x *text) proseAfter(i int) bool {
	i = x.indent(i)
	return !x.pastEnd(i) && strings.IndexByte("\n\r<[", x.s[i]) < 0
}

// textWords indicate that a sentence is about text.
var textWords = [...]string{
	"write", "writes", "wrote", "written", "print", "prints", "printed", "emit", "emits", "emitted", "output",
	"outputs", "send", "sends", "sent", "format", "syntax", "return", "returns", "contains", "means", "instead",
	"example", "e.g.",
}

// speaksOfText reports whether before ends within a sentence about text.
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
		if slices.Contains(textWords[:], word) || n == 0 && (word == "use" || word == "using" || word == "wrap") {
			return true
		}
	}
	return false
}

// lastSentence returns the sentence at the end of s.
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

// Announcements of examples and of actions. Strong words announce an example before a
// colon in any case; show words only may ("it looks like the test fails" does not);
// example words apply to calls without markup.
var (
	strongWords = []string{"for example", "for instance", "e.g.", "example:", "example call", "an example"}
	showWords   = []string{
		"for example", "for instance", "e.g.", "example of", "you could", "you would", "you can call", "you can use",
		"the format", "the syntax", "like so", "look like this", "looks like this", "call looks like", "call would",
	}
	exampleWords = []string{
		"for example", "an example", "example:", "examples", "example of", "example call", "example usage",
		"# example", "for instance", "e.g.", "looks like", "look like", "would be", "you would", "you could",
		"you can call", "the format", "the syntax", "like so:", "like this",
	}
	actWords = []string{
		" i'll ", " i will ", " let me ", " let's ", " i'm going to ", " i am going to ", " i need to ",
		" i should ",
	}
	explainWords = []string{
		"explain", "show", "describe", "format", "document", "tell", "say", "illustrate", "demonstrate", " you ",
		"if ", "would",
	}
)

// announced reports whether the sentence before i introduces explicit markup as an
// example, or maybe as one.
func (x *text) announced(i int) (example, maybe bool) {
	before := strings.ToLower(lastSentence(x.before(i, 200)))
	if strings.HasSuffix(before, ":") && containsAny(before, strongWords) {
		return true, true
	}
	return false, containsAny(before, showWords) || x.indentedCode(i)
}

// intends reports whether the sentence before i announces an action of the model: then a
// call without markup counts even if an explanation follows.
func (x *text) intends(i int) bool {
	before := " " + strings.ToLower(lastSentence(strings.ReplaceAll(x.before(i, 200), "’", "'")))
	return containsAny(before, actWords) && !containsAny(before, explainWords)
}

// exampleBefore reports whether the paragraph before i announces an example.
func (x *text) exampleBefore(i int) bool {
	before := strings.TrimRight(x.before(i, 400), " \t\r\n")
	before = before[max(0, strings.LastIndex(before, "\n\n")):]
	before = strings.TrimSpace(strings.ToLower(before))
	return strings.HasPrefix(before, "example") || containsAny(before, exampleWords)
}

// indentedCode reports whether an indented code block of Markdown begins at i: four
// blanks after an empty line.
func (x *text) indentedCode(i int) bool {
	j := i
	for j > 0 && i-j < maxMark && (x.s[j-1] == ' ' || x.s[j-1] == '\t') {
		j--
	}
	blanks := x.s[j:i]
	return (len(blanks) >= 4 || strings.Contains(blanks, "\t")) &&
		strings.HasSuffix(strings.ReplaceAll(x.s[max(0, j-4):j], "\r", ""), "\n\n")
}

// placeholderNames are names of tools in explanations.
var placeholderNames = [...]string{
	"functionname", "toolname", "tool", "function", "name", "funcname", "yourtool", "mytool", "yourfunction",
	"myfunction", "methodname",
}

// placeholders reports whether explicit markup only illustrates the format of a call.
func (g *grammar) placeholders(i int, seg segment) bool {
	if len(seg.calls) == 0 || slices.ContainsFunc(seg.calls, func(c Call) bool { return g.known(c.Name) != "" }) {
		return false
	}
	name := fold(seg.calls[0].Name)
	return slices.Contains(placeholderNames[:], name) || strings.HasPrefix(name, "example") ||
		!g.ownLine(i) && g.proseAfter(seg.end)
}
