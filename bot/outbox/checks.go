package outbox

import (
	"context"
	"fmt"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/render"
)

// CheckMark is a check run of a session, kept in the row of the session before it is made,
// so that none is ever left spinning. GitHub binds a check run to a commit:
// when the branch moves on, the next one is made on its new head.
type CheckMark struct {
	Key  string `json:"key"`
	SHA  string `json:"sha"`
	Said int64  `json:"said,omitempty"` // event up to which it tells; 0 while it is not completed
}

// Checks are the check runs that say how a session stands. What they note in Marks is
// saved by the caller.
type Checks struct {
	Outbox
	App   bool   // GitHub lets only Apps make check runs
	Head  string // commit at the end of the session's branch, "" when there is none on GitHub yet
	Marks *[]CheckMark
}

// Plan notes that the commit from which work starts gets a check run. There is none
// without a commit to show it on.
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

// Start makes the check run that [Checks.Plan] noted.
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

// End makes the check run of the branch's head say how the session stands, and completes
// those that the branch left behind. TurnedAway is who was not answered, and why.
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
	said := ghapp.CheckSpec{Conclusion: render.Conclusion(v.Phase), Title: render.CheckTitle(v), Summary: render.CheckSummary(v, turnedAway)}
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

// complete makes a check run say its last word. One that is not there yet is made so at
// once.
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

// unlessPermanent drops what GitHub will never do: the commit or the check is
// gone, and the work goes on without.
func (k Checks) unlessPermanent(ctx context.Context, err error) error {
	if err != nil && ghapp.KindOf(err) == ghapp.Permanent {
		k.Log.WarnContext(ctx, "check run not written", "thread", k.At.Key(), "err", err)
		return nil
	}
	return err
}

func (k Checks) key(v *session.State) string { return fmt.Sprintf("check-%s-%d", k.Fence.Key, v.Seq) }

// mostNotes is how many annotations GitHub takes at once.
const mostNotes = 50

// notes are the findings of a review since an event, for the lines of the commit. Removed
// lines are in no file of it.
func notes(list []session.Reported, since int64) (out []ghapp.Annotation) {
	for _, f := range list {
		if f.Seq <= since || f.Old || f.Refuted != "" || len(out) == mostNotes {
			continue
		}
		level := "warning"
		if f.Severity == session.Low || f.Unsure != "" {
			level = "notice"
		}
		out = append(out, ghapp.Annotation{Path: f.Path, From: f.Line, To: f.Last(), Level: level, Title: f.Claim, Text: f.Why})
	}
	return out
}
