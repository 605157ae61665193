package speech

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"slices"

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

// Habits is what shows that a model repeats itself or its mistakes.
type Habits struct {
	keys    []callKey         // calls so far
	heard   map[string]uint64 // call → digest of its result
	cut     map[string]bool   // calls that the end of the workspace cut off
	seed    maphash.Seed
	wrong   int            // answers in a row with a mistake
	wrongIn int            // the last of them
	wrongAt map[string]int // mistakes in a row at a file
	edited  func(tool string, arguments json.RawMessage) string

	progress progress
}

// NewHabits returns the habits of a model that made no call yet. edited returns the
// file that a call edits, "" for a call that edits none.
func NewHabits(edited func(tool string, arguments json.RawMessage) string) Habits {
	return Habits{edited: edited, heard: map[string]uint64{}, cut: map[string]bool{}, wrongAt: map[string]int{}, seed: maphash.MakeSeed()}
}

// Answered takes in the calls of an answer.
func (h *Habits) Answered(p *session.Answer) {
	for _, c := range p.Calls {
		h.keys = append(h.keys, callKey{id: c.ID, name: c.Name, raw: c.Arguments})
	}
}

// Result takes in what a call came to.
func (h *Habits) Result(c *session.CallState) {
	h.heard[c.ID] = maphash.String(h.seed, c.Result.Content)
	h.cut[c.ID] = c.Result.Cut
	h.progress.take(h.seed, c)
	file := h.edited(c.Name, c.Arguments)
	switch {
	case c.Result.Mistake:
		h.wrongAt[file]++
		if h.wrongIn != c.Turn { //control:mistakes-by-answers
			h.wrong, h.wrongIn = h.wrong+1, c.Turn
		}
	case c.Result.OK:
		h.wrong = 0
		delete(h.wrongAt, file)
	}
}

// Wrong returns in how many answers in a row the model made mistakes. Many in one are
// told together: it could not know better.
func (h *Habits) Wrong() int { return h.wrong }

// WrongAt returns how many mistakes it made in a row at a file.
func (h *Habits) WrongAt(file string) int { return h.wrongAt[file] }

// Forgive forgets mistakes: a person said something new.
func (h *Habits) Forgive() {
	h.wrong, h.progress.stale = 0, 0
	clear(h.wrongAt)
}

// Forget forgets the calls so far: the model sees their results no longer, so making
// one again is no repetition.
func (h *Habits) Forget() {
	h.keys = nil
	clear(h.heard)
	clear(h.progress.seen)
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
// repetition is their use have a limit of their own.
const sameInARow = 3

// mostCut is how many of the same calls in a row may have been cut off by the end of the
// workspace, and so be made again. More of them may be what ends it.
const mostCut = 5

// Repeated returns the words to send the model back with when it made this very call
// as often in a row as limit says, 0 for three times, and saw what it does, or goes in a circle of calls.
func (h *Habits) Repeated(call string, limit int) (words string, stop bool) {
	at := slices.IndexFunc(h.keys, func(k callKey) bool { return k.id == call })
	if at < 0 {
		return "", false
	}
	n, cut := 0, 0
	for i := at; i >= 0 && h.keys[i].same(h.keys[at]); i-- {
		if n++; h.cut[h.keys[i].id] {
			cut++ //control:cut-off-is-no-repetition
		}
	}
	if limit = cmp.Or(limit, sameInARow); n-cut < limit && n < limit+mostCut {
		if h.circling(at) {
			return goneRound, true
		}
		return "", false
	}
	return fmt.Sprintf("You made this same call %d times in a row, so it was not run again. Its result will not change. "+
		"Read the results above and do something else: another tool, other arguments, or finish.", n), true
}

const goneRound = "You go in a circle: you made the same few calls in the same order again and again, and their results did not change. " +
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
func (h *Habits) circling(at int) bool {
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
