package dashboard

import (
	"slices"

	"github.com/handrail-bot/handrail/agent/session"
)

// present is the folded state of a session, with the steps that were taken back.
type present struct {
	*session.State
	wish  session.TakeBack // the last one
	wants map[string]want  // by the commit that undoes or redoes
}

// want is the request that a commit carries out.
type want struct {
	n    int
	part bool // some files only: the steps count as not undone
}

// note remembers the requests about checkpoints.
func (p *present) note(payload any) {
	switch e := payload.(type) {
	case *session.Message:
		if e.TakeBack != nil && e.TakeBack.Do != session.Keep {
			p.wish = *e.TakeBack
		}
	case *session.Checkpoint:
		if e.TookBack == "" || e.Parked {
			return
		}
		if p.wants == nil {
			p.wants = map[string]want{}
		}
		p.wants[e.Commit] = want{max(p.wish.N, 1), len(p.wish.Paths)+len(p.KeptOf) > 0}
		p.wish = session.TakeBack{}
	}
}

// stepStanding holds the numbers of the commands for a step: undo it and the later ones, or
// redo it if it is an undo. 0 means that there is no such command.
type stepStanding struct {
	undo, redo int
	undone     bool
}

// undoOf is an undo that no redo has taken back.
type undoOf struct {
	at   int
	n    int   // steps that it counts for
	took []int // the steps that are gone; none if only some of their files are
}

// steps returns the standing of each checkpoint. Those up to a kept one stay.
func (p *present) steps() []stepStanding {
	out := make([]stepStanding, len(p.Checkpoints))
	var live []int
	var undos []undoOf
	for i, c := range p.Checkpoints {
		w := p.wants[c.Commit]
		n := max(w.n, 1)
		switch c.TookBack {
		case session.Undo:
			u := undoOf{at: i, n: n}
			if from := max(0, len(live)-n); !w.part {
				u.took, live = slices.Clone(live[from:]), live[:from]
			}
			undos = append(undos, u)
		case session.Redo:
			for n > 0 && len(undos) > 0 {
				last := undos[len(undos)-1]
				undos, live, n = undos[:len(undos)-1], append(live, last.took...), n-last.n
			}
		default:
			live = append(live, i)
		}
	}
	for _, u := range undos {
		for _, i := range u.took {
			out[i].undone = true
		}
	}
	kept := slices.IndexFunc(p.Checkpoints, func(c session.Checkpoint) bool { return c.Commit == p.Kept })
	for n, i := range slices.Backward(live) {
		if i > kept {
			out[i].undo = len(live) - n //control:dashboard-own-steps
		}
	}
	n := 0
	for _, u := range slices.Backward(undos) {
		if u.at > kept {
			n += u.n
			out[u.at].redo = n
		}
	}
	return out
}
