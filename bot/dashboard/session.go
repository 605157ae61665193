package dashboard

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/store"
)

// storyPage is the number of events on a page. Pages have fixed borders, so that links to
// a step stay valid.
const storyPage = 200

// sessionData is the head of a session's page.
type sessionData struct {
	row
	Title       string
	Live        bool  // the page has the end of the log
	After, Last int64 // the page's first event follows After; Last is the end of the log
	First       bool
	Older       int64 // After of the page before, -1 if there is none
	Newer       int64 // After of the page behind, -1 if there is none
	Sent        string
	Side        sideData
}

// sideData is the present state of a session.
type sideData struct {
	ID, Stand, Phase, Sign string
	Mode, Model, Branch    string
	Turns, Tokens, Took    string
	Asked                  []askView
	Todo                   []session.Todo
	Files                  []session.FileChange
	Steps                  []stepView
	Retry, Over, May       bool
	Local                  bool // a session of the command line: it can be stopped and answered
	Nonce                  string
}

// stepView is a checkpoint.
type stepView struct {
	N      int
	Commit string
	Kept   bool
	Note   string
	Undone bool
	Undo   int    // number for a command that undoes this step, and the later ones; 0 means none
	Redo   int    // likewise for one that redoes
	Keep   string // files for a command that keeps them; "" means none
	Files  []session.FileChange
}

// askView is an open request.
type askView struct {
	Session, ID, Title, Exact, Digest string
	Reasons, Choices                  []string
	ByID, May                         bool
	Commit, Nonce                     string
}

func askOf(id string, a session.Asked, may bool) askView {
	v := askView{
		Session: id,
		ID:      a.ID,
		Title:   askTitle(a),
		Exact:   exact(a.Display),
		Digest:  line(a.Digest, 80),
		ByID:    a.Kind.ByID(),
		May:     may,
		Nonce:   rand.Text(),
	}
	for _, r := range a.Reasons {
		v.Reasons = append(v.Reasons, line(r, 300))
	}
	for _, c := range a.Choices {
		v.Choices = append(v.Choices, line(c, 200))
	}
	if a.Kind == session.AskCommit {
		v.Commit = a.Head
	}
	return v
}

// find returns a session that the viewer may read.
func (s *Server) find(r *http.Request, v viewer) (*store.Session, error) {
	x, err := s.cfg.Sessions.Session(r.Context(), r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	ok, err := s.reads(r.Context(), v, x.Repo)
	if err == nil && !ok {
		err = errMissing
	}
	return x, err
}

// sessionPage shows a session. The head is sent before the log is read.
func (s *Server) sessionPage(w http.ResponseWriter, r *http.Request, v viewer) error {
	x, err := s.find(r, v)
	if err == nil {
		v.May, err = s.acts(r.Context(), v, x.Repo)
	}
	if err != nil {
		return err
	}
	d := sessionData{row: s.rowOf(x), Title: x.Thread, Sent: line(r.URL.Query().Get("sent"), 200), Older: -1, Newer: -1}
	if err := s.begin(w, v, x.Thread, "session-head", d); err != nil {
		return nil //nolint:nilerr // the browser is gone
	}
	err = s.sessionBody(w, r, v, x, &d)
	if err != nil && r.Context().Err() == nil {
		s.cfg.Log.ErrorContext(r.Context(), "dashboard", "session", x.ID, "err", err)
		return s.write(w, "broken", nil)
	}
	return s.write(w, "foot", nil)
}

// sessionBody writes the state and the story of a session.
func (s *Server) sessionBody(w io.Writer, r *http.Request, v viewer, x *store.Session, d *sessionData) error {
	if err := s.side(r.Context(), v, x, d); err != nil {
		return err
	}
	d.place(r.URL.Query().Get("after"))
	if err := s.write(w, "session-body", d); err != nil {
		return err
	}
	var told story
	for after := d.After; after < min(d.After+storyPage, d.Last); {
		events, err := s.cfg.Pages(r.Context(), x.ID, after, int(min(d.After+storyPage, d.Last)-after))
		if err != nil {
			return err
		}
		if len(events) == 0 {
			break
		}
		for i, e := range events {
			after = e.Seq
			if it, ok := told.item(e); ok && !replaced(events[i+1:], e) {
				if err := s.write(w, "item", itemView{x.ID, it}); err != nil {
					return err
				}
			}
		}
		flush(w)
	}
	return s.write(w, "session-end", d)
}

// itemView is an item on a page.
type itemView struct {
	Session string
	item
}

// replaced reports whether the result of a started call follows, which shows the call.
func replaced(rest []session.Event, e session.Event) bool {
	inner, _ := e.Unwrap()
	if inner.Type != session.TypeStarted {
		return false
	}
	p, err := session.Decode[session.Started](inner)
	if err != nil {
		return false
	}
	for _, later := range rest {
		if later, _ := later.Unwrap(); later.Type == session.TypeResult {
			if r, err := session.Decode[session.Result](later); err == nil && r.Call == p.Call {
				return true
			}
		}
	}
	return false
}

// place chooses the page of the story. Without a wish it is the last page of a session
// that goes on, and the first one of a finished session.
func (d *sessionData) place(after string) {
	lastPage := max(0, d.Last-1) / storyPage * storyPage
	n, err := strconv.ParseInt(after, 10, 64)
	switch {
	case err == nil && n >= 0:
		d.After = min(n/storyPage*storyPage, lastPage)
	case !d.Side.Over:
		d.After = lastPage
	}
	if d.After > 0 {
		d.Older = d.After - storyPage
	}
	if d.After < lastPage {
		d.Newer = d.After + storyPage
	}
	d.Live = d.After == lastPage
}

// side fills in the present state.
func (s *Server) side(ctx context.Context, v viewer, x *store.Session, d *sessionData) error {
	state, done, err := s.summary(ctx, x.ID)
	if err != nil {
		return err
	}
	defer done()
	d.Last, d.Side = state.Seq, s.sideOf(x, state, v.May)
	d.Title = line(session.Command(state.Task.Text), 120)
	return nil
}

const (
	maxSteps = 50 // checkpoints shown
	maxFiles = 100
	maxKeep  = 12 // files in one command
)

// sideOf describes the present state of a session.
func (s *Server) sideOf(x *store.Session, state *present, may bool) sideData {
	at := s.rowOf(x)
	phase := state.Phase
	if x.State == session.PhaseWaitingModel || x.State == session.PhaseWaitingGitHub ||
		x.State == session.PhaseWaitingChecks {
		phase = x.State
	}
	d := sideData{
		ID:     x.ID,
		Stand:  at.Stand,
		Phase:  string(phase),
		Sign:   at.Sign,
		Mode:   state.ModeName(),
		Model:  line(state.ModelName(), 80),
		Branch: line(state.Branch, 120),
		Turns:  count(state.AllTurns()),
		Tokens: count(state.Tokens),
		Took:   at.Took,
		Todo:   state.Todo,
		Files:  slices.Clone(state.Files[:min(len(state.Files), maxFiles)]),
		May:    may,
		Nonce:  rand.Text(),
		Local:  s.cfg.Local,
		Over:   phase.Over(),
		Retry:  !s.cfg.Local && state.Over() && !state.Finished(),
	}
	for _, a := range state.Open() {
		d.Asked = append(d.Asked, askOf(x.ID, a, may))
	}
	steps := state.steps()
	n := len(state.Checkpoints)
	for i := n - 1; i >= max(0, n-maxSteps); i-- {
		c := state.Checkpoints[i]
		step := stepView{
			N:      i + 1,
			Commit: short(c.Commit),
			Note:   string(c.TookBack),
			Kept:   c.Commit == state.Kept,
			Undo:   steps[i].undo,
			Redo:   steps[i].redo,
			Undone: steps[i].undone,
			Files:  slices.Clone(c.Files[:min(len(c.Files), maxFiles)]),
		}
		if paths := plainPaths(c.Files); step.Undo > 0 && len(paths) <= maxKeep {
			step.Keep = strings.Join(paths, " ")
		}
		d.Steps = append(d.Steps, step)
	}
	return d
}

// diffPage shows the difference that a checkpoint made, or the whole one without ?step.
func (s *Server) diffPage(w http.ResponseWriter, r *http.Request, v viewer) error {
	x, err := s.find(r, v)
	if err != nil || s.cfg.Diff == nil {
		return errors.Join(err, map[bool]error{true: errMissing}[err == nil])
	}
	state, done, err := s.summary(r.Context(), x.ID)
	if err != nil {
		return err
	}
	from, to, title := state.Base, state.Published, "All changes"
	if n, err := strconv.Atoi(r.URL.Query().Get("step")); err == nil && n >= 1 && n <= len(state.Checkpoints) {
		c := state.Checkpoints[n-1]
		from, to, title = c.Parent, c.Commit, fmt.Sprintf("Step %d", n)
	}
	done()
	text, err := s.cfg.Diff(r.Context(), x, from, to)
	if err != nil {
		return err
	}
	lines := diffLines(neutral(text))
	colour("", lines)
	return s.page(w, v, title, "diff", struct {
		Session, Title string
		Lines          []diffLine
	}{x.ID, title, lines})
}

// payloadOf returns the payload of the event that a request names.
func (s *Server) payloadOf(r *http.Request, v viewer) (any, error) {
	x, err := s.find(r, v)
	if err != nil {
		return nil, err
	}
	seq, err := strconv.ParseInt(r.PathValue("seq"), 10, 64)
	if err != nil || seq < 1 {
		return nil, errMissing
	}
	events, err := s.cfg.Pages(r.Context(), x.ID, seq-1, 1)
	if err != nil || len(events) != 1 {
		return nil, errors.Join(err, map[bool]error{true: errMissing}[err == nil])
	}
	inner, _ := events[0].Unwrap()
	payload, err := session.Payload(inner)
	if err != nil {
		return nil, errMissing
	}
	return payload, nil
}

// textPage returns all of an event's text, as plain text.
func (s *Server) textPage(w http.ResponseWriter, r *http.Request, v viewer) error {
	payload, err := s.payloadOf(r, v)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Content-Security-Policy", "sandbox; default-src 'none'")
	_, err = io.WriteString(w, neutral(wholeText(payload)))
	return err
}

// picturePage returns a picture of a result, such as a page in the browser of the workspace.
func (s *Server) picturePage(w http.ResponseWriter, r *http.Request, v viewer) error {
	payload, err := s.payloadOf(r, v)
	if err != nil {
		return err
	}
	result, ok := payload.(*session.Result)
	n, err := strconv.Atoi(r.PathValue("n"))
	if err != nil || !ok || n < 0 || n >= len(result.Images) {
		return errMissing
	}
	data := result.Images[n].Data
	kind := http.DetectContentType(data)
	if !slices.Contains([]string{"image/png", "image/jpeg", "image/gif", "image/webp"}, kind) { //control:dashboard-pictures
		return errMissing
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Content-Security-Policy", "sandbox; default-src 'none'")
	w.Header().Set("Cache-Control", "private, max-age=3600, immutable")
	_, err = w.Write(data)
	return err
}

// wholeText returns the text of an event that its item may cut.
func wholeText(payload any) string {
	switch p := payload.(type) {
	case *session.Opened:
		return p.Task.Text
	case *session.Message:
		return p.Text
	case *session.Answer:
		return strings.TrimSpace(p.Thinking + "\n\n" + p.Content)
	case *session.Result:
		if p.Output != "" {
			return p.Output
		}
		return p.Content
	case *session.Note:
		return p.Text
	case *session.Ended:
		return p.Outcome.Summary + "\n\n" + p.Outcome.Reason
	}
	return ""
}
