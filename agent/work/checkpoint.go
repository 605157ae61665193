package work

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/handrail-bot/handrail/agent"
	"github.com/handrail-bot/handrail/agent/project"
	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/gitops"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

// checkpoints saves the changes of a workspace as commits. It builds trees from the
// paths and bytes that the workspace reports: git never runs on anything that the
// workspace wrote.
type checkpoints struct {
	ws      *workspace.Workspace
	hidden  place // the hidden files
	job     Job
	base    string // commit on which the workspace was opened
	tree    string // tree of the last saved state
	saved   string // commit of the last saved state; base if none was saved
	walled  bool   // commands in the workspace cannot affect anything else
	spoiled string // why leftovers of tests could not be removed; "" if they were

	branch     string         // target of the checkpoints
	published  string         // last checkpoint on the branch, or the commit where the session began
	unsure     []unsure       // pushes without an answer, since the last one with one
	since      string         // commit of the base branch contained in the branch
	merge      *session.Merge // merge in the saved state but not on the branch; nil if none
	moved      bool           // the branch has commits that the workspace lacks
	pointers   []string       // files that are known to be kept by Git LFS
	unfiltered []string       // files that are known to be without git's filter
	alike      []string       // files that are known to be beside a name that differs only in case

	secrets   Secrets
	sensitive func(path string) bool
	restored  map[string]string // path → mode and id of reverted files
	own       *project.Own      // files present when the session began

	others []*checkpoints // of other repositories that may be changed
	name   string         // of such a repository, and its directory; "" for the session's own
	id     string         // of such a repository, see [Other]
	within string
}

// trailerApproval is the commit trailer that names the approved request.
const trailerApproval = "Approval"

// privateRef is the ref of a session's saved states. It is never pushed.
func privateRef(id string) string { return gitops.SessionRefs + id }

// baseRef is the ref of a session's first commit if no branch needs to have it.
func baseRef(id string) string { return "refs/handrail/bases/" + id }

// KeepBase protects the first commit of a session from garbage collection until [Forget],
// also if no branch has it.
func KeepBase(ctx context.Context, repo *gitops.Mirror, id, commit string) error {
	return repo.SetRef(ctx, baseRef(id), commit, "") //control:base-outlives-housekeeping
}

// Forget deletes the saved states and the kept base of a discarded session.
func Forget(ctx context.Context, repo *gitops.Mirror, id string) error {
	for _, ref := range []string{privateRef(id), baseRef(id)} {
		old, err := repo.Resolve(ctx, ref)
		if errors.Is(err, gitops.ErrNotFound) {
			continue
		}
		if err == nil {
			err = repo.SetRef(ctx, ref, "", old)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Save implements agent.Checkpointer. Without keep, a walled workspace is reset to the
// last saved state instead.
func (c *checkpoints) Save(ctx context.Context, turn int, keep bool) (agent.Saved, error) {
	saved, err := c.saveOwn(ctx, turn, keep)
	for _, o := range c.others {
		if err != nil {
			return agent.Saved{}, err
		}
		err = o.saveNeighbor(ctx, turn, keep, &saved)
	}
	return saved, err
}

// learn adds names to the known ones, and returns those that were not known.
func learn(known *[]string, names []string) (news []string) {
	for _, name := range names {
		if !slices.Contains(*known, name) {
			news, *known = append(news, name), append(*known, name)
		}
	}
	return news
}

func (c *checkpoints) saveOwn(ctx context.Context, turn int, keep bool) (agent.Saved, error) {
	found, err := c.ws.Changes(ctx)
	if err != nil {
		return agent.Saved{}, fmt.Errorf("list changes: %w", err)
	}
	if !keep && c.walled { //control:review-keeps-nothing
		return agent.Saved{}, c.discard(ctx, found)
	}
	if c.spoiled != "" {
		return agent.Saved{
			LeftOut: []session.LeftOut{
				newLeftOut(".", "the tests of the review left files that could not be put back: "+c.spoiled),
			},
		}, nil
	}
	strays, err := c.ws.Strays(ctx)
	if err != nil {
		return agent.Saved{}, fmt.Errorf("look for other branches: %w", err)
	}
	can := c.sort(ctx, found)
	can.left = append(can.left, strayWork(strays)...)
	if can.none {
		return agent.Saved{LeftOut: can.left}, nil
	}
	commit, err := c.job.Repo.Checkpoint(ctx, gitops.Checkpoint{
		Parent: c.base, Last: c.tree, Changes: can.changes, Meta: c.meta("Saved state", turn),
		Skip: func(err error) bool { return ctx.Err() == nil && !errors.Is(err, workspace.ErrGone) },
	})
	if err != nil {
		return agent.Saved{}, err
	}
	saved := agent.Saved{
		LeftOut: append(can.left, leftOut(commit)...),
		Commit:  commit.ID,
		Tree:    commit.Tree,
		Changed: c.tree != commit.Tree,
	}
	saved.LFS = learn(&c.pointers, commit.LFS)
	saved.Unfiltered = learn(&c.unfiltered, commit.Unfiltered)
	saved.Alike = learn(&c.alike, commit.Alike)
	if c.tree == "" { // first save: compare with the base of the workspace
		saved.Changed = !commit.Empty
	}
	c.tree, c.saved = commit.Tree, commit.ID
	if !saved.Changed {
		return saved, nil
	}
	if err := c.updatePrivateRef(ctx, commit.ID); err != nil {
		return agent.Saved{}, err
	}
	stats, ours, err := c.changes(ctx, commit.ID)
	if err == nil {
		saved.Merge, err = c.stillOpen(ctx, commit.ID)
	}
	if err != nil {
		return agent.Saved{}, err
	}
	saved.Files = fileChanges(ours)
	if err = c.nameFunction(ctx, commit.ID, saved.Files); err != nil {
		return agent.Saved{}, err
	}
	if c.job.Push != nil { // another machine may continue from here
		saved.Content, err = c.storedContent(ctx, commit.ID, stats)
	}
	return saved, err
}

func fileChanges(stats []gitops.FileStat) []session.FileChange {
	out := make([]session.FileChange, 0, len(stats))
	for _, s := range stats {
		out = append(
			out,
			session.FileChange{
				Path:    s.Path,
				From:    s.Old,
				Kind:    session.ChangeKind(s.Kind),
				Added:   s.Added,
				Removed: s.Removed,
				Blob:    s.Object,
				Was:     s.Was,
			},
		)
	}
	return out
}

// Publish implements agent.Checkpointer.
func (c *checkpoints) Publish(ctx context.Context, p agent.Publication) (session.Checkpoint, error) {
	meta := c.meta(p.Subject, p.Turn)
	meta.When = p.When // a repeated publication yields the same commit, also after a crash
	meta.Sign = c.signer()
	if p.Approval != "" {
		meta.Trailers = append(meta.Trailers, gitops.Trailer{Key: trailerApproval, Value: p.Approval})
	}
	if p.TookBack != "" {
		made, err := c.job.Repo.MetaOf(ctx, p.Saved)
		if err != nil {
			return session.Checkpoint{}, err
		}
		meta.Message, meta.Trailers = made.Message, append(made.Trailers, meta.Trailers[len(c.meta("", 0).Trailers):]...)
		meta.CoAuthors, meta.SignOff = nil, false // the trailers have both
	}
	if p.Merge != nil {
		meta.Merges, meta.Message = p.Merge.Commit, mergeSubject(p.Merge, c.branch)
	}
	parent, err := c.parent(ctx, p.Parent)
	if err != nil {
		return session.Checkpoint{}, err
	}
	commit, err := c.job.Repo.CommitTreeOf(ctx, p.Saved, parent, meta)
	if err != nil {
		return session.Checkpoint{}, err
	}
	out, err := c.describe(ctx, p, parent, commit)
	if err != nil {
		return out, err
	}
	if !commit.Empty {
		out, err = c.push(ctx, p, parent, out)
	}
	if err != nil || out.Parked {
		return out, err
	}
	c.published, c.unsure, c.merge = out.Commit, nil, nil
	if p.Merge != nil {
		c.since = p.Merge.Commit
	}
	out.Whole, err = wholeChanges(ctx, c.job.Repo, c.since, out.Commit)
	return out, err
}

// unsure is a push without an answer: of commit, which may have been sent as a replay on commits of others.
type unsure struct{ commit, sent string }

// parent returns the parent of the next commit: was, or the newest commit of the pushes without an answer
// that reached the branch. That is the session's own, and no obstacle, also below later commits of others.
func (c *checkpoints) parent(ctx context.Context, was string) (string, error) {
	if len(c.unsure) == 0 {
		return was, nil
	}
	at, err := c.job.Repo.Tip(ctx, "refs/heads/"+c.branch)
	if err != nil || at == "" {
		return was, err
	}
	for _, u := range slices.Backward(c.unsure) {
		there, err := c.job.Repo.Descends(ctx, at, u.sent)
		if err != nil {
			return was, err
		}
		if there { //control:lost-push-is-ours
			return u.commit, nil
		}
	}
	return was, nil
}

// wholeChanges returns the changes from base to commit, as a pull request shows them.
func wholeChanges(ctx context.Context, repo *gitops.Mirror, base, commit string) ([]session.FileChange, error) {
	_, stats, err := repo.Diff(ctx, base, commit, gitops.DiffOptions{MaxBytes: 1})
	return fileChanges(stats), err
}

// Moved implements agent.Checkpointer.
func (c *checkpoints) Moved() bool { return c.moved }

// updatePrivateRef moves the private ref to the saved commit, to protect the commit
// from garbage collection.
func (c *checkpoints) updatePrivateRef(ctx context.Context, commit string) error {
	ref := privateRef(c.job.Task.Session)
	old, err := c.job.Repo.Resolve(ctx, ref)
	if err != nil && !errors.Is(err, gitops.ErrNotFound) {
		return err
	}
	return c.job.Repo.SetRef(ctx, ref, commit, old)
}

func (c *checkpoints) meta(subject string, turn int) gitops.Meta {
	subject, _ = c.secrets.Redactor.Redact(subject)
	subject = untrusted.Message(subject) //control:post-commit
	m := gitops.Meta{
		Message:   subject,
		Author:    c.job.Commits.Author,
		Committer: c.job.Commits.Committer,
		CoAuthors: c.job.Commits.CoAuthors,
		SignOff:   c.job.Commits.SignOff,
		When:      time.Now(),
		Trailers: []gitops.Trailer{
			{Key: gitops.TrailerSession, Value: c.job.Task.Session},
			{Key: gitops.TrailerTurn, Value: strconv.Itoa(turn)},
		},
	}
	if by := c.job.Task.Requester; by != "" {
		m.Trailers = append(m.Trailers, gitops.Trailer{Key: gitops.TrailerBy, Value: by})
	}
	return m
}

// signer returns the signer for commits of the branch, or nil if commits are unsigned.
func (c *checkpoints) signer() gitops.Signer {
	if c.job.Commits.Sign == nil {
		return nil
	}
	return c.job.Commits.Sign(c.branch)
}

// Diff implements agent.Checkpointer.
func (c *checkpoints) Diff(ctx context.Context, from, to string, paths []string) (string, error) {
	text, _, err := c.job.Repo.Diff(ctx, from, to, gitops.DiffOptions{Paths: paths})
	return text, err
}
