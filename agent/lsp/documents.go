package lsp

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
)

// document is a text that the server was given.
type document struct {
	text    []byte
	version int
}

// Sync gives the server the present text of a file. It opens the document or, if the text
// differs from the last one, changes it with a rising version.
func (c *Client) Sync(ctx context.Context, path string, text []byte) error {
	c.order.Lock()
	defer c.order.Unlock()
	method, params := c.sync(path, text)
	if method == "" {
		return nil
	}
	return c.rpc.Notify(ctx, method, params)
}

// sync records a text, and returns the notification that tells it.
func (c *Client) sync(path string, text []byte) (method string, params map[string]any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	d := c.docs[path]
	if d == nil {
		c.docs[path] = &document{text: bytes.Clone(text), version: 1}
		return "textDocument/didOpen", map[string]any{"textDocument": map[string]any{
			"uri":        uriOf(path),
			"languageId": c.cfg.Server.language(path),
			"version":    1,
			"text":       validText(text),
		}}
	}
	if bytes.Equal(d.text, text) {
		return "", nil
	}
	d.text, d.version = bytes.Clone(text), d.version+1
	return "textDocument/didChange", map[string]any{
		"textDocument":   map[string]any{"uri": uriOf(path), "version": d.version},
		"contentChanges": []any{map[string]any{"text": validText(text)}},
	}
}

func validText(text []byte) string { return strings.ToValidUTF8(string(text), "\uFFFD") }

// Forget closes a document that is gone.
func (c *Client) Forget(ctx context.Context, path string) error {
	c.order.Lock()
	defer c.order.Unlock()
	if !c.forget(path) {
		return nil
	}
	return c.rpc.Notify(ctx, "textDocument/didClose", map[string]any{
		"textDocument": map[string]any{"uri": uriOf(path)},
	})
}

func (c *Client) forget(path string) (wasOpen bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, wasOpen = c.docs[path]
	delete(c.pushed, path)
	delete(c.docs, path)
	return wasOpen
}

// Opened returns the paths of the open documents.
func (c *Client) Opened() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := make([]string, 0, len(c.docs))
	for path := range c.docs {
		out = append(out, path)
	}
	return out
}

// Event is a change of a file on the disk.
type Event struct {
	Path string
	Kind EventKind
}

// EventKind is the kind of an [Event], with the numbers of the protocol.
type EventKind int

// The kinds of events.
const (
	Created EventKind = 1 + iota
	Changed
	Deleted
)

// Watched tells the server about changes on the disk, in one batch.
func (c *Client) Watched(ctx context.Context, events []Event) error {
	list := make([]any, len(events))
	for i, e := range events {
		list[i] = map[string]any{"uri": uriOf(e.Path), "type": e.Kind}
	}
	return c.rpc.Notify(ctx, "workspace/didChangeWatchedFiles", map[string]any{"changes": list})
}

// language returns the protocol's name of a file's language.
func (s Server) language(path string) string { return s.Languages[strings.ToLower(filepath.Ext(path))] }
