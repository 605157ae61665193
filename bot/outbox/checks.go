package outbox

import (
	"context"
	"fmt"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/render"
)

// CheckMark is a check run of a session. It is saved in the session's row before the
// check run is created, so that none is left running forever. GitHub binds a check run
// to a commit: after a push, the next one is created on the new head.
type CheckMark struct {
	Key  string `json:"key"`
	SHA  string `json:"sha"`
	Said int64  `json:"said,omitempty"` // event up to which it reports; 0 while not completed
}

// Checks are the check runs that show a session's state. The caller saves Marks.
type Checks struct {
	Outbox
	App   bool   // only Apps can create check runs
	Head  string // head commit of the session's branch; empty if it is not on GitHub yet
	Marks *[]CheckMark
}

// Plan records a check run for the head at the start of a run. It returns nil if there
// is no head.
func (k Checks) Plan(v *session.State) *CheckMark {
	if k.Head == "" || !k.App {
		return nil
	}
	for _, c := range *k.Marks {
		if c.SHA == k.Head && c.Said == 0 {
			return &c
		}
	}
	c := CheckMark{Key: k.key(v), SHA: k.Head}
	*k.Marks = append(*k.Marks, c)
	return &c
}

// Start creates the check run recorded by [Checks.Plan].
func (k Checks) Start(ctx context.Context, c *CheckMark) error {
	if c == nil {
		return nil
	}
	wr := ghapp.Write{Key: c.Key, Kind: ghapp.WriteCheck, Check: &ghapp.CheckSpec{
		Name: render.CheckName, SHA: c.SHA, Status: "in_progress", Title: string(session.PhaseRunning), Summary: render.CheckIsRunning,
	}}
	if err := k.Try(ctx, wr); !k.Later(ctx, string(wr.Kind), err) {
		return err
	}
	return nil
}

// End completes the check run of the head with the session's state, and those of
// earlier heads as outdated. turnedAway is the requester who got no answer, and the
// reason.
func (k Checks) End(ctx context.Context, v *session.State, turnedAway string) error {
	if k.Head == "" || !k.App {
		return nil
	}
	var here *CheckMark
	for _, c := range *k.Marks {
		switch {
		case c.SHA == k.Head:
			here = &c
		case c.Said == 0:
			moved := ghapp.CheckSpec{Conclusion: "neutral", Title: render.CheckMovedTitle, Summary: render.CheckMoved(k.Head)}
			if err := k.complete(ctx, c, moved, turnedAway == ""); err != nil {
				return err
			}
		}
	}
	if here != nil && here.Said == v.Seq && turnedAway == "" {
		return nil
	}
	if here == nil {
		here = &CheckMark{Key: k.key(v), SHA: k.Head}
	}
	said := ghapp.CheckSpec{
		Conclusion: render.Conclusion(v.Phase),
		Title:      render.CheckTitle(v),
		Summary:    render.CheckSummary(v, turnedAway),
	}
	if v.Published == k.Head {
		said.Notes = notes(v.Findings, here.Said)
	}
	if err := k.complete(ctx, *here, said, turnedAway == ""); err != nil {
		return err
	}
	here.Said = v.Seq
	*k.Marks = []CheckMark{*here}
	return nil
}

// complete completes a check run. A missing one is created in completed form.
func (k Checks) complete(ctx context.Context, c CheckMark, spec ghapp.CheckSpec, first bool) error {
	spec.Name, spec.SHA, spec.Status = render.CheckName, c.SHA, "completed"
	ref, err := k.Ensure(ctx, ghapp.Write{Key: c.Key, Kind: ghapp.WriteCheck, Check: &spec, First: true})
	if err != nil {
		return ghapp.UnlessRefused(err)
	}
	spec.ID = ref.ID
	edit := ghapp.Write{Key: c.Key, Kind: ghapp.WriteEditCheck, Thread: k.At, Check: &spec, First: first}
	_, ok, err := k.Client.Find(ctx, edit)
	if err != nil || ok {
		return k.unlessPermanent(ctx, err)
	}
	_, err = k.Client.Perform(ctx, edit)
	return k.unlessPermanent(ctx, err)
}

// unlessPermanent logs and drops permanent errors: the commit or the check run is gone,
// and the session continues without it.
func (k Checks) unlessPermanent(ctx context.Context, err error) error {
	if err != nil && ghapp.KindOf(err) == ghapp.Permanent {
		k.Log.WarnContext(ctx, "check run not written", "thread", k.At.Key(), "err", err)
		return nil
	}
	return err
}

func (k Checks) key(v *session.State) string { return fmt.Sprintf("check-%s-%d", k.Fence.Key, v.Seq) }

// maxNotes is the maximum number of annotations in one request to GitHub.
const maxNotes = 50

// notes returns annotations for the findings since an event. Findings on removed lines
// are skipped, because those lines are in no file of the commit.
func notes(list []session.Reported, since int64) (out []ghapp.Annotation) {
	for _, f := range list {
		if f.Seq <= since || f.Old || f.Refuted != "" || len(out) == maxNotes {
			continue
		}
		level := "warning"
		if f.Severity == session.Low || f.Unsure != "" {
			level = "notice"
		}
		out = append(
			out,
			ghapp.Annotation{Path: f.Path, From: f.Line, To: f.Last(), Level: level, Title: f.Claim, Text: f.Why},
		)
	}
	return out
}
