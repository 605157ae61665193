package approval

import (
	"context"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/agent/session"
)

const (
	again     = "-anew" // ends the key of a comment that takes the place of a deleted one
	mostAnew  = 5       // whoever deletes them again and again does not want one
	forkBegin = "fork-" // begins the key of the comment about the commits of a fork
)

// Asks reports whether a key is that of a comment which asks for something in a session.
func Asks(id, key string) bool {
	return strings.HasPrefix(key, requestKey(id, "")) || isOf(key, forkBegin+id)
}

// isOf reports whether a key is that of a comment, or of an edit of it.
func isOf(key, comment string) bool { return key == comment || strings.HasPrefix(key, comment+"-") }

// AskedIn returns the requests that wait for an answer and are in the comment whose last
// write has this key.
func (r Requests) AskedIn(v *session.State, key string) []session.Asked {
	return slices.DeleteFunc(v.Open(), func(a session.Asked) bool {
		is := r.Holder.Stage(stageOf(a))
		return !isOf(key, r.comment(a, is)+is.Again)
	})
}

// stageOf is where it is kept how far a request has come: those for commits have one
// comment together.
func stageOf(a session.Asked) string {
	if a.Kind == session.AskCommit {
		return forkShown
	}
	return a.ID
}

// comment is the key of the comment that asks for a, as it was first.
func (r Requests) comment(a session.Asked, is Stage) string {
	switch {
	case a.Kind == session.AskCommit:
		return forkBegin + r.ID
	case is.In != "":
		return is.In
	}
	return r.key(a)
}

// Anew has the comments made again that ask for these requests, and are gone. The
// requests stay what they are, with their ids.
func (r Requests) Anew(ctx context.Context, v *session.State, gone []session.Asked) error {
	var comments []string
	for _, a := range gone {
		comments = append(comments, r.comment(a, r.Holder.Stage(stageOf(a))))
	}
	done := map[string]bool{}
	for _, q := range v.Requests { // also what is settled by now, and stood there
		id := stageOf(q.Asked)
		is := r.Holder.Stage(id)
		asked := is.URL != "" || is.Shown != ""
		if done[id] || !asked || !slices.Contains(comments, r.comment(q.Asked, is)) || strings.Count(is.Again, again) == mostAnew {
			continue
		}
		done[id], is.Again, is.Shown, is.URL, is.Posted = true, is.Again+again, "", "", false
		if err := r.Holder.SetStage(ctx, id, is); err != nil {
			return err
		}
	}
	return nil
}
