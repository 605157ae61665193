package toolcall

import "strings"

// dialect is how one family of models marks its calls. Marks are written in
// the form that [lexMark] returns: tags without namespace and in lower case,
// tokens with plain bars and underscores. A new dialect is one entry here and
// its cases in testdata; what stands between the marks is read by one grammar
// for all of them (markup.go).
type dialect struct {
	name   string
	opens  []string // a call, or a list of them, follows
	closes []string
	inside []string // separates the parts of a call
}

var dialects = [...]dialect{
	{name: "hermes, qwen, granite, glm", opens: []string{"<tool_call>", "<tool_calls>", "<toolcall>", "<toolcalls>"},
		closes: []string{"</tool_call>", "</tool_calls>", "</toolcall>", "</toolcalls>"}},
	{name: "function tags", opens: []string{"<function_call>", "<function_calls>", "<functioncall>", "<functioncalls>", "<multiplefunctions>"},
		closes: []string{"</function_call>", "</function_calls>", "</functioncall>", "</functioncalls>", "</multiplefunctions>"}},
	{name: "code and use tags", opens: []string{"<tool_code>", "<tools>", "<tool_use>", "<use_tool>", "<call_tool>", "<tool_request>", "<toolcode>"},
		closes: []string{"</tool_code>", "</tools>", "</tool_use>", "</use_tool>", "</call_tool>", "</tool_request>", "</toolcode>"}},
	{name: "longcat", opens: []string{"<longcat_tool_call>"}, closes: []string{"</longcat_tool_call>"}},
	{name: "named tags", opens: []string{"<function>", "<invoke>", "<tool>"}, closes: []string{"</function>", "</invoke>", "</tool>"}},
	{name: "mistral", opens: []string{"[TOOL_CALLS]", "[TOOL_CALL]"}, closes: []string{"[/TOOL_CALLS]", "[/TOOL_CALL]"}, inside: []string{"[ARGS]", "[CALL_ID]"}},
	{name: "request brackets", opens: []string{"[TOOL_REQUEST]", "[FUNCTION_CALL]"}, closes: []string{"[END_TOOL_REQUEST]", "[/TOOL_REQUEST]", "[/FUNCTION_CALL]"}},
	{name: "llama 3", opens: []string{"<|python_tag|>"}, closes: []string{"<|eom_id|>", "<|eot_id|>"}},
	{name: "llama 4", opens: []string{"<|python_start|>"}, closes: []string{"<|python_end|>"}},
	{name: "deepseek", opens: []string{"<|tool_calls_begin|>", "<|tool_call_begin|>"},
		closes: []string{"<|tool_call_end|>", "<|tool_calls_end|>", "<|end_of_sentence|>"}, inside: []string{"<|tool_sep|>"}},
	{name: "kimi k2", opens: []string{"<|tool_calls_section_begin|>", "<|tool_call_section_begin|>"},
		closes: []string{"<|tool_calls_section_end|>", "<|tool_call_section_end|>"}, inside: []string{"<|tool_call_argument_begin|>"}},
	{name: "granite, phi", opens: []string{"<|tool_call|>", "<|tool_calls|>"}, closes: []string{"<|/tool_call|>", "<|/tool_calls|>", "<|end_of_text|>"}},
	{name: "lfm2", opens: []string{"<|tool_call_start|>"}, closes: []string{"<|im_end|>"}},
	{name: "command r", opens: []string{"<|start_action|>"}, closes: []string{"<|end_action|>"}},
	{name: "internlm", opens: []string{"<|action_start|>"}, closes: []string{"<|action_end|>"}, inside: []string{"<|plugin|>", "<|interpreter|>"}},
	{name: "apertus", opens: []string{"<|tools_prefix|>"}, closes: []string{"<|tools_suffix|>"}},
	{name: "function gemma", opens: []string{"<start_function_call>"}, closes: []string{"<end_function_call>"}},
	{name: "gpt-oss", closes: []string{"<|call|>", "<|end|>", "<|return|>"}, inside: []string{"<|constrain|>"}},
	{name: "functionary 2", opens: []string{"<|recipient|>"}, inside: []string{"<|content|>"}},
	{name: "function tokens", opens: []string{"<|function_call|>", "<|function_calls|>", "<|tool_use|>", "<|tool_code|>"},
		closes: []string{"<|/function_call|>", "<|/function_calls|>", "<|/tool_use|>", "<|/tool_code|>"}},
}

// lineDialect is the word of Qwen's agent framework at the start of a line; see
// lines.go for the others that begin a line.
const lineDialect = "✿FUNCTION✿"

// thinkTags enclose thinking; a call that stands inside is none.
var thinkTags = [...][2]string{
	{"<think>", "</think>"}, {"<thinking>", "</thinking>"}, {"<thought>", "</thought>"}, {"<reasoning>", "</reasoning>"},
	{"<|START_THINKING|>", "<|END_THINKING|>"}, {"[THINK]", "[/THINK]"}, {"<seed:think>", "</seed:think>"}, {"◁think▷", "◁/think▷"},
}

// role is what a mark does.
type role int

const (
	noMark role = iota
	opens
	closes
	inside
)

// marks maps the marks of all dialects to what they do.
type marks map[string]role

func newMarks() marks {
	m := marks{}
	for _, d := range dialects {
		for _, s := range d.opens {
			m[s] = opens
		}
		for _, s := range d.closes {
			m[s] = closes
		}
		for _, s := range d.inside {
			m[s] = inside
		}
	}
	return m
}

// at says whether a mark of any dialect stands at s[i:].
func (m marks) at(s string, i int) bool {
	if m == nil {
		return false
	}
	if strings.HasPrefix(s[i:], "```") {
		return true
	}
	l := lexMark(s, i)
	return m[l.name] != noMark || strings.HasPrefix(l.name, "</")
}

// trailing returns where the closing marks begin that s ends with, -1 when it
// ends with none.
func (m marks) trailing(s string) int {
	at := -1
	for m != nil {
		s = strings.TrimRight(s, " \t\r\n")
		i := -1
		switch {
		case strings.HasSuffix(s, "```"):
			i = len(s) - 3
		case strings.HasSuffix(s, ">"):
			i = strings.LastIndexByte(s, '<')
		case strings.HasSuffix(s, "]"):
			i = strings.LastIndexByte(s, '[')
		}
		if i < 0 || len(s)-i > maxMark || s[i] != '`' && m[lexMark(s, i).name] != closes {
			return at
		}
		at, s = i, s[:i]
	}
	return at
}

// closing returns where the first closing mark at or after from begins, -1 when
// none does.
func (m marks) closing(s string, from int) int {
	for i := from; i < len(s); i++ {
		if (s[i] == '<' || s[i] == '[') && m[lexMark(s, i).name] == closes {
			return i
		}
	}
	return -1
}

// between returns where in s[from:to] one call ends and another begins, -1
// when none does.
func (m marks) between(s string, from, to int) int {
	for i := from; i < to; i++ {
		if s[i] != '<' && s[i] != '[' {
			continue
		}
		l := lexMark(s, i)
		if m[l.name] != closes {
			continue
		}
		next := skipBlank(s, l.next)
		if next < to && m[lexMark(s, next).name] == opens {
			return i
		}
	}
	return -1
}

// maxMark is more than any mark is long.
const maxMark = 64

// mark is a tag, a token or a bracketed word of markup.
type mark struct {
	name    string // evened out, "" when there is none
	tag     string // a tag's name
	raw     string // the same with what stands before it
	value   string // of <function=value>
	attrs   string // attributes of a tag, unparsed
	next    int    // offset after it
	selfEnd bool   // <name/>
	growing bool   // the text ends before it is complete
}

// lexMark reads the mark at s[i:].
func lexMark(s string, i int) mark {
	if i >= len(s) {
		return mark{growing: true}
	}
	switch s[i] {
	case '<':
		if i+1 < len(s) && !startsMark(s[i+1]) {
			return mark{}
		}
		if bar := barAt(s, i+1); bar > 0 && !dsml(s, i+1) {
			return lexToken(s, i, i+1+bar)
		}
		return lexTag(s, i)
	case '[':
		return lexBracket(s, i)
	}
	return mark{}
}

// startsMark says whether c can follow the < of a tag or token.
func startsMark(c byte) bool { return letter(c) || c == '/' || c == '|' || c == 0xef }

// barAt returns the length of the bar at i: | or its full-width form.
func barAt(s string, i int) int {
	switch {
	case i < len(s) && s[i] == '|':
		return 1
	case strings.HasPrefix(s[min(i, len(s)):], "｜"):
		return len("｜")
	}
	return 0
}

// lexToken reads <|name|>, <｜name｜> or <|name>.
func lexToken(s string, i, from int) mark {
	var b strings.Builder
	b.WriteString("<|")
	for j := from; j < len(s) && j-i < maxMark; {
		c := s[j]
		if bar := barAt(s, j); bar > 0 || c == '>' {
			if c == '>' {
				bar = 0
			}
			if j+bar >= len(s) {
				return mark{growing: true}
			}
			if s[j+bar] != '>' {
				return mark{}
			}
			b.WriteString("|>")
			return mark{name: b.String(), next: j + bar + 1}
		}
		switch {
		case isWord(c) || c == '/' || c == '-':
			b.WriteByte(c | lowerBit(c))
			j++
		case c == ' ':
			b.WriteByte('_')
			j++
		case c == '\\': // of Markdown
			if j++; j == len(s) {
				return mark{growing: true}
			}
			if s[j] != '_' {
				return mark{}
			}
		case strings.HasPrefix(s[j:], "▁"):
			b.WriteByte('_')
			j += len("▁")
		case c >= 0x80 && len(s)-j < 3:
			return mark{growing: true}
		default:
			return mark{}
		}
	}
	return mark{growing: len(s)-i < maxMark}
}

// lowerBit is what makes an upper case letter a lower case one.
func lowerBit(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return 0x20
	}
	return 0
}

// lexBracket reads [NAME] and [/NAME] in capitals.
func lexBracket(s string, i int) mark {
	for j := i + 1; j < len(s) && j-i < maxMark; j++ {
		c := s[j]
		if c == ']' {
			if j == i+1 {
				return mark{}
			}
			return mark{name: s[i : j+1], next: j + 1}
		}
		if (c < 'A' || c > 'Z') && c != '_' && (c != '/' || j != i+1) {
			return mark{}
		}
	}
	return mark{growing: len(s)-i < maxMark}
}

// dsml says whether the marker of DeepSeek's own tags stands at i.
func dsml(s string, i int) bool {
	_, ok := dsmlPrefix(s, i)
	return ok
}

func dsmlPrefix(s string, i int) (int, bool) {
	for _, p := range [...]string{"｜DSML｜", "|DSML|"} {
		if strings.HasPrefix(s[min(i, len(s)):], p) {
			return len(p), true
		}
	}
	return 0, false
}
