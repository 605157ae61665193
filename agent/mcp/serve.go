package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/handrail-bot/handrail/agent/session"
)

// Serve is the other side of the protocol: it offers tools on a connection until that ends.
// call makes a call, and is called concurrently.
func Serve(
	ctx context.Context,
	conn io.ReadWriteCloser,
	list []session.ServerTool,
	call func(ctx context.Context, tool string, args []byte) (text string, failed bool),
) {
	s := mcp.NewServer(&mcp.Implementation{Name: "handrail", Version: "1"}, &mcp.ServerOptions{
		Logger: slog.New(slog.DiscardHandler),
	})
	for _, t := range list {
		tool := &mcp.Tool{Name: t.Name, Description: t.Description, InputSchema: t.Schema}
		s.AddTool(tool, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			args := bytes.TrimSpace(req.Params.Arguments)
			if len(args) == 0 || string(args) == "null" {
				args = json.RawMessage("{}")
			}
			text, failed := call(ctx, t.Name, args)
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}, IsError: failed}, nil
		})
	}
	_ = s.Run(ctx, &mcp.IOTransport{Reader: conn, Writer: conn, MaxLineLength: maxFrame}) // it ends with the connection
}
