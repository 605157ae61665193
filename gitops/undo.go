package gitops

import (
	"context"
	"fmt"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
)

// trailerPart names the checkpoint that an undo took back in part.
const trailerPart = "Undoes-paths-of"

// Undo says what to take back, or for [Mirror.Redo] to bring again.
type Undo struct {
	Head    string   // the branch's commit now
	N       int      // how many; 0 means 1
	Session string   // only checkpoints of this session; "" for any
	Base    string   // commit where the session began; checkpoints before it are left alone
	Paths   []string // only these files and directories; empty means all
	Meta             // an empty message is written for you
}

// Undo makes a commit that takes the last N checkpoints back that are not
// undone yet. When nothing else was committed since, its tree is the one of N
// checkpoints ago; other people's commits in between are kept, by a merge,
// which may be a [ConflictError]. The undone state stays in the history, so
// nothing is lost. With Paths the checkpoints count as not undone. Fewer than
// N checkpoints is [ErrNothing]. No ref moves.
func (m *Mirror) Undo(ctx context.Context, u Undo) (Commit, error) {
	c, err := m.reverse(ctx, u, func(h *past) ([]*commitObject, string) { return h.live, "checkpoints to undo" })
	if err != nil {
		return Commit{}, fmt.Errorf("undo: %w", err)
	}
	return c, nil
}

// Redo makes a commit that takes the last N undos back. Too few undos is
// [ErrNothing].
func (m *Mirror) Redo(ctx context.Context, u Undo) (Commit, error) {
	c, err := m.reverse(ctx, u, func(h *past) ([]*commitObject, string) { return h.undos, "undos to take back" })
	if err != nil {
		return Commit{}, fmt.Errorf("redo: %w", err)
	}
	return c, nil
}

// past is what a branch's history says about undoing, newest first.
type past struct {
	live  []*commitObject // checkpoints in force
	undos []*commitObject // undos in force
}

const maxPast = 5000

func (o *odb) past(ctx context.Context, u Undo) (*past, error) {
	p := &past{}
	undone, redone := map[string]bool{}, map[string]bool{}
	for id, n := u.Head, 0; id != u.Base && n < maxPast; n++ {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		c, err := o.commit(id)
		if err != nil {
			return nil, err
		}
		kind, session := "", ""
		for _, t := range ParseTrailers(c.Message) {
			switch t.Key {
			case TrailerSession:
				session = t.Value
			case TrailerUndoes:
				kind = TrailerUndoes
				undone[t.Value] = undone[t.Value] || !redone[id]
			case trailerPart:
				kind = TrailerUndoes
			case TrailerRedoes:
				kind = TrailerRedoes
				redone[t.Value] = true
			}
		}
		mine := session != "" && (u.Session == "" || session == u.Session)
		switch {
		case kind == TrailerUndoes && mine && !redone[id]:
			p.undos = append(p.undos, c)
		case kind == "" && mine && !undone[id]:
			p.live = append(p.live, c)
		}
		if len(c.ParentHashes) == 0 {
			break
		}
		id = c.ParentHashes[0].String()
	}
	return p, nil
}

func (m *Mirror) reverse(ctx context.Context, u Undo, pick func(*past) ([]*commitObject, string)) (Commit, error) {
	if u.N <= 0 {
		u.N = 1
	}
	var out Commit
	err := m.use(func(o *odb) error {
		p, err := o.past(ctx, u)
		if err != nil {
			return err
		}
		list, what := pick(p)
		if len(list) < u.N {
			return fmt.Errorf("%w: there are %d %s", ErrNothing, len(list), what)
		}
		out, err = o.revert(ctx, u, list[:u.N])
		return err
	})
	return out, err
}

// revert takes commits back, newest first, in one commit on top of head.
func (o *odb) revert(ctx context.Context, u Undo, list []*commitObject) (Commit, error) {
	head, err := o.commit(u.Head)
	if err != nil {
		return Commit{}, err
	}
	tree := head.TreeHash
	for _, c := range list {
		if tree, err = o.without(ctx, tree, c, u.Paths); err != nil {
			return Commit{}, err
		}
	}
	return o.finish(ctx, tree, head.Hash, u.meta(list))
}

// without gives a tree with the change of one commit taken out of it.
func (o *odb) without(ctx context.Context, tree plumbing.Hash, c *commitObject, paths []string) (plumbing.Hash, error) {
	was, err := o.parentTree(c)
	if err != nil {
		return tree, err
	}
	next, conflicts, err := o.merge(ctx, c.TreeHash, tree, was)
	if err != nil {
		return tree, err
	}
	d := newDiffer(o, paths)
	var bad []string
	for _, p := range conflicts {
		if d.chosen(p) {
			bad = append(bad, p)
		}
	}
	if len(bad) > 0 {
		return tree, &ConflictError{Paths: bad}
	}
	if len(paths) == 0 {
		return next, nil
	}
	return o.restore(ctx, tree, next, paths)
}

// meta completes the message and trailers of an undo or redo.
func (u Undo) meta(list []*commitObject) Meta {
	m := u.Meta
	key, verb := TrailerUndoes, "Undo"
	for _, t := range ParseTrailers(list[0].Message) {
		if t.Key == TrailerUndoes || t.Key == trailerPart {
			key, verb = TrailerRedoes, "Redo"
		}
	}
	if key == TrailerUndoes && len(u.Paths) > 0 {
		key = trailerPart
	}
	if strings.TrimSpace(m.Message) == "" {
		var b strings.Builder
		fmt.Fprintf(&b, "%s %d\n\n", verb, len(list))
		for _, c := range list {
			subject, _, _ := strings.Cut(strings.TrimSpace(c.Message), "\n")
			fmt.Fprintf(&b, "- %s %s\n", c.Hash.String()[:10], subject)
		}
		m.Message = b.String()
	}
	trailers := append([]Trailer(nil), m.Trailers...)
	hasSession := false
	for _, t := range trailers {
		hasSession = hasSession || t.Key == TrailerSession
	}
	if !hasSession {
		for _, t := range ParseTrailers(list[0].Message) {
			if t.Key == TrailerSession {
				trailers = append(trailers, t)
			}
		}
	}
	for _, c := range list {
		trailers = append(trailers, Trailer{key, c.Hash.String()})
	}
	m.Trailers = trailers
	return m
}
