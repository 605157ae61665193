package main

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/handrail-bot/handrail/bot/ghapp/ghtest/ghcheck"
	"github.com/handrail-bot/handrail/policy/longtest"
)

// A powerCut is a point of a story at which the power goes: when the server has
// come to a step, by its number or its name, or after the story.
type powerCut struct {
	at int64
	on string
}

// TestServerAfterPowerCut cuts the power during a story and starts the server on
// what that leaves of its data. The story goes on to its end, where nothing is
// lost and nothing was done twice.
func TestServerAfterPowerCut(t *testing.T) {
	longtest.Leave(t)
	needRecordings(t)
	points := []powerCut{{on: "git-receive-pack"}, {on: "after apply"}, {at: 45}, {}}
	if longtest.Long() {
		for n := int64(1); n < 160; n += 3 {
			points = append(points, powerCut{at: n})
		}
	}
	stage, tally, r := newCrashStage(t), &crashTally{}, rand.New(rand.NewPCG(3, 4))
	for i := 0; i < len(points); i++ {
		p := points[i]
		left := cuts(r)[i%4]
		w := stage.world(t, ghcheck.Faults{})
		w.brief, w.child.KillOn, w.child.Record = true, p.on, filepath.Join(w.dir, "calls")
		cut := func() {
			w.kills++
			w.losesPower(t, left)
			w.start(t, 0)
		}
		w.start(t, p.at)
		w.tell(t, cut)
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		w.living(ctx, t, cut, w.settled)
		cancel()
		if w.kills == 0 { // the story has fewer steps
			w.quit(t)
			cut()
			if p.at > 0 {
				points = points[:i+1]
			}
		}
		w.finish(t, tally)
		if t.Failed() {
			t.Fatalf("the power was cut at %+v, and %s", p, left.name)
		}
	}
	if tally.kills < len(points) {
		t.Errorf("%d cuts for %d points", tally.kills, len(points))
	}
}

// losesPower puts what a power cut leaves of the data of a server that was
// recorded in place of them.
func (w *crashWorld) losesPower(t *testing.T, left cut) {
	t.Helper()
	if w.child.Record == "" {
		return // a server that was not recorded died by itself: judged at the end
	}
	calls, err := readStrace(w.child.Record)
	must(t, err)
	d := newDisk(w.child.Data)
	for _, c := range calls {
		d.does(c)
	}
	if len(d.odd) > 0 || len(calls) == 0 {
		t.Fatalf("%d calls; this disk does not know: %v", len(calls), d.odd)
	}
	w.judgeCut(t, d, left, len(calls))
	must(t, os.RemoveAll(w.child.Data))
	must(t, d.leaves(left, w.child.Data))
	w.child.Record, w.child.KillOn = "", ""
}
