package bot

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/ghapp/ghtest"
	"github.com/handrail-bot/handrail/bot/ghapp/ghtest/hub"
	"github.com/handrail-bot/handrail/bot/live"
	"github.com/handrail-bot/handrail/bot/render"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/longtest"
)

// endedWith returns the session of "asker" at its end, with a change in another repository.
func (c *court) endedWith(repository string, status session.Status, more ...*session.Event) *live.Session {
	c.t.Helper()
	for owner, name := range map[string]string{"acme": "lib", "other": "lib"} {
		if _, err := c.gh.AddRepo(owner, name, ghtest.Source{Files: map[string]string{"words.txt": "Good day\n"}}); err != nil {
			c.t.Fatal(err)
		}
	}
	c.gh.AddUser("sam", "read")
	c.sess.Requester = "asker"
	l, err := c.w.lease(c.t.Context(), c.sess)
	if err != nil {
		c.t.Fatal(err)
	}
	l.Data.RequesterID = c.gh.UserID("asker")
	n := session.Neighbor{
		Repository: repository, ID: c.identity(repository), Base: "b1", Commit: "c1", Tree: "t1",
		Files: []session.FileChange{{Path: "words.txt", Kind: session.ChangeModify}},
	}
	events := append(more,
		session.NewEvent(session.TypeState, 1, session.Update{Neighbors: []session.Neighbor{n}}),
		session.NewEvent(session.TypeEnded, 1, session.Ended{Outcome: session.Outcome{Status: status, Summary: "Said."}}))
	if err := l.Append(c.t.Context(), events...); err != nil {
		c.t.Fatal(err)
	}
	if err := l.Reload(c.t.Context()); err != nil {
		c.t.Fatal(err)
	}
	return l
}

// TestPartGoesToItsRepository: a change in another repository gets one issue there and begins
// one session, however often that is tried, and nowhere else.
func TestPartGoesToItsRepository(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	sam := session.NewEvent(session.TypeMessage, 1, session.Message{Author: "sam", Text: "and more", Key: "m1"})
	kim := session.NewEvent(session.TypeMessage, 1, session.Message{Author: "kim", Text: "and more", Key: "m1"})
	for name, tt := range map[string]struct {
		in     string // "" for acme/lib
		status session.Status
		more   []*session.Event
		change func(c *court, l *live.Session)
		why    string // "" if it goes there
		waits  bool
	}{
		"it goes":              {},
		"kim asked as well":    {more: []*session.Event{kim}},
		"an answer":            {status: session.StatusAnswered},
		"stopped":              {status: session.StatusStopped, waits: true},
		"failed":               {status: session.StatusFailed, waits: true},
		"crashed":              {status: session.StatusCrashed, waits: true},
		"another installation": {in: "other/lib", why: render.PartUnreachable},
		"gone":                 {in: "acme/nothing", why: render.PartUnreachable},
		"not served":           {change: func(c *court, _ *live.Session) { c.w.cfg.Repositories = []string{courtRepo} }, why: render.PartUnserved},
		"private now":          {change: func(c *court, _ *live.Session) { c.must(c.gh.Hide("acme/lib", true)) }, why: render.PartOtherReaders},
		"more public now":      {change: func(c *court, _ *live.Session) { c.must(c.gh.Hide(courtRepo, true)) }, why: render.PartOtherReaders},
		"public itself now": {change: func(c *court, _ *live.Session) {
			c.must(errors.Join(c.gh.Hide("acme/lib", true), c.gh.Hide(courtRepo, true), c.look(), c.gh.Hide(courtRepo, false)))
		}, why: render.PartOtherReaders},
		"private like this one": {change: func(c *court, _ *live.Session) {
			c.must(errors.Join(c.gh.Hide("acme/lib", true), c.gh.Hide(courtRepo, true)))
		}},
		"renamed": {change: func(c *court, _ *live.Session) { c.must(c.gh.Rename("acme/lib", "acme/words")) }, why: render.PartUnreachable},
		"renamed, and another took the name": {change: func(c *court, _ *live.Session) {
			c.must(c.gh.Rename("acme/lib", "acme/words"))
			_, err := c.gh.AddRepo("acme", "lib", ghtest.Source{Files: map[string]string{"words.txt": "Good day\n"}})
			c.must(err)
		}, why: render.PartUnreachable},
		"the requester only reads":    {change: func(c *court, _ *live.Session) { c.must(c.gh.Grant("acme/lib", "asker", "read")) }, why: render.OtherUnwritable("asker")},
		"another account of the name": {change: func(_ *court, l *live.Session) { l.Data.RequesterID++ }, why: render.OtherUnwritable("asker")},
		"sam asked as well":           {more: []*session.Event{sam}, why: render.OtherUnwritable("sam")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCourt(t, policy.Config{}, nil)
			if tt.in == "" {
				tt.in = "acme/lib"
			}
			if tt.status == "" {
				tt.status = session.StatusDone
			}
			l := c.endedWith(tt.in, tt.status, tt.more...)
			if tt.change != nil {
				tt.change(c, l)
			}
			for range 2 {
				if err := c.w.passOn(t.Context(), l); err != nil {
					t.Fatal(err)
				}
			}
			goes := tt.why == "" && !tt.waits
			p := l.Data.PartIn(tt.in)
			if p.Why != tt.why || (p.Number == 1) != goes || p.Told == tt.waits {
				t.Errorf("it is %+v, want it to go: %t, or %q", p, goes, tt.why)
			}
			issues := len(c.gh.Threads("acme/lib")) + len(c.gh.Threads("other/lib"))
			if (issues == 1) != goes || issues > 1 {
				t.Errorf("there are %d issues", issues)
			}
			d, err := c.w.cfg.Store.Deliveries.Next(t.Context(), "acme/lib#1")
			if goes != (err == nil) || err != nil && !errors.Is(err, store.ErrNotFound) {
				t.Errorf("the delivery is %+v, %v", d, err)
			}
			said := c.gh.Thread(c.w.at.Ref).Comments
			if len(said) != 1 || goes != strings.Contains(said[0].Body, "Belongs with acme/lib#1.") {
				t.Errorf("the thread says %+v", said)
			}
		})
	}
}

// TestPartBegins: the session of a part begins with the change, of which it is told whose it is.
func TestPartBegins(t *testing.T) {
	t.Parallel()
	c := newCourt(t, policy.Config{}, nil)
	l := c.endedWith("acme/lib", session.StatusDone)
	if err := c.w.passOn(t.Context(), l); err != nil {
		t.Fatal(err)
	}
	d, err := c.w.cfg.Store.Deliveries.Next(t.Context(), "acme/lib#1")
	if err != nil {
		t.Fatal(err)
	}
	ev, err := ghapp.ParseEvent(d.Event, d.Payload)
	if err != nil || ev.Sender.Login != "asker" || ev.Thread.String() != "acme/lib#1" {
		t.Fatalf("the event is %+v, %v", ev, err)
	}
	r := &request{w: c.w, msg: userMessage{ev: ev}}
	b, err := r.part(t.Context())
	if err != nil || b == nil || b.Commit != "c1" || b.Whole.Thread != c.w.at.Ref {
		t.Fatalf("it begins with %+v, %v", b, err)
	}
	v := session.NewState()
	for _, e := range append([]*session.Event{session.NewEvent(session.TypeOpened, 0, session.Opened{Task: session.Task{Base: "b1"}})}, b.events()...) {
		if err := v.Apply(*e); err != nil {
			t.Fatal(err)
		}
	}
	if v.Saved != "c1" || v.Published != "b1" || len(v.Unpushed) != 1 {
		t.Errorf("the change is saved as %s on %s: %+v", v.Saved, v.Published, v.Unpushed)
	}
	if _, wanted, err := c.w.Source(t.Context(), ghapp.Part, d.Payload); wanted || err != nil {
		t.Errorf("a webhook brings a part: %v", err)
	}
}

// patches is a clone that gives a patch.
type patches struct{ Clone }

func (patches) Patch(context.Context, live.Thread, string, string) (string, error) {
	return "--- a/words.txt\n+++ b/words.txt\n@@ -1 +1 @@\n-Good day\n+Good night\n", nil
}

// TestPartShown: a part that may not or cannot go to its repository is in the session's thread, as
// a patch, unless its readers may be others.
func TestPartShown(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	for name, tt := range map[string]struct {
		change func(c *court)
		shown  bool
	}{
		"the requester only reads": {func(c *court) { c.must(c.gh.Grant("acme/lib", "asker", "read")) }, true},
		"archived": {func(c *court) {
			c.must(c.gh.As("", "acme/lib", func(r *hub.Repo, _ *hub.User) error { r.Archived = true; return nil }))
		}, true},
		"private now": {func(c *court) { c.must(c.gh.Hide("acme/lib", true)) }, false},
		"archived, and public itself now": {func(c *court) {
			c.must(errors.Join(c.gh.Hide("acme/lib", true), c.gh.Hide(courtRepo, true), c.look(), c.gh.Hide(courtRepo, false)))
			c.must(c.gh.As("", "acme/lib", func(r *hub.Repo, _ *hub.User) error { r.Archived = true; return nil }))
		}, false},
		"not served": {func(c *court) { c.w.cfg.Repositories = []string{courtRepo} }, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCourt(t, policy.Config{}, nil)
			l := c.endedWith("acme/lib", session.StatusDone)
			c.w.cfg.Clone = patches{}
			tt.change(c)
			if err := c.w.passOn(t.Context(), l); err != nil {
				t.Fatal(err)
			}
			said := c.gh.Thread(c.w.at.Ref).Comments
			if p := l.Data.PartIn("acme/lib"); p.Number != 0 || p.Shows != tt.shown || p.Why == "" {
				t.Errorf("it is %+v", p)
			}
			if last := said[len(said)-1].Body; strings.Contains(last, "+Good night") != tt.shown {
				t.Errorf("the thread says %+v", said)
			}
			if at := strings.Contains(said[0].Body, "refs/handrail/sessions/s1"); at == tt.shown {
				t.Errorf("the thread says where it is: %s", said[0].Body)
			}
		})
	}
}

// identity returns the number of a repository, or "" if there is none.
func (c *court) identity(repository string) string {
	owner, name, _ := strings.Cut(repository, "/")
	id := ""
	c.gh.Do(func() {
		if r := c.gh.FindRepo(owner, name); r != nil {
			id = ghapp.Repository{ID: r.ID}.Identity()
		}
	})
	return id
}

// look has the worker read its repository, as at the beginning of its work.
func (c *court) look() (err error) {
	c.w.at.Repo, err = c.w.at.Client.Repo(c.t.Context())
	return err
}

func (c *court) must(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}
