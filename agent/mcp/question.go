package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/handrail-bot/handrail/policy/phrase"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

// Question is a question of a server to the requester.
type Question struct {
	Text    string
	Choices []string
}

// asking is the call of a server that runs.
type asking struct {
	tool   string
	answer func(text string) (string, bool) // given to an earlier call; nil means none
	said   chan string                      // progress

	mu    sync.Mutex
	asked *Question // open question
	unfit string    // why a question or an answer was not passed on
}

// open returns the open question, and why something was not passed on.
func (a *asking) open() (*Question, string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.asked, a.unfit
}

// decline is the answer that refuses a question.
const decline = "decline"

// elicit handles a question of the server during a call. Without an answer it is
// cancelled: the call ends, and the question goes to the requester.
func (l *link) elicit(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	a := l.asking.Load()
	if a == nil || req.Params == nil {
		return &mcp.ElicitResult{Action: "decline"}, nil
	}
	return a.ask(l.Name, req.Params), nil
}

// ask answers a question if its answer is known.
func (a *asking) ask(server string, p *mcp.ElicitParams) *mcp.ElicitResult {
	a.mu.Lock()
	defer a.mu.Unlock()
	if p.URL != "" || p.Mode == "url" { //control:mcp-no-addresses
		a.unfit = "The server wanted the requester to open an address, which was declined."
		return &mcp.ElicitResult{Action: "decline"}
	}
	form := formOf(p.RequestedSchema)
	q := form.question(server, a.tool, p.Message)
	if a.answer == nil {
		a.asked = q
		return &mcp.ElicitResult{Action: "cancel"}
	}
	text, ok := a.answer(q.Text)
	switch {
	case !ok:
		a.asked = q
		return &mcp.ElicitResult{Action: "cancel"}
	case strings.EqualFold(strings.TrimSpace(text), decline):
		return &mcp.ElicitResult{Action: "decline"}
	}
	content, err := form.read(text)
	if err != nil {
		a.unfit = "The requester's answer does not fit the server's question: " + err.Error() + "."
		return &mcp.ElicitResult{Action: "cancel"}
	}
	return &mcp.ElicitResult{Action: "accept", Content: content}
}

// field is a value that a server asks for.
type field struct {
	name, kind, doc string
	values          []string
	required        bool
	preset          any // taken for a missing value; nil means none
}

type form []field

// formOf reads the flat schema of a question.
func formOf(schema any) form {
	data, err := json.Marshal(schema)
	if err != nil {
		return nil
	}
	var s struct {
		Properties map[string]struct {
			Type               string
			Title, Description string
			Enum               []any
			OneOf              []struct{ Const any }
			Default            any
		}
		Required []string
	}
	if json.Unmarshal(data, &s) != nil {
		return nil
	}
	var out form
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		p := s.Properties[name]
		f := field{
			name:     name,
			kind:     p.Type,
			doc:      p.Description,
			required: slices.Contains(s.Required, name),
			preset:   p.Default,
		}
		if f.doc == "" {
			f.doc = p.Title
		}
		for _, v := range p.Enum {
			f.values = append(f.values, fmt.Sprint(v))
		}
		for _, v := range p.OneOf {
			f.values = append(f.values, fmt.Sprint(v.Const))
		}
		if p.Type == "boolean" {
			f.values = []string{"yes", "no"}
		}
		out = append(out, f)
	}
	return out
}

// maxQuestion is the maximum length of a server's own words in a question.
const maxQuestion = 2000

func (f form) question(server, tool, message string) *Question {
	message, _ = untrusted.CleanPlain(strings.ToValidUTF8(message, "�"))
	var b strings.Builder
	fmt.Fprintf(&b, "The tool %s of the MCP server %s asks:\n\n%s\n", oneLine(tool), server, strings.TrimSpace(phrase.Short(message, maxQuestion)))
	how := "Answer with the value"
	if len(f) > 1 {
		how = "Answer with a line NAME: VALUE for each"
	}
	if len(f) == 0 {
		how = "Answer with any words to go on"
	}
	for _, one := range f {
		fmt.Fprintf(&b, "\n- %s (%s)", oneLine(one.name), one.about())
		if one.doc != "" {
			b.WriteString(": " + oneLine(one.doc))
		}
	}
	fmt.Fprintf(&b, "\n\n%s, or with %s. The answer goes to that server: give no password and no key.", how, decline)
	q := &Question{Text: strings.TrimSpace(b.String())}
	if len(f) == 1 && len(f[0].values) > 0 && len(f[0].values) <= 10 && f[0].kind != "array" {
		for _, v := range f[0].values {
			q.Choices = append(q.Choices, oneLine(v))
		}
		q.Choices = append(q.Choices, decline)
	}
	return q
}

func (f field) about() string {
	out := f.kind
	if out == "" {
		out = "string"
	}
	if len(f.values) > 0 {
		out = "one of " + oneLine(strings.Join(f.values, ", "))
	}
	switch {
	case f.preset != nil:
		out += ", otherwise " + oneLine(fmt.Sprint(f.preset))
	case !f.required:
		out += ", optional"
	}
	return out
}

// read turns the requester's words into the values of a form.
func (f form) read(text string) (map[string]any, error) {
	text = strings.TrimSpace(text)
	given := map[string]string{}
	if len(f) == 1 {
		given[f[0].name] = strings.TrimSpace(strings.TrimPrefix(text, f[0].name+":"))
	} else {
		for _, line := range strings.Split(text, "\n") {
			name, value, _ := strings.Cut(line, ":")
			given[strings.TrimSpace(strings.Trim(strings.TrimSpace(name), "-*` "))] = strings.TrimSpace(value)
		}
	}
	out := map[string]any{}
	for _, one := range f {
		v, ok := given[one.name]
		if !ok || v == "" {
			if one.preset != nil {
				out[one.name] = one.preset
			} else if one.required {
				return nil, fmt.Errorf("%s is missing", oneLine(one.name))
			}
			continue
		}
		value, err := one.value(v)
		if err != nil {
			return nil, err
		}
		out[one.name] = value
	}
	return out, nil
}

func (f field) value(s string) (any, error) {
	bad := fmt.Errorf("%s must be %s", oneLine(f.name), f.about())
	switch f.kind {
	case "boolean":
		switch strings.ToLower(s) {
		case "yes", "true":
			return true, nil
		case "no", "false":
			return false, nil
		}
		return nil, bad
	case "integer":
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			return nil, bad
		}
		return n, nil
	case "number":
		n, err := strconv.ParseFloat(s, 64)
		if err != nil {
			return nil, bad
		}
		return n, nil
	case "array":
		var list []any
		for _, one := range strings.Split(s, ",") {
			list = append(list, strings.TrimSpace(one))
		}
		return list, nil
	}
	if len(f.values) > 0 && !slices.Contains(f.values, s) {
		return nil, bad
	}
	return s, nil
}
