package gitops

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/handrail-bot/handrail/gitops/objects"
)

// The trailers that record undos and redos in the history.
const (
	trailerUndoes = "Undoes"          // id of an undone checkpoint
	trailerPart   = "Undoes-paths-of" // id of the checkpoint that it took back in part
	trailerRedoes = "Redoes"          // id of a redone undo
)

// Undo describes an undo or a redo.
type Undo struct {
	Redo    bool     // redo instead of undo
	Head    string   // current commit of the branch
	From    string   // commit with unpublished changes, used in place of Head; empty means Head
	N       int      // number of checkpoints; 0 means 1, and for a redo all of the last undo
	Session string   // only checkpoints of this session; empty means any
	Base    string   // first commit of the session; earlier checkpoints are left alone
	Paths   []string // only these files and directories; empty means all
	Keep    []string // except these; ignored if Paths is set
	Meta             // Message is written by Undo
}

// Undo commits the reversal of the last N checkpoints that are not undone yet or, for a
// redo, of the last undos that cover N checkpoints. Later commits of others are kept by a
// merge, which may be an [ErrConflict]; without such commits the tree equals the one
// before the N checkpoints. The undone state stays in the history, so nothing is lost.
//
// With Paths or Keep the checkpoints count as not undone, and with Paths only checkpoints
// count that have something to undo there. If there are fewer than N, the error is
// [TooFew].
//
// Merges count, but are not undone: merging the branch later would undo them on its
// target, too. If there are only merges, the error is [ErrMerge]. Undo moves no ref.
func (m *Mirror) Undo(ctx context.Context, u Undo) (c Commit, err error) {
	err = m.pool.Use(ctx, func(o *objects.DB) error {
		live, undone, partly, err := u.past(ctx, o)
		if err != nil {
			return err
		}
		n, there := max(u.N, 1), len(live)
		if u.Redo {
			live, there = lastSteps(undone, n)
		}
		if len(u.Paths) == 0 && there < n {
			return TooFew(there)
		}
		if len(u.Paths) == 0 && !u.Redo {
			live = live[:n]
		}
		if live = withoutMerges(live); len(live) == 0 && len(u.Paths) == 0 { //control:merge-not-taken-back
			return ErrMerge
		}
		c, err = u.revert(ctx, o, live, partly)
		return err
	})
	return c, err
}

// TooFew is the error of an undo or a redo with a too large N. Its value is the number of
// available ones.
type TooFew int

func (n TooFew) Error() string { return fmt.Sprintf("nothing to do: there are %d", int(n)) }

// Unwrap returns [ErrNothing].
func (TooFew) Unwrap() error { return ErrNothing }

// lastSteps returns the last undos that cover n checkpoints, and their number of
// checkpoints.
func lastSteps(undos []*object.Commit, n int) (list []*object.Commit, steps int) {
	for i, c := range undos {
		for _, t := range parseTrailers(c.Message) {
			if t.Key == trailerUndoes || t.Key == trailerPart {
				steps++
			}
		}
		if list = undos[:i+1]; steps >= n { //control:redo-counts-steps
			break
		}
	}
	return list, steps
}

// MetaOf returns the message of a commit, and its trailers.
func (m *Mirror) MetaOf(ctx context.Context, commit string) (out Meta, err error) {
	err = m.pool.Use(ctx, func(o *objects.DB) error {
		c, err := o.Commit(commit)
		if err == nil {
			out.Message = strings.TrimSpace(c.Message)
			for _, t := range parseTrailers(c.Message) {
				out.Trailers = append(out.Trailers, Trailer(t))
			}
			if i := strings.LastIndex(out.Message, "\n\n"); i > 0 && len(out.Trailers) > 0 {
				out.Message = out.Message[:i]
			}
		}
		return errors.Join(err, ctx.Err())
	})
	return out, err
}

// Subjects returns the first lines of the messages of a commit and its first parents, the
// newest first, at most n.
func (m *Mirror) Subjects(ctx context.Context, commit string, n int) (out []string, err error) {
	err = m.pool.Use(ctx, func(o *objects.DB) error {
		for at := commit; at != "" && len(out) < n && ctx.Err() == nil; {
			c, err := o.Commit(at)
			if err != nil && len(out) > 0 {
				break // a shallow history ends here
			}
			if err != nil {
				return err
			}
			subject, _, _ := strings.Cut(strings.TrimSpace(c.Message), "\n")
			out = append(out, subject)
			if len(c.ParentHashes) == 0 {
				break
			}
			at = c.ParentHashes[0].String()
		}
		return ctx.Err()
	})
	return out, err
}

// past reads the branch's history: the checkpoints and undos in force, newest first, and
// the set of partly undone checkpoints.
func (u Undo) past(
	ctx context.Context,
	o *objects.DB,
) (live, undos []*object.Commit, partly map[string]bool, err error) {
	const most = 5000
	undone, redone, partly := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for id, n := u.Head, 0; id != u.Base && n < most; n++ {
		c, err := o.Commit(id)
		if err = errors.Join(err, ctx.Err()); err != nil {
			return nil, nil, nil, err
		}
		kind, session := "", ""
		for _, t := range parseTrailers(c.Message) {
			switch t.Key {
			case TrailerSession:
				session = t.Value
			case trailerUndoes:
				kind = trailerUndoes
				undone[t.Value] = undone[t.Value] || !redone[id]
			case trailerPart:
				kind = trailerUndoes
				partly[t.Value] = partly[t.Value] || !redone[id]
			case trailerRedoes:
				kind = trailerRedoes
				redone[t.Value] = true
			}
		}
		mine := session != "" && (u.Session == "" || session == u.Session)
		switch {
		case kind == trailerUndoes && mine && !redone[id]:
			undos = append(undos, c)
		case kind == "" && mine && !undone[id]:
			live = append(live, c)
		}
		if len(c.ParentHashes) == 0 {
			break
		}
		id = c.ParentHashes[0].String()
	}
	return live, undos, partly, nil
}

// revert reverts commits, newest first, in one commit on top of head.
func (u Undo) revert(
	ctx context.Context,
	o *objects.DB,
	list []*object.Commit,
	partly map[string]bool,
) (Commit, error) {
	tree, err := o.TreeOf(cmp.Or(u.From, u.Head))
	if err != nil {
		return Commit{}, err
	}
	which := only(u.Paths)
	if len(u.Paths) == 0 && len(u.Keep) > 0 { //control:kept-files
		which = except(u.Keep)
	}
	var done []*object.Commit
	for _, c := range list {
		was, err := o.ParentTree(c)
		before := tree
		if err == nil {
			tree, err = trees(ctx, o, [3]plumbing.Hash{c.TreeHash, tree, was}, which, guard{})
		}
		if errors.Is(err, ErrConflict) && len(u.Paths) > 0 && partly[c.Hash.String()] { // this part is undone already
			tree, err = before, nil
		}
		if err != nil {
			return Commit{}, err
		}
		if len(u.Paths) == 0 || tree != before { //control:undo-of-a-file
			done = append(done, c)
		}
		if len(u.Paths) > 0 && len(done) == max(u.N, 1) {
			break
		}
	}
	if len(u.Paths) > 0 && len(done) < max(u.N, 1) {
		return Commit{}, TooFew(len(done))
	}
	return makeCommit(ctx, o, tree, u.Head, u.meta(done))
}

// meta adds the message and the trailers of an undo or redo.
func (u Undo) meta(list []*object.Commit) Meta {
	m := u.Meta
	key, verb := trailerUndoes, "Undo"
	if trailerValue(list[0].Message, trailerUndoes) != "" || trailerValue(list[0].Message, trailerPart) != "" {
		key, verb = trailerRedoes, "Redo"
	} else if len(u.Paths)+len(u.Keep) > 0 {
		key = trailerPart
	}
	m.Trailers = slices.Clone(m.Trailers)
	var steps []string
	for _, c := range list {
		subject, rest, _ := strings.Cut(strings.TrimSpace(c.Message), "\n")
		if key == trailerRedoes { // list the original steps, not the undo commits
			body, _, _ := strings.Cut(strings.TrimSpace(rest), "\n\n")
			steps = append(steps, strings.Split(body, "\n")...)
		} else {
			steps = append(steps, fmt.Sprintf("- %s %s", c.Hash.String()[:10], subject))
		}
		m.Trailers = append(m.Trailers, Trailer{key, c.Hash.String()})
	}
	m.Message = fmt.Sprintf("%s %d\n\n%s\n", verb, len(steps), strings.Join(steps, "\n"))
	return m
}
