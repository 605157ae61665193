package session

import (
	"maps"
	"slices"
	"time"

	"github.com/handrail-bot/handrail/policy"
)

// Changes is what became of the files of a session.
type Changes struct {
	Files       []FileChange // changed on the branch, in the order in which they were first touched
	Lines       int          // added and removed in them
	Checkpoints []Checkpoint // commits on the branch
	Branch      string       // that has them
	Published   string       // the last of them, or the base
	Saved       string       // commit of the last saved state, on the branch or not
	Unpushed    []FileChange // what differs between the two
	Newest      *Checkpoint  // what tells of the saved state; nil for the base
	SavedAt     time.Time    // of its event
	Sent        []*Push      // pushes that people have to know of
	LeftOut     []LeftOut    // what the workspace has and no checkpoint can hold

	// Approved is what people said yes to of what is not published yet, by
	// path: all that approved edits made of what is on the branch. It holds
	// while the saved state has exactly that, and is used up when published.
	Approved map[string]policy.Effect

	fresh []policy.Effect // of the approved call that ran last; the checkpoint after it tells whether they came true
	index map[string]int  // path → index in Files
}

// Push is a push that did not go as planned.
type Push struct {
	Sent
	Seq     int64  // of its event
	Commit  string // what is on the branch now
	To      string // the branch that has the work
	Settled bool   // the work is on a branch by now; its patch is not needed any more
}

func (w *Changes) begin(t Task) {
	w.Branch, w.Saved, w.Published = t.Branch, t.Base, t.Base
}

func (w *Changes) take(e Event, p *Checkpoint) {
	w.push(e, p)
	w.Saved, w.Newest, w.SavedAt = p.Commit, p, e.Time
	if p.Branch != "" {
		w.Branch = p.Branch
	}
	if p.Parked {
		w.Unpushed = p.Files
		w.approve(p.Files)
		return
	}
	w.Published, w.Unpushed, w.Approved = p.Commit, nil, nil //control:consumed-when-published
	if p.Commit != p.Parent {
		w.Checkpoints = append(w.Checkpoints, *p)
	}
	for _, f := range p.Files {
		w.add(f)
	}
}

// approve takes in what the approved call before this checkpoint made, and
// drops what the saved state does not have, or not any more.
func (w *Changes) approve(files []FileChange) {
	for _, e := range w.fresh {
		if before, ok := w.Approved[e.Path]; ok && before.Is == e.Was { // one approved edit on top of another
			e.Was = before.Was
		}
		if w.Approved == nil {
			w.Approved = map[string]policy.Effect{}
		}
		w.Approved[e.Path] = e
	}
	w.fresh = nil
	var happened []policy.Effect
	for _, f := range files {
		happened = append(happened, f.Effects()...)
	}
	maps.DeleteFunc(w.Approved, func(_ string, e policy.Effect) bool {
		return !slices.ContainsFunc(happened, e.Covers) //control:approved-until-changed
	})
}

func (w *Changes) add(f FileChange) {
	w.Lines += f.Added + f.Removed
	i, ok := w.index[f.Path]
	if !ok {
		if w.index == nil {
			w.index = map[string]int{}
		}
		w.index[f.Path] = len(w.Files)
		w.Files = append(w.Files, f)
		return
	}
	have := &w.Files[i]
	have.Added += f.Added
	have.Removed += f.Removed
	if f.Kind == ChangeDelete || have.Kind == ChangeDelete {
		have.Kind = f.Kind
	}
}

// push notes what became of a push.
func (w *Changes) push(e Event, p *Checkpoint) {
	if !p.Parked {
		for _, s := range w.Sent {
			s.Settled = s.Settled || s.How == SentPatch
		}
	}
	if p.Sent == nil {
		return
	}
	s := &Push{Sent: *p.Sent, Seq: e.Seq, Commit: p.Commit, To: p.Sent.Branch}
	if p.Branch != "" {
		s.To = p.Branch
	}
	w.Sent = append(w.Sent, s)
}
