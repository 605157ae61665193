package action

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/live"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/bot/thread"
	"github.com/handrail-bot/handrail/policy/pattern"
)

// Outputs are the outputs for later steps.
type Outputs struct {
	Session, State, Branch, Pull, Summary string
	Approvals                             []string // ids of open requests
}

// Write appends the outputs to the runner's file. Each value ends at a random delimiter,
// which its text cannot forge.
func (r Run) Write(o Outputs) error {
	if r.Output == "" {
		return nil
	}
	var b strings.Builder
	for _, v := range [][2]string{
		{"session-id", o.Session}, {"state", o.State}, {"branch", o.Branch}, {"pull-request", o.Pull}, {"summary", o.Summary}, {"approval-ids", strings.Join(o.Approvals, " ")},
	} {
		end := "handrail-" + rand.Text() //control:outputs-end-unguessed
		fmt.Fprintf(&b, "%s<<%s\n%s\n%s\n", v[0], end, v[1], end)
	}
	return appendTo(r.Output, b.String())
}

// Ended writes outputs for a run that failed before its report. Without them, later steps
// would take the failure for an empty result.
func (r Run) Ended(failed error) error {
	said, err := os.ReadFile(r.Output)
	if failed == nil || err == nil && strings.Contains(string(said), "session-id<<") { //control:failed-is-an-output
		return nil
	}
	return r.Write(Outputs{State: "failed", Summary: failed.Error()})
}

// Report writes the outputs and the summary, and a line to w. It returns an error for a
// failed session.
func (r Run) Report(ctx context.Context, w io.Writer, kept store.Store, at thread.Ref) error {
	if l, err := kept.Leases.Lease(ctx, at.Key()); err == nil && l.Owner != "" && l.Owner != r.Owner() {
		fmt.Fprintf(w, "%s: another run works on this thread (%s), and takes up this event.\n", at.Key(), l.Owner)
	}
	row, err := kept.Sessions.ByThread(ctx, at.Key())
	if errors.Is(err, store.ErrNotFound) {
		return r.Write(Outputs{State: "none"})
	}
	if err != nil {
		return err
	}
	events, err := kept.Logs.Log(store.Fence{Key: row.ID}).Events(ctx, 0)
	if err != nil {
		return err
	}
	v, err := session.Fold(events)
	if err != nil {
		return err
	}
	out := Outputs{Session: row.ID, State: strings.ReplaceAll(string(row.State), " ", "_"), Branch: row.Branch}
	if row.Pull != 0 {
		out.Pull = fmt.Sprint(row.Pull)
	} else if live.DataOf(row).IsPull { // the work is on the pull request's own branch
		out.Pull = fmt.Sprint(at.Number)
	}
	if v.Outcome != nil {
		out.Summary = cmp.Or(v.Outcome.Summary, v.Outcome.Reason)
	}
	for _, o := range v.Open() {
		out.Approvals = append(out.Approvals, o.ID)
	}
	here := live.Thread{Ref: at}
	here.Repo.URL = r.Server + "/" + r.Repo.Repository()
	err = errors.Join(r.Write(out), r.Summarize(live.ProgressText(&here, row, v).Text))
	fmt.Fprintf(w, "%s: session %s is %s: %s/issues/%d\n", at.Key(), row.ID, row.State, here.Repo.URL, at.Number)
	now := slices.ContainsFunc(
		events,
		func(e session.Event) bool { return e.Type == session.TypeEnded && e.Time.After(r.began) },
	) // ended in this run, not in one that reported it
	if (now || r.Attempt > 1) && (row.State == session.PhaseFailed || row.State == session.PhaseCrashed) {
		err = errors.Join(err, fmt.Errorf("the session %s: %s", row.State, out.Summary))
	}
	return err
}

// Summarize appends Markdown to the job's summary.
func (r Run) Summarize(markdown string) error {
	if r.Summary == "" {
		return nil
	}
	return appendTo(r.Summary, markdown+"\n")
}

func appendTo(name, text string) error {
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("tell the runner: %w", err)
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// escapes escapes text for the runner's commands.
var escapes = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")

// Annotation is the level of a line that the runner shows beside the run.
type Annotation string

// Levels of annotations.
const (
	Fault   Annotation = "error"
	Warning Annotation = "warning"
	Notice  Annotation = "notice"
)

// Print prints an annotation. A fault of a configuration file includes its position.
func (a Annotation) Print(w io.Writer, text string) {
	at := ""
	if m := inFile().FindStringSubmatch(text); m != nil {
		at = " file=" + strings.NewReplacer(":", "%3A", ",", "%2C").Replace(escapes.Replace(m[1])) + ",line=" + m[2]
		if m[3] != "" {
			at += ",col=" + m[3]
		}
	}
	fmt.Fprintf(w, "::%s%s::%s\n", a, at, escapes.Replace(text))
}

// inFile matches the file and the position in a configuration error, of the server's or
// of the repository's file.
var inFile = pattern.Lazy(`^(?:read configuration|parse config) ([^\n]+?): line (\d+)(?:, column (\d+))?: `)

// Mask has the runner hide a value in its log.
func Mask(w io.Writer, value string) {
	for line := range strings.Lines(value) {
		if line = strings.TrimSpace(line); len(line) > 3 {
			fmt.Fprintf(w, "::add-mask::%s\n", escapes.Replace(line))
		}
	}
}
