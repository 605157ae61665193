package dashboard

import (
	"fmt"
	"strings"
	"time"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/policy"
)

// item is an event for display.
type item struct {
	Seq   int64
	Kind  string // class of the style sheet
	Time  time.Time
	Who   string
	Title string
	Text  string
	Think string // the model's thoughts
	Took  string // duration
	Bad   bool
	Fold  bool   // Text is folded at first
	Exact string // bytes of a request, every character visible
	Left  bool   // parts of Text are left out: there is a page with all of it
	Calls []callView
	Files []session.FileChange
	Todo  []session.Todo
	Lines []diffLine
	Notes []string
	Sight []string // names of the pictures
	In    bool     // in a sub-task
}

// story turns events into items, in order. It remembers the titles of started calls.
type story struct{ titles map[string]string }

// maxTitles limits the remembered titles of calls.
const maxTitles = 256

// maxPictures is the maximum number of pictures of one result that are shown.
const maxPictures = 8

// item returns an event for display. It reports false for events that show nothing.
func (s *story) item(e session.Event) (item, bool) {
	inner, task := e.Unwrap()
	payload, err := session.Payload(inner)
	if err != nil {
		return item{Seq: e.Seq, Kind: "note", Time: e.Time, Title: "An event that this version cannot read"}, true
	}
	it := item{Seq: e.Seq, Time: e.Time, In: task != ""}
	ok := s.fill(&it, payload)
	it.Title, it.Who = line(it.Title, 300), line(it.Who, 80)
	return it, ok
}

// fill sets the fields of an item.
func (s *story) fill(it *item, payload any) bool {
	switch p := payload.(type) {
	case *session.Opened:
		it.Kind, it.Who, it.Title = "said", p.Task.Requester, "The request"
		it.text(session.Command(p.Task.Text))
	case *session.Message:
		return it.message(p)
	case *session.Answer:
		return it.answer(p)
	case *session.Asked:
		it.asked(p)
	case *session.Resolved:
		it.Kind, it.Who, it.Title = "verdict", p.By, p.ID+": "+string(p.Verdict)
		it.Bad = p.Verdict != policy.Approved && p.Verdict != policy.Answered
		it.text(p.Reason)
	case *session.Started:
		s.started(p)
		it.Kind, it.Title = "run", p.Title
	case *session.Result:
		s.result(it, p)
	case *session.Checkpoint:
		return it.checkpoint(p)
	case *session.Note:
		it.Kind, it.Title, it.Fold = "note", "Note to the model: "+string(p.Kind), true
		it.text(p.Text)
	case *session.Update:
		return it.update(p)
	case *session.Verified:
		it.verified(p)
	case *session.Ended:
		it.ended(p.Outcome)
	default:
		return false
	}
	return true
}

func (it *item) text(s string) {
	_, left := cut(s)
	it.Text, it.Left = show(s), left > 0
}

func (it *item) message(p *session.Message) bool {
	it.Kind, it.Who, it.Title = "said", p.Author, "A message"
	it.text(session.Command(p.Text))
	switch {
	case p.TakeBack != nil:
		it.Title = strings.TrimSpace(string(p.TakeBack.Do) + " " + strings.Join(p.TakeBack.Paths, " "))
	case p.Budget > 0:
		it.Title = fmt.Sprintf("Budget: %d more turns", p.Budget)
	case p.Clear:
		it.Title = "The conversation was cleared"
	case p.Model != "":
		it.Title = "Another model: " + p.Model
	}
	return true
}

func (it *item) answer(p *session.Answer) bool {
	it.Kind, it.Title, it.Think = "agent", "", show(p.Thinking)
	it.text(p.Content)
	if p.ThinkingMillis > 0 {
		it.Took = millis(p.ThinkingMillis)
	}
	for _, c := range p.Calls {
		it.Calls = append(it.Calls, callOf(c))
	}
	for _, e := range p.Errors {
		it.Notes = append(it.Notes, line(e, 300))
	}
	return it.Text != "" || it.Think != "" || len(it.Calls)+len(it.Notes) > 0
}

// asked shows a request with the exact bytes that an approval is for.
func (it *item) asked(p *session.Asked) {
	it.Kind, it.Title, it.Exact = "asked", askTitle(*p), exact(p.Display)
	for _, r := range p.Reasons {
		it.Notes = append(it.Notes, line(r, 300))
	}
}

func askTitle(a session.Asked) string {
	switch a.Kind {
	case session.AskQuestion:
		return "The agent asks"
	case session.AskPlan:
		return "A plan waits for approval: " + a.ID
	case session.AskCommit:
		return "A commit of a fork waits for a permission"
	}
	title := "Approval " + a.ID + " for " + a.Tool
	if a.Severity != "" && a.Severity != "none" {
		title += ", severity " + a.Severity
	}
	return title
}

func (s *story) started(p *session.Started) {
	if s.titles == nil || len(s.titles) >= maxTitles {
		s.titles = map[string]string{}
	}
	s.titles[p.Call] = p.Title
}

func (s *story) result(it *item, p *session.Result) {
	it.Kind, it.Title, it.Took, it.Bad, it.Fold, it.Files = "tool", p.Title, millis(p.Millis), !p.OK, true, p.Changes
	if it.Title == "" {
		it.Title = s.titles[p.Call]
	}
	if it.Title == "" {
		it.Title = "Result"
	}
	text := p.Content
	if p.Output != "" {
		text = p.Output
	}
	it.text(text)
	for _, b := range p.Images[:min(len(p.Images), maxPictures)] {
		it.Sight = append(it.Sight, line(b.Name, 80))
	}
	if p.Tests != nil {
		it.Notes = append(it.Notes, line(p.Tests.String(), 300))
	}
}

func (it *item) checkpoint(p *session.Checkpoint) bool {
	it.Kind, it.Title, it.Files = "saved", "Checkpoint "+short(p.Commit), p.Files
	if p.TookBack != "" {
		it.Title += " (" + string(p.TookBack) + ")"
	}
	if p.Sent != nil {
		it.Notes = append(it.Notes, "The push went otherwise than planned: "+string(p.Sent.How))
	}
	return !p.Parked
}

func (it *item) update(p *session.Update) bool {
	it.Kind, it.Todo = "note", p.Todo
	switch {
	case p.Mode != "":
		it.Title = "Mode " + p.Mode
	case p.Image != nil:
		it.Title = "Commands run in " + p.Image.Name
	case p.Todo != nil:
		it.Title = "The list"
	}
	return it.Title != ""
}

func (it *item) verified(p *session.Verified) {
	it.Kind, it.Title, it.Bad, it.Fold = "tool", "Handrail ran the tests at "+short(p.At), !p.Passed(), true
	if p.Tests != nil {
		it.text(p.Tests.String())
	}
}

func (it *item) ended(o session.Outcome) {
	it.Kind, it.Title, it.Bad = "ended", strings.ReplaceAll(string(o.Status), "_", " "), o.Status.Failed()
	if o.Status.Parked() {
		it.Kind = "parked"
	}
	it.text(strings.TrimSpace(o.Summary + "\n\n" + o.Reason))
	it.Files = o.Files
	if o.Tests != "" {
		it.Notes = append(it.Notes, line(o.Tests, 300))
	}
}

func short(commit string) string { return commit[:min(len(commit), 7)] }

func millis(n int64) string {
	if n < 1000 {
		return fmt.Sprintf("%d ms", n)
	}
	return fmt.Sprintf("%.1f s", float64(n)/1000)
}
