package bot

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/approval"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/live"
	"github.com/handrail-bot/handrail/bot/render"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/longtest"
)

// asks records a request and shows it, if there is a comment for it.
func (c *court) asks(id, severity string, shown bool) session.Asked {
	c.t.Helper()
	bound, err := c.w.live.Approvals(&c.w.at, c.sess).Bound(c.t.Context())
	if err != nil {
		c.t.Fatal(err)
	}
	a := session.Asked{ID: id, Kind: session.AskApproval, Call: "c-" + id, Severity: severity, Display: "make " + id, Digest: strings.Repeat(id, 8), Bound: bound, Reasons: []string{"it makes something"}}
	c.records(session.NewEvent(session.TypeAsked, 1, a))
	if shown {
		c.shows(a)
	}
	return a
}

// records appends to the session's log.
func (c *court) records(events ...*session.Event) {
	c.t.Helper()
	f, err := c.w.leases.Take(c.t.Context(), c.sess.ID)
	if err == nil {
		err = c.w.cfg.Store.Logs.Log(f).Append(c.t.Context(), events...)
	}
	if err != nil {
		c.t.Fatal(err)
	}
}

// writes has a person comment.
func (c *court) writes(who, text string) userMessage {
	c.t.Helper()
	cm, err := c.gh.Comment(c.w.at.Ref, who, text)
	if err != nil {
		c.t.Fatal(err)
	}
	s := userMessage{key: fmt.Sprint("k", cm.ID), id: "d", body: text, ev: ghapp.Event{Kind: "issue_comment", Thread: c.w.at.Ref}, author: ghapp.User{ID: c.gh.UserID(who), Login: who}}
	s.target.Comment = cm.ID
	s.ev.Comment = ghapp.EventComment{ID: cm.ID, Body: text, Created: cm.Created, Updated: cm.Updated}
	return s
}

// obeys carries out the commands of a text, and says what they come to: the
// verdicts in order, and what is replied.
func (c *court) obeys(s userMessage) (verdicts, reply string) {
	c.t.Helper()
	ctx := c.t.Context()
	cmds, use, err := c.w.commandsIn(ctx, s.body)
	if err != nil {
		c.t.Fatal(err)
	}
	got := c.w.change()
	if use != nil {
		got.reply(s, use.Public)
	}
	for _, cmd := range cmds {
		if err := c.w.do(ctx, got, s, cmd); err != nil {
			c.t.Fatal(err)
		}
	}
	return verdictsOf(c.t, got), strings.Join(got.replies, "\n")
}

func verdictsOf(t *testing.T, c *change) string {
	t.Helper()
	var out []string
	for _, e := range c.Events {
		if e.Type != session.TypeResolved {
			out = append(out, string(e.Type))
			continue
		}
		r, err := session.Decode[session.Resolved](*e)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, r.ID+" "+string(r.Verdict))
	}
	return strings.Join(out, ", ")
}

// An answer without an id is for the request that was the only one open when it
// was written, and never for a critical one; "all" is for all that it can mean.
func TestAnswersWithoutID(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	ended := func(c *court, id string, verdict policy.ApprovalState) {
		c.records(session.NewEvent(session.TypeResolved, 1, session.Resolved{ID: id, Verdict: verdict}))
	}
	for name, tt := range map[string]struct {
		before func(c *court) // the comment
		after  func(c *court)
		text   string
		want   string // verdicts
		says   string
	}{
		"the only one":          {before: func(c *court) { c.asks("aaaa2222", "medium", true) }, text: "/agent approve", want: "aaaa2222 approved", says: "`aaaa2222`: approved by kim in comment "},
		"with thanks":           {before: func(c *court) { c.asks("aaaa2222", "high", true) }, text: "/agent approve, thanks", says: "No request with the id `thanks`"},
		"critical":              {before: func(c *court) { c.asks("aaaa2222", "critical", true) }, text: "/agent approve", says: "`aaaa2222` is critical"},
		"critical by its id":    {before: func(c *court) { c.asks("aaaa2222", "critical", true) }, text: "/agent approve aaaa2222", want: "aaaa2222 approved"},
		"a critical one denied": {before: func(c *court) { c.asks("aaaa2222", "critical", true) }, text: "/agent deny", want: "aaaa2222 denied", says: "`aaaa2222`: denied"},
		"two":                   {before: func(c *court) { c.asks("aaaa2222", "medium", true); c.asks("bbbb3333", "medium", true) }, text: "/agent approve", says: "`/agent approve aaaa2222` or `/agent approve bbbb3333`"},
		"two to be denied":      {before: func(c *court) { c.asks("aaaa2222", "medium", true); c.asks("bbbb3333", "medium", true) }, text: "/agent deny", says: "`/agent deny aaaa2222` or `/agent deny bbbb3333`"},
		"asked later":           {after: func(c *court) { c.asks("aaaa2222", "medium", true) }, text: "/agent approve", says: "`/agent approve aaaa2222`"},
		"never shown":           {before: func(c *court) { c.asks("aaaa2222", "medium", false) }, text: "/agent approve", says: "`/agent approve aaaa2222`"},
		"another since":         {before: func(c *court) { c.asks("aaaa2222", "medium", true) }, after: func(c *court) { ended(c, "aaaa2222", policy.Denied); c.asks("bbbb3333", "medium", true) }, text: "/agent approve", says: "`aaaa2222` was already denied"},
		"one of two settled":    {before: func(c *court) { c.asks("aaaa2222", "medium", true); c.asks("bbbb3333", "medium", true) }, after: func(c *court) { ended(c, "aaaa2222", policy.Approved) }, text: "/agent approve", says: "`/agent approve bbbb3333`"},
		"nothing open":          {text: "/agent approve", says: "Nothing is waiting"},
		"all":                   {before: func(c *court) { c.asks("aaaa2222", "medium", true); c.asks("bbbb3333", "high", true) }, text: "/agent approve all", want: "aaaa2222 approved, bbbb3333 approved", says: "`bbbb3333`: approved by kim in comment "},
		"all but critical":      {before: func(c *court) { c.asks("aaaa2222", "critical", true); c.asks("bbbb3333", "high", true) }, text: "/agent approve all", want: "bbbb3333 approved", says: "`/agent approve aaaa2222`"},
		"all, one asked later":  {before: func(c *court) { c.asks("aaaa2222", "medium", true) }, after: func(c *court) { c.asks("bbbb3333", "medium", true) }, text: "/agent approve all", want: "aaaa2222 approved", says: "`/agent approve bbbb3333`"},
		"all denied":            {before: func(c *court) { c.asks("aaaa2222", "critical", true); c.asks("bbbb3333", "high", true) }, text: "/agent deny all, too much", want: "aaaa2222 denied, bbbb3333 denied"},
		"several":               {before: func(c *court) { c.asks("aaaa2222", "critical", true); c.asks("bbbb3333", "high", true) }, text: "/agent approve bbbb3333 aaaa2222", want: "bbbb3333 approved, aaaa2222 approved", says: "`aaaa2222`: approved."},
		"several, one unknown":  {before: func(c *court) { c.asks("aaaa2222", "medium", true) }, text: "/agent approve aaaa2222 cccc4444", want: "aaaa2222 approved", says: "No request with the id `cccc4444`"},
		"and a condition":       {before: func(c *court) { c.asks("aaaa2222", "medium", true) }, text: "/agent approve tomorrow then", says: "without other words"},
		"and a no":              {before: func(c *court) { c.asks("aaaa2222", "medium", true) }, text: "I would rather not\n\n/agent approve", says: "also says “I would rather not”"},
		"all but that":          {before: func(c *court) { c.asks("aaaa2222", "medium", true) }, text: "/agent approve all but aaaa2222", says: "without other words"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCourt(t, policy.DefaultConfig(), nil)
			ended(c, "abc123", policy.Withdrawn)
			if tt.before != nil {
				tt.before(c)
			}
			s := c.writes("kim", tt.text)
			if tt.after != nil {
				tt.after(c)
			}
			got, reply := c.obeys(s)
			if got != tt.want || !strings.Contains(reply, tt.says) {
				t.Errorf("%q comes to %q and %q, want %q and %q", tt.text, got, reply, tt.want, tt.says)
			}
		})
	}
}

// asksOnLine notes that a request stands on a line of the diff.
func (c *court) asksOnLine(id string) {
	c.t.Helper()
	row, err := c.w.cfg.Store.Sessions.Session(c.t.Context(), "s1")
	if err != nil {
		c.t.Fatal(err)
	}
	data := live.DataOf(row)
	data.Reviews = map[string]approval.Stage{id: {URL: "https://github.example/o/r/pull/1#discussion_r1"}}
	if row.Data, err = json.Marshal(data); err != nil {
		c.t.Fatal(err)
	}
	f, err := c.w.leases.Take(c.t.Context(), "s1")
	if err == nil {
		err = c.w.cfg.Store.Sessions.Update(c.t.Context(), f, row)
	}
	if err != nil {
		c.t.Fatal(err)
	}
}

// A text without a command answers a question of its author, and never a request: then its
// words are kept, and its author is told how to answer.
func TestAsides(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	question := session.Asked{ID: "qqqq2222", Kind: session.AskQuestion, Call: "q", Display: "Which language should it be?", Choices: []string{"English", "German"}}
	asked := func(c *court) { c.records(session.NewEvent(session.TypeAsked, 1, question)) }
	yesOrNo := func(c *court) {
		q := question
		q.ID, q.Choices = "rrrr3333", []string{"Yes", "No"}
		c.records(session.NewEvent(session.TypeAsked, 1, q))
	}
	request := func(c *court) { c.asks("aaaa2222", "medium", true) }
	for name, tt := range map[string]struct {
		open  []func(c *court)
		who   string // "" for who was asked
		text  string
		at    ghapp.EventComment
		below bool   // it was asked in the thread, and not on the line
		want  string // verdicts, "-" where it is not looked at
		says  string
	}{
		"a number":                   {open: []func(*court){asked}, text: "2", want: "qqqq2222 answered"},
		"a label":                    {open: []func(*court){asked}, text: "german", want: "qqqq2222 answered"},
		"below a quotation":          {open: []func(*court){asked}, text: "> Which language should it be?\n\nDutch", want: "qqqq2222 answered"},
		"in its thread":              {open: []func(*court){asked}, text: "Dutch", at: ghapp.EventComment{Diff: true, InReplyTo: 55}, want: "qqqq2222 answered"},
		"where nothing was asked":    {open: []func(*court){asked}, text: "Dutch", at: ghapp.EventComment{Diff: true, InReplyTo: 55}, below: true, want: "-"},
		"in another thread":          {open: []func(*court){asked}, text: "Dutch", at: ghapp.EventComment{Diff: true, InReplyTo: 56}, want: "-"},
		"at a line of its own":       {open: []func(*court){asked}, text: "Dutch", at: ghapp.EventComment{Diff: true}, want: "-"},
		"no answer":                  {open: []func(*court){asked}, text: "Dutch", want: "note", says: "Quote the question"},
		"of somebody else":           {open: []func(*court){asked}, who: "kim", text: "2", want: "-"},
		"of a stranger":              {open: []func(*court){asked}, who: "eve", text: "2", want: "-"},
		"yes":                        {open: []func(*court){request}, who: "kim", text: "yes", want: "note", says: "`/agent approve aaaa2222`"},
		"a command without its word": {open: []func(*court){request}, who: "kim", text: "approve aaaa2222", want: "note", says: "`/agent approve aaaa2222`"},
		"a no":                       {open: []func(*court){request}, who: "kim", text: "Nein!", want: "note", says: "`aaaa2222` stays open"},
		"a question":                 {open: []func(*court){request}, who: "kim", text: "Is this safe?", want: "note", says: "Why this needs approval:"},
		"a long one":                 {open: []func(*court){request}, who: "kim", text: strings.Repeat("I thought about it. ", 50), want: "note", says: "`aaaa2222` stays open"},
		"nothing to be seen":         {open: []func(*court){request}, who: "kim", text: "<!-- yes -->"},
		"at a line":                  {open: []func(*court){request}, who: "kim", text: "Odd.", at: ghapp.EventComment{Diff: true, InReplyTo: 55}, want: "-"},
		"of who may not":             {open: []func(*court){request}, who: "eve", text: "lgtm"},
		"a word, addressed":          {open: []func(*court){request}, who: "kim", text: "/agent yes", want: "note", says: "`/agent approve aaaa2222`"},
		"a question, addressed":      {open: []func(*court){request}, who: "kim", text: "/agent is this safe?", want: "note", says: "Why this needs approval:"},
		"a slip, addressed":          {open: []func(*court){request}, who: "kim", text: "/agent apporve aaaa2222", says: "Did you mean `/agent approve aaaa2222`?"},
		"another verb":               {open: []func(*court){request}, who: "kim", text: "/agent stopp", says: "Did you mean `/agent stop`?"},
		"longer, addressed":          {open: []func(*court){request}, who: "kim", text: "/agent lgtm, but rename it", want: "abc123 withdrawn, aaaa2222 withdrawn, message"},
		"a number for both":          {open: []func(*court){asked, request}, text: "2", want: "qqqq2222 answered"},
		"a yes to either":            {open: []func(*court){yesOrNo, request}, text: "yes", want: "rrrr3333 answered"},
		"a word to either":           {open: []func(*court){asked, request}, text: "/agent ok", want: "note", says: "Quote the question"},
		"a number for two":           {open: []func(*court){asked, yesOrNo}, text: "1", want: "note", says: "Open: 2 questions"},
		"a label of one of two":      {open: []func(*court){asked, yesOrNo}, text: "No", want: "rrrr3333 answered"},
		"nothing open":               {text: "2", want: "-"},
		"the bot's own words":        {open: []func(*court){asked}, text: "2\n\n<!-- handrail:k -->", want: "-"},
		"words to question and all":  {open: []func(*court){asked, request}, text: "ok", want: "note", says: "Quote the question"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCourt(t, policy.DefaultConfig(), nil)
			c.gh.AddUser("eve", "read")
			if tt.want != "abc123 withdrawn, aaaa2222 withdrawn, message" {
				c.records(session.NewEvent(session.TypeResolved, 1, session.Resolved{ID: "abc123", Verdict: policy.Withdrawn}))
			}
			c.records(session.NewEvent(session.TypeMessage, 1, session.Message{Author: "asker", Text: "x", Place: session.Place{DiffThread: 55}}))
			for _, open := range tt.open {
				open(c)
			}
			if !tt.below {
				c.asksOnLine(question.ID)
			}
			who := tt.who
			if who == "" {
				who = "asker"
			}
			s := c.writes(who, tt.text)
			s.target.Diff, s.ev.Comment.Diff, s.ev.Comment.InReplyTo = tt.at.Diff, tt.at.Diff, tt.at.InReplyTo
			if strings.HasPrefix(tt.text, "/agent") {
				if got, reply := c.obeys(s); got != tt.want || !strings.Contains(reply, tt.says) {
					t.Errorf("%q comes to %q and %q", tt.text, got, reply)
				}
				return
			}
			a, err := readAside(t.Context(), c.w, s)
			if err != nil || a.matters() != (tt.want != "-") {
				t.Fatalf("%q means %+v, %v", tt.text, a, err)
			}
			if !a.matters() {
				return
			}
			got := c.w.change()
			if got.by, _, err = c.w.admit(t.Context(), s); err != nil {
				t.Fatal(err)
			}
			_, err = c.w.cfg.Store.Deliveries.Put(t.Context(), &store.Delivery{ID: s.id, Event: "issue_comment", Thread: c.w.key, Payload: []byte("{}")})
			if err == nil {
				err = takeAside(t.Context(), c.w, got, s, a)
			}
			if err != nil {
				t.Fatal(err)
			}
			said := ""
			for _, cm := range c.gh.Thread(c.w.at.Ref).Comments {
				if cm.ID > s.ev.Comment.ID {
					said += cm.Body
				}
			}
			if v := verdictsOf(t, got); v != tt.want || !strings.Contains(said, tt.says) || tt.says == "" && said != "" {
				t.Errorf("%q comes to %q and %q, want %q and %q", tt.text, v, said, tt.want, tt.says)
			}
		})
	}
}

// A text without a command is kept only in a thread whose session waits or
// runs, and only when it may be an answer.
func TestAsidesAreKept(t *testing.T) {
	t.Parallel()
	c := newCourt(t, policy.DefaultConfig(), nil)
	for _, tt := range []struct {
		state  session.Phase
		number int
		text   string
		want   bool
	}{
		{session.PhaseAwaitingAnswer, c.w.at.Ref.Number, "2", true},
		{session.PhaseAwaitingApproval, c.w.at.Ref.Number, "ok", true},
		{session.PhaseRunning, c.w.at.Ref.Number, "2", true},
		{session.PhaseDone, c.w.at.Ref.Number, "2", false},
		{session.PhaseFailed, c.w.at.Ref.Number, "2", false},
		{session.PhaseAwaitingAnswer, 77, "2", false},
		{session.PhaseAwaitingAnswer, c.w.at.Ref.Number, strings.Repeat("much talk ", 100), true},
		{session.PhaseAwaitingAnswer, c.w.at.Ref.Number, "2 <!-- handrail:k -->", false},
		{session.PhaseDone, c.w.at.Ref.Number, "@handrail status", true},
		{session.PhaseDone, c.w.at.Ref.Number, "@kim status", false},
	} {
		row, err := c.w.cfg.Store.Sessions.Session(t.Context(), "s1")
		if err != nil {
			t.Fatal(err)
		}
		row.State = tt.state
		f, err := c.w.leases.Take(t.Context(), "s1")
		if err == nil {
			err = c.w.cfg.Store.Sessions.Update(t.Context(), f, row)
		}
		if err != nil {
			t.Fatal(err)
		}
		user := map[string]any{"login": "asker", "id": c.gh.UserID("asker"), "type": "User"}
		payload, err := json.Marshal(map[string]any{
			"action": "created", "sender": user, "repository": map[string]any{"id": 1, "full_name": courtRepo}, "issue": map[string]any{"number": tt.number, "user": user},
			"comment": map[string]any{"id": 9, "body": tt.text, "user": user, "created_at": time.Now(), "updated_at": time.Now()},
		})
		if err != nil {
			t.Fatal(err)
		}
		src, ok, err := c.w.Source(t.Context(), "issue_comment", payload)
		if err != nil || ok != tt.want || ok && (src.Key == "" || src.Thread == "") {
			t.Errorf("%s, #%d, %.20q: kept %t as %+v, %v", tt.state, tt.number, tt.text, ok, src, err)
		}
	}
}

// TestTakenFor: the reply that names the request of an approval without an id is
// found again, as it stands on GitHub.
func TestTakenFor(t *testing.T) {
	t.Parallel()
	c := newCourt(t, policy.DefaultConfig(), nil)
	c.records(session.NewEvent(session.TypeResolved, 1, session.Resolved{ID: "abc123", Verdict: policy.Withdrawn}))
	a := c.asks("aaaa2222", "medium", true)
	s := c.writes("kim", "/agent approve")
	got := c.w.change()
	cmds, _, err := c.w.commandsIn(t.Context(), s.body)
	if err == nil {
		err = c.w.do(t.Context(), got, s, cmds[0])
	}
	if err == nil {
		err = c.w.commit(t.Context(), got)
	}
	if err != nil {
		t.Fatal(err)
	}
	v, err := c.w.live.Fold(t.Context(), c.sess)
	if err != nil {
		t.Fatal(err)
	}
	yes := *v.Requests[len(v.Requests)-1].Answer
	if why, err := c.w.live.Approvals(&c.w.at, c.sess).Confirm(t.Context(), a, yes); why != "" || err != nil {
		t.Errorf("%q, %v", why, err)
	}
	b := c.asks("bbbb3333", "medium", true)
	yes.ID = b.ID // as a log says that somebody else wrote
	if why, _ := c.w.live.Approvals(&c.w.at, c.sess).Confirm(t.Context(), b, yes); why != render.WhyOtherWords {
		t.Errorf("an approval of another request counts: %q", why)
	}
}

// Words that are kept are told to the model, and their authors are asked back once.
func TestWordsAreKept(t *testing.T) {
	t.Parallel()
	c := newCourt(t, policy.DefaultConfig(), nil)
	c.records(session.NewEvent(session.TypeResolved, 1, session.Resolved{ID: "abc123", Verdict: policy.Withdrawn}))
	c.asks("aaaa2222", "medium", true)
	asked := func() (n int) {
		for _, cm := range c.gh.Thread(c.w.at.Ref).Comments {
			n += strings.Count(cm.Body, "Words and reactions approve nothing")
		}
		return n
	}
	for i, text := range []string{"LGTM", "go ahead <!-- HIDDEN -->", "👍"} {
		s := c.writes("kim", text)
		s.id = fmt.Sprint("d", i)
		if _, err := c.w.cfg.Store.Deliveries.Put(t.Context(), &store.Delivery{ID: s.id, Event: "issue_comment", Thread: c.w.key, Payload: []byte("{}")}); err != nil {
			t.Fatal(err)
		}
		a, err := readAside(t.Context(), c.w, s)
		if err == nil {
			err = takeAside(t.Context(), c.w, c.w.change(), s, a)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if n := asked(); n != 1 {
		t.Errorf("asked back %d times", n)
	}
	v, err := c.w.live.Fold(t.Context(), c.sess)
	if err != nil {
		t.Fatal(err)
	}
	var kept []string
	for _, m := range v.Timeline {
		if n, ok := m.(*session.Note); ok && n.Kind == session.NoteSaid {
			kept = append(kept, n.Text[strings.LastIndex(n.Text, "\n")+1:])
		}
	}
	if got := strings.Join(kept, ", "); got != "LGTM, go ahead, 👍" || len(v.Open()) != 1 {
		t.Errorf("kept %q, %d open", got, len(v.Open()))
	}
	if got, _ := c.obeys(c.writes("kim", "/agent task: wait")); !strings.Contains(got, "withdrawn") {
		t.Errorf("a task that is written as one comes to %q", got)
	}
}
