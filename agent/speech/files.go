package speech

import (
	"encoding/json"
	"slices"

	"github.com/handrail-bot/handrail/agent/llm/prose"
	"github.com/handrail-bot/handrail/agent/llm/toolcall"
	"github.com/handrail-bot/handrail/agent/session"
)

// Names of the tools for answers without calls.
const (
	putFile   = "put_file"
	applyDiff = "apply_diff"
	readFile  = "read_file"
	searchFor = "search_workspace"
	runLine   = "run_terminal_command"
)

// IsEdit reports whether a call was derived from a file or a diff in a fence.
func IsEdit(c session.Call) bool { return c.Name == putFile || c.Name == applyDiff }

// files parses an answer in the files form: edits in fences, and requests. It returns
// false if there are none. An answer with edits is complete, since the caller checks
// the edits when it applies them.
func (s *Stream) files(a *session.Answer, turn int, raw string) bool {
	p := prose.Parse(raw, s.View)
	if act, ok := prose.Spoken(raw, s.View); s.Asked && s.Prose && len(p.Acts) == 0 && len(p.Doubts) == 0 && ok {
		p.Acts = []prose.Act{act}
	}
	if s.Line != nil && s.Prose {
		line, ok := prose.Corrected(raw, *s.Line, s.View)
		if ok && len(line.Acts) == 0 { // the tests that ran show that it is of no use
			a.Content, a.Complete = raw, true
			return true
		}
		if p = p.Only(s.Line.Path); ok {
			p = line
		}
	}
	p.Acts = slices.DeleteFunc(p.Acts, func(act prose.Act) bool {
		if act.Path != s.Sample || act.Path == "" || s.View.Has(act.Path) { //control:sample-is-no-file
			return false
		}
		p.Doubts = append(p.Doubts, act.Path+" belongs to another task")
		return true
	})
	if len(p.Acts) == 0 {
		if len(p.Doubts) > 0 && s.Prose {
			a.Errors = p.Doubts
			a.Content, a.Raw = raw, ""
			return true
		}
		return false
	}
	if p.Edits() && !s.Prose {
		return false // display it as it is
	}
	s.act(a, turn, p)
	if p.Edits() {
		a.Complete = !a.Calls[len(a.Calls)-1].Truncated && (a.Lost == "" || !lastCut(p))
	}
	if raw != a.Content {
		a.Raw = raw
	}
	return true
}

func lastCut(p prose.Answer) bool { return p.Acts[len(p.Acts)-1].Cut }

// act turns the acts of an answer into calls.
func (s *Stream) act(a *session.Answer, turn int, p prose.Answer) {
	a.Content, _ = cutComplete(p.Text)
	a.Content = cutBroken(a.Content)
	for _, act := range p.Acts {
		name, args := call(act)
		if name == putFile && !s.View.Has(act.Path) {
			args["unseen"] = "true"
			if s.Seen != nil && !s.Seen(act.Path) { // a path that was refused is in the next request
				args["invented"] = "true"
			}
		}
		if name == putFile && s.Function != "" {
			args["only"] = s.Function
		}
		data, err := json.Marshal(args)
		if err != nil {
			continue // cannot happen: strings always encode
		}
		a.Calls = append(a.Calls, session.Call{
			ID:        callID(turn, len(a.Calls)),
			Name:      name,
			Arguments: data,
			Truncated: act.Cut && (s.cutOff() || act.Kind == prose.Whole && !s.View.EndsLike(act.Path, act.Text)),
			Text:      true,
		})
	}
}

// call returns the tool for an act, and its arguments.
func call(act prose.Act) (string, map[string]string) {
	switch act.Kind {
	case prose.Whole:
		return putFile, map[string]string{"path": act.Path, "content": act.Text}
	case prose.Blocks:
		return applyDiff, map[string]string{"path": act.Path, "diff": act.Text}
	case prose.Read:
		return readFile, map[string]string{"path": act.Path}
	case prose.Search:
		return searchFor, map[string]string{"query": act.Text}
	}
	return runLine, map[string]string{"command": act.Text}
}

// unnamed derives calls from an answer without one: from arguments that fit exactly
// one tool, or from edits in fences for a known file.
func (s *Stream) unnamed(a *session.Answer, turn int, raw string) {
	if c, ok := s.Parser.ByArguments(raw, s.Offered); ok {
		textCalls(a, turn, []toolcall.Call{c})
		a.Content, a.Errors, a.Complete = "", nil, false
		return
	}
	if p := prose.Parse(raw, s.View); p.Edits() {
		s.act(a, turn, p)
		a.Errors = nil
	}
}
