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

// callKey identifies equal calls, by name and canonical arguments.
type callKey struct {
	id, name string
	raw      json.RawMessage
}

func (k callKey) same(as callKey) bool {
	return k.name == as.name && (bytes.Equal(k.raw, as.raw) || k.canonical() == as.canonical())
}

// Habits detects repetitions and repeated mistakes of a model.
type Habits struct {
	keys    []callKey         // calls so far
	heard   map[string]uint64 // call → digest of its result
	cut     map[string]bool   // calls cut off by the end of the workspace
	seed    maphash.Seed
	wrong   int            // consecutive answers with a mistake
	wrongIn int            // turn of the last one
	wrongAt map[string]int // consecutive mistakes per file
	edited  func(tool string, arguments json.RawMessage) string

	progress progress
}

// NewHabits returns the habits of a model without calls. edited returns the file that
// a call edits, or "".
func NewHabits(edited func(tool string, arguments json.RawMessage) string) Habits {
	return Habits{
		edited:  edited,
		heard:   map[string]uint64{},
		cut:     map[string]bool{},
		wrongAt: map[string]int{},
		seed:    maphash.MakeSeed(),
	}
}

// AddAnswer records the calls of an answer.
func (h *Habits) AddAnswer(p *session.Answer) {
	for _, c := range p.Calls {
		h.keys = append(h.keys, callKey{id: c.ID, name: c.Name, raw: c.Arguments})
	}
}

// Result records the result of a call.
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

// Wrong returns the number of consecutive answers with a mistake. Several mistakes in
// one answer count once: the model learns of them together.
func (h *Habits) Wrong() int { return h.wrong }

// WrongAt returns the number of consecutive mistakes at a file.
func (h *Habits) WrongAt(file string) int { return h.wrongAt[file] }

// Forgive resets the mistakes, after new input from the user.
func (h *Habits) Forgive() {
	h.wrong, h.progress.stale = 0, 0
	clear(h.wrongAt)
}

// Forget resets the calls. The model no longer sees their results, so repeating a
// call is legitimate.
func (h *Habits) Forget() {
	h.keys = nil
	clear(h.heard)
	clear(h.progress.seen)
}

// canonical returns the arguments with sorted keys and without white space.
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

// sameInARow is the number of consecutive equal calls that is too many. Tools meant
// for repetition have a limit of their own.
const sameInARow = 3

// maxCut is the maximum number of equal consecutive calls cut off by the end of the
// workspace that do not count as repetitions. Beyond it, the call may be the cause of
// the end.
const maxCut = 5

// Repeated returns the message to stop a model with, if the call was made limit times
// in a row (0 means three times) with a result each time, or closes a circle of
// calls.
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
	if limit = cmp.Or(limit, sameInARow); n-cut < limit && n < limit+maxCut {
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

// maxCircle is the maximum length of a circle of calls to detect, and circleTurns
// the minimum number of rounds.
const (
	maxCircle   = 4
	circleTurns = 3
)

// circling reports whether the call at index at closes a circle of calls with the
// same results in each round. A single repeated call is no circle: it has its own
// limit, which depends on the tool.
func (h *Habits) circling(at int) bool {
	keys, seen := h.keys[:at+1], h.heard
	if at > 0 && keys[at].same(keys[at-1]) {
		return false
	}
	for size := 2; size <= maxCircle && size*circleTurns <= len(keys); size++ {
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
