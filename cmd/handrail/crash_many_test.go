package main

import (
	"bytes"
	"context"
	"flag"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/bot/store/storetest"
	"github.com/handrail-bot/handrail/policy/longtest"
)

var manyRounds = flag.Int("many.rounds", form(1, 2), "how many stories three servers tell together")

// TestCrashMany has three servers over one PostgreSQL, with a door in front of
// them, and kills one after the other at random while the others live. Whoever
// is there goes on with the session, on a machine that has nothing of it. The
// long form is part of `make stale`.
func TestCrashMany(t *testing.T) {
	longtest.Leave(t)
	needProcesses(t)
	database := storetest.StartPostgres(t, false)
	stage := newCrashStage(t)
	tally := &crashTally{}
	for n := range uint64(*manyRounds) {
		front := stage.world(t, crashFaults(n+1))
		front.child.Database = database.Database(t)
		front.exited = make(chan struct{}) // it is no server, and never dies
		var all []*crashWorld
		for _, name := range []string{"one", "two", "three"} {
			s := front.second(t, name)
			s.start(t, 0)
			all = append(all, s)
		}
		front.gh.SetWebhook(frontDoor(t, all))
		front.tellAmong(t, all, rand.New(rand.NewPCG(n, 11)))
		front.finishAmong(t, all, tally)
	}
	t.Logf("three servers on one database: stories %d, kills %d, lost %d, duplicates %d", *manyRounds, tally.kills, tally.lost, tally.duplicates)
}

// frontDoor hands a delivery to the first server that takes it, beginning with
// another one each time.
func frontDoor(t *testing.T, all []*crashWorld) string {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		status := http.StatusBadGateway
		for i, first := 0, rand.IntN(len(all)); i < len(all) && status/100 != 2; i++ {
			to := all[(first+i)%len(all)].child.Listen
			req, err := http.NewRequestWithContext(r.Context(), r.Method, "http://"+to+"/webhook", bytes.NewReader(body))
			if err != nil {
				continue
			}
			req.Header = r.Header.Clone()
			if resp, err := http.DefaultClient.Do(req); err == nil {
				status = resp.StatusCode
				_ = resp.Body.Close()
			}
		}
		w.WriteHeader(status)
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}

// tellAmong tells the story while one of the servers after the other is
// killed and started again.
func (w *crashWorld) tellAmong(t *testing.T, all []*crashWorld, r *rand.Rand) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	type result struct {
		kills int
		err   error
	}
	ended := make(chan result)
	go func() {
		var out result
		for out.err == nil {
			select {
			case <-ctx.Done():
				ended <- out
				return
			case <-time.After(time.Duration(100+r.IntN(900)) * time.Millisecond):
			}
			s := all[r.IntN(len(all))]
			s.kill()
			out.kills++
			out.err = s.launch(0)
		}
		ended <- out
	}()
	w.tell(t, func() {})
	cancel()
	out := <-ended
	must(t, out.err)
	w.kills = out.kills
}

// finishAmong stops the servers, and judges what is there.
func (w *crashWorld) finishAmong(t *testing.T, all []*crashWorld, tally *crashTally) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	must(t, w.settled(ctx))
	must(t, w.gh.Flush(ctx))
	for _, s := range all {
		w.stops += strings.Count(s.log.String(), "lost lease")
		if !s.stop(t) {
			t.Errorf("a server did not come to its end:\n%s", s.log.String())
		}
	}
	must(t, w.gh.Settled(ctx))
	lost, duplicates := w.judge(t)
	for _, text := range append(lost, duplicates...) {
		t.Errorf("after %d kills: %s\n%s", w.kills, text, w.thread())
	}
	for _, s := range all {
		if t.Failed() {
			t.Logf("server %s:\n%s", s.dir, s.log.String())
		}
	}
	tally.add(w, lost, duplicates)
}
