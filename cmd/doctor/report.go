package doctor

import (
	"fmt"
	"strings"

	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/cmd/door"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

// Trial is the result of a trial. `doctor model` prints it as JSON.
type Trial struct {
	Model         string   `json:"model"`
	OK            bool     `json:"ok"`         // a form solves enough tasks
	Best          llm.Form `json:"best"`       // recommended form, auto if none solves enough
	Auto          llm.Form `json:"auto"`       // initial form of sessions with an unknown model
	Parameters    int64    `json:"parameters"` // 0 if unknown
	ContextLength int      `json:"context_length"`
	Tools         bool     `json:"tools"`
	NoRoles       bool     `json:"no_roles"` // its template supports no roles
	LoadSeconds   float64  `json:"load_seconds"`
	Forms         []Row    `json:"forms"`
	Advice        []string `json:"advice"`
}

// Row is the result of a model in one form.
type Row struct {
	Form      llm.Form `json:"form"`
	LeftOut   string   `json:"left_out,omitempty"` // why it was not tried
	Tried     int      `json:"tried"`
	Solved    int      `json:"solved"`
	Seconds   float64  `json:"seconds"`           // for all tasks
	PerSecond float64  `json:"tokens_per_second"` // over all answers, 0 if unknown
	FirstWord float64  `json:"first_word"`        // longest wait for a first word, in seconds
	Waited    float64  `json:"waited,omitempty"`  // longest wait in which no word came, in seconds
	Tasks     []Try    `json:"tasks,omitempty"`
}

// Try is the result of one task.
type Try struct {
	Task    string  `json:"task"`
	Solved  bool    `json:"solved"`
	End     string  `json:"end,omitempty"` // outcome of its session
	Why     string  `json:"why,omitempty"` // why it is not solved
	Seconds float64 `json:"seconds"`
}

// String returns the result as one line.
func (t Try) String() string {
	if t.Solved {
		return fmt.Sprintf("solved after %.1f s", t.Seconds)
	}
	why, _, _ := strings.Cut(t.Why, "\n")
	return fmt.Sprintf("not solved after %.1f s: %s", t.Seconds, untrusted.EscapeLine(why))
}

// conclude recommends a form and says where to set it. If several forms solve equally
// many tasks, the initial form of sessions wins, then the more capable one.
func (r *Trial) conclude() {
	most, late := 0, false
	for _, row := range r.Forms {
		if row.Solved > most || row.Solved == most && row.Form == r.Auto && most > 0 {
			most, r.Best = row.Solved, row.Form
		}
		late = late || row.LeftOut == "" && row.ranOut()
	}
	r.OK = most >= minSolved
	switch {
	case !r.OK && late:
		r.say(
			"The time was over before all tasks were tried. --time 10m gives more; a smaller model or a graphics card helps.",
		)
	case !r.OK:
		r.say(
			"In no form does this model solve two of three small tasks: sessions with it will mostly fail. Take a larger one, or one that was made for code.",
		)
	}
	if !r.OK {
		r.Best = llm.FormAuto
		return
	}
	note := ""
	if r.Best == r.Auto {
		note = " `auto` begins with it, too, as long as nothing else is known of the model."
	}
	r.say(
		"Take the form %[1]s: `model: {form: %[1]s}` in handrail.yml, or `--form %[1]s` for run, chat and resume.%[2]s",
		r.Best,
		note,
	)
}

// ranOut reports whether the time ran out before all tasks were finished.
func (row Row) ranOut() bool {
	for _, t := range row.Tasks {
		if t.Why == whyTime {
			return true
		}
	}
	return false
}

func (r *Trial) say(format string, args ...any) {
	r.Advice = append(r.Advice, fmt.Sprintf(format, args...))
}

// SayTrial writes the report as text.
func SayTrial(w *door.Console, r Trial) {
	w.Note("model ", untrusted.EscapeLine(r.Model)+": "+r.about())
	if r.NoRoles {
		fmt.Fprintln(w.Out, "✗ its template knows no roles")
	}
	rows := [][]string{{"form", "solved", "seconds", "tokens/s", "first word"}}
	for _, row := range r.Forms {
		if row.LeftOut != "" {
			rows = append(rows, []string{string(row.Form), "not tried: " + row.LeftOut})
			continue
		}
		speed, first := "–", "–"
		if row.PerSecond > 0 {
			speed = fmt.Sprintf("%.1f", row.PerSecond)
		}
		if row.Waited > row.FirstWord {
			first = fmt.Sprintf("> %.1f s", row.Waited)
		} else if row.FirstWord > 0 {
			first = fmt.Sprintf("%.1f s", row.FirstWord)
		}
		solved, seconds := fmt.Sprintf("%d of %d", row.Solved, len(tasks)), fmt.Sprintf("%.1f", row.Seconds)
		cells := []string{string(row.Form), solved, seconds, speed, first}
		if row.ranOut() {
			cells = append(cells, "the time was over")
		}
		rows = append(rows, cells)
	}
	_ = w.Table(rows) // the writer reports its error again for later lines
	for _, a := range r.Advice {
		w.Note("→ ", a)
	}
}

// about summarizes the server's facts about the model.
func (r Trial) about() string {
	out := []string{"size unknown", "context length unknown", "no tools"}
	switch n := float64(r.Parameters); {
	case n >= 1e9:
		out[0] = fmt.Sprintf("%.1f billion parameters", n/1e9)
	case n > 0:
		out[0] = fmt.Sprintf("%.0f million parameters", n/1e6)
	}
	if r.ContextLength > 0 {
		out[1] = fmt.Sprintf("made for %d tokens", r.ContextLength)
	}
	if r.Tools {
		out[2] = "says that it calls tools"
	}
	return strings.Join(append(out, fmt.Sprintf("loaded in %.1f s", r.LoadSeconds)), ", ")
}
