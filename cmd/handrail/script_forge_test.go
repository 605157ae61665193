package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/approval"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/ghapp/ghtest"
	"github.com/handrail-bot/handrail/bot/schedule"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/bot/store/threadref"
	"github.com/handrail-bot/handrail/bot/thread"
	"github.com/handrail-bot/handrail/bot/trigger"
	"github.com/handrail-bot/handrail/cmd/action"
	"github.com/handrail-bot/handrail/cmd/door"
	"github.com/handrail-bot/handrail/cmd/sessions"
	"github.com/handrail-bot/handrail/policy"
)

// forge writes a yes to what waits in a thread into its ref, as somebody may who can
// push: all sums are right, and its source is a comment that its author wrote.
func (s *stage) forge(_ *testscript.TestScript, args []string) error {
	ctx, cancel := context.WithTimeout(context.Background(), s.patience())
	defer cancel()
	number, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	at := thread.Ref{Owner: "team", Repo: "app", Number: number}
	comments := s.gh.Thread(at).Comments
	n, err := strconv.Atoi(args[2])
	if err != nil || n < 1 || n > len(comments) {
		return fmt.Errorf("there is no comment %s in #%d", args[2], number)
	}
	return s.onRef(ctx, at, func(state *threadref.Store) error { return s.forged(ctx, state, at, args[1], comments[n-1]) })
}

// gitDir is the repository on the test's GitHub, as who may push reaches it.
func (s *stage) gitDir(at thread.Ref) (dir string) {
	s.gh.Look(func() { dir = s.gh.FindRepo(at.Owner, at.Repo).Dir.Path })
	return dir
}

// onRef changes the ref of a thread, as somebody may who can push.
func (s *stage) onRef(ctx context.Context, at thread.Ref, change func(*threadref.Store) error) error {
	w := &door.Console{Log: logger(io.Discard, "error")}
	return sessions.WithRepository(ctx, w, threadref.GitAddress+s.gitDir(at), func(r *threadref.Repository) error {
		state := threadref.New(threadref.Config{Repo: r, Ref: action.Ref(threadref.Prefix, at)})
		return errors.Join(change(state), state.Flush(ctx))
	})
}

// leave puts an event into the ref of a thread, as a run does that finds another at work:
// a comment there that is said to say this, or the task of a run for comment 0.
func (s *stage) leave(_ *testscript.TestScript, args []string) error {
	ctx, cancel := context.WithTimeout(context.Background(), s.patience())
	defer cancel()
	at, err := s.ref(args[0])
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	type m = map[string]any
	by := m{"id": s.gh.UserID(args[1]), "login": args[1], "type": "User"}
	text, id := s.names.real(args[3]), int64(424242)
	if list := s.gh.Thread(at).Comments; n > 0 && n <= len(list) {
		id = list[n-1].ID
	}
	payload := m{"action": "created", "sender": by, "issue": m{"number": at.Number, "title": "x", "user": by}, "repository": m{"full_name": at.Repository()},
		"comment": m{"id": id, "body": text, "user": by, "html_url": fmt.Sprintf("%s/issues/%d#issuecomment-%d", s.gh.URL(), at.Number, id), "created_at": time.Now(), "updated_at": time.Now()}}
	event := "issue_comment"
	if n == 0 {
		event = trigger.Starts
		payload["action"], payload["inputs"] = "run-1", m{"task": text}
		delete(payload, "comment")
	}
	body, err := json.Marshal(payload)
	if err != nil {
		return err
	}
	s.sent++
	d := &store.Delivery{ID: fmt.Sprint("actions-", 900+s.sent), Event: event, Thread: at.Key(), Sender: args[1], Priority: store.PriorityAnswer, Payload: body}
	return s.onRef(ctx, at, func(state *threadref.Store) error {
		_, err := state.Store().Deliveries.Put(ctx, d)
		return err
	})
}

// keepRef remembers the ref of a thread, putBack sets it to that, dropRef deletes it.
func (s *stage) keepRef(_ *testscript.TestScript, args []string) error {
	return s.updateRef(args, "refs/kept/", threadref.Prefix)
}

func (s *stage) putBack(_ *testscript.TestScript, args []string) error {
	return s.updateRef(args, threadref.Prefix, "refs/kept/")
}

func (s *stage) dropRef(_ *testscript.TestScript, args []string) error {
	return s.updateRef(args, threadref.Prefix, "")
}

// age lets days pass for a thread in which nothing happens.
func (s *stage) age(_ *testscript.TestScript, args []string) error {
	at, err := s.ref(args[0])
	days, e := strconv.Atoi(args[1])
	if err = errors.Join(err, e); err != nil {
		return err
	}
	s.gh.Do(func() { s.gh.FindRepo(at.Owner, at.Repo).Issues[at.Number].Updated = time.Now().AddDate(0, 0, -days) })
	return nil
}

// overdue has a schedule that a run read be looked at a day ago for the last time.
func (s *stage) overdue(_ *testscript.TestScript, args []string) error {
	ctx, cancel := context.WithTimeout(context.Background(), s.patience())
	defer cancel()
	at := thread.Ref{Owner: "team", Repo: "app"}
	late, err := json.Marshal(schedule.State{Last: time.Now().Add(-25 * time.Hour)})
	if err != nil {
		return err
	}
	return s.onRef(ctx, at, func(state *threadref.Store) error {
		return state.Store().Meta.Set(ctx, "schedule team/app "+args[0], late)
	})
}

// updateRef sets the ref of a thread, or of a second one, to where another is.
func (s *stage) updateRef(numbers []string, prefix, from string) error {
	at, err := s.ref(numbers[0])
	to, e := s.ref(numbers[len(numbers)-1])
	if err = errors.Join(err, e); err != nil {
		return err
	}
	change := []string{action.Ref(prefix, to), action.Ref(from, at)}
	if from == "" {
		change = []string{"-d", change[0]}
	}
	out, err := exec.Command("git", append([]string{"-C", s.gitDir(at), "update-ref"}, change...)...).CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, out)
	}
	return err
}

func (s *stage) forged(ctx context.Context, state *threadref.Store, at thread.Ref, by string, c ghtest.Comment) error {
	kept := state.Store()
	row, err := kept.Sessions.ByThread(ctx, at.Key())
	if err != nil {
		return err
	}
	v, err := stateOf(ctx, kept.Logs, row.ID)
	if err != nil {
		return err
	}
	if len(v.Open()) == 0 {
		return fmt.Errorf("nothing waits in %s", at)
	}
	ev := ghapp.Event{Kind: "issue_comment", Comment: ghapp.EventComment{ID: c.ID, Body: c.Body, Updated: c.Updated}}
	yes := session.Resolved{ID: v.Open()[0].ID, Verdict: policy.Approved, By: by, ByID: s.gh.UserID(by), Key: approval.Source(ev, ghapp.Target{Comment: c.ID})}
	l, err := kept.Leases.Acquire(ctx, row.ID, "forger", time.Minute)
	if err != nil {
		return err
	}
	if err := kept.Logs.Log(l.Fence()).Append(ctx, session.NewEvent(session.TypeResolved, v.Turns, yes)); err != nil {
		return err
	}
	row.State = session.PhaseQueued
	if err := kept.Sessions.Update(ctx, l.Fence(), row); err != nil {
		return err
	}
	_, err = kept.Leases.Release(ctx, l, time.Time{})
	return err
}
