package dashboard

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/policy"
)

// row is a session in a list.
type row struct {
	*store.Session
	Used  policy.Limits
	Title string // of the thread; "" if unknown
	Sign  string // class of the style sheet
	Stand string // reason of its wait, or the server that works on it
	Beat  string // age of that server's heartbeat; "" without one
	Age   string // since the last change
	Took  string // time that was worked on it; "" if unknown
	Link  string // address of the thread
}

// groups are the states of the filter, in the order of the page.
var groups = []struct {
	Name, Word string
	holds      func(session.Phase) bool
}{
	{"waiting", "Waiting for an answer", session.Phase.Waits},
	{"running", "Running", func(p session.Phase) bool { return !p.Waits() && !p.Over() }},
	{"finished", "Finished", session.Phase.Over},
}

func phasesOf(name string) (out []session.Phase) {
	for _, g := range groups {
		for _, p := range session.Phases() {
			if g.Name == name && g.holds(p) {
				out = append(out, p)
			}
		}
	}
	return out
}

// rowOf describes a session. It reads only its row.
func (s *Server) rowOf(r *store.Session) row {
	var data struct {
		Used  policy.Usage
		Title string
	}
	_ = json.Unmarshal(r.Data, &data) // the zero value is shown as unknown
	now := s.cfg.Now()
	out := row{Session: r, Used: data.Used.Total, Title: data.Title, Sign: "over", Age: ago(now.Sub(r.Updated)), Link: s.thread(r)}
	switch {
	case r.State.Waits():
		out.Sign = "waits"
	case r.State == session.PhaseRunning && held(r, now) && r.Stall.Why == "": //control:dashboard-waiting-is-no-work
		out.Sign = "runs"
	case !r.State.Over():
		out.Sign = "stands"
	case r.State == session.PhaseFailed, r.State == session.PhaseCrashed:
		out.Sign = "failed"
	case r.State == session.PhaseStopped:
		out.Sign = "stopped"
	}
	out.Stand = standing(r, now)
	out.Beat = s.beat(r, now)
	if worked := time.Duration(data.Used.Total.Time); worked >= time.Second {
		out.Took = ago(worked)
	}
	return out
}

// standing names the server that works on a session, or the reason of its wait.
func standing(r *store.Session, now time.Time) string {
	since := ago(now.Sub(cmp.Or(r.Stall.Since, r.Updated)))
	if r.State == session.PhaseAwaitingApproval {
		since = ago(now.Sub(cmp.Or(r.AskedAt, r.Stall.Since, r.Updated)))
	}
	switch {
	case r.State == session.PhaseAwaitingApproval:
		return "waits " + since + " for an approval, asked for by " + r.Requester
	case r.State == session.PhaseAwaitingAnswer:
		return "waits " + since + " for an answer of " + r.Requester
	case r.State == session.PhaseOutOfBudget:
		return "waits " + since + " for a larger budget"
	case r.State == session.PhasePlanned:
		return "waits " + since + " for the plan's approval"
	case r.State == session.PhaseWaitingModel:
		return "waits " + since + " for the model: " + cmp.Or(r.Stall.Why, "it does not answer") + "; it is tried again by itself"
	case r.State == session.PhaseWaitingGitHub && r.Stall.Until.After(now): //control:dashboard-limit
		return "waits for GitHub's limit until " + r.Stall.Until.UTC().Format("15:04 UTC") + "; it goes on by itself"
	case r.State == session.PhaseWaitingGitHub:
		return "GitHub does not answer, for " + since + "; it is tried again by itself"
	case r.State == session.PhaseWaitingChecks:
		return "waits " + since + " for checks"
	case r.State.Over():
		return ""
	case held(r, now) && r.Stall.Why != "":
		return fmt.Sprintf("%s waits %s for the model: %s", r.Owner, since, r.Stall.Why)
	case held(r, now):
		return r.Owner + " works on it"
	case r.Owner != "":
		return fmt.Sprintf("the lease of %s ended %s ago; another server takes over", r.Owner, ago(now.Sub(r.Until)))
	case r.State == session.PhaseRunning:
		return "no server works on it now; one goes on by itself"
	}
	return "waits " + since + " for a free place"
}

// held reports whether a server has the lease of a session.
func held(r *store.Session, now time.Time) bool { return r.Owner != "" && r.Until.After(now) }

// beat returns the age of the heartbeat of the server that works on a session, or "".
func (s *Server) beat(r *store.Session, now time.Time) string {
	if s.cfg.Lease == 0 || r.State.Over() || !held(r, now) {
		return ""
	}
	return ago(max(0, now.Sub(r.Until.Add(-s.cfg.Lease))))
}

// thread returns the address of a session's thread, or "".
func (s *Server) thread(r *store.Session) string {
	name, number, ok := strings.Cut(r.Thread, "#")
	if !ok || s.cfg.Web == "" {
		return ""
	}
	return s.cfg.Web + "/" + name + "/issues/" + url.PathEscape(number)
}

// listData is the page with all sessions.
type listData struct {
	Repo, Person, State string
	Groups              []group
	Next                string // address of the next page
}

type group struct {
	Name, Word string
	Rows       []row
}

const (
	maxShown   = 60  // sessions on a page
	maxScanned = 600 // rows looked at for a page
)

// listPage shows the sessions that the viewer may read.
func (s *Server) listPage(w http.ResponseWriter, r *http.Request, v viewer) error {
	q := r.URL.Query()
	d := listData{Repo: q.Get("repo"), Person: q.Get("person"), State: q.Get("state")}
	query := store.Query{Repo: d.Repo, Requester: d.Person, States: phasesOf(d.State)}
	query.Below, _ = strconv.ParseInt(q.Get("below"), 10, 64) // 0 means the first page
	list, next, err := s.readable(r.Context(), v, query)
	if err != nil {
		return err
	}
	for _, g := range groups {
		at := group{Name: g.Name, Word: g.Word}
		for _, x := range list {
			if g.holds(x.State) {
				at.Rows = append(at.Rows, s.rowOf(x))
			}
		}
		d.Groups = append(d.Groups, at)
	}
	if next != 0 {
		q.Set("below", strconv.FormatInt(next, 10))
		d.Next = "/?" + q.Encode()
	}
	return s.page(w, v, "Sessions", "list", d)
}

// readable returns sessions that the viewer may read, and the number below which the next
// page begins; it is 0 at the end.
func (s *Server) readable(
	ctx context.Context,
	v viewer,
	q store.Query,
) (out []*store.Session, next int64, err error) {
	for scanned := 0; scanned < maxScanned; {
		q.Limit = 100
		list, err := s.cfg.Sessions.List(ctx, q)
		if err != nil {
			return nil, next, err
		}
		for _, x := range list {
			ok, err := s.reads(ctx, v, x.Repo)
			if err != nil {
				return nil, next, err
			}
			if q.Below = x.Seq; ok {
				out = append(out, x)
			}
			if len(out) == maxShown {
				return out, x.Seq, nil
			}
		}
		if scanned += len(list); len(list) < q.Limit {
			return out, 0, nil
		}
	}
	return out, q.Below, nil
}

// openRequest is a request in the list of approvals.
type openRequest struct {
	row
	Asked []askView
}

// approvalsPage shows the requests that the viewer may answer.
func (s *Server) approvalsPage(w http.ResponseWriter, r *http.Request, v viewer) error {
	q := store.Query{States: phasesOf("waiting")}
	list, _, err := s.readable(r.Context(), v, q)
	if err != nil {
		return err
	}
	var out []openRequest
	for _, x := range list {
		asked, err := s.answerable(r.Context(), v, x)
		if err != nil {
			return err
		}
		if len(asked) > 0 {
			out = append(out, openRequest{s.rowOf(x), asked})
		}
	}
	return s.page(w, v, "Approvals", "approvals", out)
}

// answerable returns the open requests of a session that the viewer may answer.
func (s *Server) answerable(ctx context.Context, v viewer, x *store.Session) (out []askView, err error) {
	state, done, err := s.summary(ctx, x.ID)
	if err != nil {
		return nil, err
	}
	open := state.Open()
	done()
	for _, a := range open {
		ok, err := s.mayAnswer(ctx, v, x, a)
		if err != nil {
			return nil, err
		}
		if ok {
			out = append(out, askOf(x.ID, a, v.May))
		}
	}
	return out, nil
}

func (s *Server) mayAnswer(ctx context.Context, v viewer, x *store.Session, a session.Asked) (bool, error) {
	if v.All {
		return true, nil
	}
	by, err := s.of(ctx, v, x.Repo, false)
	if err != nil || s.cfg.Answers == nil {
		return err == nil && policy.MayPush(by), err
	}
	return s.cfg.Answers(ctx, x, by, a)
}
