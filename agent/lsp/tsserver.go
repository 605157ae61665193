package lsp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/sourcegraph/jsonrpc2"
)

// tsserver is the command of the language servers for TypeScript that passes a request on to
// tsserver, which does the work behind them.
const tsserver = "typescript.tsserverRequest"

// tsDiagnostic is a problem in the form of tsserver. Lines and offsets are 1-based, offsets count units of
// UTF-16.
type tsDiagnostic struct {
	Start    tsPlace         `json:"start"`
	Text     string          `json:"text"`
	Code     json.RawMessage `json:"code"`
	Category string          `json:"category"`
}

type tsPlace struct {
	Line   int `json:"line"`
	Offset int `json:"offset"`
}

// severities are the severities of tsserver's categories.
var severities = map[string]int{"error": 1, "warning": 2, "message": 3, "suggestion": 4}

// askTSServer asks for the diagnostics of a document. tsserver takes the texts in the order in which they
// were sent, and checks when it is asked.
func (c *Client) askTSServer(ctx context.Context, path string) (out []wireDiagnostic, err error) {
	if err := c.reload(ctx); err != nil {
		return nil, err
	}
	for _, command := range []string{"syntacticDiagnosticsSync", "semanticDiagnosticsSync"} {
		var res struct {
			Type string          `json:"type"`
			Body *[]tsDiagnostic `json:"body"`
		}
		if err := c.tell(ctx, command, map[string]any{"file": path}, nil, &res); err != nil {
			return nil, err
		}
		if res.Body == nil {
			return nil, fmt.Errorf("tsserver gave %q for %s", res.Type, command)
		}
		for _, d := range *res.Body {
			at := position{d.Start.Line - 1, d.Start.Offset - 1}
			out = append(out, wireDiagnostic{
				Range:    &span{Start: at, End: at},
				Severity: severities[d.Category],
				Code:     d.Code,
				Source:   "typescript",
				Message:  d.Text,
			})
		}
	}
	return out, nil
}

// reload makes tsserver read the files again if some changed on the disk alone: it would notice by itself,
// but later.
func (c *Client) reload(ctx context.Context) error {
	if c.cfg.Server.TSServer == "" {
		return nil
	}
	c.mu.Lock()
	unread := c.unread
	c.unread = false
	c.mu.Unlock()
	if !unread { //control:disk-is-read-again
		return nil
	}
	err := c.tell(ctx, "reloadProjects", nil, map[string]any{"expectsResult": false}, nil)
	var failed *jsonrpc2.Error
	if errors.As(err, &failed) {
		return nil // typescript-language-server has passed it on, and fails since it has no answer
	}
	if err != nil {
		c.mu.Lock()
		c.unread = true
		c.mu.Unlock()
	}
	return err
}

// tell passes a request on to tsserver.
func (c *Client) tell(ctx context.Context, command string, args, options any, result any) error {
	return c.call(ctx, "workspace/executeCommand", map[string]any{
		"command": c.cfg.Server.TSServer, "arguments": []any{command, args, options},
	}, result)
}
