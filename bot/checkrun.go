package bot

import (
	"context"
	"fmt"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/render"
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
func (l *leased) planCheck() *checkMark {
	sha := l.head()
	if sha == "" || !l.cfg.GitHub.IsApp() {
		return nil
	}
	for _, c := range l.data.Checks {
		if c.SHA == sha && c.Said == 0 {
			return &c
		}
	}
	c := checkMark{Key: l.checkKey(), SHA: sha}
	l.data.Checks = append(l.data.Checks, c)
	return &c
}

// startCheck makes the check run that planCheck noted.
func (l *leased) startCheck(ctx context.Context, c *checkMark) error {
	if c == nil {
		return nil
	}
	return l.Try(ctx, ghapp.Write{Key: c.Key, Kind: ghapp.WriteCheck, Check: &ghapp.CheckSpec{
		Name: render.CheckName, SHA: c.SHA, Status: "in_progress", Title: string(session.PhaseRunning), Summary: render.CheckIsRunning,
	}})
}

// endCheck makes the check run of the branch's head say how the session
// stands, and completes those that the branch left behind. What it notes in
// the row is saved by the caller together with the state.
func (l *leased) endCheck(ctx context.Context) error {
	sha := l.head()
	if sha == "" || !l.cfg.GitHub.IsApp() {
		return nil
	}
	var here *checkMark
	for _, c := range l.data.Checks {
		switch {
		case c.SHA == sha:
			here = &c
		case c.Said == 0:
			moved := ghapp.CheckSpec{Conclusion: "neutral", Title: render.CheckMovedTitle, Summary: render.CheckMoved(sha)}
			if err := l.completeCheck(ctx, c, moved); err != nil {
				return err
			}
		}
	}
	if here != nil && here.Said == l.state.Seq && l.turnedAway == "" {
		return nil
	}
	if here == nil {
		here = &checkMark{Key: l.checkKey(), SHA: sha}
	}
	said := ghapp.CheckSpec{Conclusion: render.Conclusion(l.state.Phase), Title: render.CheckTitle(l.state), Summary: render.CheckSummary(l.state, l.turnedAway)}
	if err := l.completeCheck(ctx, *here, said); err != nil {
		return err
	}
	here.Said = l.state.Seq
	l.data.Checks = []checkMark{*here}
	return nil
}

// completeCheck makes a check run say its last word. One that is not there
// yet is made so at once.
func (l *leased) completeCheck(ctx context.Context, c checkMark, spec ghapp.CheckSpec) error {
	spec.Name, spec.SHA, spec.Status = render.CheckName, c.SHA, "completed"
	ref, err := l.Ensure(ctx, ghapp.Write{Key: c.Key, Kind: ghapp.WriteCheck, Check: &spec, First: true})
	if err != nil {
		return ghapp.UnlessRefused(err)
	}
	spec.ID = ref.ID
	edit := ghapp.Write{Key: c.Key, Kind: ghapp.WriteEditCheck, Thread: l.at.Ref, Check: &spec, First: l.turnedAway == ""}
	_, ok, err := l.at.Client.Find(ctx, edit)
	if err != nil || ok {
		return l.unlessPermanent(ctx, err)
	}
	_, err = l.at.Client.Perform(ctx, edit)
	return l.unlessPermanent(ctx, err)
}

// unlessPermanent drops what GitHub will never do: the commit or the check is
// gone, and the work goes on without.
func (l *leased) unlessPermanent(ctx context.Context, err error) error {
	if err != nil && ghapp.KindOf(err) == ghapp.Permanent {
		l.cfg.Log.WarnContext(ctx, "check run not written", "thread", l.row.Thread, "err", err)
		return nil
	}
	return err
}

// head is the commit at the end of the session's branch, "" when there is
// none on GitHub yet.
func (l *leased) head() string {
	if n := len(l.state.Checkpoints); n > 0 {
		return l.state.Checkpoints[n-1].Commit
	}
	if l.at.Pull != nil {
		return l.at.Pull.HeadSHA
	}
	return ""
}

func (l *leased) checkKey() string {
	return fmt.Sprintf("check-%s-%d", l.row.ID, l.state.Seq)
}
