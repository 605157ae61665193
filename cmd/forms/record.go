package forms

import (
	"slices"
	"time"

	"github.com/handrail-bot/handrail/agent/llm"
)

// record is what is known of one model's weights.
type record struct {
	Digest string               `json:"digest,omitempty"` // "" if the server does not tell one
	Server string               `json:"server"`           // that had them last
	Model  string               `json:"model"`
	Used   time.Time            `json:"used"`
	Forms  map[llm.Form]outcome `json:"forms"`
}

// outcome is how sessions went in one form.
type outcome struct {
	Last   string `json:"last"`   // of the last sessions, + if it went well, - if not, the newest at the end
	Others int    `json:"others"` // outcomes of other forms since this one failed
}

const (
	maxLast = 8   // outcomes that count
	fades   = 0.8 // weight of an outcome beside the next newer one
	again   = 20  // outcomes of other forms after which one that failed is tried once more
)

// ranked is every form, from the most to the least that is asked of a model.
var ranked = [...]llm.Form{llm.FormNative, llm.FormText, llm.FormFiles}

// rank returns the place of a form, -1 if it is none.
func rank(f llm.Form) int { return slices.Index(ranked[:], f) }

func (r *record) named(server, model string) bool { return r.Server == server && r.Model == model }

// take takes in how a session went.
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

// well reports whether at least half of the last sessions went well, newer ones counted more.
func (o outcome) well() bool {
	good, all, weight := 0.0, 0.0, 1.0
	for i := len(o.Last) - 1; i >= 0 && len(o.Last)-i <= maxLast; i-- {
		if o.Last[i] == '+' {
			good += weight
		}
		all += weight
		weight *= fades
	}
	return all > 0 && good >= all/2
}

// best returns the most capable form that went well. A form that failed is tried once more
// after twenty outcomes of others, if sessions with such a model begin with it or with one
// above it. If nothing went well it is the form below those that failed.
func (r *record) best(caps llm.Capabilities) llm.Form {
	if r == nil {
		return llm.FormAuto
	}
	least := llm.FormAuto
	for i, f := range ranked {
		o, known := r.Forms[f]
		if !known || f == llm.FormNative && !caps.Tools { // a server that is asked for calls would refuse
			continue
		}
		if o.well() || o.Others >= again && i >= rank(llm.FormOf(caps)) {
			return f
		}
		least = f.Simpler()
	}
	return least
}
