package review

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/ghapp/ghtest"
	"github.com/handrail-bot/handrail/bot/ghapp/ghtest/ghcheck"
	"github.com/handrail-bot/handrail/bot/ghapp/ghtest/hub"
	"github.com/handrail-bot/handrail/bot/thread"
	"github.com/handrail-bot/handrail/policy/longtest"
)

// filePlace is a pull request on a GitHub of the test's own, and what reviews of it keep.
type filePlace struct {
	t      *testing.T
	gh     *ghcheck.Server
	app    *ghapp.App
	client *ghapp.Client
	ref    thread.Ref
	done   map[string]ghapp.Ref // writes, by key
	looks  int
	states []*session.State // newest first
}

const repository = "acme/widget"

// host is a GitHub with a repository of these files.
func host(t *testing.T, files map[string]string) *filePlace {
	t.Helper()
	p := &filePlace{t: t, done: map[string]ghapp.Ref{}}
	rt := &http.Transport{}
	var err error
	p.gh, err = ghcheck.New(ghtest.Config{Dir: t.TempDir(), Log: slog.New(slog.DiscardHandler)})
	p.must(err)
	p.must(p.gh.Start())
	t.Cleanup(func() {
		rt.CloseIdleConnections()
		if err := p.gh.Close(); err != nil {
			t.Error(err)
		}
		for _, v := range p.gh.Violations() {
			t.Errorf("GitHub was spoken to wrongly: %s", v)
		}
	})
	p.gh.AddUser("kim", "write")
	p.gh.AddUser("sam", "read")
	p.gh.AddUser("rae", "read")
	inst, err := p.gh.AddRepo("acme", "widget", ghtest.Source{Files: files})
	p.must(err)
	p.app, err = ghapp.New(ghapp.Config{APIURL: p.gh.URL() + "/api/v3/", AppID: p.gh.App().ID, PrivateKey: p.gh.App().Key, Spacing: -1, Backoff: time.Millisecond, Transport: rt, Log: slog.New(slog.DiscardHandler)})
	p.must(err)
	p.client, err = p.app.For(t.Context(), thread.Ref{Owner: "acme", Repo: "widget", Number: 1}, inst)
	p.must(err)
	return p
}

// pull opens a pull request of sam's with these files.
func (p *filePlace) pull(branch string, files map[string]string) {
	p.t.Helper()
	p.push(branch, files)
	var err error
	p.ref, err = p.gh.OpenPull(repository, "sam", ghcheck.NewPull{Title: branch, Head: branch, Base: "main"})
	p.must(err)
	p.states = nil
}

func (p *filePlace) push(branch string, files map[string]string) {
	p.t.Helper()
	_, err := p.gh.Push(repository, branch, "kim", files)
	p.must(err)
}

func (p *filePlace) must(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p *filePlace) head() string { return p.gh.Thread(p.ref).Pull.HeadSHA }

// postingID is a session that read the newest commit and found something.
func (p *filePlace) look(list ...session.Finding) Session {
	p.t.Helper()
	at, err := p.client.GetPull(p.t.Context(), p.ref)
	p.must(err)
	p.looks++
	v := session.NewState()
	v.Published, v.EndedAt, v.Seq = p.head(), 9, 9
	v.Outcome = &session.Outcome{Status: session.StatusAnswered}
	for _, f := range list {
		v.Findings = append(v.Findings, session.Reported{Finding: &f, Seq: int64(p.looks)})
	}
	earlier := append([]*session.State(nil), p.states...)
	p.states = append([]*session.State{v}, p.states...)
	return Session{
		Place: Place{Thread: p.ref, Pull: &at, Home: p.gh.URL() + "/" + repository}, ID: "s" + string(rune('a'+p.looks%26)) + at.HeadSHA[:6], State: v, MaxComments: 10, Client: p.client,
		Earlier: func(context.Context) ([]*session.State, error) { return earlier, nil },
		Keyed:   func(body string) string { _, key := p.app.Written(body); return key },
		Asked:   true,
		Has:     func(context.Context, string) (bool, error) { return false, nil },
		Ensure:  p.ensure, Later: func(context.Context, string, error) bool { return false },
	}
}

// ensure makes a write once, as the outbox does.
func (p *filePlace) ensure(ctx context.Context, w ghapp.Write) (ghapp.Ref, error) {
	if ref, ok := p.done[w.Key]; ok {
		return ref, nil
	}
	w.Thread = p.ref
	ref, err := p.client.Perform(ctx, w)
	if err != nil && ghapp.KindOf(err) == ghapp.Permanent {
		return ref, &ghapp.Refusal{Reason: err.Error()}
	}
	if err == nil {
		p.done[w.Key] = ref
	}
	return ref, err
}

// post is a review with these findings. It returns the comments on the diff that are new.
func (p *filePlace) post(list ...session.Finding) []ghtest.Comment {
	p.t.Helper()
	return p.say(p.look(list...))
}

func (p *filePlace) say(s Session) []ghtest.Comment {
	p.t.Helper()
	before := len(p.comments())
	_, _, err := s.Post(p.t.Context())
	p.must(err)
	return p.comments()[before:]
}

func (p *filePlace) comments() []ghtest.Comment { return p.gh.Thread(p.ref).Pull.Comments }

// answer replies to the first comment on the diff.
func (p *filePlace) answer(by, text string) {
	p.t.Helper()
	p.on(by, func(is *hub.Issue, u *hub.User, first *hub.Comment) {
		cm := p.gh.NewComment(is, u, text)
		cm.Path, cm.Line, cm.Side, cm.Hunk, cm.Commit, cm.InReplyTo = first.Path, first.Line, first.Side, first.Hunk, first.Commit, first.ID
		is.Pull.Comments = append(is.Pull.Comments, cm)
	})
}

func (p *filePlace) on(by string, do func(*hub.Issue, *hub.User, *hub.Comment)) {
	p.t.Helper()
	p.must(p.gh.On(p.ref, by, func(is *hub.Issue, u *hub.User) error {
		do(is, u, p.gh.FindReviewComment(is.Repo, is.Pull.Comments[0].ID))
		return nil
	}))
}

const (
	before     = "package a\n\nfunc A() int {\n\treturn 1\n}\n"
	faulty     = "package a\n\nfunc A() int {\n\treturn 2\n}\n"
	movedLines = "package a\n\n// A is what it is.\nfunc A() int {\n\tprintln()\n\treturn 2\n}\n"
	mended     = "package a\n\nfunc A() int {\n\treturn 3\n}\n"
)

// two is the finding that line 4 of faulty is wrong.
func two(line int) session.Finding {
	return session.Finding{Path: "a.go", Line: line, In: "A", Severity: session.High, Claim: "A returns two, not three.", Why: "A() is 2."}
}

// What the bot said of code that is gone is resolved without a word; what a person ended or
// answered stays as it is.
func TestThreadsWhoseCodeIsGone(t *testing.T) {
	longtest.Leave(t)
	for name, c := range map[string]struct {
		do       func(p *filePlace)
		push     string
		again    []session.Finding
		resolved bool // by the bot
		third    int  // when the fault is back
	}{
		"mended":                    {push: mended, resolved: true, third: 1},
		"still there, nothing said": {push: movedLines},
		"still there":               {push: movedLines, again: []session.Finding{two(6)}},
		"found again in other code": {push: mended, again: []session.Finding{two(4)}},
		"refuted this time":         {push: mended, again: []session.Finding{func() session.Finding { f := two(4); f.Refuted = "no"; return f }()}, resolved: true, third: 1},
		"the author says no":        {do: func(p *filePlace) { p.answer("sam", "No, two is right.") }, push: mended},
		"who may push says no":      {do: func(p *filePlace) { p.answer("kim", "as intended") }, push: mended},
		"and then yes":              {do: func(p *filePlace) { p.answer("kim", "no"); p.answer("kim", "You are right.") }, push: mended, resolved: true, third: 1},
		"a stranger says no":        {do: func(p *filePlace) { p.answer("rae", "No.") }, push: mended, resolved: true, third: 1},
		"a question":                {do: func(p *filePlace) { p.answer("kim", "Why?") }, push: mended, resolved: true, third: 1},
		"thumbs down": {do: func(p *filePlace) {
			p.on("kim", func(_ *hub.Issue, u *hub.User, cm *hub.Comment) {
				cm.Reactions = append(cm.Reactions, &hub.Reaction{Author: u, Content: "-1"})
			})
		}, push: mended},
		"thumbs down of a stranger": {do: func(p *filePlace) {
			p.on("rae", func(_ *hub.Issue, u *hub.User, cm *hub.Comment) {
				cm.Reactions = append(cm.Reactions, &hub.Reaction{Author: u, Content: "-1"})
			})
		}, push: mended, resolved: true, third: 1},
		"below the mark of somebody else": {do: func(p *filePlace) {
			p.on("kim", func(_ *hub.Issue, u *hub.User, cm *hub.Comment) { cm.Author = u })
		}, push: mended},
		"a person resolved it": {do: func(p *filePlace) { p.must(p.gh.Resolve(p.ref, p.comments()[0].ID, "kim")) }, push: mended},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := host(t, map[string]string{"a.go": before})
			p.pull("work", map[string]string{"a.go": faulty})
			if got := p.post(two(4)); len(got) != 1 || got[0].Line != 4 || got[0].Resolved {
				t.Fatalf("said %+v", got)
			}
			if c.do != nil {
				c.do(p)
			}
			byPerson := p.comments()[0].Resolved
			p.push("work", map[string]string{"a.go": c.push})
			second := p.look(c.again...)
			got := p.say(second)
			if p.comments()[0].Resolved != (c.resolved || byPerson) || len(got) != 0 {
				t.Errorf("resolved: %v, want %v; said %+v", p.comments()[0].Resolved, c.resolved, got)
			}
			if got := p.say(second); len(got) != 0 { // a try that was cut off
				t.Errorf("once more: %+v", got)
			}
			// The fault comes back, in another place.
			p.push("work", map[string]string{"a.go": movedLines})
			back := two(6)
			if c.do != nil && c.third == 0 && name != "below the mark of somebody else" {
				back.In = "B" // an answer counts wherever the code goes
			}
			if got := p.post(back); len(got) != c.third {
				t.Errorf("back again: said %d, want %d: %+v", len(got), c.third, got)
			}
		})
	}
}

// A review without a request mentions the author, once, if a finding is sure and of high
// severity.
func TestMentionOfHighSeverity(t *testing.T) {
	medium, unsure := two(4), two(4)
	medium.Severity, unsure.Unsure = session.Medium, "perhaps"
	for name, c := range map[string]struct {
		finding session.Finding
		do      func(*Session)
		want    bool
	}{
		"high":        {finding: two(4), want: true},
		"medium":      {finding: medium},
		"not sure":    {finding: unsure},
		"asked for":   {finding: two(4), do: func(s *Session) { s.Asked = true }},
		"no mentions": {finding: two(4), do: func(s *Session) { s.Author = nil }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := host(t, map[string]string{"a.go": before})
			p.pull("work", map[string]string{"a.go": faulty})
			for n := range 2 {
				s := p.look(c.finding)
				s.Asked, s.Author = false, func(context.Context) ([]string, error) { return []string{"sam"}, nil }
				if c.do != nil {
					c.do(&s)
				}
				p.say(s)
				reviews := p.gh.Thread(p.ref).Pull.Reviews
				if len(reviews) != 1 || strings.Contains(reviews[0].Body, "@sam") != c.want {
					t.Errorf("look %d: %+v", n+1, reviews)
				}
			}
		})
	}
}

// GitHub may refuse to resolve a thread: the review is posted all the same.
func TestMayNotResolve(t *testing.T) {
	p := host(t, map[string]string{"a.go": before})
	p.pull("work", map[string]string{"a.go": faulty})
	p.post(two(4))
	p.push("work", map[string]string{"a.go": mended})
	s := p.look(session.Finding{Path: "a.go", Line: 3, In: "A", Severity: session.Low, Claim: "The name says nothing.", Why: "w"})
	s.Ensure = func(ctx context.Context, w ghapp.Write) (ghapp.Ref, error) {
		if w.Kind == ghapp.WriteResolve {
			w.Target.Talk = "PRRT_0" // GitHub does not know it
		}
		return p.ensure(ctx, w)
	}
	if got := p.say(s); len(got) != 1 || got[0].Line != 3 || p.comments()[0].Resolved {
		t.Errorf("said %+v", got)
	}
	_, err := p.client.Perform(t.Context(), ghapp.Write{Key: "k", Kind: ghapp.WriteResolve, Thread: p.ref, Target: ghapp.Target{Talk: "PRRT_0"}})
	if ghapp.KindOf(err) != ghapp.Permanent || !errors.Is(err, ghapp.ErrNotFound) {
		t.Errorf("it is refused with %v", err)
	}
}

// A head that moves meanwhile: comments belong to the commit that was read, on its lines.
func TestHeadMovesMeanwhile(t *testing.T) {
	p := host(t, map[string]string{"a.go": before})
	p.pull("work", map[string]string{"a.go": faulty})
	s := p.look(two(4))
	read := p.head()
	p.push("work", map[string]string{"a.go": movedLines})
	got := p.say(s)
	if len(got) != 1 || got[0].Commit != read || got[0].Line != 4 {
		t.Errorf("said %+v, read was %s", got, read)
	}
	body := p.gh.Thread(p.ref).Pull.Reviews[0].Body
	if !strings.Contains(body, "Reviewed as of `"+read[:10]+"`, without later commits.") {
		t.Errorf("the summary is %q", body)
	}
}

// GitHub refuses a review for a comment on no line of the diff, and need not say which: the
// others stand on their lines, and that one in the summary.
func TestGitHubRefuses(t *testing.T) {
	longtest.Leave(t)
	long := strings.Repeat("\n// a line\n", 40)
	p := host(t, map[string]string{"a.go": before + long + "// end\n", "b.go": before})
	p.pull("work", map[string]string{"a.go": faulty + long + "// the end\n", "b.go": faulty})
	for name, bad := range map[string]func(*ghapp.Inline){
		"no line of the diff":   func(in *ghapp.Inline) { in.Line = 40 },
		"another file":          func(in *ghapp.Inline) { in.Path = "c.go" },
		"the other side":        func(in *ghapp.Inline) { in.Line, in.Left = 87, true },
		"begins after its end":  func(in *ghapp.Inline) { in.StartLine = in.Line + 1 },
		"over two hunks":        func(in *ghapp.Inline) { in.StartLine, in.Line = 4, 86 },
		"begins outside":        func(in *ghapp.Inline) { in.StartLine = 40; in.Line = 86 },
		"none that is good too": nil,
	} {
		t.Run(name, func(t *testing.T) {
			p.ref = thread.Ref{}
			for _, r := range p.gh.Threads(repository) {
				p.ref = r.Ref
			}
			p.states = nil
			s := p.look(two(4), session.Finding{Path: "b.go", Line: 3, End: 4, Severity: session.Low, Claim: "Another one.", Why: "w"}, session.Finding{Path: "a.go", Line: 86, Severity: session.Low, Claim: "This is the bad one.", Why: "w"})
			s.ID = "s" + strings.ReplaceAll(name, " ", ".")
			tries := 0
			s.Ensure = func(ctx context.Context, w ghapp.Write) (ghapp.Ref, error) {
				if w.Review == nil {
					return p.ensure(ctx, w)
				}
				tries++
				review := *w.Review
				review.Comments = append([]ghapp.Inline(nil), review.Comments...)
				for i := range review.Comments {
					if in := &review.Comments[i]; strings.Contains(in.Body, "the bad one") && bad != nil {
						bad(in)
					}
				}
				w.Review = &review
				return p.ensure(ctx, w)
			}
			got := p.say(s)
			want := 3
			if bad != nil {
				want = 2
			}
			all := p.gh.Thread(p.ref).Pull.Reviews
			if len(got) != want || tries > maxTries || (tries == 1) != (bad == nil) {
				t.Fatalf("said %d on lines in %d tries", len(got), tries)
			}
			if body := all[len(all)-1].Body; strings.Contains(body, "**Low: This is the bad one.** a.go:86 (<") == (bad == nil) {
				t.Errorf("the summary is %q", body)
			}
			for _, cm := range got { // each is where it belongs
				if strings.Contains(cm.Body, "two, not three") && (cm.Path != "a.go" || cm.Line != 4) || strings.Contains(cm.Body, "Another one") && (cm.Path != "b.go" || cm.Line != 4 || cm.StartLine != 3) {
					t.Errorf("%+v", cm)
				}
			}
		})
	}
}

// What was read may be gone from the pull request when it is told.
func TestReadCommitIsGone(t *testing.T) {
	p := host(t, map[string]string{"a.go": before})
	p.pull("work", map[string]string{"a.go": faulty})
	s := p.look(two(4))
	read := p.head()
	p.push("other", map[string]string{"a.go": movedLines})
	p.must(p.gh.As("kim", repository, func(r *hub.Repo, u *hub.User) error {
		other := r.Dir.Branch("other")
		_, err := r.Dir.Run(nil, "update-ref", "refs/heads/work", other)
		p.gh.BranchMoved(hub.Move{Repo: r, Branch: "work", Before: read, After: other, By: u})
		return err
	}))
	if got := p.say(s); len(got) != 0 {
		t.Errorf("said on lines of other code: %+v", got)
	}
	r := p.gh.Thread(p.ref).Pull.Reviews
	if len(r) != 1 || !strings.Contains(r[0].Body, "/blob/"+read+"/a.go#L4>)") || !strings.Contains(r[0].Body, "Reviewed as of `"+read[:10]) {
		t.Errorf("said %+v", r)
	}
}
