package main

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// A part that is away is told of once, is in the answer as long as it is away, and
// is asked more often then; when it is back somebody is called.
func TestWatch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var bad atomic.Pointer[string]
		var asked, back atomic.Int64
		var log syncBuffer
		w := newReadiness(readyConfig{
			Parts: []readyPart{{"GitHub", func(context.Context) error {
				asked.Add(1)
				if text := bad.Load(); text != nil {
					return errors.New(*text)
				}
				return nil
			}}, {"model", func(context.Context) error { return nil }}},
			Back: func(context.Context) { back.Add(1) }, Log: slog.New(slog.NewTextHandler(&log, nil)),
		})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); w.Run(ctx) }()
		pass := func(d time.Duration) { <-time.NewTimer(d).C; synctest.Wait() } // of the clock of this test
		want := func(when string, troubles, told, backs int, least int64) {
			t.Helper()
			if got := w.Troubles(); len(got) != troubles {
				t.Errorf("%s: %q", when, got)
			}
			if got := strings.Count(log.String(), "not ready"); got != told {
				t.Errorf("%s: told %d times, want %d\n%s", when, got, told, log.String())
			}
			if int(back.Load()) != backs || asked.Load() < least {
				t.Errorf("%s: back %d, asked %d", when, back.Load(), asked.Load())
			}
		}
		pass(time.Second)
		want("at start", 0, 0, 0, 1)
		text := "it refuses the key"
		bad.Store(&text)
		pass(31 * time.Second)
		want("away", 1, 1, 0, 2)
		pass(30 * time.Second)
		want("still away", 1, 1, 0, 7)
		bad.Store(nil)
		w.Soon()
		pass(2 * time.Second)
		want("back", 0, 1, 1, 8)
		if n := asked.Load(); n > 10 {
			t.Errorf("asked %d times", n)
		}
		for range 1000 { // work fails everywhere
			w.Soon()
			pass(10 * time.Millisecond)
		}
		if n := asked.Load(); n > 22 {
			t.Errorf("asked %d times, want one a second at most", n)
		}
		w.Note(ctx, "installation of team", errors.New("it may be suspended"))
		want("noted", 1, 2, 1, 0)
		pass(6 * time.Minute)
		want("not met again", 0, 2, 1, 0)
		stop()
		<-ended
	})
}

// The server is not ready from the moment at which work found a part away, and not only
// when that is asked the next time; it is ready when the part answers.
func TestMet(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var away atomic.Bool
		w := newReadiness(readyConfig{Every: time.Hour, Parts: []readyPart{{"model", func(context.Context) error {
			if away.Load() {
				return errors.New("refused")
			}
			return nil
		}}}, Log: slog.New(slog.DiscardHandler)})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); w.Run(ctx) }()
		<-time.NewTimer(2 * time.Second).C
		synctest.Wait()
		away.Store(true)
		w.NoteOutage(ctx, "model", errors.New("connection refused"))
		if got := w.Troubles(); len(got) != 1 || got[0] != "model: connection refused" {
			t.Errorf("a session found it away, and it says %q", got)
		}
		synctest.Wait()
		if got := w.Troubles(); len(got) != 1 || got[0] != "model: refused" {
			t.Errorf("it was asked, and it says %q", got)
		}
		away.Store(false)
		w.Soon()
		<-time.NewTimer(time.Hour).C
		synctest.Wait()
		if got := w.Troubles(); len(got) != 0 {
			t.Errorf("it answers again, and it says %q", got)
		}
		stop()
		<-ended
	})
}
