package main

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/bot/thread"
	"github.com/handrail-bot/handrail/cmd/door"
)

// A demo that fails tells one cause, that of the bot, and one remedy.
func TestDemoFailure(t *testing.T) {
	t.Parallel()
	d := &demo{cmd: &demoCmd{}, server: &server{workspace: "docker"}}
	for body, want := range map[string]string{
		"@you\n\n❌ **failed**\n\nThe session could not\ngo on.\n\nTry again.": ": The session could not go on.",
		"🤷 **no changes**": "",
	} {
		if got := d.causeOf(body); got != want {
			t.Errorf("the cause of %q is %q", body, got)
		}
	}
	if got := d.remedy(fmt.Errorf("wait: %w", context.DeadlineExceeded)); !strings.Contains(got, "--timeout") {
		t.Errorf("no time left: %s", got)
	}
	if got := d.remedy(door.ErrFailed); !strings.Contains(got, "--workspace local") {
		t.Errorf("docker failed: %s", got)
	}
}

// An edited comment is shown as its new lines; a count of steps alone is not shown.
func TestDemoShowsChanges(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	d := &demo{w: &console{out: &out}}
	d.edited(thread.Ref{Number: 1}, "bot", "running\n\n- [ ] a\n- [ ] b\n▸ 1 step", "running\n\n- [x] a\n- [ ] b\n▸ 2 steps")
	d.edited(thread.Ref{Number: 1}, "bot", "running\n▸ 2 steps", "running\n▸ 3 steps")
	if want := "┆ #1 bot edits its comment:\n┆ - [x] a\n"; out.String() != want {
		t.Errorf("shown is\n%s", out.String())
	}
}
