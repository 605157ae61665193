package approval

import (
	"context"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/agent/session"
)

const (
	again      = "-anew" // suffix of the key of a comment that replaces a deleted one
	maxReposts = 5       // maximum number of reposts; further deletions are intended
	forkBegin  = "fork-" // prefix of the key of the comment about a fork's commits
)

// IsRequestKey reports whether key belongs to a comment that asks for something in a session.
func IsRequestKey(id, key string) bool {
	return strings.HasPrefix(key, requestKey(id, "")) || isOf(key, forkBegin+id)
}

// isOf reports whether key belongs to a comment or to an edit of it.
func isOf(key, comment string) bool { return key == comment || strings.HasPrefix(key, comment+"-") }

// AskedIn returns the open requests in the comment with this key.
func (r Requests) AskedIn(v *session.State, key string) []session.Asked {
	return slices.DeleteFunc(v.Open(), func(a session.Asked) bool {
		is := r.Holder.Stage(stageOf(a))
		return !isOf(key, r.comment(a, is)+is.Again)
	})
}

// stageOf returns the key of a request's [Stage]. Requests for commits share one comment.
func stageOf(a session.Asked) string {
	if a.Kind == session.AskCommit {
		return forkShown
	}
	return a.ID
}

// comment returns the original key of the comment that asks for a.
func (r Requests) comment(a session.Asked, is Stage) string {
	switch {
	case a.Kind == session.AskCommit:
		return forkBegin + r.ID
	case is.In != "":
		return is.In
	}
	return r.key(a)
}

// Anew has the deleted comments of these requests posted again. The requests keep their
// ids.
func (r Requests) Anew(ctx context.Context, v *session.State, gone []session.Asked) error {
	var comments []string
	for _, a := range gone {
		comments = append(comments, r.comment(a, r.Holder.Stage(stageOf(a))))
	}
	done := map[string]bool{}
	for _, q := range v.Requests { // settled requests were in these comments, too
		id := stageOf(q.Asked)
		is := r.Holder.Stage(id)
		asked := is.URL != "" || is.Shown != ""
		if done[id] || !asked || !slices.Contains(comments, r.comment(q.Asked, is)) ||
			strings.Count(is.Again, again) == maxReposts {
			continue
		}
		done[id], is.Again, is.Shown, is.URL, is.Posted = true, is.Again+again, "", "", false
		if err := r.Holder.SetStage(ctx, id, is); err != nil {
			return err
		}
	}
	return nil
}
