package session

import "maps"

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
	Sent        []*Push      // pushes that people have to know of

	// Approved maps sensitive paths to the blobs that a person let through.
	Approved map[string]string

	index map[string]int // path → index in Files
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
	w.Saved, w.Newest = p.Commit, p
	if p.Branch != "" {
		w.Branch = p.Branch
	}
	w.approve(p.Approved)
	if p.Parked {
		w.Unpushed = p.Files
		return
	}
	w.Published, w.Unpushed = p.Commit, nil
	if p.Commit != p.Parent {
		w.Checkpoints = append(w.Checkpoints, *p)
	}
	for _, f := range p.Files {
		w.add(f)
	}
}

func (w *Changes) approve(blobs map[string]string) {
	if w.Approved == nil {
		w.Approved = map[string]string{}
	}
	maps.Copy(w.Approved, blobs)
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
