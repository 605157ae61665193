package agent

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"

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
func (r *run) repeated(c *call) (string, bool) {
	if c.asked != nil {
		return "", false // it was let through once and waited since
	}
	limit := cmp.Or(r.tools.Spec(c.Name).Repeats, sameInARow)
	n, at := 0, -1
	for i, k := range r.state.keys {
		if k.id == c.ID {
			at = i
		}
	}
	if at < 0 {
		return "", false
	}
	me := r.state.keys[at]
	for i := at; i >= 0 && r.state.keys[i].same(me); i-- {
		n++
	}
	if n < limit {
		if r.circling(at) {
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

// circling says whether the call at index at closes a circle of calls whose
// results were the same each time round. One call again and again is no
// circle: that has its own limit, which differs by tool.
func (r *run) circling(at int) bool {
	keys, seen := r.state.keys[:at+1], r.state.heard
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

// mostMistakes is how many mistakes in a row end a session: the model is
// stuck, and more turns would not free it.
const mostMistakes = 6

// stuck ends a session whose model makes one mistake after the other.
func (r *run) stuck() *session.Outcome {
	if r.state.wrong < mostMistakes {
		return nil
	}
	last := ""
	for _, c := range r.state.calls {
		if c.result != nil && c.result.Mistake {
			last = fmt.Sprintf("; the last was a call of %s: %s", c.Name, firstLine(c.result.Content, 160))
		}
	}
	return r.failed(fmt.Sprintf("The model made %d mistakes in a row and did not get out of them by itself%s. "+
		"Nothing is lost. Say more precisely what to do, or use a larger model.", r.state.wrong, last))
}
