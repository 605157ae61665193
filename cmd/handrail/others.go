package main

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/work"
	"github.com/handrail-bot/handrail/bot"
	"github.com/handrail-bot/handrail/bot/fault"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/live"
	"github.com/handrail-bot/handrail/bot/render"
	"github.com/handrail-bot/handrail/bot/thread"
	"github.com/handrail-bot/handrail/gitops"
	"github.com/handrail-bot/handrail/policy"
)

// other is another repository on GitHub, before anything of it is fetched.
type other struct {
	policy.Repository
	client *ghapp.Client
	about  ghapp.Repository
	reach  ghapp.Reach // of the session's own repository, now
	writes bool        // the session may change it
	why    string      // reason why it may not, although the repository's file says so; "" if that does not
}

// no returns the message that another repository cannot be read.
func no(r policy.Repository, why string) error {
	return fault.UserError{Text: render.NoOther(r.Name(), why)}
}

// others returns the other repositories of a session, up to date. Before anything is
// fetched it checks that the thread may have the text of all of them: the error is the
// message for its users otherwise. After that, authors are checked with the inbox.
func (r *serveRunner) others(
	ctx context.Context,
	w *bot.Work,
	rules, repo policy.Config,
) (out []work.Other, err error) {
	if list := rules.Unlisted(repo); len(list) > 0 {
		return nil, no(list[0], render.OtherUnlisted)
	}
	if len(rules.Repositories) == 0 {
		return nil, nil
	}
	var list []other
	for _, want := range rules.Repositories {
		o, err := r.find(ctx, w.Thread, want)
		if err != nil {
			return nil, err
		}
		list = append(list, o)
	}
	askers := &askers{others: list, work: w, known: map[string]bool{}}
	if err := askers.findWritable(ctx, repo); err != nil {
		return nil, err
	}
	if err := askers.check(ctx); err != nil {
		return nil, err
	}
	for _, o := range list {
		r.mu.Lock()
		r.clients[strings.TrimSuffix(o.about.CloneURL, ".git")] = o.client
		r.mu.Unlock()
		m, err := r.git.Mirror(ctx, o.about.CloneURL)
		if err == nil {
			err = m.Fetch(ctx)
		}
		var at work.Other
		if err == nil {
			at, err = work.OtherAt(ctx, o.Repository, m)
		}
		switch {
		case errors.Is(err, gitops.ErrEmpty):
			return nil, no(o.Repository, render.OtherEmpty)
		case errors.Is(err, gitops.ErrNotFound) && o.Ref() != "":
			return nil, no(o.Repository, render.OtherWithoutRef(o.Ref()))
		case err != nil:
			return nil, err
		}
		at.ID, at.Write, at.Why = o.about.Identity(), o.writes, o.why
		out = append(out, at)
	}
	if inbox := w.Inbox; inbox != nil {
		w.Inbox = func(ctx context.Context) error {
			if err := inbox(ctx); err != nil {
				return err
			}
			return askers.check(ctx) //control:other-repository-later
		}
	}
	return out, nil
}

// find looks up another repository on GitHub. It must belong to the thread's installation,
// and all who read the thread must be able to read it.
func (r *serveRunner) find(ctx context.Context, at live.Thread, want policy.Repository) (o other, err error) {
	o.Repository = want
	owner, name, _ := strings.Cut(want.Name(), "/")
	ref := thread.Ref{Owner: owner, Repo: name}
	s, err := r.app.Sibling(ctx, at.Ref, ref)
	switch {
	case errors.Is(err, ghapp.ErrNotFound):
		r.log.WarnContext(ctx, "another repository cannot be read", "repository", want.Name(), "err", err)
		return o, no(want, render.OtherNotInstalled)
	case err != nil:
		return o, err
	case s.Repo.Reach > s.Own.Reach: //control:other-repository-downward
		return o, no(want, render.OtherLessPublic)
	}
	o.client, o.about, o.reach = s.Client, s.Repo, s.Own.Reach
	return o, nil
}

// askers checks that the requester of a session, and the authors of its present request,
// can read the other repositories.
type askers struct {
	others []other
	work   *bot.Work
	known  map[string]bool // logins that can
}

func (a *askers) check(ctx context.Context) error {
	if !slices.ContainsFunc(a.others, func(o other) bool { return o.about.Reach != ghapp.Public }) {
		return nil
	}
	logins, err := a.logins(ctx)
	if err != nil {
		return err
	}
	for _, login := range logins {
		if a.known[login] {
			continue
		}
		for _, o := range a.others {
			if err := a.mayRead(ctx, o, login); err != nil {
				return err
			}
		}
		a.known[login] = true
	}
	return nil
}

// findWritable marks the repositories that the session may change, and says why it may not
// change another one that the repository's file lets it change.
func (a *askers) findWritable(ctx context.Context, repo policy.Config) error {
	logins, err := a.logins(ctx)
	if err != nil {
		return err
	}
	for i, o := range a.others {
		if !repo.WantsToWrite(o.Repository) {
			continue
		}
		why, err := a.readOnly(ctx, o, logins)
		if err != nil {
			return err
		}
		a.others[i].writes, a.others[i].why = why == "", why
	}
	return nil
}

// readOnly returns the reason why the session must not change another repository: the server's
// file does not say so, its change has a thread there already, it is archived or has another
// visibility, or an author may not push there.
func (a *askers) readOnly(ctx context.Context, o other, logins []string) (string, error) {
	here := a.work.Thread
	same := func(name string) bool { return strings.EqualFold(name, o.Name()) }
	switch {
	case !o.Writes(): //control:neighbor-of-the-server
		return render.OtherReadByServer, nil
	case slices.ContainsFunc(a.work.Passed, same): //control:neighbor-goes-on-there
		return render.OtherPassed, nil
	case o.about.Archived:
		return render.OtherArchived, nil
	case o.about.Reach != o.reach: //control:neighbor-as-public
		return render.OtherElsewhereRead, nil
	case here.Pull != nil && here.Pull.Fork:
		return render.OtherOfFork, nil
	}
	for _, login := range logins {
		if may, err := a.mayWrite(ctx, o, login); err != nil || !may {
			return render.OtherUnwritable(login), err
		}
	}
	return "", nil
}

// mayWrite reports whether an account may push to another repository.
func (a *askers) mayWrite(ctx context.Context, o other, login string) (bool, error) {
	if login == "" { // a schedule
		return false, nil
	}
	actor, renamed, err := a.actor(ctx, o, login)
	may := policy.MayPush(actor) && !renamed //control:neighbor-of-the-requester
	return may, err
}

// actor looks up an account in another repository. An account that is renamed has the login of the
// requester, and is another one.
func (a *askers) actor(ctx context.Context, o other, login string) (who policy.Actor, renamed bool, err error) {
	who, err = o.client.Actor(ctx, login)
	id := a.work.RequesterID
	return who, login == a.work.Task.Requester && id != 0 && who.ID != id, err
}

// logins returns the requester of the session, and the authors of its present request.
func (a *askers) logins(ctx context.Context) ([]string, error) {
	events, err := a.work.Log.Events(ctx, 0)
	if err != nil || len(events) == 0 {
		return []string{a.work.Task.Requester}, err
	}
	state, err := session.Fold(events)
	if err != nil {
		return nil, err
	}
	logins := []string{a.work.Task.Requester}
	for _, m := range state.Timeline[min(state.Began.Moments, len(state.Timeline)):] {
		if m, ok := m.(*session.Message); ok && m.Author != "" && m.Why == "" {
			logins = append(logins, m.Author)
		}
	}
	return logins, nil
}

func (a *askers) mayRead(ctx context.Context, o other, login string) error {
	if o.about.Reach == ghapp.Public {
		return nil
	}
	if login == "" {
		return no(o.Repository, render.OtherUnasked)
	}
	actor, renamed, err := a.actor(ctx, o, login)
	if err != nil {
		return err
	}
	none := actor.Permission == "none" || actor.Permission == ""
	if actor.Lookup != policy.Found || none || renamed { //control:other-repository-of-the-requester
		return no(o.Repository, render.OtherUnreadable(login))
	}
	return nil
}
