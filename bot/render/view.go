// Package render turns the events of a session into what people read on
// GitHub: the progress comment, requests for approval, the pull request. It
// is pure: the same log gives the same Markdown, so a comment can be made
// again after a crash and compared with what is there.
package render

import (
	"fmt"
	"strings"
	"time"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/policy"
)

// View is what there is to see of a session. Build it with [View.Apply].
type View struct {
	Task        session.Task
	State       string // one of the words below
	Todo        []session.Todo
	Steps       []Step
	Files       []session.FileChange
	Checkpoints []session.Checkpoint
	Open        []session.Asked // what waits for a person
	Granted     []session.Asked // what a person said yes to, and has not run
	Outcome     *session.Outcome
	Turns       int
	Started     time.Time
	Updated     time.Time
	Tokens      int
	Edits       int    // calls that changed files
	Seq         int64  // of the last event
	Branch      string // that has the checkpoints
	Sent        []Sent // pushes that people have to know of

	steps map[string]int // call id → index in Steps
	asked []request
	files map[string]int
}

// The words for the state of a session.
const (
	Queued           = "queued"
	Running          = "running"
	AwaitingApproval = "awaiting approval"
	AwaitingAnswer   = "awaiting answer"
	OutOfBudget      = "out of budget"
	Done             = "done"
	NoChanges        = "no changes"
	Stopped          = "stopped"
	Failed           = "failed"
	Crashed          = "crashed"
)

var words = map[session.Status]string{
	session.StatusDone: Done, session.StatusNoChanges: NoChanges, session.StatusAwaitingApproval: AwaitingApproval,
	session.StatusAwaitingAnswer: AwaitingAnswer, session.StatusOutOfBudget: OutOfBudget, session.StatusStopped: Stopped,
	session.StatusFailed: Failed, session.StatusInterrupted: Running,
}

// Word returns the word for how a run ended.
func Word(s session.Status) string { return words[s] }

// Step is one line of the timeline.
type Step struct {
	Kind    string // "thought", "said", "tool", "asked", "note", "person"
	Text    string
	Detail  string // how it went: "+3 −1", "exit 1", "denied by …"
	OK      bool
	Running bool
	Time    time.Time
}

// New returns the view of an empty log.
func New() *View {
	return &View{State: Queued, steps: map[string]int{}, files: map[string]int{}}
}

// Fold returns the view of a log.
func Fold(events []session.Event) (*View, error) {
	v := New()
	for _, e := range events {
		if err := v.Apply(e); err != nil {
			return nil, err
		}
	}
	return v, nil
}

var folds = map[session.Type]func(*View, session.Event) error{
	session.TypeOpened: fold(func(v *View, e session.Event, p session.Opened) {
		v.Task, v.State, v.Started, v.Branch = p.Task, Running, e.Time, p.Task.Branch
	}),
	session.TypeMessage:    fold((*View).message),
	session.TypeAnswer:     fold((*View).answer),
	session.TypeAsked:      fold((*View).ask),
	session.TypeResolved:   fold((*View).resolve),
	session.TypeStarted:    fold((*View).start),
	session.TypeResult:     fold((*View).result),
	session.TypeCheckpoint: fold((*View).checkpoint),
	session.TypeNote:       fold((*View).note),
	session.TypeState: fold(func(v *View, _ session.Event, p session.State) {
		if p.Todo != nil {
			v.Todo = p.Todo
		}
	}),
	session.TypeEnded: fold(func(v *View, _ session.Event, p session.Ended) {
		v.Outcome, v.State = &p.Outcome, words[p.Outcome.Status]
	}),
}

func fold[T any](f func(*View, session.Event, T)) func(*View, session.Event) error {
	return func(v *View, e session.Event) error {
		p, err := session.Decode[T](e)
		if err != nil {
			return err
		}
		f(v, e, p)
		return nil
	}
}

// Apply adds one event. Types it does not know change nothing.
func (v *View) Apply(e session.Event) error {
	v.Updated, v.Seq = e.Time, e.Seq
	if e.Type != session.TypeEnded && e.Type != session.TypeResolved && v.State != Running && v.State != Queued {
		v.State = Running
	}
	if f, ok := folds[e.Type]; ok {
		return f(v, e)
	}
	return nil
}

func (v *View) message(e session.Event, p session.Message) {
	v.Outcome, v.State = nil, Running
	if p.Text != "" {
		v.add(Step{Kind: "person", Text: "@" + p.Author + " wrote", Detail: line(p.Text, 80), OK: true, Time: e.Time})
	}
}

func (v *View) answer(e session.Event, p session.Answer) {
	v.Turns = e.Turn
	v.Tokens += p.PromptTokens + p.AnswerTokens
	if p.Thinking != "" {
		secs := max(1, int((time.Duration(p.ThinkingMillis) * time.Millisecond).Round(time.Second).Seconds()))
		v.add(Step{Kind: "thought", Text: fmt.Sprintf("Thought for %ds", secs), OK: true, Time: e.Time})
	}
	if p.Content != "" {
		v.add(Step{Kind: "said", Text: p.Content, OK: true, Time: e.Time})
	}
	if n := len(p.Errors); n > 0 {
		v.add(Step{Kind: "note", Text: "Sent a tool call that could not be understood", Detail: line(p.Errors[0], 100), Time: e.Time})
	}
}

func (v *View) ask(e session.Event, p session.Asked) {
	v.asked = append(v.asked, request{p, policy.OpenApproval(p.ID, p.Digest, p.Deadline)})
	v.sortOut()
	what := map[string]string{"question": "Asked a question", "budget": "Asked for more turns"}[p.Kind]
	if what == "" {
		what = "Asked for approval"
	}
	v.add(Step{Kind: "asked", Text: what, Detail: "`" + p.ID + "`", OK: true, Time: e.Time})
}

func (v *View) resolve(e session.Event, p session.Resolved) {
	v.advance(func(r request) bool { return r.ID == p.ID }, func(a policy.Approval) policy.Approval {
		return a.Settle(policy.ApprovalState(p.Verdict))
	})
	if len(v.Open) == 0 {
		v.Outcome, v.State = nil, Running
	}
	text := map[string]string{
		"approved": "Approved", "denied": "Denied", "answered": "Answered", "withdrawn": "Withdrawn",
		"expired": "Nobody answered in time", "stale": "No longer what was shown; asked again",
	}[p.Verdict]
	if p.By != "" {
		text += " by @" + p.By
	}
	v.add(Step{Kind: "asked", Text: text, Detail: "`" + p.ID + "`", OK: p.Verdict == "approved" || p.Verdict == "answered", Time: e.Time})
}

// publishTool is how requests to put something on the branch are named.
const publishTool = "publish"

// request is something that was asked, and where it stands.
type request struct {
	session.Asked
	approval policy.Approval
}

// advance takes the requests that are meant one step further.
func (v *View) advance(meant func(request) bool, next func(policy.Approval) policy.Approval) {
	for i, r := range v.asked {
		if meant(r) {
			v.asked[i].approval = next(r.approval)
		}
	}
	v.sortOut()
}

// sortOut lists what waits and what was granted. What is settled for good is
// forgotten.
func (v *View) sortOut() {
	var left []request
	v.Open, v.Granted = nil, nil
	for _, r := range v.asked {
		switch {
		case r.approval.Waits():
			v.Open = append(v.Open, r.Asked)
		case r.approval.Stands():
			v.Granted = append(v.Granted, r.Asked)
		default:
			continue
		}
		left = append(left, r)
	}
	v.asked = left
}

func (v *View) start(e session.Event, p session.Started) {
	v.advance(func(r request) bool { return r.Call == p.Call }, policy.Approval.Begin)
	v.steps[p.Call] = len(v.Steps)
	v.add(Step{Kind: "tool", Text: p.Title, Running: true, Time: e.Time})
}

func (v *View) result(e session.Event, p session.Result) {
	v.advance(func(r request) bool { return r.Call == p.Call }, policy.Approval.Finish)
	i, ok := v.steps[p.Call]
	if !ok {
		i = len(v.Steps)
		v.add(Step{Kind: "tool", Text: line(p.Content, 80), Time: e.Time})
	}
	s := &v.Steps[i]
	s.Running, s.OK = false, p.OK
	if p.Title != "" {
		s.Text = p.Title
	}
	if p.OK && len(p.Changes) > 0 {
		v.Edits++
	}
	added, removed := 0, 0
	for _, c := range p.Changes {
		added, removed = added+c.Added, removed+c.Removed
	}
	if n := Counts(added, removed); len(p.Changes) > 0 && !strings.Contains(s.Text, n) {
		s.Detail = n
	}
}

func (v *View) checkpoint(e session.Event, p session.Checkpoint) {
	v.sent(e, p)
	if p.Parked || p.Commit == p.Parent {
		return
	}
	v.advance(func(r request) bool { return r.Tool == publishTool }, policy.Approval.Finish)
	v.Checkpoints = append(v.Checkpoints, p)
	if p.Branch != "" {
		v.Branch = p.Branch
	}
	for _, f := range p.Files {
		i, ok := v.files[f.Path]
		if !ok {
			v.files[f.Path] = len(v.Files)
			v.Files = append(v.Files, f)
			continue
		}
		v.Files[i].Added += f.Added
		v.Files[i].Removed += f.Removed
	}
}

func (v *View) note(e session.Event, p session.Note) {
	text := map[string]string{
		"refused": "Said done too early; sent back", "reverted": "Took a change back",
		"todo":       "Said done with open items on its list; sent back",
		"fallback":   "The server takes no native tool calls; they travel as text from here on",
		"compaction": "Summarized earlier steps",
	}[p.Kind]
	if p.Kind == "context" {
		for _, label := range Provided(p.Text) {
			v.add(Step{Kind: "note", Text: "With the request: " + line(label, 100), OK: true, Time: e.Time})
		}
	}
	if text != "" {
		v.add(Step{Kind: "note", Text: text, OK: true, Time: e.Time})
	}
}

// Provided lists the labels in a note of what was looked up for a request. A
// label is followed by the session's mark, which nothing below it can imitate.
func Provided(note string) []string {
	var out []string
	lines := strings.Split(note, "\n")
	for i := range len(lines) - 1 {
		if label, _, ok := strings.Cut(lines[i], " (already provided"); ok && strings.HasPrefix(lines[i+1], "<untrusted ") {
			out = append(out, label)
		}
	}
	return out
}

func (v *View) add(s Step) { v.Steps = append(v.Steps, s) }

// Counts writes "+3 −1".
func Counts(added, removed int) string { return fmt.Sprintf("+%d −%d", added, removed) }
