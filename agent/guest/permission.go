package guest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/agent/acp"
	"github.com/handrail-bot/handrail/agent/patch"
	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/tools"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/shell"
)

// The tools that stand for the agent's own ones.
const (
	actionTool = session.GuestAction // a request for permission
	stepTool   = "agent_step"        // actions that the agent told of
)

// maxRequest is the maximum size in bytes of a request: its approver has to read it.
const maxRequest = 256 << 10

// request is a request for permission as the arguments of actionTool: all that is shown,
// bound and allowed.
type request struct {
	Kind    string          `json:"kind"`
	Title   string          `json:"title,omitempty"`
	Input   json.RawMessage `json:"input,omitempty"`
	Paths   []string        `json:"paths,omitempty"` // relative to the root if they are in it
	Changes []change        `json:"changes,omitempty"`
}

type change struct {
	Path string  `json:"path"`
	Old  *string `json:"old"`
	New  string  `json:"new"`
}

// requestOf writes an action of the agent as the arguments of actionTool, the same for
// the same action.
func (g *Guest) requestOf(c acp.Call) (string, error) {
	r := request{Kind: c.Kind, Title: c.Title}
	if in := bytes.TrimSpace(c.Input); len(in) > 0 && string(in) != "null" && string(in) != "{}" {
		r.Input = in
	}
	for _, l := range c.Locations {
		if at := g.rel(l.Path); !slices.Contains(r.Paths, at) {
			r.Paths = append(r.Paths, at)
		}
	}
	for _, part := range c.Content {
		if part.Type == "diff" {
			r.Changes = append(r.Changes, change{g.rel(part.Path), part.Old, part.New})
		}
	}
	data, err := json.Marshal(r)
	if err != nil {
		return "", errors.New("it cannot be read")
	}
	if len(data) > maxRequest {
		return "", fmt.Errorf("it has %d bytes, and %d is the most that an approver can be shown", len(data), maxRequest)
	}
	return canonical(data)
}

// canonical returns JSON with sorted keys, so that the recorded request and the sent one
// compare.
func canonical(data []byte) (string, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return "", errors.New("it cannot be read")
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return strings.TrimSpace(b.String()), err
}

// rel returns a path relative to the root if it is in it, and as it is otherwise.
func (g *Guest) rel(p string) string {
	clean := path.Clean(strings.ReplaceAll(p, `\`, "/"))
	if clean == g.cfg.Root {
		return "."
	}
	if in, ok := strings.CutPrefix(clean, g.cfg.Root+"/"); ok {
		return in
	}
	return clean
}

// intent turns a request into an action of the policy. A request that is not understood
// asks, whatever the agent calls it.
func (g *Guest) intent(args json.RawMessage) (policy.Action, error) {
	var r request
	if err := json.Unmarshal(args, &r); err != nil {
		return policy.Action{}, errors.New("this request of the agent cannot be read")
	}
	other := policy.Action{Kind: policy.Foreign, Display: r.display()} //control:guest-unknown-asks
	switch r.Kind {
	case "switch_mode":
		return policy.Action{}, errors.New("its mode is not changed: the mode decides that it asks")
	case "execute":
		command := r.text("command", "cmd", "script")
		if command == "" {
			return other, nil
		}
		cwd := "."
		if dir := r.text("cwd", "workdir", "directory", "dir_path", "working_directory"); dir != "" {
			cwd = g.rel(dir)
		}
		return policy.Action{Kind: policy.Execute, Command: command, Cwd: cwd, Display: command}, nil
	case "edit", "delete", "move":
		paths := r.files()
		for _, key := range []string{"filePath", "file_path", "path", "absolute_path", "source", "destination"} {
			if p := r.text(key); p != "" && !slices.Contains(paths, g.rel(p)) {
				paths = append(paths, g.rel(p))
			}
		}
		if len(paths) == 0 {
			return other, nil
		}
		kind := policy.Write
		if r.Kind != "edit" {
			kind = policy.Delete
		}
		return policy.Action{Kind: kind, Paths: paths, Display: r.display()}, nil
	case "read":
		if paths := r.files(); len(paths) > 0 {
			return policy.Action{Kind: policy.Read, Paths: paths, Display: r.display()}, nil
		}
	case "fetch":
		if url := r.text("url", "uri"); url != "" {
			return policy.Action{Kind: policy.Network, URL: url, Display: r.display()}, nil
		}
	}
	return other, nil
}

// files returns the paths of a request.
func (r request) files() []string {
	out := slices.Clone(r.Paths)
	for _, c := range r.Changes {
		if !slices.Contains(out, c.Path) {
			out = append(out, c.Path)
		}
	}
	return out
}

// text returns the first of some members of the input that is a text, or a list of words.
func (r request) text(keys ...string) string {
	var in map[string]json.RawMessage
	if json.Unmarshal(r.Input, &in) != nil {
		return ""
	}
	for _, key := range keys {
		var one string
		var list []string
		switch {
		case in[key] == nil:
		case json.Unmarshal(in[key], &one) == nil && one != "":
			return one
		case json.Unmarshal(in[key], &list) == nil && len(list) > 0:
			for i, w := range list {
				list[i] = shell.Quote(w)
			}
			return strings.Join(list, " ")
		}
	}
	return ""
}

// display shows a request to its approver: the differences, or all of the input.
func (r request) display() string {
	var b strings.Builder
	for _, c := range r.Changes {
		old, from := "", "/dev/null"
		if c.Old != nil {
			old, from = *c.Old, c.Path
		}
		b.WriteString(patch.UnifiedFile(from, c.Path, old, c.New))
	}
	if b.Len() > 0 {
		return b.String()
	}
	title := whole(r.Title) //control:guest-shown-whole
	fmt.Fprintf(&b, "%s: %s", session.GuestOther, title)
	var in bytes.Buffer
	if json.Indent(&in, r.Input, "", "  ") == nil && in.Len() > 0 {
		b.WriteString("\n" + in.String())
	}
	for _, p := range r.Paths {
		b.WriteString("\nfile: " + oneLine(p))
	}
	return b.String()
}

// Tools returns the tools that stand for the agent's own. They are not offered to it.
func (g *Guest) Tools() []tools.Tool { return []tools.Tool{action{g}, step{g}} }

// action is a request for permission. It runs by allowing the request, so that the gate is
// the only way to that.
type action struct{ of *Guest }

// Spec implements [tools.Tool].
func (a action) Spec() tools.Spec {
	s := tools.Spec{Kind: policy.Converse, Outer: true, Untold: true, Beside: a.of}
	s.Name, s.Description = actionTool, "An action of the agent's own tools."
	s.Parameters = json.RawMessage(`{"type":"object"}`)
	return s
}

// Intent implements [tools.Tool].
func (a action) Intent(_ context.Context, call session.Call) (policy.Action, error) {
	return a.of.intent(call.Arguments)
}

// Run implements [tools.Tool].
func (a action) Run(_ context.Context, call session.Call, _ tools.Progress) (tools.Result, error) {
	args, err := canonical(call.Arguments)
	if err != nil {
		return tools.Result{}, err
	}
	var r request
	_ = json.Unmarshal(call.Arguments, &r) // Intent has read it
	out := tools.Result{Content: "It was allowed, once.", Title: oneLine(r.Title), Ran: unseen(r.Title)}
	g := a.of
	g.turn.Lock()
	defer g.turn.Unlock()
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.at != nil && !g.at.gone() {
		for _, open := range g.at.asked {
			if open.asks == nil || open.asks.answered || open.asks.args != args { //control:guest-allows-the-request
				continue
			}
			if why := open.asks.allow(); why != "" {
				return tools.Result{}, errors.New(why)
			}
			return out, nil
		}
	}
	g.grants[args] = true
	out.Content = "It is allowed, once, as soon as the agent asks for exactly this again."
	return out, nil
}

// step is a point at which the agent's work is saved.
type step struct{ of *Guest }

// Spec implements [tools.Tool].
func (s step) Spec() tools.Spec {
	out := tools.Spec{Kind: policy.Converse, Outer: true, Untold: true, Repeats: 1 << 20, Beside: s.of}
	out.Name, out.Description = stepTool, "Actions of the agent's own tools."
	out.Parameters = json.RawMessage(`{"type":"object"}`)
	return out
}

// Intent implements [tools.Tool].
func (step) Intent(context.Context, session.Call) (policy.Action, error) {
	return policy.Action{Kind: policy.Converse}, nil
}

// Run implements [tools.Tool].
func (step) Run(_ context.Context, call session.Call, _ tools.Progress) (tools.Result, error) {
	var in struct{ Did []string }
	if err := json.Unmarshal(call.Arguments, &in); err != nil || len(in.Did) == 0 {
		return tools.Result{}, errors.New("no step")
	}
	title := oneLine(in.Did[0])
	if more := len(in.Did) - 1; more > 0 {
		title = fmt.Sprintf("%s, and %d more", title, more)
	}
	return tools.Result{Content: "Saved.", Title: title, Ran: unseen(in.Did[len(in.Did)-1])}, nil
}

// unseen returns an action of the agent, of which only the agent knows how it went.
func unseen(title string) *session.TestRun { return &session.TestRun{Line: title, Unknown: true} }
