package gitops

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/handrail-bot/handrail/gitops/objects"
)

// The trailers by which a history says what was taken back.
const (
	trailerUndoes = "Undoes"          // ids of the checkpoints that an undo took back
	trailerPart   = "Undoes-paths-of" // id of the checkpoint that it took back in part
	trailerRedoes = "Redoes"          // id of the undo that a redo took back
)

// undo says what to take back, or for redo to bring again.
type undo struct {
	Head    string   // the branch's commit now
	N       int      // how many; 0 means 1
	Session string   // only checkpoints of this session; "" for any
	Base    string   // commit where the session began; checkpoints before it are left alone
	Paths   []string // only these files and directories; empty means all
	Meta             // an empty message is written for you
}

// undo makes a commit that takes the last N checkpoints back that are not
// undone yet. When nothing else was committed since, its tree is the one of N
// checkpoints ago; other people's commits in between stay, by a merge, which
// may be a [conflictError]. The undone state stays in the history, so nothing
// is lost. With Paths the checkpoints count as not undone. No ref moves.
func (m *Mirror) undo(ctx context.Context, u undo) (Commit, error) {
	return m.reverse(ctx, u, "checkpoints to undo")
}

// redo makes a commit that takes the last N undos back.
func (m *Mirror) redo(ctx context.Context, u undo) (Commit, error) {
	return m.reverse(ctx, u, undos)
}

const undos = "undos to take back"

func (m *Mirror) reverse(ctx context.Context, u undo, what string) (c Commit, err error) {
	err = m.pool.Use(func(o *objects.DB) error {
		live, undone, err := u.past(ctx, o)
		if err != nil {
			return err
		}
		if what == undos {
			live = undone
		}
		n := max(u.N, 1)
		if len(live) < n {
			return fmt.Errorf("%w: there are %d %s", errNothing, len(live), what)
		}
		c, err = u.revert(ctx, o, live[:n])
		return err
	})
	if err != nil {
		return Commit{}, fmt.Errorf("undo or redo: %w", err)
	}
	return c, nil
}

// past reads the branch's history: the checkpoints and the undos that are in
// force, newest first.
func (u undo) past(ctx context.Context, o *objects.DB) (live, undos []*object.Commit, err error) {
	const most = 5000
	undone, redone := map[string]bool{}, map[string]bool{}
	for id, n := u.Head, 0; id != u.Base && n < most; n++ {
		c, err := o.Commit(id)
		if err = errors.Join(err, ctx.Err()); err != nil {
			return nil, nil, err
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
	return live, undos, nil
}

// revert takes commits back, newest first, in one commit on top of head.
func (u undo) revert(ctx context.Context, o *objects.DB, list []*object.Commit) (Commit, error) {
	tree, err := o.TreeOf(u.Head)
	if err != nil {
		return Commit{}, err
	}
	for _, c := range list {
		was, err := o.ParentTree(c)
		if err == nil {
			tree, err = merge(ctx, o, [3]plumbing.Hash{c.TreeHash, tree, was}, only(u.Paths), guard{})
		}
		if err != nil {
			return Commit{}, err
		}
	}
	return makeCommit(ctx, o, tree, u.Head, u.meta(list))
}

// meta completes the message and trailers of an undo or redo.
func (u undo) meta(list []*object.Commit) Meta {
	m := u.Meta
	key, verb := trailerUndoes, "Undo"
	if trailer(list[0].Message, trailerUndoes) != "" || trailer(list[0].Message, trailerPart) != "" {
		key, verb = trailerRedoes, "Redo"
	} else if len(u.Paths) > 0 {
		key = trailerPart
	}
	if strings.TrimSpace(m.Message) == "" {
		m.Message = fmt.Sprintf("%s %d\n\n", verb, len(list))
		for _, c := range list {
			subject, _, _ := strings.Cut(strings.TrimSpace(c.Message), "\n")
			m.Message += fmt.Sprintf("- %s %s\n", c.Hash.String()[:10], subject)
		}
	}
	m.Trailers = slices.Clone(m.Trailers)
	if s := trailer(list[0].Message, TrailerSession); s != "" && !slices.ContainsFunc(m.Trailers, func(t Trailer) bool { return t.Key == TrailerSession }) {
		m.Trailers = append(m.Trailers, Trailer{TrailerSession, s})
	}
	for _, c := range list {
		m.Trailers = append(m.Trailers, Trailer{key, c.Hash.String()})
	}
	return m
}
