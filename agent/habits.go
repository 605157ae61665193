package agent

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"hash/maphash"

	"github.com/handrail-bot/handrail/agent/session"
)

// callKey is what makes two calls the same: name and canonical arguments.
type callKey struct {
	id, name string
	raw      json.RawMessage
}

func (k callKey) same(as callKey) bool {
	return k.name == as.name && (bytes.Equal(k.raw, as.raw) || k.canonical() == as.canonical())
}

// habits is what shows that a model repeats itself or its mistakes.
type habits struct {
	keys    []callKey         // calls so far
	heard   map[string]uint64 // call → digest of its result
	seed    maphash.Seed
	wrong   int            // mistakes in a row
	wrongBy map[string]int // mistakes in a row with a tool, or at a file
	edits   func(tool string) bool
}

func newHabits(edits func(tool string) bool) habits {
	return habits{edits: edits, heard: map[string]uint64{}, wrongBy: map[string]int{}, seed: maphash.MakeSeed()}
}

func (h *habits) answered(p *session.Answer) {
	for _, c := range p.Calls {
		h.keys = append(h.keys, callKey{id: c.ID, name: c.Name, raw: c.Arguments})
	}
}

func (h *habits) result(c *session.CallState) {
	h.heard[c.ID] = maphash.String(h.seed, c.Result.Content)
	keys := []string{"tool " + c.Name}
	if h.edits(c.Name) {
		keys = append(keys, "file "+pathArgument(c.Arguments))
	}
	switch {
	case c.Result.Mistake:
		h.wrong++
		for _, k := range keys {
			h.wrongBy[k]++
		}
	case c.Result.OK:
		h.wrong = 0
		for _, k := range keys {
			delete(h.wrongBy, k)
		}
	}
}

// resetMistakes forgets mistakes: a person said something new.
func (h *habits) resetMistakes() {
	h.wrong = 0
	clear(h.wrongBy)
}

// forget forgets the calls so far: the model sees their results no longer, so making
// one again is no repetition.
func (h *habits) forget() {
	h.keys = nil
	clear(h.heard)
}

// canonical is the arguments with sorted keys and without white space.
func (k callKey) canonical() string {
	var v any
	d := json.NewDecoder(bytes.NewReader(k.raw))
	d.UseNumber()
	if d.Decode(&v) == nil {
		if b, err := json.Marshal(v); err == nil {
			return string(b)
		}
	}
	return string(k.raw)
}

// sameInARow is how many equal calls in a row are one too many. Tools whose
// repetition is their use have a limit of their own, see [tools.Spec].
const sameInARow = 3

// repeated counts how often the model made this very call in a row and, at
// the limit, gives the words to send it back with.
func (r *callRunner) repeated(c *session.CallState) (string, bool) {
	if c.Request != nil {
		return "", false // it was let through once and waited since
	}
	limit := cmp.Or(r.gate.tools.Spec(c.Name).Repeats, sameInARow)
	n, at := 0, -1
	for i, k := range r.habits.keys {
		if k.id == c.ID {
			at = i
		}
	}
	if at < 0 {
		return "", false
	}
	me := r.habits.keys[at]
	for i := at; i >= 0 && r.habits.keys[i].same(me); i-- {
		n++
	}
	if n < limit {
		if r.habits.circling(at) {
			return circle, true
		}
		return "", false
	}
	return fmt.Sprintf("You made this same call %d times in a row, so it was not run again. Its result will not change. "+
		"Read the results above and do something else: another tool, other arguments, or finish.", n), true
}

const circle = "You go in a circle: you made the same few calls in the same order again and again, and their results did not change. " +
	"This call was not run. Do something else, or finish and say what is missing."

// mostCircle is the longest circle of calls that is looked for, and
// circleTurns how often it must have been gone round.
const (
	mostCircle  = 4
	circleTurns = 3
)

// circling reports whether the call at index at closes a circle of calls whose
// results were the same each time round. One call again and again is no
// circle: that has its own limit, which differs by tool.
func (h *habits) circling(at int) bool {
	keys, seen := h.keys[:at+1], h.heard
	if at > 0 && keys[at].same(keys[at-1]) {
		return false
	}
	for size := 2; size <= mostCircle && size*circleTurns <= len(keys); size++ {
		same := true
		for i := len(keys) - 1; same && i >= len(keys)-size*(circleTurns-1); i-- {
			a, b := keys[i], keys[i-size]
			same = a.same(b) && (i == at || seen[a.id] == seen[b.id])
		}
		if same {
			return true
		}
	}
	return false
}
