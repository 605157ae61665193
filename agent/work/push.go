package work

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/agent"
	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/gitops"
)

// push sends a checkpoint to the remote, or to the branch of a local clone, and returns the
// result. If others have moved the branch meanwhile, the work is rebased onto their
// commits; the workspace lacks them and must be opened again. If the push fails, the
// checkpoint is parked: the work stays in the saved state and, as a patch, in the log.
func (c *checkpoints) push(
	ctx context.Context,
	p agent.Publication,
	parent string,
	out session.Checkpoint,
) (session.Checkpoint, error) {
	send := c.job.Push
	if send == nil {
		send = c.job.Repo.PushSafe
	}
	done, err := send(ctx, gitops.SafePush{
		Commit: out.Commit, Base: parent, Ref: "refs/heads/" + c.branch,
		Origin: c.job.Task.Base, Session: c.job.Task.Session, Exists: parent != c.job.Task.Base,
		Guarded: c.sensitive, Sign: c.signer(), Merges: p.Merge != nil,
	})
	if err != nil {
		c.unsure = append(c.unsure, unsure{commit: out.Commit, sent: cmp.Or(done.Commit, out.Commit)})
		return out, fmt.Errorf("push checkpoint: %w", err)
	}
	out.Sent = pushReport(done, c.branch)
	if done.How == gitops.HowPatch {
		return c.park(ctx, p, out)
	}
	if done.Ref != "" {
		c.branch = strings.TrimPrefix(done.Ref, "refs/heads/")
	}
	if c.branch != c.job.Task.Branch {
		out.Branch = c.branch
	}
	if done.Commit != out.Commit {
		c.moved, out.Commit, out.Tree = true, done.Commit, ""
	}
	out.Files = slices.DeleteFunc(out.Files, func(f session.FileChange) bool {
		return slices.ContainsFunc(done.Workflows, func(h gitops.FileStat) bool { return h.Path == f.Path })
	})
	return out, nil
}

// park keeps work that could not be pushed in its saved state.
func (c *checkpoints) park(
	ctx context.Context,
	p agent.Publication,
	out session.Checkpoint,
) (session.Checkpoint, error) {
	stats, ours, err := c.changes(ctx, p.Saved)
	if err != nil {
		return out, err
	}
	out.Commit, out.Parked, out.Files = p.Saved, true, fileChanges(ours)
	out.Content, err = c.storedContent(ctx, p.Saved, stats)
	return out, err
}

// maxPatch is the maximum size in bytes of a patch in the log.
const maxPatch = 4 << 20

// pushReport returns the notable results of a push, or nil if there are none.
func pushReport(done gitops.Pushed, branch string) *session.Sent {
	if done.How == gitops.HowPushed && len(done.Workflows) == 0 {
		return nil
	}
	out := &session.Sent{
		How:       session.SentHow(done.How),
		Branch:    branch,
		Conflicts: done.Conflicts,
		Held:      fileChanges(done.Workflows),
		Patch:     done.Split + done.Patch,
	}
	if len(out.Patch) > maxPatch {
		out.Patch, out.PatchSize = "", len(out.Patch)
	}
	for _, cause := range done.Causes {
		if said := pushError(cause); said != "" && !slices.Contains(out.Said, said) {
			out.Said = append(out.Said, said)
		}
	}
	n, told := len(done.Causes), len(out.Said)+len(out.Conflicts) > 0
	if done.How == gitops.HowPatch && n > 0 && !told { //control:patch-has-its-reason
		out.Said = []string{done.Causes[n-1].Error()}
	}
	return out
}

// pushError returns the cause of a failed push for users: the words of the remote, if
// any. It returns "" for a moved branch and for conflicts, because [session.Sent] has
// separate fields for them.
func pushError(cause error) string {
	if errors.Is(cause, gitops.ErrRejected) || errors.Is(cause, gitops.ErrConflict) ||
		errors.Is(cause, gitops.ErrWorkflowScope) ||
		errors.Is(cause, gitops.ErrClosed) {
		return ""
	}
	var declined *gitops.RemoteError
	if !errors.As(cause, &declined) {
		return cause.Error()
	}
	said := strings.TrimSpace(declined.Output) //control:hook-words
	if said == "" {
		said = declined.Error()
	}
	return said
}
