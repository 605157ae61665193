package tools

import (
	"encoding/json"
	"strings"

	"github.com/handrail-bot/handrail/policy/pattern"
)

// longValue is the length in bytes from which a template does not repeat a value.
const longValue = 300

// template returns arguments for the model to copy: what it gave, where the complaint
// does not speak of it, and the example's where something is missing.
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
		blamed := strings.Contains(complaint, quote(p.Name)) || p.Name != "path" && text != "" && strings.Contains(complaint, text)
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
		return s.Example // what was sent is no template
	}
	return "{" + strings.Join(members, ",") + "}" //control:filled-template
}

// members are how arguments stand in calls that cannot be read: in JSON, as keywords,
// as tags.
var members = pattern.Lazy(`["']?(\w+)["']?\s*[:=]\s*"((?:[^"\\\n]|\\.){1,200})"|<(\w+)>([^<\n]{1,200})</`)

// Template returns the tool that a text names first, and arguments for it: those that
// can be read in the text, and the example's. It is for a call that could not be
// understood, and returns "" where there is none of a tool.
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
