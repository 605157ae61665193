package untrusted

// Control marks of chat templates, such as <|im_end|>, are broken in foreign texts, so that no text ends
// its own message and begins another. The break is one visible character and reversible: [MendMarks]
// restores the input of [BreakMarks] from its result, for any text. A model can therefore name a file or
// copy a line that contains such marks, and the tools get the original.

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"

	"github.com/handrail-bot/handrail/policy/pattern"
)

// bar is the character that breaks a mark, after the mark's first character.
const bar = "¦"

// A text is treated as the text without bars, plus the number of bars before each of its
// bytes. Marks are found in the text without bars. [Break] adds a bar inside each of
// them, even if there are bars already, and [Mend] removes one. Neither changes the text
// without bars, so both find the same marks.

// BreakMarks breaks the marks of all model families in s.
func BreakMarks(s string) string { return change(s, 1, nil) }

// BreakAnswer breaks the marks in a model's own text. It keeps those that call tools:
// marks of calls, and tags named like a tool or an argument, for which isTag reports
// true. A nil isTag means that there are none.
func BreakAnswer(s string, isTag func(name string) bool) string {
	if isTag == nil {
		isTag = func(string) bool { return false }
	}
	return change(s, 1, isTag)
}

// MendMarks undoes [Break]. Text without broken marks does not change.
func MendMarks(s string) string {
	if !strings.Contains(s, bar) {
		return s
	}
	return change(s, -1, nil)
}

// BreakMarksInJSON breaks the marks in all strings of a JSON text.
func BreakMarksInJSON(raw json.RawMessage) json.RawMessage { return eachString(raw, BreakMarks) }

// MendMarksInJSON undoes [BreakMarksInJSON], even if a string uses escapes.
func MendMarksInJSON(raw json.RawMessage) json.RawMessage { return eachString(raw, MendMarks) }

func change(s string, by int, answer func(string) bool) string {
	left := s
	if strings.Contains(s, bar) {
		left = strings.ReplaceAll(s, bar, "")
	}
	sites := find(left, answer)
	if len(sites) == 0 {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + len(sites)*len(bar))
	at := 0 // index in s
	for i := 0; i <= len(left); i++ {
		bars := 0
		for strings.HasPrefix(s[at:], bar) {
			at += len(bar)
			bars++
		}
		if len(sites) > 0 && sites[0] == i {
			bars = max(0, bars+by)
			sites = sites[1:]
		}
		for range bars {
			b.WriteString(bar)
		}
		if i < len(left) {
			b.WriteByte(left[i])
			at++
		}
	}
	return b.String()
}

// form is a class of marks. The bar goes after the first group of expr.
type form struct {
	expr  func() *regexp.Regexp
	call  bool // marks of this form call tools
	skips func(name string) bool
}

// angle are forms that begin with < or a similar character. A backslash is allowed where
// a regular expression needs one. The last group of a form with skips is the name passed
// to it.
var angle = []form{
	{expr: pattern.Lazy(`^([<＜‹⟨〈])\\?[|｜│]`)},
	{expr: pattern.Lazy(`^([<＜‹⟨〈])\\?/?[A-Za-z_▁]+[|｜│]\\?[>＞›⟩〉]`)},
	{expr: pattern.Lazy(`^([＜‹⟨〈])\\?/?[\w:.-]*[_▁][\w:.▁-]*\\?[>＞›⟩〉]`)},
	{expr: pattern.Lazy(`^(<)</?[A-Z]+>>`)},
	{expr: pattern.Lazy(`^(<)\\?/?([A-Za-z▁][\w:.▁-]*[_▁][\w:.▁-]*|▁[\w:.-]+|_[A-Za-z][\w:.▁-]*)\\?>`), skips: isType},
	{
		expr: pattern.Lazy(
			`(?i)^(<)\\?/?(?:[a-z]+:)?(?:s|bos|eos|pad|unk|mask(?::\d+)?|sep|cls|sop|eop|eot|eom|eod|eoh|eoa|think|thinking|escape|image|step|human|bot|user|assistant|` +
				`system|developer|role|reponame|results|documents|unused\d+|reserved\d+|0x[0-9a-f]{2})\\?>`,
		),
	},
	{
		expr: pattern.Lazy(
			`(?i)^(<)\\?/?(?:[a-z]+:)?(?:tool|tools|toolcall|function|functions|parameter|invoke)(?:\\?>|=| name=)`,
		),
		call: true,
	},
}

// square are forms that begin with a square bracket.
var square = []form{
	{expr: pattern.Lazy(`^(\[)\\?/?([a-z]?[A-Z][A-Z0-9_]{2,})\\?\]`), skips: isLabel},
	{expr: pattern.Lazy(`^(\[)\\?(?:control|unused)_?\d+\\?\]`)},
	{expr: pattern.Lazy(`^(\[)\\?[|｜│]\\?/?[A-Za-z_▁]+\\?[|｜│]\\?\]`)},
	{expr: pattern.Lazy(`^(\[)e~\[`)},
	{expr: pattern.Lazy(`^(\])(?:~|<\])`)},
}

// Other forms. A role is at the beginning of a line, as written by model families without
// marks of their own.
var (
	right = []form{{expr: pattern.Lazy(`^(>)>[A-Z_]+<<`)}}
	bars  = []form{{expr: pattern.Lazy(`^(\|)\|\|[A-Z_]+\|\|\|`)}}
	role  = pattern.Lazy(`^(?:(###|@@) ?(?:Instruction|Response|Input|System|User|Assistant|Human)` +
		`|((?:GPT4 Correct )?(?:System|SYSTEM|User|USER|Assistant|ASSISTANT|Human|HUMAN|Falcon|Question|Answer|Source|Destination)):)`)
)

// isType reports whether a name in angle brackets is a C type, or a name reserved for C++
// libraries.
func isType(name string) bool {
	return strings.HasSuffix(name, "_t") || name[0] == '_' && upper(name[1:]) && strings.ToUpper(name) != name
}

// isLabel reports whether a word in square brackets is a label in logs or lists, not a
// mark.
func isLabel(name string) bool {
	return strings.Contains(
		" INFO WARN WARNING ERROR DEBUG TRACE FATAL NOTICE SEVERE FAIL FAILED FAILURE PASS PASSED SKIP SKIPPED RUN DONE TODO WIP "+
			"FIXME NOTE TIP IMPORTANT CAUTION TASK_COMPLETE ",
		" "+name+" ",
	)
}

// callMarks matches the marks by which models call tools.
var callMarks = pattern.Lazy(`(?i)^[<\[]\\?/?(?:tool_?calls?|function_?calls?|arg_key|arg_value)\b`)

// plainTag matches a plain tag, which may be named like a tool.
var plainTag = pattern.Lazy(`^</?([A-Za-z]\w*)>`)

// find returns the indexes in s for bars, in order. answer is nil unless s is a model's
// own text; it reports whether a tag belongs to a call.
func find(s string, answer func(string) bool) []int {
	var out []int
	begins := true // only blanks so far on this line
	for i := 0; i < len(s); i++ {
		for !begins && !matters[s[i]] {
			if i++; i == len(s) {
				return out
			}
		}
		c := s[i]
		if begins && strings.IndexByte("#@GSUAHFQD", c) >= 0 {
			if m := role().FindStringSubmatchIndex(s[i:min(len(s), i+maxMark)]); m != nil {
				out = add(out, i+max(m[3], m[5]))
			}
		}
		begins = c == '\n' || begins && (c == ' ' || c == '\t')
		var forms []form
		switch {
		case c == '<' || c >= 0xE2 && likeAngle(s[i:]):
			forms = angle
		case c == '[' || c == ']':
			forms = square
		case c == '>':
			forms = right
		case c == '|' && strings.HasPrefix(s[i:], "|||"):
			forms = bars
		default:
			continue
		}
		if head := s[i:min(len(s), i+maxMark)]; maybe(head) {
			if n := length(head, forms, answer); n > 0 {
				out = add(out, i+n)
			}
		}
	}
	return out
}

// matters are the bytes that begin a mark inside a line, or the next line.
var matters = [256]bool{
	'\n': true, '<': true, '>': true, '[': true, ']': true, '|': true, 0xE2: true, 0xE3: true, 0xEF: true,
}

// likeAngle reports whether s begins with a character similar to <.
func likeAngle(s string) bool {
	return strings.HasPrefix(s, "＜") || strings.HasPrefix(s, "‹") || strings.HasPrefix(s, "⟨") || strings.HasPrefix(s, "〈")
}

// maybe reports whether s, which begins with the first character of a form, can be a
// mark. It is a fast check, because most brackets in code are not marks.
func maybe(s string) bool {
	rest := strings.TrimPrefix(strings.TrimPrefix(s[1:], "\\"), "/")
	switch {
	case rest == "":
		return false
	case s[0] >= 0x80 || rest[0] >= 0x80 || strings.Contains("[|", s[:1]) && rest[0] == '|':
		return true
	case s[0] == '>':
		return rest[0] == '>'
	case s[0] == ']':
		return rest[0] == '~' || rest[0] == '<'
	case s[0] == '[' && rest[0]|0x20 == rest[0] && !upper(rest[1:]) && strings.IndexByte("cue", rest[0]) < 0:
		return false
	}
	for i := 0; i < len(rest); i++ {
		c := rest[i]
		switch {
		case c|0x20 >= 'a' && c|0x20 <= 'z', c >= '0' && c <= '9', strings.IndexByte("_:.-", c) >= 0, c >= 0x80:
		case s[0] == '<':
			return strings.IndexByte("<>|=\\", c) >= 0 || strings.HasPrefix(rest[i:], " name=")
		default:
			return strings.IndexByte("]\\~", c) >= 0 && i > 0
		}
	}
	return false
}

func upper(s string) bool { return s != "" && s[0] >= 'A' && s[0] <= 'Z' }

// add appends an index unless it is already there.
func add(list []int, at int) []int {
	if n := len(list); n > 0 && list[n-1] >= at {
		return list
	}
	return append(list, at)
}

// maxMark is the maximum length of a mark, in bytes.
const maxMark = 100

// length returns the length of the first group of the form that head begins with, or 0 if
// there is none.
func length(head string, forms []form, answer func(string) bool) int {
	if answer != nil {
		if m := plainTag().FindStringSubmatch(head); m != nil && answer(m[1]) || callMarks().MatchString(head) {
			return 0
		}
	}
	for _, f := range forms {
		if f.call && answer != nil {
			continue
		}
		m := f.expr().FindStringSubmatchIndex(head)
		if m == nil || f.skips != nil && f.skips(head[m[4]:m[5]]) {
			continue
		}
		return m[3]
	}
	return 0
}

// eachString applies f to the strings of a JSON text. It keeps the bytes of strings that
// f does not change.
func eachString(raw json.RawMessage, f func(string) string) json.RawMessage {
	var out bytes.Buffer
	at := 0
	for i := 0; i < len(raw); i++ {
		if raw[i] != '"' {
			continue
		}
		end := i + 1
		for end < len(raw) && raw[end] != '"' {
			if raw[end] == '\\' {
				end++
			}
			end++
		}
		end = min(end+1, len(raw))
		if text, ok := unquoted(raw[i:end]); ok {
			if changed := f(text); changed != text {
				out.Write(raw[at:i])
				out.Write(quoted(changed))
				at = end
			}
		}
		i = end - 1
	}
	if at == 0 {
		return raw
	}
	out.Write(raw[at:])
	return out.Bytes()
}

// unquoted returns the text of a JSON string.
func unquoted(raw []byte) (text string, ok bool) {
	plain := len(raw) > 1
	for _, c := range raw {
		plain = plain && c >= ' ' && c < 0x80 && c != '\\'
	}
	if plain {
		return string(raw[1 : len(raw)-1]), true
	}
	err := json.Unmarshal(raw, &text)
	return text, err == nil
}

func quoted(s string) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil { // cannot fail for a string
		return []byte(`""`)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
