package bot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/live"
	"github.com/handrail-bot/handrail/bot/render"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/bot/thread"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

// handedPart is the task of a [ghapp.Part]: a task as [dispatchedTask] reads it, and the change
// with which its session begins.
type handedPart struct {
	Task, Mode string
	Session    string     // that made the change
	Repository string     // as the change names it
	Said       string     // the end of that session, in its words
	Whole      live.Whole // that session's thread
}

// passOn gives the changes of an ended session in other repositories to sessions of their
// own, each in a new issue there: its rules, its approvers, its pull request. It may be
// called again after a crash at any point.
func (w *worker) passOn(ctx context.Context, l *live.Session) error {
	if !l.State.Over() {
		return nil
	}
	var parts []*part
	for _, n := range l.State.Neighbors {
		p := l.Data.PartIn(n.Repository)
		if len(n.Files) > 0 && (!p.Told || p.Number == 0 && p.Tree != n.Tree) {
			parts = append(parts, &part{Neighbor: n, kept: p})
		}
	}
	switch l.State.Outcome.Status {
	case session.StatusStopped, session.StatusFailed, session.StatusCrashed: // it may go on
		return w.keepParts(ctx, l, parts)
	}
	if len(parts) == 0 {
		return nil
	}
	for _, p := range parts {
		if err := w.open(ctx, l, p); err != nil {
			return err
		}
	}
	if _, err := l.PullRequest().Follow(ctx, l.State); err != nil { // the parts name it, and it names them
		return err
	}
	for _, p := range parts {
		if err := w.begin(ctx, l, p); err != nil {
			return err
		}
		if err := w.tell(ctx, l, p); err != nil {
			return err
		}
		p.kept.Told = true
		if err := l.SetPart(ctx, p.Repository, p.kept); err != nil {
			return err
		}
	}
	return nil
}

// keepParts says of the parts of a session that did not come to its end that they wait for that.
func (w *worker) keepParts(ctx context.Context, l *live.Session, parts []*part) error {
	for _, p := range parts {
		if p.kept.Waits == p.Tree {
			continue
		}
		say := ghapp.Write{Key: "part-waits-" + p.key(l), Kind: ghapp.WriteComment, Body: render.PartWaits(p.Repository)}
		if err := l.Try(ctx, say); err != nil {
			return err
		}
		p.kept.Waits = p.Tree
		if err := l.SetPart(ctx, p.Repository, p.kept); err != nil {
			return err
		}
	}
	return nil
}

// passed returns the other repositories whose part has a session of its own.
func passed(d live.Data) (out []string) {
	for _, p := range d.Parts {
		if p.Number != 0 {
			out = append(out, p.Name)
		}
	}
	return out
}

// part is the change of a session in another repository, on its way there.
type part struct {
	session.Neighbor
	kept         live.Part
	at           live.Thread // there, without a number until the issue is known
	installation int64
}

// open opens the issue for a part, or notes why it cannot or must not be opened.
func (w *worker) open(ctx context.Context, l *live.Session, p *part) error {
	had := p.kept
	p.kept = live.Part{Tree: p.Tree}
	why, err := w.reach(ctx, l, p)
	if err != nil || why == "" && had.Number != 0 {
		p.kept = had
		return err
	}
	if why == "" {
		heading, _ := untrusted.CleanPlain(w.at.Issue.Title)
		there := w.outbox(store.Fence{}) // an open write of the session's own would go to its own repository
		there.At, there.Client = p.at.Ref, p.at.Client
		ref, err := there.Ensure(ctx, ghapp.Write{
			Key:   "part-" + p.key(l),
			Kind:  ghapp.WriteIssue,
			Title: render.PartTitle(w.at.Ref, heading),
			Body:  render.PartBody(l.Row.Requester, p.Files),
			With:  []string{w.at.Ref.String()},
			First: true,
		})
		no := new(ghapp.Refusal)
		switch {
		case errors.As(err, &no):
			why = render.PartNoIssue(no.Reason)
		case err != nil:
			return err
		}
		p.kept.Number = ref.Number
	}
	p.kept.Why = why
	return l.SetPart(ctx, p.Repository, p.kept)
}

func (p *part) key(l *live.Session) string {
	return l.Row.ID + "-" + ghapp.Digest(strings.ToLower(p.Repository), p.Tree)
}

// reach connects the repository of a part, and returns the reason why the part must not go
// there: it must be served, belong to the same installation, be the one that was changed and have
// the visibility that this one has now, and the authors must be able to push there. Reasons that
// leave its readers the same let the session's thread show the part.
func (w *worker) reach(ctx context.Context, l *live.Session, p *part) (why string, err error) {
	owner, name, _ := strings.Cut(p.Repository, "/")
	p.at.Ref = thread.Ref{Owner: owner, Repo: name}
	s, err := w.cfg.GitHub.Sibling(ctx, w.at.Ref, p.at.Ref)
	switch {
	case errors.Is(err, ghapp.ErrNotFound):
		return render.PartUnreachable, nil
	case err != nil:
		return "", err
	case p.ID != "" && p.ID != s.Repo.Identity(): //control:part-to-the-changed
		return render.PartUnreachable, nil
	case s.Repo.Reach != s.Own.Reach: //control:part-as-public
		return render.PartOtherReaders, nil
	}
	p.at.Client, p.at.Repo, p.installation = s.Client, s.Repo, s.Installation
	p.kept.Shows = true
	if p.at.Repo.Archived {
		return render.OtherArchived, nil
	}
	if !w.serves(p.at.Ref) { //control:part-served
		return render.PartUnserved, nil
	}
	for _, login := range authors(l) {
		who, err := p.at.Client.Actor(ctx, login)
		if err != nil {
			return "", err
		}
		other := login == l.Row.Requester && who.ID != l.Data.RequesterID
		if other || !policy.MayPush(who) { //control:part-of-the-authors
			return render.OtherUnwritable(login), nil
		}
	}
	return "", nil
}

// authors returns the requester of a session, and all whose words it followed.
func authors(l *live.Session) []string {
	out := []string{l.Row.Requester}
	for _, m := range l.State.Timeline {
		if m, ok := m.(*session.Message); ok && m.Author != "" && m.Why == "" && !slices.Contains(out, m.Author) {
			out = append(out, m.Author)
		}
	}
	return out
}

// begin stores the delivery that begins the session of a part.
func (w *worker) begin(ctx context.Context, l *live.Session, p *part) error {
	if p.kept.Number == 0 {
		return nil
	}
	at := p.at.Ref
	at.Number = p.kept.Number
	task := handedPart{
		Task:       render.PartTask(w.at.Ref, l.State.Task.Text),
		Mode:       l.State.ModeName(),
		Session:    l.Row.ID,
		Repository: p.Repository,
		Said:       render.PartSaid(*l.State.Outcome),
		Whole:      live.Whole{Thread: w.at.Ref, Pull: l.Row.Pull},
	}
	by := ghapp.User{ID: l.Data.RequesterID, Login: l.Row.Requester}
	payload, err := ghapp.FromSession(at, p.installation, by, task, w.cfg.Now())
	if err != nil {
		return fmt.Errorf("write part: %w", err)
	}
	_, err = w.cfg.Store.Deliveries.Put(ctx, &store.Delivery{
		ID:       "part " + p.key(l),
		Event:    ghapp.Part,
		Thread:   at.Key(),
		Sender:   by.Login,
		Priority: store.PriorityWork,
		Payload:  payload,
	})
	return err
}

// tell says in the session's thread where a part goes on. A part that GitHub refused is shown
// as a patch.
func (w *worker) tell(ctx context.Context, l *live.Session, p *part) error {
	key := "part-told-" + p.key(l)
	if n := p.kept.Number; n != 0 {
		return l.Try(ctx, ghapp.Write{
			Key:  key,
			Kind: ghapp.WriteComment,
			Body: render.PartPassed(p.Repository),
			With: []string{fmt.Sprintf("%s#%d", p.Repository, n)},
		})
	}
	var shown []render.Post
	if p.kept.Shows && w.cfg.Clone != nil { //control:part-shown-to-its-readers
		text, err := w.cfg.Clone.Patch(ctx, p.at, p.Base, p.Commit)
		if err != nil {
			return err
		}
		shown = render.Patches(text)
	}
	text := render.PartRefused(p.Repository, p.kept.Why, l.Row.ID, len(shown) > 0)
	if err := l.Try(ctx, ghapp.Write{Key: key, Kind: ghapp.WriteComment, Body: text}); err != nil {
		return err
	}
	for i, post := range shown {
		err := l.Try(ctx, ghapp.Write{
			Key:   fmt.Sprintf("part-patch-%s-%d", p.key(l), i),
			Kind:  ghapp.WriteComment,
			Body:  post.Text,
			Folds: post.Folds,
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// begun is the change with which a session begins.
type begun struct {
	session.Neighbor
	handedPart
}

// errNoPart means that the log of a session lacks the change that another one begins with.
var errNoPart = errors.New("the change is gone")

// part returns the change with which the session of a [ghapp.Part] begins, or nil.
func (r *request) part(ctx context.Context) (*begun, error) {
	if r.msg.ev.Kind != ghapp.Part {
		return nil, nil
	}
	var b begun
	if err := json.Unmarshal(r.msg.ev.Payload, &b.handedPart); err != nil {
		return nil, fmt.Errorf("read part: %w", err)
	}
	events, err := r.w.cfg.Store.Logs.Log(store.Fence{Key: b.Session}).Events(ctx, 0)
	if err != nil {
		return nil, err
	}
	if len(events) == 0 {
		return nil, errNoPart
	}
	v, err := session.Fold(events)
	if err != nil {
		return nil, err
	}
	for _, n := range v.Neighbors {
		if n.Repository == b.handedPart.Repository {
			b.Neighbor = n
			return &b, nil
		}
	}
	return nil, errNoPart
}

// whole returns the session that the change is a part of, or nil.
func (b *begun) whole() *live.Whole {
	if b == nil {
		return nil
	}
	return &b.Whole
}

// events returns the beginning of the log: the change is made, and waits to be published.
func (b *begun) events() []*session.Event {
	if b == nil {
		return nil
	}
	return []*session.Event{
		session.NewEvent(session.TypeAnswer, 1, session.Answer{Content: b.Said, Complete: true, Seen: 1}),
		session.NewEvent(session.TypeCheckpoint, 1, session.Checkpoint{
			Commit:  b.Commit,
			Tree:    b.Tree,
			Parent:  b.Base,
			Files:   b.Files,
			Parked:  true,
			Content: b.Content,
			Of:      b.Session,
		}),
	}
}
