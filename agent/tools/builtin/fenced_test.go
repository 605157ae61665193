package builtin

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/tools"
	"github.com/handrail-bot/handrail/agent/workspace"
)

// noShell runs nothing.
type noShell struct{ workspace.Shell }

// TestFencedPages: an output kept between marks is shown between them, page by page.
func TestFencedPages(t *testing.T) {
	const begin, end = `<untrusted n0nce4567890 "log of the MCP server x">`, "</untrusted n0nce4567890>"
	k := tools.NewKit(tools.Config{Shell: noShell{}, Output: func(context.Context, string) (string, bool, error) {
		return begin + "\n" + strings.Repeat("a line\n", 300) + "last\n" + end, true, nil
	}})
	r, err := tools.NewRegistry(shellTools(k)...)
	if err != nil {
		t.Fatal(err)
	}
	tool, _ := r.Find("read_output")
	for args, has := range map[string]string{`{"id":"o1","lines":"1-2"}`: "1 | a line\n2 | a line\n[Lines 1-2 of 301]", `{"id":"o1","search":"last"}`: ">301 | last"} {
		res, err := tool.Run(t.Context(), session.Call{ID: "1", Name: "read_output", Arguments: json.RawMessage(args)}, nil)
		if err != nil || !strings.HasPrefix(res.Content, begin+"\n") || !strings.HasSuffix(res.Content, "\n"+end) || !strings.Contains(res.Content, has) {
			t.Errorf("%s: %q, %v", args, res.Content, err)
		}
	}
}
