package mcp

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

// Limits of a server's definitions.
const (
	maxTools       = 1000
	maxPages       = 50
	maxDefinitions = 2 << 20 // bytes of all of them
	maxDescription = 2000    // bytes of one description, for the model
	maxSchema      = 32 << 10
	maxResources   = 50
	maxURI         = 300
)

// errChanged means that a server's tools differ from the frozen ones.
var errChanged = errors.New(
	"its tools are no longer those with which this session began, so it is not used: the next session asks about them",
)

// freeze lists the tools, and freezes them or compares them with the frozen ones. l.mu is
// held.
func (l *link) freeze(ctx context.Context) error {
	l.meter.n.Store(0)
	raw, err := l.tools(ctx)
	if err != nil {
		return err
	}
	digest := digestOf(raw)
	if l.Frozen != nil && l.Frozen.Down == "" {
		if l.Frozen.Digest != digest { //control:mcp-frozen
			return errChanged
		}
		return nil
	}
	got := session.Server{Name: l.Name, Digest: digest, Resources: l.resources(ctx)}
	for _, t := range raw {
		if !fits(t.Name) || l.Offers != nil && !l.Offers(t.Name) {
			continue
		}
		schema := cleanSchema(t.InputSchema)
		if _, err := compile(schema); err != nil {
			l.log.WarnContext(ctx, "schema of an MCP tool not usable", "tool", t.Name, "err", err)
			got.Unfit = append(got.Unfit, t.Name)
			continue
		}
		got.Tools = append(
			got.Tools,
			session.ServerTool{Name: t.Name, Description: cleanText(t.Description), Schema: schema},
		)
	}
	l.Frozen = &got
	return nil
}

// tools returns the server's tools by name.
func (l *link) tools(ctx context.Context) ([]*mcp.Tool, error) {
	if init := l.cs.InitializeResult(); init == nil || init.Capabilities == nil || init.Capabilities.Tools == nil {
		return nil, nil // a server of resources alone
	}
	var out []*mcp.Tool
	seen := map[string]bool{}
	size, cursor := 0, ""
	for range maxPages {
		page, err := l.cs.ListTools(ctx, &mcp.ListToolsParams{Cursor: cursor})
		if err != nil {
			return nil, err
		}
		for _, t := range page.Tools {
			if t == nil || seen[t.Name] {
				return nil, errors.New("it lists one tool twice")
			}
			seen[t.Name] = true
			data, err := json.Marshal(t)
			if err != nil {
				return nil, err
			}
			size += len(data)
			out = append(out, t)
			if len(out) > maxTools || size > maxDefinitions { //control:mcp-too-many-tools
				return nil, fmt.Errorf(
					"it lists more than %d tools, or more than %d MiB of them",
					maxTools,
					maxDefinitions>>20,
				)
			}
		}
		if cursor = page.NextCursor; cursor == "" {
			slices.SortFunc(out, func(a, b *mcp.Tool) int { return strings.Compare(a.Name, b.Name) })
			return out, nil
		}
	}
	return nil, fmt.Errorf("its list of tools has more than %d pages", maxPages)
}

// resources returns the URIs of the first resources, and the templates of others, whose
// parts in braces the model fills in. A server without any is no fault.
func (l *link) resources(ctx context.Context) (out []string) {
	init := l.cs.InitializeResult()
	if init == nil || init.Capabilities == nil || init.Capabilities.Resources == nil {
		return nil
	}
	add := func(uri string) {
		if uri != "" && len(uri) <= maxURI && len(out) < maxResources {
			out = append(out, untrusted.BreakMarks(untrusted.EscapeLine(uri)))
		}
	}
	if page, err := l.cs.ListResourceTemplates(ctx, &mcp.ListResourceTemplatesParams{}); err == nil {
		for _, r := range page.ResourceTemplates {
			if r != nil {
				add(r.URITemplate)
			}
		}
	}
	if page, err := l.cs.ListResources(ctx, &mcp.ListResourcesParams{}); err == nil {
		for _, r := range page.Resources {
			if r != nil {
				add(r.URI)
			}
		}
	}
	return out
}

// digestOf identifies tools by all that a server says of them, as it was sent.
func digestOf(list []*mcp.Tool) string {
	h := sha256.New()
	for _, t := range list {
		one := *t
		one.Meta, one.Icons = nil, nil
		data, err := json.Marshal(one)
		if err != nil {
			data = []byte(t.Name)
		}
		fmt.Fprintf(h, "%d %s\n", len(data), data)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// fits reports whether a tool's name is one that the protocol allows.
func fits(name string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./"
	return name != "" && len(name) <= 128 && strings.Trim(name, letters) == ""
}

// cleanText makes a server's words safe for a prompt: without invisible characters and
// control marks of chat templates, and short.
func cleanText(s string) string {
	s, _ = untrusted.CleanPlain(strings.ToValidUTF8(s, "�"))
	s = untrusted.BreakMarks(strings.TrimSpace(s)) //control:mcp-marks
	if len(s) > maxDescription {
		s = strings.ToValidUTF8(s[:maxDescription], "") + "…"
	}
	return s
}

// cleanSchema returns a schema with its texts cleaned.
func cleanSchema(schema any) json.RawMessage {
	data, err := json.Marshal(cleanValue(schema))
	if err != nil || schema == nil || len(data) > maxSchema || !bytes.HasPrefix(data, []byte("{")) {
		return json.RawMessage(`{"type":"object"}`)
	}
	return data
}

func cleanValue(v any) any {
	switch v := v.(type) {
	case string:
		return cleanText(v)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = cleanValue(v[i])
		}
		return out
	case map[string]any:
		out := map[string]any{}
		for k, x := range v {
			out[cleanText(k)] = cleanValue(x)
		}
		return out
	}
	return v
}
