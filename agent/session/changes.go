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

// Changes holds the file changes of a session.
type Changes struct {
	Files       []FileChange // the branch's diff to its base, limited to files that the session touched
	Lines       int          // lines added and removed, summed over all edits
	Checkpoints []Checkpoint // commits on the branch
	Branch      string       // with the checkpoints
	Published   string       // last commit on the branch, or the base
	Base        string       // base commit contained in the branch; initially the start of the work
	Saved       string       // commit of the last saved state, on the branch or not
	Unpushed    []FileChange // diff from Published to Saved
	Newest      *Checkpoint  // checkpoint of the saved state; nil for the base
	SavedAt     time.Time    // time of its event
	SavedIn     int          // turn of its event
	Sent        []*Push      // pushes to report to the user
	Tests       Tested       // state of the tests
	LeftOut     []LeftOut    // workspace content that no checkpoint can hold
	Neighbors   []Neighbor   // changes in other repositories

	TakeBack *Message // pending request to undo or redo checkpoints
	Kept     string   // last commit that must not be undone; "" for the base
	KeptOf   []string // files that must not be undone

	// Approved holds the approved changes that are not published yet, by path: the
	// combined effect of all approved edits relative to the branch. An entry holds while
	// the saved state has exactly that effect, and is used up when published.
	Approved map[string]policy.Effect

	fresh []policy.Effect // of the last approved call; the next checkpoint shows whether they happened
	mine  map[string]bool // paths that the session touched on the branch
}

// Push is a push that did not go as planned.
type Push struct {
	Sent
	Seq     int64  // of its event
	Commit  string // commit of the checkpoint
	To      string // branch that has the work
	Settled bool   // the work is on a branch; its patch is obsolete
}

func (w *Changes) begin(t Task) {
	w.Branch, w.Saved, w.Published, w.Base = t.Branch, t.Base, t.Base, t.Base
}

// TakingIn returns the base branch merged into the saved state but not into the
// branch, or nil.
func (w *Changes) TakingIn() *Merge {
	if w.Newest == nil || !w.Newest.Parked {
		return nil
	}
	return w.Newest.Merge
}

// BaseNow returns the base commit contained in the saved state.
func (w *Changes) BaseNow() string {
	if m := w.TakingIn(); m != nil {
		return m.Commit //control:base-from-then-on
	}
	return w.Base
}

// applyMerge recounts the changes against a new base. Changes of others are left out.
func (w *Changes) applyMerge(p *Checkpoint) {
	w.markTouched(w.Unpushed)
	w.Base, w.Files = p.Merge.Commit, w.ours(p.Files)
}

// markTouched marks files as the session's.
func (w *Changes) markTouched(list []FileChange) {
	if w.mine == nil {
		w.mine = map[string]bool{}
	}
	for _, f := range list {
		w.mine[f.Path] = true
		w.mine[cmp.Or(f.From, f.Path)] = true
	}
}

// ours returns the changes of files that the session touched.
func (w *Changes) ours(list []FileChange) []FileChange {
	return slices.DeleteFunc(slices.Clone(list), func(f FileChange) bool { return !w.mine[f.Path] && !w.mine[f.From] })
}

// Content returns a fingerprint of the session's changes on the branch. If it is the
// same as before, nothing changed, regardless of the number of edits.
func (w *Changes) Content() string {
	var b strings.Builder
	b.WriteString(w.Base)
	for _, f := range w.Files {
		fmt.Fprintf(&b, "\n%q %q %s %s %d %d", f.Path, f.From, f.Kind, f.Blob, f.Added, f.Removed)
	}
	for _, n := range w.Neighbors {
		fmt.Fprintf(&b, "\n%s %s", n.Repository, n.Tree)
	}
	return b.String()
}

// recordWish records a user's request about the checkpoints.
func (w *Changes) recordWish(p *Message) {
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
	w.Saved, w.Newest, w.SavedAt, w.SavedIn = p.Commit, p, e.Time, e.Turn
	if p.Branch != "" {
		w.Branch = p.Branch
	}
	if p.Parked {
		w.Unpushed = p.Files
		w.approve(p.Files)
		return
	}
	if p.Merge != nil {
		w.applyMerge(p)
	}
	w.Published, w.Unpushed, w.Approved = p.Commit, nil, nil //control:consumed-when-published
	if p.Commit != p.Parent {
		w.Checkpoints = append(w.Checkpoints, *p)
	}
	if p.Merge == nil {
		for _, f := range p.Files {
			if p.TookBack != Undo || !w.subtract(f) {
				w.add(f)
			}
		}
		w.markTouched(p.Files)
	}
	if p.Whole != nil {
		w.Files = w.ours(p.Whole) //control:files-are-the-diff
	}
}

// subtract subtracts a change that was undone. A file back in its original state counts
// as unchanged. less reports whether the file was among the changed ones.
func (w *Changes) subtract(f FileChange) bool {
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

// approve adds the effects of the approved call before this checkpoint, and drops
// those that the saved state does not have.
func (w *Changes) approve(files []FileChange) {
	for _, e := range w.fresh {
		if before, ok := w.Approved[e.Path]; ok && before.Is == e.Was { // an approved edit on top of another one
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

// at returns the index of a file in the list, or -1.
func (w *Changes) at(path string) int {
	if !w.mine[path] {
		return -1
	}
	return slices.IndexFunc(w.Files, func(f FileChange) bool { return f.Path == path })
}

// push records the result of a push.
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
