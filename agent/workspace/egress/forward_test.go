package egress_test

import (
	"context"
	"log/slog"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/agent/workspace/egress"
)

// TestCargoIsOffline: cargo asks no index in a workspace without a network, and does once there is a way out.
func TestCargoIsOffline(t *testing.T) {
	offline := "CARGO_NET_OFFLINE=true"
	if got := (workspace.Spec{}).Environ(nil); !slices.Contains(got, offline) {
		t.Errorf("without a network: %q", got)
	}
	if got := (workspace.Spec{Network: true}).Environ(nil); slices.Contains(got, offline) {
		t.Errorf("with a network: %q", got)
	}
	if got := (&egress.Forward{}).Environ(); !slices.Contains(got, "CARGO_NET_OFFLINE=false") {
		t.Errorf("with a way out: %q", got)
	}
}

// Where there is another network, a proxy would be no wall.
func TestListen(t *testing.T) {
	all, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	other := ""
	for _, i := range all {
		if i.Flags&net.FlagLoopback == 0 && i.Flags&net.FlagUp != 0 {
			other = i.Name
		}
	}
	if other == "" {
		t.Skip("NEEDS A NETWORK: this machine has none")
	}
	near, far := net.Pipe()
	defer far.Close()
	conn := workspace.NewConn(t.Context(), near, jsonrpc2.HandlerWithError(func(context.Context, *jsonrpc2.Conn, *jsonrpc2.Request) (any, error) { return nil, nil }), slog.New(slog.DiscardHandler))
	defer func() { _ = conn.Close() }()
	f, err := egress.NewForward(t.Context(), conn)
	if err == nil {
		f.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "a network of its own") {
		t.Errorf("beside %s: %v", other, err)
	}
}
