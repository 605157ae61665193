package session

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/handrail-bot/handrail/policy"
)

// Changes is what became of the files of a session.
type Changes struct {
	Files       []FileChange // in which the branch differs from its base, of those that the session touched
	Lines       int          // added and removed, edit by edit: the work that it was
	Checkpoints []Checkpoint // commits on the branch
	Branch      string       // that has them
	Published   string       // the last of them, or the base
	Base        string       // commit of the base branch that the branch has; where the work began, until one was taken in
	Saved       string       // commit of the last saved state, on the branch or not
	Unpushed    []FileChange // what differs between the two
	Newest      *Checkpoint  // what tells of the saved state; nil for the base
	SavedAt     time.Time    // of its event
	Sent        []*Push      // pushes that people have to know of
	Tests       Tested       // how the tests went
	LeftOut     []LeftOut    // what the workspace has and no checkpoint can hold

	TakeBack *Message // a wish to take checkpoints back, or to bring them again, that was not carried out yet
	Kept     string   // what is up to this commit is not taken back; "" for the base
	KeptOf   []string // nor are these files

	// Approved is what people said yes to of what is not published yet, by
	// path: all that approved edits made of what is on the branch. It holds
	// while the saved state has exactly that, and is used up when published.
	Approved map[string]policy.Effect

	fresh []policy.Effect // of the approved call that ran last; the checkpoint after it tells whether they came true
	mine  map[string]bool // paths that the session touched on the branch
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
	w.Branch, w.Saved, w.Published, w.Base = t.Branch, t.Base, t.Base, t.Base
}

// TakingIn returns the base branch that the saved state has and the branch has not; nil
// for none.
func (w *Changes) TakingIn() *Merge {
	if w.Newest == nil || !w.Newest.Parked {
		return nil
	}
	return w.Newest.Merge
}

// BaseNow returns the commit of the base branch that the saved state has.
func (w *Changes) BaseNow() string {
	if m := w.TakingIn(); m != nil {
		return m.Commit //control:base-from-then-on
	}
	return w.Base
}

// tookIn counts changes anew, since the base is another one now. Those of others stay
// out.
func (w *Changes) tookIn(p *Checkpoint) {
	w.touched(w.Unpushed)
	w.Base, w.Files = p.Merge.Commit, w.ours(p.Files)
}

// touched notes whose files these are.
func (w *Changes) touched(list []FileChange) {
	if w.mine == nil {
		w.mine = map[string]bool{}
	}
	for _, f := range list {
		w.mine[f.Path] = true
		w.mine[cmp.Or(f.From, f.Path)] = true
	}
}

// ours leaves out what others did to files that the session did not touch.
func (w *Changes) ours(list []FileChange) []FileChange {
	return slices.DeleteFunc(slices.Clone(list), func(f FileChange) bool { return !w.mine[f.Path] && !w.mine[f.From] })
}

// Content says in one string what the branch has of the session. Where it is what it
// was before, nothing was changed, however many edits led there.
func (w *Changes) Content() string {
	var b strings.Builder
	b.WriteString(w.Base)
	for _, f := range w.Files {
		fmt.Fprintf(&b, "\n%q %q %s %s %d %d", f.Path, f.From, f.Kind, f.Blob, f.Added, f.Removed)
	}
	return b.String()
}

// wish notes what a person wants to become of the checkpoints.
func (w *Changes) wish(p *Message) {
	switch {
	case p.TakeBack.Do != Keep:
		w.TakeBack = p
	case len(p.TakeBack.Paths) > 0:
		w.KeptOf = append(w.KeptOf, p.TakeBack.Paths...)
	default:
		w.Kept = w.Published //control:kept-checkpoints
	}
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
	if p.Merge != nil {
		w.tookIn(p)
	}
	w.Published, w.Unpushed, w.Approved = p.Commit, nil, nil //control:consumed-when-published
	if p.Commit != p.Parent {
		w.Checkpoints = append(w.Checkpoints, *p)
	}
	if p.Merge == nil {
		for _, f := range p.Files {
			if p.TookBack != Undo || !w.less(f) {
				w.add(f)
			}
		}
		w.touched(p.Files)
	}
	if p.Whole != nil {
		w.Files = w.ours(p.Whole) //control:files-are-the-diff
	}
}

// less counts a change that was taken back. A file that is as the session found it
// is not a changed one any more. It reports whether f takes something back.
func (w *Changes) less(f FileChange) bool {
	i := w.at(f.Path)
	if i < 0 {
		return false
	}
	have := &w.Files[i]
	have.Added, have.Removed = max(0, have.Added-f.Removed), max(0, have.Removed-f.Added)
	if f.Blob == have.Was {
		w.Files = slices.Delete(slices.Clone(w.Files), i, i+1)
	}
	return true
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
	i := w.at(f.Path)
	if i < 0 {
		w.Files = append(w.Files, f)
		return
	}
	have := &w.Files[i]
	have.Added += f.Added
	have.Removed += f.Removed
	have.Blob = f.Blob
	if f.Kind == ChangeDelete || have.Kind == ChangeDelete {
		have.Kind = f.Kind
	}
}

// at returns where a file is in the list, −1 where it is not.
func (w *Changes) at(path string) int {
	if !w.mine[path] {
		return -1
	}
	return slices.IndexFunc(w.Files, func(f FileChange) bool { return f.Path == path })
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
