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

// Crash repeatedly kills a process that works on the database at address, and checks that
// nothing acknowledged is lost and nothing is done twice. The process is this test
// binary; its test child calls [CrashChild].
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
		case "event", "closed":
			if logged[ack] != 1 {
				t.Errorf("%q was acknowledged and is logged %d times", ack, logged[ack])
			}
		}
	}
	for text, n := range logged {
		if n != 1 {
			t.Errorf("%q is logged %d times", text, n)
		}
	}
	t.Logf("%d acknowledged, %d events, %d deliveries left open", len(acked), len(events), len(done))
	checkOpen(t, s, logged)
}

// checkOpen checks that unfinished intents are still open, and that every transaction is
// stored completely.
func checkOpen(t *testing.T, s store.Store, logged map[string]int) {
	t.Helper()
	intents, err := s.Intents.Open(t.Context(), "s1")
	must(t, err)
	for _, in := range intents {
		if logged["event "+in.Key] != 1 {
			t.Errorf("intent %s is there without the event of its transaction", in.Key)
		}
		if logged["closed "+in.Key] != 0 {
			t.Errorf("intent %s is open after its end", in.Key)
		}
	}
}

// threadIDs marks the open deliveries as done and returns their ids.
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

// victim is a process to be killed: its test, its store, and the number of
// acknowledgments before the kill.
type victim struct {
	child, address string
	after          int
}

// crashOnce starts the process, kills it and returns the number of acknowledgments.
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

// CrashChild works on a store until it is killed, if the test runs in a process started
// by [Crash]. Otherwise it reports false.
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
			continue // held by the killed process
		}
		must(t, err)
		for i := range 1000 {
			must(t, crashStep(ctx, s, l.Fence(), fmt.Sprintf("e%d-%d", l.Epoch, i), os.Stdout))
		}
	}
}

// crashStep writes one record of each kind and acknowledges it.
func crashStep(ctx context.Context, s store.Store, f store.Fence, id string, out io.Writer) error {
	ack := func(what string) { _, _ = io.WriteString(out, "ack "+what+"\n") }
	if _, err := s.Deliveries.Put(ctx, delivery(id, thread)); err != nil {
		return err
	}
	ack("put " + id)
	err := s.Logs.Apply(ctx, f, store.Change{
		Events:  []*session.Event{note(1, "event "+id)},
		Intents: []*store.Intent{{Key: id, Session: f.Key, Kind: "comment"}},
		Done:    []string{id},
	})
	if err != nil {
		return err
	}
	ack("event " + id)
	// Intents left open by an earlier process are ended now, and then logged.
	open, err := s.Intents.Open(ctx, f.Key)
	if err != nil {
		return err
	}
	for _, in := range open {
		if _, err := s.Intents.Attempted(ctx, f, in.Key, time.Time{}); err != nil {
			return err
		}
		if err := s.Intents.Done(ctx, f, in.Key, "ref"); err != nil {
			return err
		}
		if err := s.Logs.Log(f).Append(ctx, note(2, "closed "+in.Key)); err != nil {
			return err
		}
		ack("closed " + in.Key)
	}
	return nil
}
