package main

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/longtest"
	"github.com/handrail-bot/handrail/policy/secret"
)

// TestRetention: a server deletes the session that ended long ago when it starts, and
// not the one that ended lately; what is left is true. With it goes the mirror.
func TestRetention(t *testing.T) {
	longtest.Leave(t)
	const key = "a key that is not in the database"
	s := newStory(t, greeting, fixGreeting)
	s.stop()
	s.cfg.LogKey = secret.Value(key)
	s.cfg.Retain.Logs = policy.Duration(90 * 24 * time.Hour)
	s.cfg.Retain.Mirrors = s.cfg.Retain.Logs
	s.start()
	s.say("you", "/agent fix the greeting")
	s.done()
	for _, c := range []struct {
		days int
		logs string
		what string
	}{
		{89, "1 logs, 0 broken, 1 signed\n", ""},
		{91, "0 logs, 0 broken\n", "sessions deleted (retention.logs, after 90 days): 1 signed\n"},
	} {
		s.restart(func(o *serverOptions) {
			o.now = func() time.Time { return time.Now().Add(time.Duration(c.days) * 24 * time.Hour) }
		})
		if c.what != "" {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			must(t, waitFor(ctx, func() bool { return strings.Contains(s.log.String(), "removed mirrors that were not used for long") }))
			cancel()
		}
		s.stop()
		if out, code := auditOf(t, s, key, "--signed"); code != exitDone || !strings.Contains(out, c.logs) || !strings.HasSuffix(out, c.what) {
			t.Errorf("after %d days: %d\n%s", c.days, code, out)
		}
		mirrors, err := filepath.Glob(filepath.Join(s.cfg.Data, "mirrors", "*.git"))
		if must(t, err); (c.what == "") != (len(mirrors) == 1) {
			t.Errorf("after %d days there are the mirrors %v", c.days, mirrors)
		}
	}
}

// TestUninstalled: when the App was taken off a repository, its session ends, and everything
// of it goes after its time; with the App suspended nothing goes.
func TestUninstalled(t *testing.T) {
	longtest.Leave(t)
	const key = "a key that is not in the database"
	s := newStory(t, greeting, "- calls: [{name: run_terminal_command, arguments: {command: rm -rf build}}]\n")
	s.stop()
	s.cfg.LogKey = secret.Value(key)
	s.cfg.Retain.Uninstalled = policy.Duration(24 * time.Hour)
	s.start()
	s.say("you", "/agent remove the greeting")
	s.until("awaiting approval")
	clock := time.Duration(0)
	mirrors := func() []string {
		list, err := filepath.Glob(filepath.Join(s.cfg.Data, "mirrors", "*.git"))
		must(t, err)
		return list
	}
	later := func(there func() bool) {
		t.Helper()
		clock += 25 * time.Hour
		s.restart(func(o *serverOptions) {
			o.now, o.missed = func() time.Time { return time.Now().Add(clock) }, 200*time.Millisecond // it may be at work in the first look
		})
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		must(t, waitFor(ctx, there))
	}
	must(t, s.gh.Uninstall(storyRepo, true))
	later(func() bool {
		return strings.Contains(s.log.String(), "the App is no longer installed on repositories")
	})
	later(func() bool { return len(mirrors()) == 0 })
	s.stop()
	out, code := auditOf(t, s, key, "--signed")
	if code != exitDone || !strings.Contains(out, "0 logs, 0 broken\n") || !strings.HasSuffix(out, "sessions deleted (retention.uninstalled, 1 days after the App was uninstalled from "+storyRepo+"): 1 signed\n") {
		t.Errorf("%d\n%s", code, out)
	}
}
