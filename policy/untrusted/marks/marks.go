// Package marks breaks the control marks of chat templates in texts that others
// wrote, such as <|im_end|>, so that no text ends its own message and begins another.
// The break is one visible character, and it can be undone: what [Break] makes of a
// text, [Mend] makes that text of again, whatever it holds. So a model can name a file
// or copy a line that holds such marks, and the tools get what is really there.
package marks

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"

	"github.com/handrail-bot/handrail/policy/pattern"
)

// bar is the character that breaks a mark, right behind its first one.
const bar = "¦"

// A text is seen as what is left of it without bars, and how many bars stand before
// each byte of that. Marks are looked for in what is left; [Break] adds a bar inside
// each of them, whether there are bars already or not, and [Mend] takes one away.
// Neither changes what is left, so both find the same marks.

// Break breaks the marks of all families of models in s.
func Break(s string) string { return change(s, 1, nil) }

// BreakAnswer breaks the marks in words of a model's own. It keeps those by which a
// model calls tools, which are how it is to go on: marks of calls, and the tags that are
// named like a tool or an argument, as isTag tells. Nil stands for no such tags.
func BreakAnswer(s string, isTag func(name string) bool) string {
	if isTag == nil {
		isTag = func(string) bool { return false }
	}
	return change(s, 1, isTag)
}

// Mend undoes [Break]. Text that has no broken marks stays as it is.
func Mend(s string) string {
	if !strings.Contains(s, bar) {
		return s
	}
	return change(s, -1, nil)
}

// BreakJSON breaks the marks in all strings of a JSON text.
func BreakJSON(raw json.RawMessage) json.RawMessage { return eachString(raw, Break) }

// MendJSON undoes [BreakJSON], also where a string is spelled with escapes.
func MendJSON(raw json.RawMessage) json.RawMessage { return eachString(raw, Mend) }

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
	at := 0 // in s
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

// A form is a class of marks. The bar goes behind its first group.
type form struct {
	expr  func() *regexp.Regexp
	call  bool // marks of this form call tools
	skips func(name string) bool
}

// angle are forms that begin with < or what looks like it. A backslash may stand where a regular expression
// needs one. The last group of a form with skips is the name that it looks at.
var angle = []form{
	{expr: pattern.Lazy(`^([<＜‹⟨〈])\\?[|｜│]`)},
	{expr: pattern.Lazy(`^([<＜‹⟨〈])\\?/?[A-Za-z_▁]+[|｜│]\\?[>＞›⟩〉]`)},
	{expr: pattern.Lazy(`^([＜‹⟨〈])\\?/?[\w:.-]*[_▁][\w:.▁-]*\\?[>＞›⟩〉]`)},
	{expr: pattern.Lazy(`^(<)</?[A-Z]+>>`)},
	{expr: pattern.Lazy(`^(<)\\?/?([A-Za-z▁][\w:.▁-]*[_▁][\w:.▁-]*|▁[\w:.-]+|_[A-Za-z][\w:.▁-]*)\\?>`), skips: isType},
	{expr: pattern.Lazy(`(?i)^(<)\\?/?(?:[a-z]+:)?(?:s|bos|eos|pad|unk|mask(?::\d+)?|sep|cls|sop|eop|eot|eom|eod|eoh|eoa|think|thinking|escape|image|step|human|bot|user|assistant|` +
		`system|developer|role|reponame|results|documents|unused\d+|reserved\d+|0x[0-9a-f]{2})\\?>`)},
	{expr: pattern.Lazy(`(?i)^(<)\\?/?(?:[a-z]+:)?(?:tool|tools|toolcall|function|functions|parameter|invoke)(?:\\?>|=| name=)`), call: true},
}

// square are forms that begin with a square bracket.
var square = []form{
	{expr: pattern.Lazy(`^(\[)\\?/?([a-z]?[A-Z][A-Z0-9_]{2,})\\?\]`), skips: isLabel},
	{expr: pattern.Lazy(`^(\[)\\?(?:control|unused)_?\d+\\?\]`)},
	{expr: pattern.Lazy(`^(\[)\\?[|｜│]\\?/?[A-Za-z_▁]+\\?[|｜│]\\?\]`)},
	{expr: pattern.Lazy(`^(\[)e~\[`)},
	{expr: pattern.Lazy(`^(\])(?:~|<\])`)},
}

// others begin with something else. A role stands at the beginning of a line:
// families without marks of their own write one there.
var (
	right = []form{{expr: pattern.Lazy(`^(>)>[A-Z_]+<<`)}}
	bars  = []form{{expr: pattern.Lazy(`^(\|)\|\|[A-Z_]+\|\|\|`)}}
	role  = pattern.Lazy(`^(?:(###|@@) ?(?:Instruction|Response|Input|System|User|Assistant|Human)` +
		`|((?:GPT4 Correct )?(?:System|SYSTEM|User|USER|Assistant|ASSISTANT|Human|HUMAN|Falcon|Question|Answer|Source|Destination)):)`)
)

// isType reports whether a name between angle brackets is a type of C, or one that a
// library of C++ keeps for itself.
func isType(name string) bool {
	return strings.HasSuffix(name, "_t") || name[0] == '_' && upper(name[1:]) && strings.ToUpper(name) != name
}

// isLabel reports whether a word in square brackets is a label of logs and lists and
// no mark of any family.
func isLabel(name string) bool {
	return strings.Contains(" INFO WARN WARNING ERROR DEBUG TRACE FATAL NOTICE SEVERE FAIL FAILED FAILURE PASS PASSED SKIP SKIPPED RUN DONE TODO WIP "+
		"FIXME NOTE TIP IMPORTANT CAUTION TASK_COMPLETE ", " "+name+" ")
}

// callMarks are names of marks by which models call tools.
var callMarks = pattern.Lazy(`(?i)^[<\[]\\?/?(?:tool_?calls?|function_?calls?|arg_key|arg_value)\b`)

// plainTag is a tag of letters, as those are that are named like a tool.
var plainTag = pattern.Lazy(`^</?([A-Za-z]\w*)>`)

// find returns where in s a bar belongs, in order. answer is nil but in a model's own
// words, where it knows the tags of calls.
func find(s string, answer func(string) bool) []int {
	var out []int
	begins := true // a line, but for blanks
	for i := 0; i < len(s); i++ {
		c := s[i]
		if begins && strings.IndexByte("#@GSUAHFQD", c) >= 0 {
			if m := role().FindStringSubmatchIndex(s[i:min(len(s), i+longest)]); m != nil {
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
		if head := s[i:min(len(s), i+longest)]; maybe(head) {
			if n := length(head, forms, answer); n > 0 {
				out = add(out, i+n)
			}
		}
	}
	return out
}

// likeAngle reports whether s begins with a character that looks like <.
func likeAngle(s string) bool {
	return strings.HasPrefix(s, "＜") || strings.HasPrefix(s, "‹") || strings.HasPrefix(s, "⟨") || strings.HasPrefix(s, "〈")
}

// maybe reports whether s, which begins with the character of a form, can be one. Most
// brackets of code cannot, and to know that must not take long.
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

// add adds a place behind the others, once.
func add(list []int, at int) []int {
	if n := len(list); n > 0 && list[n-1] >= at {
		return list
	}
	return append(list, at)
}

// longest is the longest mark that is looked for, in bytes.
const longest = 100

// length returns how long the first group of the form is that head begins with, 0 when
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

// eachString replaces the strings of a JSON text. A text that f changes nothing in
// keeps its bytes.
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
		var text string
		if json.Unmarshal(raw[i:end], &text) == nil {
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

func quoted(s string) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil { // a string has none
		return []byte(`""`)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
