package policy

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func openApproval() Approval {
	return Approval{ID: "7", Session: "s1", Digest: "d1", Head: "h1", Base: "b1", RequesterID: 1, Asked: noon, Deadline: noon.Add(time.Hour), State: Pending}
}

func yesTo(a Approval) Answer {
	return Answer{ID: a.ID, Session: a.Session, Digest: a.Digest, Head: a.Head, Base: a.Base, Approve: true, By: 5, Comment: 50, Permission: Allow, At: noon}
}

func runOf(a Approval) Execution {
	return Execution{Session: a.Session, Digest: a.Digest, Head: a.Head, Base: a.Base, Permission: Allow, At: noon}
}

func TestSettle(t *testing.T) {
	for name, c := range map[string]struct {
		state  ApprovalState
		change func(*Answer)
		want   ApprovalState
		err    string
	}{
		"approve":                {Pending, func(*Answer) {}, Approved, ""},
		"deny":                   {Pending, func(a *Answer) { a.Approve = false }, Denied, ""},
		"deny wins":              {Approved, func(a *Answer) { a.Approve = false }, Denied, ""},
		"approve after deny":     {Denied, func(*Answer) {}, Denied, "it is denied"},
		"deny twice":             {Denied, func(a *Answer) { a.Approve = false }, Denied, ""},
		"approve twice":          {Approved, func(*Answer) {}, Approved, ""},
		"edited":                 {Pending, func(a *Answer) { a.Edited = true }, Pending, "an edited comment does not count"},
		"edited denial":          {Pending, func(a *Answer) { a.Edited = true; a.Approve = false }, Pending, "an edited comment does not count"},
		"no permission":          {Pending, func(a *Answer) { a.Permission = Deny }, Pending, "may not approve"},
		"permission only asked":  {Pending, func(a *Answer) { a.Permission = Ask }, Pending, "may not approve"},
		"nobody":                 {Pending, func(a *Answer) { a.By = 0 }, Pending, "may not approve"},
		"other id":               {Pending, func(a *Answer) { a.ID = "8" }, Pending, "the answer is for approval 8"},
		"other session":          {Pending, func(a *Answer) { a.Session = "s2" }, Pending, "of session s2"},
		"other digest":           {Pending, func(a *Answer) { a.Digest = "d2" }, Pending, "another action"},
		"other digest afterward": {Approved, func(a *Answer) { a.Digest = "d2" }, Approved, "another action"},
		"no digest":              {Pending, func(a *Answer) { a.Digest = "" }, Pending, "another action"},
		"head moved":             {Pending, func(a *Answer) { a.Head = "h2" }, Stale, "the branch moved"},
		"base moved":             {Pending, func(a *Answer) { a.Base = "b2" }, Stale, "the base moved"},
		"deny with head moved":   {Pending, func(a *Answer) { a.Head = "h2"; a.Approve = false }, Denied, ""},
		"too late":               {Pending, func(a *Answer) { a.At = noon.Add(time.Hour) }, Expired, "deadline has passed"},
		"withdrawn":              {Withdrawn, func(*Answer) {}, Withdrawn, "it is withdrawn"},
		"stale":                  {Stale, func(*Answer) {}, Stale, "it is stale"},
		"used":                   {Used, func(*Answer) {}, Used, "it is used"},
		"used then denied":       {Used, func(a *Answer) { a.Approve = false }, Used, "it is used"},
		"zero state":             {"", func(*Answer) {}, "", "it is not open"},
	} {
		t.Run(name, func(t *testing.T) {
			a := openApproval()
			a.State = c.state
			ans := yesTo(a)
			c.change(&ans)
			got, err := a.Settle(ans)
			if got.State != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("state %s, error %v; want %s, %q", got.State, err, c.want, c.err)
			}
		})
	}
}

func TestUse(t *testing.T) {
	approved, err := openApproval().Settle(yesTo(openApproval()))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		from   Approval
		change func(*Execution)
		want   ApprovalState
	}{
		"use":              {approved, func(*Execution) {}, Used},
		"pending":          {openApproval(), func(*Execution) {}, Pending},
		"zero":             {Approval{}, func(e *Execution) { *e = Execution{Permission: Allow} }, ""},
		"other digest":     {approved, func(e *Execution) { e.Digest = "d2" }, Approved},
		"no digest":        {Approval{State: Approved}, func(e *Execution) { *e = Execution{Permission: Allow} }, Approved},
		"other session":    {approved, func(e *Execution) { e.Session = "s2" }, Approved},
		"head moved":       {approved, func(e *Execution) { e.Head = "h2" }, Stale},
		"base moved":       {approved, func(e *Execution) { e.Base = "b2" }, Stale},
		"too late":         {approved, func(e *Execution) { e.At = noon.Add(2 * time.Hour) }, Expired},
		"approver lost it": {approved, func(e *Execution) { e.Permission = Deny }, Stale},
		"comment edited":   {approved.CommentChanged(50), func(*Execution) {}, Stale},
		"other edited":     {approved.CommentChanged(51), func(*Execution) {}, Used},
		"withdrawn":        {approved.Withdraw("new instruction"), func(*Execution) {}, Withdrawn},
		"moved and back":   {approved.Moved("h2", "b1").Moved("h1", "b1"), func(*Execution) {}, Stale},
	} {
		t.Run(name, func(t *testing.T) {
			e := runOf(openApproval())
			c.change(&e)
			got, err := c.from.Use(e)
			if got.State != c.want || (err == nil) != (c.want == Used) || err != nil && !errors.Is(err, ErrNotApproved) {
				t.Errorf("state %s, error %v; want %s", got.State, err, c.want)
			}
			if again, err := got.Use(e); err == nil {
				t.Errorf("a second use is allowed: %+v", again)
			}
		})
	}
}

// world is what a simulated repository looks like, with a store that survives
// crashes and a memory that does not.
type world struct {
	now        time.Time
	head, base int
	intent     int            // which action the session is about to run
	stored     Approval       // what a restart shows
	memory     Approval       // what the process believes
	trusted    bool           // the approver still has permission
	edited     map[int64]bool // comments that were changed
	yes        []Answer       // answers that were ever posted, for replays
	runs       int
	deniedA    bool
}

func (w *world) digest(n int) string {
	return Action{Kind: Execute, Command: fmt.Sprint("cmd ", n), Subject: "s1"}.Digest()
}

func (w *world) save(a Approval) { w.stored, w.memory = a, a }

// step takes one random step.
func (w *world) step(t *rapid.T) {
	w.now = w.now.Add(time.Duration(rapid.IntRange(0, 4).Draw(t, "minutes")) * time.Minute)
	head, base := fmt.Sprint("h", w.head), fmt.Sprint("b", w.base)
	switch rapid.SampledFrom([]string{"push", "retarget", "swap", "answer", "answer", "answer", "answer", "answer", "replay", "edit", "revoke", "restore", "withdraw", "crash", "run", "run", "run", "run", "run", "ask", "ask", "ask"}).Draw(t, "step") {
	case "push":
		w.head++
	case "retarget":
		w.base = rapid.IntRange(0, 1).Draw(t, "base")
	case "swap":
		w.intent = rapid.IntRange(0, 2).Draw(t, "intent")
	case "ask":
		if w.stored.State != Pending && w.stored.State != Approved {
			w.save(Approval{ID: fmt.Sprint(w.runs, w.now.Unix()), Session: "s1", Digest: w.digest(w.intent), Head: head, Base: base, Asked: w.now, Deadline: w.now.Add(40 * time.Minute), State: Pending})
			w.deniedA = false
		}
	case "answer":
		ans := Answer{ID: w.stored.ID, Session: "s1", Digest: w.stored.Digest, Head: head, Base: base, By: 5, Comment: int64(len(w.yes) + 1), At: w.now, Permission: Deny}
		ans.Approve = rapid.IntRange(0, 3).Draw(t, "approve") > 0
		if rapid.IntRange(0, 5).Draw(t, "other") == 0 {
			ans.Digest = w.digest(rapid.IntRange(0, 2).Draw(t, "digest"))
		}
		if w.trusted {
			ans.Permission = Allow
		}
		w.yes = append(w.yes, ans)
		w.settle(ans)
	case "replay":
		if len(w.yes) > 0 {
			ans := rapid.SampledFrom(w.yes).Draw(t, "old")
			ans.Edited, ans.Head, ans.Base, ans.At = w.edited[ans.Comment], head, base, w.now
			w.settle(ans)
		}
	case "edit":
		if len(w.yes) > 0 {
			c := int64(rapid.IntRange(1, len(w.yes)).Draw(t, "comment"))
			w.edited[c] = true
			w.save(w.stored.CommentChanged(c))
		}
	case "revoke":
		w.trusted = false
	case "restore":
		w.trusted = true
	case "withdraw":
		w.save(w.stored.Withdraw("new instruction"))
	case "crash":
		w.memory = w.stored
	case "run":
		w.run(t, head, base)
	}
}

func (w *world) settle(ans Answer) {
	next, err := w.stored.Settle(ans)
	if err == nil && !ans.Approve && ans.ID == w.stored.ID && w.stored.State != Used {
		w.deniedA = true
	}
	w.save(next)
}

// run tries to run the intended action and checks every promise by the
// world's own facts.
func (w *world) run(t *rapid.T, head, base string) {
	before := w.stored
	e := Execution{Session: "s1", Digest: w.digest(w.intent), Head: head, Base: base, At: w.now, Permission: Deny}
	if w.trusted {
		e.Permission = Allow
	}
	next, err := w.memory.Use(e)
	w.stored = next
	if rapid.Bool().Draw(t, "crash before it runs") {
		w.memory = w.stored
		return
	}
	w.memory = next
	if err != nil {
		return
	}
	w.runs++
	switch {
	case w.digest(w.intent) != before.Digest:
		t.Fatalf("ran %s, approved was %s", w.digest(w.intent), before.Digest)
	case before.State != Approved || w.deniedA:
		t.Fatalf("ran although it was %s, denied %v", before.State, w.deniedA)
	case before.Head != head || before.Base != base:
		t.Fatalf("ran on %s over %s, approved on %s over %s", head, base, before.Head, before.Base)
	case !w.trusted || w.edited[before.Comment] || !w.now.Before(before.Deadline):
		t.Fatalf("ran with trust %v, edited %v, at %s of %s", w.trusted, w.edited[before.Comment], w.now, before.Deadline)
	case w.stored.State != Used:
		t.Fatal("ran without being spent")
	}
}

func TestApprovalInterleavings(t *testing.T) {
	if err := flag.Set("rapid.checks", "12000"); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := flag.Set("rapid.checks", "100"); err != nil {
			t.Error(err)
		}
	}()
	runs := 0
	rapid.Check(t, func(rt *rapid.T) {
		w := &world{now: noon, trusted: true, edited: map[int64]bool{}}
		w.save(Approval{ID: "0", Session: "s1", Digest: w.digest(0), Head: "h0", Base: "b0", Asked: noon, Deadline: noon.Add(time.Hour), State: Pending})
		for range rapid.IntRange(10, 40).Draw(rt, "steps") {
			w.step(rt)
		}
		runs += w.runs
	})
	if runs < 500 {
		t.Errorf("only %d actions ran: the simulation shows nothing", runs)
	}
	t.Logf("%d actions ran in 12,000 interleavings", runs)
}

func TestApprovalIsKeptAsJSON(t *testing.T) {
	a, err := openApproval().Settle(yesTo(openApproval()))
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	var back Approval
	if err := json.Unmarshal(data, &back); err != nil || back != a {
		t.Errorf("%s became %+v, %v", data, back, err)
	}
}
