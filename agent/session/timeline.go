package session

import (
	"slices"
	"strings"
)

// Moment is something that happened and that people are told of: a
// [*Message], [*Answer], [*Request], [*Resolved], [*ToolRun], [*Note],
// [*Image] or [*Push].
type Moment interface{ moment() }

// ToolRun is a tool at work. Result is nil while it runs, and stays so where the
// session ended under it, CutOff then; a call that was refused has no Title of its
// own.
type ToolRun struct {
	Name   string // of the tool
	Title  string
	Result *Result
	CutOff bool
	Inside bool // of a sub-task
	Anew   bool // it was begun again, and is told of there
}

func (*Message) moment()  {}
func (*Answer) moment()   {}
func (*Request) moment()  {}
func (*Resolved) moment() {}
func (*ToolRun) moment()  {}
func (*Note) moment()     {}
func (*Image) moment()    {}
func (*Push) moment()     {}

// tell puts an event that the state has taken in on the timeline.
func (s *State) tell(payload any) {
	switch p := payload.(type) {
	case *Asked:
		s.Timeline = append(s.Timeline, s.Requests[len(s.Requests)-1])
	case *Started:
		s.Timeline = append(s.Timeline, s.call(p.Call).run)
	case *Result:
		c := s.call(p.Call)
		if c.run == nil {
			c.run = &ToolRun{Name: c.Name, Inside: c.inside}
			s.Timeline = append(s.Timeline, c.run)
		}
		c.run.Result = p
		if c.Request != nil {
			c.Request.Came = p
		}
	case *Ended:
		if s.Over() {
			s.cutOff()
		}
	case *Update:
		if p.Image != nil {
			s.Timeline = append(s.Timeline, p.Image)
		}
	case *Checkpoint:
		if p.Sent != nil {
			s.Timeline = append(s.Timeline, s.Sent[len(s.Sent)-1])
		}
	case Moment: // a message, an answer, an answer of a person, a note
		s.Timeline = append(s.Timeline, p)
	}
}

// AtWork returns the tool that runs, nil for none.
func (s *State) AtWork() *ToolRun {
	if n := len(s.Timeline); n > 0 {
		if run, ok := s.Timeline[n-1].(*ToolRun); ok && run.Result == nil && !run.CutOff {
			return run
		}
	}
	return nil
}

// Image returns what commands run in, nil where that was not said.
func (s *State) Image() *Image {
	for _, m := range slices.Backward(s.Timeline) {
		if image, ok := m.(*Image); ok {
			return image
		}
	}
	return nil
}

// cutOff marks the tools at work as ended: nothing runs in a session that is over.
func (s *State) cutOff() {
	for _, m := range s.Timeline {
		if run, ok := m.(*ToolRun); ok && run.Result == nil {
			run.CutOff = true
		}
	}
}

// Labels returns the labels in a note of what was looked up for a request. A
// label is followed by the session's mark, which nothing below it can imitate.
func (n *Note) Labels() []string {
	var out []string
	for _, it := range n.Items {
		out = append(out, it.Label())
	}
	lines := strings.Split(n.Text, "\n")
	for i := range len(lines) - 1 {
		if label, _, ok := strings.Cut(lines[i], " (already provided"); ok && strings.HasPrefix(lines[i+1], "<untrusted ") {
			out = append(out, label)
		}
	}
	return out
}

// Heard is up to where the model was told what people said: the place of the last
// request that came with what was said before it.
func (s *State) Heard() Place {
	for _, m := range slices.Backward(s.Timeline) {
		if m, ok := m.(*Message); ok && m.TakeBack == nil && m.Place != (Place{}) {
			return m.Place
		}
	}
	return s.Task.Place
}
