package bot_test

import (
	"context"
	"testing"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot"
)

// GitHub sends events in any order: a stop that comes first stops what was written
// before it, and nothing that is written after it.
func TestStopOvertakes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ran := 0
	w.run = func(ctx context.Context, work bot.Work) (session.Outcome, error) {
		ran++
		return finish("It is mended.")(ctx, work)
	}
	w.gh.AddUser("sam", "write")
	request, stop := w.writes("kim", "/agent fix it"), w.writes("sam", "/agent stop")
	w.arrives("sam", stop)
	must(t, w.work())
	w.arrives("kim", request)
	must(t, w.work())
	if ran != 0 || w.count("I did not start: sam stopped this before I began") != 1 {
		t.Errorf("ran %d times; the bot wrote %q", ran, w.own())
	}
	w.say("/agent fix it after all")
	must(t, w.work())
	if ran != 1 {
		t.Errorf("what was asked after the stop ran %d times; the bot wrote %q", ran, w.own())
	}
}
