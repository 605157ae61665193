package storetest

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/store"
)

// Crash kills a process that works on the database at address, again and
// again, and checks that nothing it acknowledged is lost and no approval is
// used twice. The process is this test binary; its test named child calls
// [CrashChild].
func Crash(t *testing.T, child, address string, open func() store.Store) {
	t.Helper()
	acked := map[string]int{}
	for round := range 12 {
		n := crashOnce(t, victim{child, address, 5 + round*7%60}, acked)
		if n == 0 {
			t.Fatalf("round %d: the process acknowledged nothing", round)
		}
	}
	s := open()
	events, err := s.Logs.Log(store.Fence{Key: "s1"}).Events(t.Context(), 0)
	must(t, err)
	must(t, session.Verify(events))
	logged := map[string]int{}
	for _, text := range texts(t, events) {
		logged[text]++
	}
	done := threadIDs(t, s)
	for ack := range acked {
		kind, id, _ := strings.Cut(ack, " ")
		switch kind {
		case "put":
			if unknown, err := s.Deliveries.Unknown(t.Context(), id); err != nil || len(unknown) != 0 {
				t.Errorf("delivery %s is lost: %v", id, err)
			}
		case "event", "used":
			if logged[ack] != 1 {
				t.Errorf("%q was acknowledged and is logged %d times", ack, logged[ack])
			}
		}
	}
	for text, n := range logged {
		kind, id, _ := strings.Cut(text, " ")
		if n != 1 {
			t.Errorf("%q is logged %d times", text, n)
		}
		if kind != "used" {
			continue
		}
		if a, err := s.Approvals.Approval(t.Context(), id); err != nil || a.State != store.Used {
			t.Errorf("approval %s was used and is stored as %+v: %v", id, a, err)
		}
	}
	t.Logf("%d acknowledged, %d events, %d deliveries left open", len(acked), len(events), len(done))
	checkOpen(t, s, logged)
}

// checkOpen checks that what did not happen is still open: approvals that
// were not used, and intents that were not done.
func checkOpen(t *testing.T, s store.Store, logged map[string]int) {
	t.Helper()
	open, err := s.Approvals.Open(t.Context(), "s1", time.Time{})
	must(t, err)
	for _, a := range open {
		if logged["used "+a.ID] != 0 {
			t.Errorf("approval %s is open after its use", a.ID)
		}
	}
	intents, err := s.Intents.Open(t.Context(), "s1")
	must(t, err)
	for _, in := range intents {
		if logged["event "+in.Key] != 1 {
			t.Errorf("intent %s is there without the event of its transaction", in.Key)
		}
	}
}

// threadIDs finishes and returns the deliveries that are open.
func threadIDs(t *testing.T, s store.Store) []string {
	t.Helper()
	var out []string
	for {
		d, err := s.Deliveries.Next(t.Context(), thread)
		if errors.Is(err, store.ErrNotFound) {
			return out
		}
		must(t, err)
		out = append(out, d.ID)
		must(t, s.Deliveries.Done(t.Context(), "", d.ID))
	}
}

// victim is a process that is killed: the test that it runs, the store that it
// works on, and after how many acknowledgments.
type victim struct {
	child, address string
	after          int
}

// crashOnce starts the process, kills it and returns how many acknowledgments
// there were.
func crashOnce(t *testing.T, v victim, acked map[string]int) int {
	t.Helper()
	after := v.after
	cmd := exec.Command(os.Args[0], "-test.run=^"+v.child+"$", "--", v.address)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	n := 0
	lines := bufio.NewScanner(out)
	var rest []string
	for lines.Scan() {
		ack, ok := strings.CutPrefix(lines.Text(), "ack ")
		if !ok {
			rest = append(rest, lines.Text())
			continue
		}
		acked[ack]++
		if n++; n == after {
			must(t, cmd.Process.Kill())
		}
	}
	must(t, lines.Err())
	if err := cmd.Wait(); n < after {
		t.Fatalf("the process ended by itself: %v\n%s", err, strings.Join(rest, "\n"))
	}
	return n
}

// CrashChild works on a store until it is killed, when the test runs in a
// process that [Crash] started. It reports false when it does not.
func CrashChild(t *testing.T, open func(address string) store.Store) bool {
	t.Helper()
	if flag.NArg() != 1 {
		return false
	}
	s := open(flag.Arg(0))
	ctx := t.Context()
	for {
		l, err := s.Leases.Acquire(ctx, "s1", "child", 20*time.Millisecond)
		if errors.Is(err, store.ErrHeld) {
			continue // the one that was killed
		}
		must(t, err)
		for i := range 1000 {
			must(t, crashStep(ctx, s, l.Fence(), fmt.Sprintf("e%d-%d", l.Epoch, i), os.Stdout))
		}
	}
}

// crashStep makes one of everything and acknowledges it.
func crashStep(ctx context.Context, s store.Store, f store.Fence, id string, out io.Writer) error {
	ack := func(what string) { _, _ = io.WriteString(out, "ack "+what+"\n") }
	if _, err := s.Deliveries.Put(ctx, delivery(id, thread)); err != nil {
		return err
	}
	ack("put " + id)
	err := s.Logs.Apply(ctx, f, store.Change{
		Events:    []*session.Event{note(1, "event "+id)},
		Intents:   []*store.Intent{{Key: id, Session: f.Key, Kind: "comment"}},
		Approvals: []*store.Approval{{ID: id, Kind: "approval", Digest: "d"}},
		Done:      []string{id},
	})
	if err != nil {
		return err
	}
	ack("event " + id)
	if _, err := s.Approvals.Settle(ctx, id, store.Settlement{To: store.Approved, Key: id}); err != nil {
		return err
	}
	// What an earlier process left approved is used now, together with the
	// event that says so.
	open, err := s.Approvals.Open(ctx, f.Key, time.Time{})
	if err != nil {
		return err
	}
	for _, a := range open {
		if a.State != store.Approved {
			continue
		}
		change := store.Change{Use: []store.Use{{ID: a.ID, Digest: "d"}}, Events: []*session.Event{note(2, "used "+a.ID)}}
		if err := s.Logs.Apply(ctx, f, change); err != nil {
			return err
		}
		ack("used " + a.ID)
	}
	if _, err := s.Intents.Attempted(ctx, f, id, time.Time{}); err != nil {
		return err
	}
	return s.Intents.Done(ctx, f, id, "ref")
}
