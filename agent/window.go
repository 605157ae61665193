package agent

import "github.com/handrail-bot/handrail/agent/llm"

// window is the context size of a session's model.
type window struct {
	*journal
	model    *model
	fixed    int // configured size; 0: grows on demand
	grown    int // current size if larger than the first one, else 0
	squeezed int // number of prompts that the server rejected as too long
}

// maxContext is the maximum size of a window that grows. A session begins with a window
// for a laptop, or with the larger one that the operator chose. It grows on demand, up to
// the model's limit: growing costs the server a reload, but summarizing loses knowledge.
const maxContext = 131072

// size returns the current context size in tokens.
func (w *window) size() int {
	caps := w.model.caps
	if w.fixed == 0 {
		return max(caps.Window(), w.grown)
	}
	if caps.ContextLength > 0 {
		return min(w.fixed, caps.ContextLength)
	}
	return w.fixed
}

// maxWindow returns the largest window permitted for a model, or 0 if it is unknown. If the
// operator set a smaller window than the default, it is the limit: there is a reason for
// it, such as the memory.
func maxWindow(caps llm.Capabilities) int {
	if caps.ContextSet > 0 && caps.ContextSet < llm.FirstWindow { //control:operators-window
		return caps.ContextSet
	}
	return caps.ContextLength
}

// LargestContext returns the maximum context size of a session in tokens. set is the
// configured size; 0 means on demand.
func LargestContext(set int, caps llm.Capabilities) int {
	switch limit := maxWindow(caps); {
	case set == 0 && limit == 0:
		return caps.Window()
	case set == 0:
		return min(maxContext, limit)
	case caps.ContextLength == 0:
		return set
	}
	return min(set, caps.ContextLength)
}

// grow switches to the next larger window, if there is one.
func (w *window) grow() bool {
	if !w.canGrow() {
		return false
	}
	w.grown = min(w.size()*2, w.largest())
	return true
}

func (w *window) canGrow() bool { return w.fixed == 0 && w.size() < w.largest() }

func (w *window) largest() int { return min(maxContext, maxWindow(w.model.caps)) }

// maxSize returns the largest size that the window can still reach.
func (w *window) maxSize() int {
	if w.canGrow() {
		return w.largest()
	}
	return w.size()
}

func (w *window) tokens(bytes int) int { return w.ratio.Tokens(bytes) }

// maxSqueezes is the maximum number of times that a prompt is shortened further because
// the server still rejects it as too long.
const maxSqueezes = 3

// room returns the maximum size of a prompt in tokens; the rest is for the answer. It
// shrinks each time the server rejects a prompt as too long.
func (w *window) room() int {
	n := w.size() * 3 / 4
	for range w.squeezed {
		n = n * 7 / 10
	}
	return n
}

// limit returns the size in tokens up to which a prompt need not be cut piece by piece.
func (w *window) limit() int {
	if w.squeezed > 0 {
		return w.room()
	}
	return w.room() + w.size()/8
}
