package main

import (
	"slices"
	"time"

	"github.com/handrail-bot/handrail/agent/llm"
)

// record is the history of one model's weights.
type record struct {
	Digest string               `json:"digest,omitempty"` // empty if the server reports none
	Server string               `json:"server"`           // the last server with these weights
	Model  string               `json:"model"`
	Used   time.Time            `json:"used"`
	Forms  map[llm.Form]outcome `json:"forms"`
}

// outcome is the history of sessions in one form.
type outcome struct {
	Last   string `json:"last"`   // + for a success, - for a failure, the newest last
	Others int    `json:"others"` // outcomes of other forms since the last failure
}

const (
	maxLast    = 8   // outcomes kept per form
	decay      = 0.8 // weight of an outcome relative to the next newer one
	retryAfter = 20  // outcomes of other forms before a failed form is retried
)

// ranked lists every form, the most demanding for the model first.
var ranked = [...]llm.Form{llm.FormNative, llm.FormText, llm.FormFiles}

// rank returns the index of a form in ranked, or -1.
func rank(f llm.Form) int { return slices.Index(ranked[:], f) }

func (r *record) named(server, model string) bool { return r.Server == server && r.Model == model }

// take records the outcome of a session.
func (r *record) take(form llm.Form, well bool) {
	if r.Forms == nil {
		r.Forms = map[llm.Form]outcome{}
	}
	for f, o := range r.Forms {
		if f != form {
			o.Others++
			r.Forms[f] = o
		}
	}
	o := r.Forms[form]
	if well {
		o.Last += "+"
	} else {
		o.Last += "-"
		o.Others = 0
	}
	o.Last = o.Last[max(0, len(o.Last)-maxLast):]
	r.Forms[form] = o
}

// well reports whether at least half of the last sessions succeeded; newer ones weigh
// more.
func (o outcome) well() bool {
	good, all, weight := 0.0, 0.0, 1.0
	for i := len(o.Last) - 1; i >= 0 && len(o.Last)-i <= maxLast; i-- {
		if o.Last[i] == '+' {
			good += weight
		}
		all += weight
		weight *= decay
	}
	return all > 0 && good >= all/2
}

// best returns the most capable form that succeeds. A failed form is retried after enough
// outcomes of others, if it is not above the model's default form. If no form succeeds,
// best returns the form below the failed ones.
func (r *record) best(caps llm.Capabilities) llm.Form {
	if r == nil {
		return llm.FormAuto
	}
	least := llm.FormAuto
	for i, f := range ranked {
		o, known := r.Forms[f]
		if !known || f == llm.FormNative && !caps.Tools { // without tool support the server would refuse native calls
			continue
		}
		if o.well() || o.Others >= retryAfter && i >= rank(llm.FormOf(caps)) {
			return f
		}
		least = f.Simpler()
	}
	return least
}
