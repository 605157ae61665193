package main

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/handrail-bot/handrail/agent/mcp"
	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/agent/workspace/egress"
	"github.com/handrail-bot/handrail/cmd/config"
	"github.com/handrail-bot/handrail/cmd/doctor"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/secret"
)

// serverTransport returns the transport to the URL of an MCP server: through a proxy of
// its own, whose list has this one host, with the headers of this one server.
func serverTransport(
	m policy.Server,
	inside map[string]string,
	headers map[string]secret.Value,
	log *slog.Logger,
) (http.RoundTripper, error) {
	//control:mcp-allowlist
	way, err := egress.New(
		egress.Config{Key: "mcp.servers", Hosts: []string{m.Host()}, Inside: inside, Log: log},
	)
	if err != nil {
		return nil, err
	}
	own := map[string]string{}
	for name, value := range headers {
		own[name] = value.Reveal()
	}
	return mcp.Headers(throughProxy(way), own), nil
}

// throughProxy returns a transport whose connections are served by an egress.
func throughProxy(way workspace.Egress) http.RoundTripper {
	return &http.Transport{
		Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: workspace.ProxyAddress}),
		DialContext: func(context.Context, string, string) (net.Conn, error) {
			near, far := net.Pipe()
			go way.Serve(context.Background(), far) //nolint:contextcheck // it lasts until either end is closed
			return near, nil
		},
		DisableKeepAlives:      true,
		MaxResponseHeaderBytes: 256 << 10,
		ForceAttemptHTTP2:      true,
	}
}

// mcpServersOf reports the MCP servers of a configuration. Those at URLs are asked for
// their tools; programs run only inside a workspace.
func mcpServersOf(ctx context.Context, cfg config.Server) (out []doctor.Finding) {
	for _, name := range slices.Sorted(maps.Keys(cfg.Policy.MCP.Servers)) {
		m := cfg.Policy.MCP.Servers[name]
		f := doctor.Finding{
			Name:   "MCP server",
			OK:     true,
			Detail: fmt.Sprintf("%s: %s, in the workspace", name, m.Command),
		}
		if m.URL != "" {
			f = mcpServerAt(ctx, cfg, name, m)
		}
		out = append(out, f)
	}
	return out
}

func mcpServerAt(ctx context.Context, cfg config.Server, name string, m policy.Server) doctor.Finding {
	f := doctor.Finding{
		Name:   "MCP server",
		Remedy: "Sessions go on without it. Check its address, its headers, and workspace.inside if it is inside a network.",
	}
	start := time.Now()
	way, err := serverTransport(m, cfg.Policy.Workspace.Inside, cfg.ServerHeaders[name], slog.New(slog.DiscardHandler))
	if err != nil {
		f.Detail = fmt.Sprintf("%s: %v", name, err)
		return f
	}
	hub := mcp.New([]mcp.Server{{Name: name, URL: m.URL, HTTP: way, Offers: m.Offers}}, nil)
	defer hub.Close()
	for _, s := range hub.List(ctx) {
		f.Millis = time.Since(start).Milliseconds()
		if s.Down != "" {
			f.Detail = fmt.Sprintf("%s: %s: %s", name, m.URL, s.Down)
			continue
		}
		f.OK, f.Remedy, f.Detail = true, "", fmt.Sprintf("%s: %s, %d tools", name, m.URL, len(s.Tools))
		if left := s.LeftOut(); left != "" {
			f.Detail += "; " + left
		}
	}
	return f
}
