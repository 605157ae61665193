package telemetry

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

// TestPagesInTheLog: a line of the log names a web page that a server answered with, and does not
// quote it.
func TestPagesInTheLog(t *testing.T) {
	t.Parallel()
	page := "<!DOCTYPE html>\n<html>\n<head><TITLE>502\n Bad  Gateway</TITLE></head>\n<body>" + strings.Repeat("Sorry. ", 500) + "</body></html>"
	const untitled = "<html><body>\nSorry\x1b[31m\n"
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"page":        {fmt.Errorf("status 502: %w", errors.New(page)), `err="status 502: (a web page: 502 Bad Gateway)"`},
		"within":      {errors.New("it said " + page + ", twice"), `err="it said (a web page: 502 Bad Gateway), twice"`},
		"quoted":      {fmt.Errorf("it said %q", page), `err="it said \"(a web page: 502 Bad Gateway)\""`},
		"cut off":     {errors.New("status 502: " + page[:40]), `err="status 502: (a web page: 502)"`},
		"no title":    {errors.New(untitled), `err="(a web page: <html><body>)"`},
		"long":        {errors.New("<html>" + strings.Repeat("x", 9000)), `err="(a web page: <html>` + strings.Repeat("x", 194) + `)"`},
		"no page":     {errors.New("a < b"), `err="a < b"`},
		"other words": {errors.New("html <htmlx>"), `err="html <htmlx>"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out strings.Builder
			l := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{ReplaceAttr: CutPages}))
			l.Error("work on thread", "attempt", 3, "err", c.err)
			if got := strings.TrimSpace(out.String()); !strings.HasSuffix(got, "attempt=3 "+c.want) {
				t.Errorf("the log has\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}
