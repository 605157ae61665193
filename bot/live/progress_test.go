package live

import (
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/approval"
	"github.com/handrail-bot/handrail/bot/store"
)

// A session that runs for long is shown less and less often: some forty edits
// in 22 minutes, and not 440.
func TestProgressGetsRarer(t *testing.T) {
	t.Parallel()
	edits, last := 0, time.Duration(0)
	for age := time.Duration(0); age < 22*time.Minute; edits++ {
		wait := pause(3*time.Second, age)
		if wait < last || wait < 3*time.Second {
			t.Errorf("after %s the next edit comes after %s, the one before came after %s", age, wait, last)
		}
		age, last = age+wait, wait
	}
	if edits < 20 || edits > 60 {
		t.Errorf("%d edits in 22 minutes", edits)
	}
	if got := pause(3*time.Second, 100*time.Hour); got != 5*time.Minute {
		t.Errorf("a session of days is shown every %s", got)
	}
	if got := pause(time.Hour, time.Hour); got != time.Hour {
		t.Errorf("what was set to an hour is shown every %s", got)
	}
}

// What a command prints is told at once when it is the first of it, and now and then
// after that: a command that prints all the time costs few edits.
func TestOutputIsToldNowAndThen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &Progress{l: &Session{cfg: &Config{Now: time.Now}}, view: session.NewState(), fresh: make(chan struct{}, 1)}
		told := func() (n int) {
			for range 10 * 60 * 10 { // ten minutes, ten lines a second
				p.Printed(func() string { return "x" })
				synctest.Wait()
				select {
				case <-p.fresh:
					n++
				default:
				}
				<-time.After(100 * time.Millisecond)
			}
			return n
		}
		for _, what := range []string{"a command", "the next one"} {
			for _, e := range []*session.Event{session.NewEvent(session.TypeAnswer, 1, session.Answer{Calls: []session.Call{{ID: what}}}), session.NewEvent(session.TypeStarted, 1, session.Started{Call: what})} {
				p.Event(*e)
				<-p.fresh
			}
			if n := told(); n < 15 || n > 22 {
				t.Errorf("%s: told %d times in ten minutes", what, n)
			}
		}
		<-time.After(updateDelay) // the last timer
	})
}

// What waits for people is said in the progress comment once it has a comment of its own,
// to which the progress comment leads.
func TestAskedFirst(t *testing.T) {
	t.Parallel()
	p := &Progress{l: &Session{Row: &store.Session{}, cfg: &Config{Now: time.Now}}, view: session.NewState(), fresh: make(chan struct{}, 1)}
	if p.over() {
		t.Error("it says nothing of a session that works")
	}
	p.Event(*session.NewEvent(session.TypeAsked, 1, session.Asked{ID: "a1", Kind: session.AskApproval}))
	if !p.over() {
		t.Error("it names a request that nobody can see")
	}
	data, err := json.Marshal(Data{Reviews: map[string]approval.Stage{"a1": {URL: "https://github.example/team/app/issues/1#issuecomment-2"}}})
	if err != nil {
		t.Fatal(err)
	}
	if p.l.Row.Data = data; p.over() {
		t.Error("it does not name a request that stands in the thread")
	}
}
