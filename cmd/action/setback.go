package action

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/bot/store/threadref"
	"github.com/handrail-bot/handrail/bot/thread"
)

// Witness checks the state in a ref against the posts in its thread.
type Witness struct {
	App    *ghapp.App
	Client *ghapp.Client
	Kept   store.Store
	Read   func(context.Context) error // reads the ref again
}

// SetBack returns an error if the ref of a thread is older than the bot's posts in it.
// Any account with push access can restore an old ref, with an approval that has been
// used since. The check works because each request and each reported end is stored in the
// ref before it is posted.
func (w Witness) SetBack(ctx context.Context, at thread.Ref) error {
	list, err := w.Kept.Sessions.List(ctx, store.Query{})
	if err != nil || len(list) == 0 {
		return err
	}
	threads, strange := threadsOf(list, at)
	if strange != "" { //control:state-of-another-thread
		return w.tell(ctx, at, "strange-"+ghapp.Digest(strange), "holds the data of another thread: it was put there by hand")
	}
	self, err := w.Client.Self(ctx)
	if err != nil {
		return err
	}
	var posted []ghapp.Comment
	for _, t := range threads {
		said, err := w.Client.OwnComments(ctx, t, "", false)
		if err != nil {
			return err
		}
		posted = append(posted, said...)
	}
	if err := w.Read(ctx); err != nil { // after the posts, which another run may have stored first
		return err
	}
	for _, c := range posted {
		_, key := w.App.Written(c.Body)
		kind, rest, _ := strings.Cut(key, "-")
		id, _, _ := strings.Cut(rest, "-")
		ours := strings.EqualFold(c.Author, self) &&
			slices.ContainsFunc(list, func(row *store.Session) bool { return row.ID == id })
		if !ours || kind != "ask" && kind != "final" {
			continue
		}
		_, err := w.Kept.Effects.Effect(ctx, key)
		if store.Unless(err, store.ErrNotFound) != nil {
			return err
		}
		if err != nil { //control:state-was-set-back
			return w.tell(ctx, at, id, "was reset to an earlier state: it lacks later comments of the thread")
		}
	}
	return nil
}

// threadsOf returns the threads with sessions in the ref of at: at itself, and the pull
// requests of its sessions. strange is a thread that does not belong there, or "".
func threadsOf(list []*store.Session, at thread.Ref) (out []thread.Ref, strange string) {
	out = []thread.Ref{at}
	for i := 0; i < len(out); i++ {
		for _, row := range list {
			pull := at
			if pull.Number = row.Pull; row.Thread == out[i].Key() && row.Pull != 0 && !slices.Contains(out, pull) {
				out = append(out, pull)
			}
		}
	}
	for _, row := range list {
		if !slices.ContainsFunc(out, func(t thread.Ref) bool { return t.Key() == row.Thread }) {
			return out, row.Thread
		}
	}
	return out, ""
}

// tell posts the fault of the ref in the thread, once.
func (w Witness) tell(ctx context.Context, at thread.Ref, id, what string) error {
	ref := Ref(threadref.Prefix, at)
	said := fmt.Sprintf(
		"The git ref `%s`, with my data of this thread, %s. I do not use it, because an approved action could run twice. A maintainer can delete it: `git push origin :%s`. Then `/agent …` starts anew.",
		ref,
		what,
		ref,
	)
	write := ghapp.Write{Key: "set-back-" + id, Kind: ghapp.WriteComment, Thread: at, Body: said}
	_, known, err := w.Client.Find(ctx, write)
	if err == nil && !known {
		_, err = w.Client.Perform(ctx, write)
	}
	if err == nil {
		err = fmt.Errorf("%s %s; it is not used. Delete it (git push origin :%s) to start anew", ref, what, ref)
	}
	return err
}
