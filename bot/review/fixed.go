package review

import (
	"context"
	"slices"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/ghapp/reads"
)

const (
	maxFixed       = 20 // maximum number of fixed findings whose commit is looked up
	maxSeenCommits = 30 // maximum number of comparisons for that
)

// history finds the commit that changed the lines of a finding. It compares as few commits
// as it can, and each pair once.
type history struct {
	Session
	known map[string][]change // by both commits
	list  map[string][]string // commits since one, the oldest first
}

func (s Session) history() history {
	return history{Session: s, known: map[string][]change{}, list: map[string][]string{}}
}

// fixedIn names in the fixed rows the commit that changed their lines first. at holds the
// commit of each finding, by its mark. A commit that cannot be found stays unnamed.
func (h history) fixedIn(ctx context.Context, rows []row, at map[string]string) error {
	n := 0
	for i, r := range rows {
		from := at[findingMark(r.Finding)]
		if r.State != fixed || r.Finding.Old || from == "" || from == h.commit() || n == maxFixed {
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
	changes, err := h.changes(ctx, from, to)
	return touched(f, changes), err
}

// changes returns the changes between two commits. They are nil if the second one does not
// follow the first, or if too many were compared.
func (h history) changes(ctx context.Context, from, to string) ([]change, error) {
	changes, ok := h.known[from+to]
	if ok || len(h.known) >= maxSeenCommits {
		return changes, nil
	}
	files, ahead, err := reads.Forward(ctx, h.Client, h.Thread, from, to)
	if err != nil {
		return nil, err
	}
	if ahead {
		changes = changesOf(files)
	}
	h.known[from+to] = changes
	return changes, nil
}

// isRepeat reports whether the finding all[i] is one that another review made before it, in
// whatever words: it has no thread of its own, and was at the place of the other one when it
// was made. all has the newest first, and at the commit of each finding, by its mark.
func (h history) isRepeat(
	ctx context.Context, all []session.Finding, i int, at map[string]string, talks []talk,
) (bool, error) {
	f := all[i]
	mark, to := findingMark(f), at[findingMark(f)]
	for j, g := range all {
		other := findingMark(g)
		from := at[other]
		switch {
		case other == mark && j < i:
			return true, nil
		case other == mark, hasThread(talks, mark), !hasThread(talks, other) && j < i, from == "", to == "":
			continue
		case from != to:
			changes, err := h.changes(ctx, from, to)
			if err != nil && ghapp.KindOf(err) != ghapp.Permanent {
				return false, err
			}
			if changes == nil {
				continue
			}
			g = follow(g, changes)
		}
		if same(g, f) {
			return true, nil
		}
	}
	return false, nil
}

// isGone reports whether the code of a finding without a thread is gone from the commit that
// was read. from is the commit of the finding.
func (h history) isGone(ctx context.Context, f session.Finding, from string) (bool, error) {
	if f.Old || f.Line == 0 || from == "" || from == h.commit() {
		return false, nil
	}
	changes, err := h.changes(ctx, from, h.commit())
	if err != nil && ghapp.KindOf(err) != ghapp.Permanent {
		return false, err
	}
	return changes != nil && follow(f, changes).Line == 0, nil
}

func hasThread(talks []talk, mark string) bool {
	return slices.ContainsFunc(talks, func(t talk) bool { return t.mark == mark })
}

// changesOf returns the changes of files as a finding is followed through them.
func changesOf(files []reads.File) []change {
	out := []change{}
	for _, f := range files {
		from := f.Previous
		if from == "" {
			from = f.Path
		}
		out = append(out, change{From: from, To: f.Path, Patch: f.Patch, Deleted: f.Status == "removed"})
	}
	return out
}

// checks returns the checks of the commit that was read. A refusal by GitHub is no error.
func (s Session) checks(ctx context.Context) (out []check, err error) {
	list, err := reads.OthersChecks(ctx, s.Client, s.commit())
	if ghapp.KindOf(err) == ghapp.Permanent && err != nil {
		return nil, nil
	}
	at := map[string]int{}
	for _, c := range list {
		one := check{Name: c.Name, Result: "neutral", ID: c.ID}
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
