package dashboard

import (
	"context"
	"flag"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/store"
)

var (
	modules = flag.String("dashboard.modules", "", "node_modules with playwright-core and axe-core; empty skips the browser")
	shots   = flag.String("dashboard.out", "", "directory for pictures; empty means a temporary one")
)

// TestBrowser shows every page in Chromium: in both themes, at 390 and 1,280 pixels, with
// the keyboard alone, without script, and as a stream. `make dashboard-shots` runs it.
func TestBrowser(t *testing.T) {
	if *modules == "" {
		t.Skip("needs -dashboard.modules")
	}
	w := newWorld()
	w.sample()
	w.others()
	w.past("steps", "a", "b", "undo", "c")
	w.hostile(400)
	w.add(w.row("growing", "team/app#20", session.PhaseRunning, time.Second),
		session.NewEvent(session.TypeOpened, 0, session.Opened{Task: session.Task{Session: "growing", Text: "Grow.", Requester: "kim", Mode: "code"}}))
	cfg := w.config()
	cfg.Code, cfg.Command, cfg.Sheets = "shots", w.order, []Sheet{sampleSheet}
	cfg.Diff = func(context.Context, *store.Session, string, string) (string, error) {
		return "diff --git a/calc/add.go b/calc/add.go\n--- a/calc/add.go\n+++ b/calc/add.go\n@@ -3,3 +3,4 @@\n-\treturn a + b\n+\tsum := int64(a) + int64(b)\n+\treturn int32(sum), nil\n }\n", nil
	}
	_, web := start(t, cfg)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	go func() {
		log := w.logs["growing"]
		for i := 1; ctx.Err() == nil && i < 2000; i++ {
			if log.Append(ctx, session.NewEvent(session.TypeAnswer, i, session.Answer{Content: fmt.Sprint("Step ", i)})) != nil {
				return
			}
			select {
			case <-ctx.Done():
			case <-time.After(300 * time.Millisecond):
			}
		}
	}()
	dir := *shots
	if dir == "" {
		dir = t.TempDir()
	}
	out, err := exec.CommandContext(ctx, "node", "testdata/shots.mjs", web.URL, "shots", *modules, dir).CombinedOutput()
	t.Log(strings.TrimSpace(string(out)))
	if err != nil {
		t.Errorf("the browser: %v", err)
	}
}

// sampleSheet is a page of tables with a box.
var sampleSheet = Sheet{
	Path: "configuration", Title: "Configuration", Example: "mode: code\n",
	Tables: func(context.Context, func(string) (bool, error)) ([]Table, error) {
		return []Table{{Title: "The server", Head: []string{"key", "value", "from"}, Rows: [][]string{{"model.name", "qwen3-coder:30b", "line 9"}, {"listen", ":8080", "HANDRAIL_LISTEN"}}}}, nil
	},
	Test: func(text string) []string {
		if strings.Contains(text, "mode: cod\n") {
			return []string{"mode: \"cod\" is no mode; did you mean code?"}
		}
		return nil
	},
}
