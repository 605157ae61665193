package reviewer

import (
	"context"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/ghapp/reads"
	"github.com/handrail-bot/handrail/bot/review"
)

const (
	maxFixed       = 20 // maximum number of fixed findings whose commit is looked up
	maxSeenCommits = 30 // maximum number of comparisons for that
)

// history finds the commit that changed the lines of a finding. It compares as few commits
// as it can, and each pair once.
type history struct {
	Session
	known map[string][]review.Change // by both commits
	list  map[string][]string        // commits since one, the oldest first
}

// fixedIn names in the fixed rows the commit that changed their lines first. at holds the
// commit of each finding, by its mark. A commit that cannot be found stays unnamed.
func (s Session) fixedIn(ctx context.Context, rows []review.Row, at map[string]string) error {
	h := history{Session: s, known: map[string][]review.Change{}, list: map[string][]string{}}
	n := 0
	for i, r := range rows {
		from := at[review.Mark(r.Finding)]
		if r.State != review.Fixed || r.Finding.Old || from == "" || from == s.commit() || n == maxFixed {
			continue
		}
		n++
		commit, err := h.find(ctx, r.Finding, from)
		if err != nil && ghapp.KindOf(err) != ghapp.Permanent {
			return err
		}
		rows[i].Commit = commit
	}
	return nil
}

// find returns the first commit after from that removes a line of a finding, or "".
func (h history) find(ctx context.Context, f session.Finding, from string) (string, error) {
	list, ok := h.list[from]
	if !ok {
		var err error
		if list, err = reads.CommitsBetween(ctx, h.Client, h.Thread, from, h.commit()); err != nil {
			return "", err
		}
		h.list[from] = list
	}
	low, high := 0, len(list) // the first one with the change is in list[low:high+1]
	for low < high {
		mid := (low + high) / 2
		gone, err := h.gone(ctx, f, from, list[mid])
		if err != nil {
			return "", err
		}
		if gone {
			high = mid
		} else {
			low = mid + 1
		}
	}
	if low == len(list) {
		return "", nil
	}
	return list[low], nil
}

// gone reports whether a line of a finding is removed between two commits.
func (h history) gone(ctx context.Context, f session.Finding, from, to string) (bool, error) {
	changes, ok := h.known[from+to]
	if !ok && len(h.known) < maxSeenCommits {
		files, ahead, err := reads.Forward(ctx, h.Client, h.Thread, from, to)
		if err != nil {
			return false, err
		}
		if ahead {
			changes = changesOf(files)
		}
		h.known[from+to] = changes
	}
	return review.Touched(f, changes), nil
}

// changesOf returns the changes of files as a finding is followed through them.
func changesOf(files []reads.File) []review.Change {
	out := []review.Change{}
	for _, f := range files {
		from := f.Previous
		if from == "" {
			from = f.Path
		}
		out = append(out, review.Change{From: from, To: f.Path, Patch: f.Patch, Deleted: f.Status == "removed"})
	}
	return out
}

// checks returns the checks of the commit that was read. A refusal by GitHub is no error.
func (s Session) checks(ctx context.Context) (out []review.Check, err error) {
	list, err := reads.OthersChecks(ctx, s.Client, s.commit())
	if ghapp.KindOf(err) == ghapp.Permanent && err != nil {
		return nil, nil
	}
	at := map[string]int{}
	for _, c := range list {
		one := review.Check{Name: c.Name, Result: "neutral", ID: c.ID}
		switch {
		case c.Running():
			one.Result = "running"
		case c.Failed():
			one.Result = "failed"
		case c.State == "success":
			one.Result = "passed"
		}
		i, known := at[c.Name]
		switch {
		case !known:
			at[c.Name] = len(out)
			out = append(out, one)
		case c.ID > out[i].ID:
			out[i] = one
		}
	}
	return out, err
}
