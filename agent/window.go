package agent

import "github.com/handrail-bot/handrail/agent/llm"

// window is how much of a session the model can hold.
type window struct {
	*journal
	model    *model
	fixed    int // size that was asked for; 0: as it is needed
	grown    int // size that the session has outgrown the first one for, 0 while it has not
	squeezed int // how often the server found a prompt too long all the same
}

// mostContext is how large a window can become. A session begins with one that a laptop
// can afford, or with the larger one that the model's operator chose, and gets a larger
// one when it outgrows it, as far as the model goes: growing costs the server a reload,
// summarizing costs what the model knew.
const mostContext = 131072

// size is the context to work in, in tokens.
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

// mayHave is the largest window that a model may have, 0 for one that is unknown. What
// its operator made smaller than sessions begin with is all that there is: there is a
// reason for it, such as the memory.
func mayHave(caps llm.Capabilities) int {
	if caps.ContextSet > 0 && caps.ContextSet < llm.FirstWindow { //control:operators-window
		return caps.ContextSet
	}
	return caps.ContextLength
}

// LargestContext returns how large the context of a session can become, in tokens. set is
// the size that was asked for, 0 for as it is needed.
func LargestContext(set int, caps llm.Capabilities) int {
	switch limit := mayHave(caps); {
	case set == 0 && limit == 0:
		return caps.Window()
	case set == 0:
		return min(mostContext, limit)
	case caps.ContextLength == 0:
		return set
	}
	return min(set, caps.ContextLength)
}

// grow takes the next larger window, if the model has one to give.
func (w *window) grow() bool {
	if !w.canGrow() {
		return false
	}
	w.grown = min(w.size()*2, w.largest())
	return true
}

func (w *window) canGrow() bool { return w.fixed == 0 && w.size() < w.largest() }

func (w *window) largest() int { return min(mostContext, mayHave(w.model.caps)) }

// most is the size that the window can come to.
func (w *window) most() int {
	if w.canGrow() {
		return w.largest()
	}
	return w.size()
}

func (w *window) tokens(bytes int) int { return w.ratio.Tokens(bytes) }

// mostSqueezes is how often a prompt is made shorter than thought necessary
// when the server still finds it too long.
const mostSqueezes = 3

// room is how many tokens of the window a prompt may take; the rest is for
// the answer. It shrinks when the server counts more than was estimated.
func (w *window) room() int {
	n := w.size() * 3 / 4
	for range w.squeezed {
		n = n * 7 / 10
	}
	return n
}

// limit is how many tokens a prompt may have without being shortened piece by piece.
func (w *window) limit() int {
	if w.squeezed > 0 {
		return w.room()
	}
	return w.room() + w.size()/8
}
