package bot

import (
	"context"
	"fmt"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/render"
	"github.com/handrail-bot/handrail/bot/store"
)

// checkMark is a check run of a session, kept in its row before it is made,
// so that none is ever left spinning. GitHub binds a check run to a commit:
// when the branch moves on, the next one is made on its new head.
type checkMark struct {
	Key  string `json:"key"`
	SHA  string `json:"sha"`
	Said int64  `json:"said,omitempty"` // event up to which it tells; 0 while it is not completed
}

// planCheck notes in the row that the commit from which work starts gets a
// check run. There is none without a commit to show it on, and GitHub lets
// only Apps make them.
func (w *worker) planCheck(sess *store.Session, v *session.State) (*checkMark, error) {
	sha := w.head(v)
	if sha == "" || !w.cfg.GitHub.IsApp() {
		return nil, nil
	}
	r := recordOf(sess)
	for _, c := range r.Checks {
		if c.SHA == sha && c.Said == 0 {
			return &c, nil
		}
	}
	c := checkMark{Key: checkKey(sess, v), SHA: sha}
	r.Checks = append(r.Checks, c)
	return &c, r.put(sess)
}

// startCheck makes the check run that planCheck noted.
func (w *worker) startCheck(ctx context.Context, f store.Fence, c *checkMark) error {
	if c == nil {
		return nil
	}
	_, err := w.ensure(ctx, f, ghapp.Write{Key: c.Key, Kind: ghapp.WriteCheck, Check: &ghapp.CheckSpec{
		Name: render.CheckName, SHA: c.SHA, Status: "in_progress", Title: string(session.PhaseRunning), Summary: "The agent works on this branch.",
	}})
	return ghapp.UnlessRefused(err)
}

// endCheck makes the check run of the branch's head say how the session
// stands, and completes those that the branch left behind. What it notes in
// the row is saved by the caller together with the state.
func (w *worker) endCheck(ctx context.Context, f store.Fence, sess *store.Session, v *session.State) error {
	sha := w.head(v)
	if sha == "" || !w.cfg.GitHub.IsApp() {
		return nil
	}
	r := recordOf(sess)
	var here *checkMark
	for _, c := range r.Checks {
		switch {
		case c.SHA == sha:
			here = &c
		case c.Said == 0:
			moved := ghapp.CheckSpec{Conclusion: "neutral", Title: "went on", Summary: "The work went on to " + sha + "."}
			if err := w.completeCheck(ctx, f, c, moved); err != nil {
				return err
			}
		}
	}
	if here != nil && here.Said == v.Seq {
		return nil
	}
	if here == nil {
		here = &checkMark{Key: checkKey(sess, v), SHA: sha}
	}
	said := ghapp.CheckSpec{Conclusion: render.Conclusion(v.Phase), Title: render.CheckTitle(v), Summary: render.CheckSummary(v)}
	if err := w.completeCheck(ctx, f, *here, said); err != nil {
		return err
	}
	here.Said = v.Seq
	r.Checks = []checkMark{*here}
	return r.put(sess)
}

// completeCheck makes a check run say its last word. One that is not there
// yet is made so at once.
func (w *worker) completeCheck(ctx context.Context, f store.Fence, c checkMark, spec ghapp.CheckSpec) error {
	spec.Name, spec.SHA, spec.Status = render.CheckName, c.SHA, "completed"
	ref, err := w.ensure(ctx, f, ghapp.Write{Key: c.Key, Kind: ghapp.WriteCheck, Check: &spec})
	if err != nil {
		return ghapp.UnlessRefused(err)
	}
	spec.ID = ref.ID
	edit := ghapp.Write{Key: c.Key, Kind: ghapp.WriteEditCheck, Thread: w.ref, Check: &spec}
	_, ok, err := w.at.Client.Find(ctx, edit)
	if err != nil || ok {
		return w.unlessPermanent(ctx, err)
	}
	_, err = w.at.Client.Perform(ctx, edit)
	return w.unlessPermanent(ctx, err)
}

// unlessPermanent drops what GitHub will never do: the commit or the check is
// gone, and the work goes on without.
func (w *worker) unlessPermanent(ctx context.Context, err error) error {
	if err != nil && ghapp.KindOf(err) == ghapp.Permanent {
		w.cfg.Log.WarnContext(ctx, "check run not written", "thread", w.key, "err", err)
		return nil
	}
	return err
}

// head is the commit at the end of the session's branch, "" when there is
// none on GitHub yet.
func (w *worker) head(v *session.State) string {
	if n := len(v.Checkpoints); n > 0 {
		return v.Checkpoints[n-1].Commit
	}
	if w.at.Pull != nil {
		return w.at.Pull.HeadSHA
	}
	return ""
}

func checkKey(sess *store.Session, v *session.State) string {
	return fmt.Sprintf("check-%s-%d", sess.ID, v.Seq)
}
