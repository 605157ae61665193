package lsp

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

// document is a text that the server was given. At is the time at which it was, see [Client.time].
type document struct {
	text    []byte
	version int
	at      int
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
		c.passed()
		c.version++ //control:versions-of-one-document
		d = &document{text: bytes.Clone(text), version: c.version, at: c.time}
		c.docs[path] = d
		return "textDocument/didOpen", map[string]any{"textDocument": map[string]any{
			"uri":        uriOf(path),
			"languageId": c.cfg.Server.language(path),
			"version":    d.version,
			"text":       plainText(text),
		}}
	}
	if bytes.Equal(d.text, text) {
		return "", nil
	}
	d.text = bytes.Clone(text)
	c.passed()
	return "textDocument/didChange", c.next(path, d)
}

// next gives a document its next version. The caller holds c.mu.
func (c *Client) next(path string, d *document) map[string]any {
	c.version++
	d.version, d.at = c.version, c.time
	return map[string]any{
		"textDocument":   map[string]any{"uri": uriOf(path), "version": d.version},
		"contentChanges": []any{map[string]any{"text": plainText(d.text)}},
		"forceRebuild":   true, // clangd: also if only another file changed
	}
}

// passed notes that the server is told of a change. The caller holds c.mu.
func (c *Client) passed() {
	c.time++
	c.wake()
}

// renew sends the text of a document again, as a new version, if any file was changed since it was
// sent: a list for the earlier version may be older than that change.
func (c *Client) renew(ctx context.Context, path string) error {
	c.order.Lock()
	defer c.order.Unlock()
	c.mu.Lock()
	d := c.docs[path]
	if d == nil || d.at == c.time {
		c.mu.Unlock()
		return nil
	}
	params := c.next(path, d)
	c.mu.Unlock()
	return c.rpc.Notify(ctx, "textDocument/didChange", params)
}

// plainText returns a text with a question mark for each byte that is no UTF-8: one unit in each encoding, as
// [encoding.column] counts it.
func plainText(text []byte) string {
	if utf8.Valid(text) {
		return string(text)
	}
	var b strings.Builder
	b.Grow(len(text))
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		if r == utf8.RuneError && size == 1 { //control:bytes-of-no-character
			r = '?'
		}
		b.WriteRune(r)
		text = text[size:]
	}
	return b.String()
}

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
	if _, wasOpen = c.docs[path]; wasOpen {
		c.passed()
	}
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
	c.order.Lock()
	defer c.order.Unlock()
	c.mu.Lock()
	c.passed()
	for _, e := range events {
		if _, open := c.docs[e.Path]; !open || e.Kind != Changed {
			c.unread = true
		}
	}
	c.mu.Unlock()
	return c.rpc.Notify(ctx, "workspace/didChangeWatchedFiles", map[string]any{"changes": list})
}

// language returns the protocol's name of a file's language.
func (s Server) language(path string) string { return s.Languages[strings.ToLower(filepath.Ext(path))] }
