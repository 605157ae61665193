package tools

import (
	"encoding/json"
	"strings"

	"github.com/handrail-bot/handrail/policy/pattern"
)

// longValue is the length in bytes above which a template does not repeat a value.
const longValue = 300

// template returns arguments for the model to copy: the given ones that the complaint
// does not mention, and the example's if one is missing or wrong.
func (s *Sheet) template(given map[string]json.RawMessage, complaint string) string {
	var example map[string]json.RawMessage
	if json.Unmarshal([]byte(s.Example), &example) != nil {
		return s.Example
	}
	var members []string
	same := true
	for _, p := range s.Params {
		v, has := given[p.Name]
		e, shown := example[p.Name]
		text, _ := Plain(v)
		blamed := strings.Contains(complaint, quote(p.Name)) ||
			p.Name != "path" && text != "" && strings.Contains(complaint, text)
		switch {
		case has && !blamed && len(v) > longValue:
			v = json.RawMessage(`"… (as you sent it)"`)
		case has && !blamed:
		case shown && (p.Required || p.Asked || blamed || complaint == "" || len(given) == 0):
			v, same = e, false
		default:
			continue
		}
		members = append(members, quote(p.Name)+":"+string(v))
	}
	if len(given) == 0 || same && complaint != "" && !strings.Contains(complaint, "unknown argument") {
		return s.Example // the given arguments are no basis
	}
	return "{" + strings.Join(members, ",") + "}" //control:filled-template
}

// members matches arguments in an unparsable call: in JSON, as keywords, as tags.
var members = pattern.Lazy(`["']?(\w+)["']?\s*[:=]\s*"((?:[^"\\\n]|\\.){1,200})"|<(\w+)>([^<\n]{1,200})</`)

// Template returns the first tool that a text names and arguments for it: those found
// in the text, completed from the example. It is for a call that could not be parsed.
// It returns "" if the text names no tool.
func (r *Registry) Template(text string) (name, args string) {
	first := len(text)
	var sheet *Sheet
	for _, t := range r.tools {
		own, ok := t.(*tool)
		if at := strings.Index(text, t.Spec().Name); ok && at >= 0 && at < first {
			first, sheet = at, &own.Sheet
		}
	}
	if sheet == nil {
		return "", ""
	}
	given := map[string]json.RawMessage{}
	for _, m := range members().FindAllStringSubmatch(text[first:], -1) {
		if p, ok := sheet.lookup[FoldKey(m[1]+m[3])]; ok && given[p] == nil {
			given[p] = json.RawMessage(quote(m[2] + m[4]))
		}
	}
	return sheet.Name, sheet.template(given, "")
}
