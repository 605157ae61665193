package main

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/policy/longtest"
)

// maxLooks is the number of looks in a row, a quarter of a second apart, at a server without any
// work after which nothing more is expected of it.
var maxLooks = flag.Int("looks", 120, "looks at an idle server before a story fails")

var errIdle = errors.New("the server has nothing left to do, and what is waited for did not come")

// waiting returns the context of a wait for effects of the server. It ends before the patience
// does if they cannot come any more: the model refused a request, or the server stays without
// work. Each look includes an answer of the server, so that a busy machine makes it later.
func (s *stage) waiting() (context.Context, func()) {
	ctx, cancel := context.WithTimeout(context.Background(), s.patience())
	ctx, stop := context.WithCancelCause(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		stop(s.watch(ctx))
	}()
	return ctx, func() {
		stop(nil)
		cancel()
		<-done
	}
}

// watch returns the reason why a wait is over, or nil if ctx ends.
func (s *stage) watch(ctx context.Context) error {
	last := ""
	for idle := 0; idle < *maxLooks; {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(250 * time.Millisecond):
		}
		if s.model != nil && s.model.refused() > 0 {
			return s.model.wrong()
		}
		now, ok := s.records(ctx)
		if idle++; !ok || now != last {
			last, idle = now, 0
		}
	}
	return errIdle
}

// records returns figures that change with all work of the server, and whether it has none now
// or within a minute.
func (s *stage) records(ctx context.Context) (now string, idle bool) {
	file := filepath.Join(s.data, "handrail.db")
	if _, err := os.Stat(file); s.server == nil || s.workflows != nil || err != nil {
		return "", false
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+"/readyz/deliveries", nil)
	if err != nil {
		return "", false
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil || resp.Body.Close() != nil || resp.StatusCode != http.StatusOK {
		return "", false
	}
	at := url.URL{Scheme: "file", OmitHost: true, Path: file, RawQuery: "mode=ro&_pragma=busy_timeout(5000)"}
	db, err := sql.Open("sqlite", at.String())
	if err != nil {
		return "", false
	}
	defer func() { _ = db.Close() }()
	var open int
	err = db.QueryRowContext(ctx, `SELECT
		(SELECT COUNT(*) FROM leases WHERE owner <> '' OR wanted <> 0) +
		(SELECT COUNT(*) FROM deliveries WHERE done IS NULL) +
		(SELECT COUNT(*) FROM river_job WHERE finalized_at IS NULL AND datetime(scheduled_at) < datetime('now', '+1 minute')),
		(SELECT COALESCE(MAX(seq), 0) FROM deliveries) || ' ' || (SELECT COALESCE(MAX(id), 0) FROM river_job) || ' ' ||
		(SELECT COUNT(*) FROM events) || ' ' || (SELECT COALESCE(MAX(n), 0) FROM intents) || ' ' ||
		(SELECT COALESCE(SUM(epoch), 0) FROM leases)`).Scan(&open, &now)
	return now, err == nil && open == 0
}

// TestStoryEndsEarly: a story that waits for what cannot come fails at once, and says why.
func TestStoryEndsEarly(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	const begins = "github repo\nmodel model.yaml\nserve\nissue kim 'Say it'\ncomment kim 1 '/agent say it'\n"
	const script = "-- repo/greet.sh --\necho Hello\n-- model.yaml --\nmodel: {name: scripted, tools: true, context: 32768}\nturns:\n"
	const said = `- {calls: [{name: attempt_completion, arguments: {result: Said, no_change_reason: Said}}]}` + "\n"
	for name, tt := range map[string]struct{ commands, turns, want string }{
		"refused": {"until 1 'Said'\n", `- {when: {contains: [another word]}, say: "Said. [TASK_COMPLETE]"}` + "\n", "request 1: "},
		"pattern": {"until 1 'Nothing was said'\n", said, errIdle.Error()},
		"turn":    {"until 1 'Said'\n", said + `- {say: "More. [TASK_COMPLETE]"}` + "\n", errIdle.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			must(t, os.WriteFile(filepath.Join(dir, "story.txtar"), []byte(begins+tt.commands+script+tt.turns), 0o600))
			run := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestScripts$", "-stories", dir, "-looks", "12")
			out, err := run.CombinedOutput()
			if err == nil || !strings.Contains(string(out), tt.want) {
				t.Errorf("%v, and it says\n%s\nwant %q", err, out, tt.want)
			}
		})
	}
}
