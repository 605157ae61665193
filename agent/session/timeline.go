package session

import (
	"slices"
	"strings"
)

// Moment is a displayed event of the session: a [*Message], [*Answer], [*Request],
// [*Resolved], [*ToolRun], [*Note], [*Image], [*Push] or [*Verified].
type Moment interface{ moment() }

// ToolRun is an execution of a tool. Result is nil while it runs. If the session
// ended first, Result stays nil and CutOff is set. A refused call has no Title.
type ToolRun struct {
	Name   string // of the tool
	Title  string
	Result *Result
	CutOff bool
	Inside bool // in a sub-task
	Anew   bool // restarted, and displayed by the new run
}

func (*Message) moment()  {}
func (*Answer) moment()   {}
func (*Request) moment()  {}
func (*Resolved) moment() {}
func (*ToolRun) moment()  {}
func (*Note) moment()     {}
func (*Image) moment()    {}
func (*Push) moment()     {}

// tell adds an applied event to the timeline.
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
	case Moment: // a message, an answer of the model or the user, a note
		s.Timeline = append(s.Timeline, p)
	}
}

// AtWork returns the running tool, or nil.
func (s *State) AtWork() *ToolRun {
	if n := len(s.Timeline); n > 0 {
		if run, ok := s.Timeline[n-1].(*ToolRun); ok && run.Result == nil && !run.CutOff {
			return run
		}
	}
	return nil
}

// Image returns the container image for commands, or nil if none was recorded.
func (s *State) Image() *Image {
	for _, m := range slices.Backward(s.Timeline) {
		if image, ok := m.(*Image); ok {
			return image
		}
	}
	return nil
}

// cutOff marks the running tools as ended: nothing runs in an ended session.
func (s *State) cutOff() {
	for _, m := range s.Timeline {
		if run, ok := m.(*ToolRun); ok && run.Result == nil {
			run.CutOff = true
		}
	}
}

// Labels returns the labels in a context note. In the text of old logs, a label is
// followed by the session's untrusted marker, which the text below cannot forge.
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

// HeardUpTo returns the place up to which the model knows the conversation: that of the
// last request that included it.
func (s *State) HeardUpTo() Place {
	for _, m := range slices.Backward(s.Timeline) {
		if m, ok := m.(*Message); ok && m.TakeBack == nil && m.Place != (Place{}) {
			return m.Place
		}
	}
	return s.Task.Place
}
