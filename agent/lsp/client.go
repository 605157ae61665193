// Package lsp speaks with language servers. It knows the protocol and no workspace: a server
// is a stream of bytes, and a document is a path with a text that the caller provides.
//
// Two contracts make its answers reliable. A [Diagnosis] says if it is about the files that
// the server was last told of; others than fresh ones are not to be shown as true. And an answer across
// files is asked for only after the server has ended its announced work, see
// [Client.Ready]; the caller compares it with a search for the word.
//
//	client.go       the connection: handshake, calls, requests of the server
//	documents.go    texts with versions, and files that changed
//	diagnostics.go  freshness
//	tsserver.go     questions to tsserver behind its language servers
//	navigate.go     definitions, references, symbols, hierarchies
//	position.go     columns in the encoding of the server
//	known.go        the servers that are known by name
//
// The servers run code of the project and are not trusted: sizes and counts are bounded.
package lsp

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"

	"github.com/sourcegraph/jsonrpc2"
)

// Config configures a client. Root is the absolute path of the server's root.
type Config struct {
	Root   string
	Server Server
	Start  time.Duration // limit of the handshake, 0 means [StartTime]
	Call   time.Duration // limit of a request, 0 means [CallTime]
}

// ErrSilent means that the server did not answer in time.
var ErrSilent = errors.New("the language server did not answer in time")

// ErrLacks means that the server does not have a feature.
var ErrLacks = errors.New("the language server does not have this")

// Client is a connection to one server. It is safe for concurrent use.
type Client struct {
	cfg  Config
	rpc  *jsonrpc2.Conn
	wire *frames
	work sync.WaitGroup // answers to requests of the server, see [Client.answers]
	free chan struct{}  // full while [maxAnswers] of them are at work
	enc  encoding
	caps capabilities
	vers string

	asked atomic.Uint64 // requests, which are their IDs; the handshake has 0

	// order keeps the notifications about documents in the order of their versions. It is held
	// while a notification is written, mu is not: a server may write before it reads.
	order sync.Mutex

	mu      sync.Mutex
	closed  bool // no answer begins any longer
	docs    map[string]*document
	pushed  map[string]pushed
	busy    map[string]bool // tokens of work in progress
	ended   time.Time       // of the last work; the zero value means none has ended
	pause   time.Duration   // see [pause]
	pulls   bool            // diagnostics are asked for
	changed chan struct{}   // closed and replaced at each message of the server, and each change
	began   time.Time
	version int  // the highest of any document, also of closed ones
	time    int  // counts the changes of files that the server was told of
	unread  bool // some are on the disk alone
	voided  int  // counts the server's wishes to be asked for diagnostics again
}

// capabilities are the features of a server that are asked for.
type capabilities struct {
	PositionEncoding        string          `json:"positionEncoding"`
	DefinitionProvider      json.RawMessage `json:"definitionProvider"`
	ReferencesProvider      json.RawMessage `json:"referencesProvider"`
	ImplementationProvider  json.RawMessage `json:"implementationProvider"`
	HoverProvider           json.RawMessage `json:"hoverProvider"`
	DocumentSymbolProvider  json.RawMessage `json:"documentSymbolProvider"`
	WorkspaceSymbolProvider json.RawMessage `json:"workspaceSymbolProvider"`
	CallHierarchyProvider   json.RawMessage `json:"callHierarchyProvider"`
	TypeHierarchyProvider   json.RawMessage `json:"typeHierarchyProvider"`
	DiagnosticProvider      json.RawMessage `json:"diagnosticProvider"`
	ExecuteCommandProvider  struct {
		Commands []string `json:"commands"`
	} `json:"executeCommandProvider"`
}

func has(provider json.RawMessage) bool {
	s := string(provider)
	return s != "" && s != "null" && s != "false"
}

// StartTime is the time limit of the handshake, CallTime that of a request.
const (
	StartTime = 30 * time.Second
	CallTime  = 20 * time.Second
)

// Start greets the server at the other end of conn. On failure it closes conn.
func Start(ctx context.Context, conn io.ReadWriteCloser, cfg Config) (*Client, error) {
	c := &Client{
		cfg:     cfg,
		docs:    map[string]*document{},
		pushed:  map[string]pushed{},
		busy:    map[string]bool{},
		changed: make(chan struct{}),
		pause:   pause,
		wire:    &frames{conn: conn, in: bufio.NewReaderSize(conn, 64<<10)},
	}
	c.free = make(chan struct{}, maxAnswers) //control:server-requests-are-bounded
	ready := make(chan struct{})
	handle := handlerFunc(func(ctx context.Context, req *jsonrpc2.Request) {
		<-ready
		c.handle(ctx, req)
	})
	c.rpc = jsonrpc2.NewConn(context.WithoutCancel(ctx), c.wire, handle, jsonrpc2.SetLogger(silent{}))
	close(ready)
	err := c.greet(ctx)
	if err != nil {
		c.Close()
		return nil, fmt.Errorf("start %s: %w", cfg.Server.Name, err)
	}
	return c, nil
}

func (c *Client) greet(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(c.cfg.Start, StartTime))
	defer cancel()
	folder := map[string]any{"uri": uriOf(c.cfg.Root), "name": filepath.Base(c.cfg.Root)}
	var res struct {
		Capabilities capabilities `json:"capabilities"`
		ServerInfo   struct {
			Version string `json:"version"`
		} `json:"serverInfo"`
	}
	err := c.rpc.Call(ctx, "initialize", map[string]any{
		"processId":             os.Getpid(),
		"rootUri":               uriOf(c.cfg.Root),
		"workspaceFolders":      []any{folder},
		"capabilities":          offered,
		"initializationOptions": c.cfg.Server.Options,
	}, &res)
	if err != nil {
		return c.explained(ctx, err)
	}
	c.caps, c.vers = res.Capabilities, versionOf(res.ServerInfo.Version)
	if !slices.Contains(c.caps.ExecuteCommandProvider.Commands, c.cfg.Server.TSServer) {
		c.cfg.Server.TSServer = ""
	}
	if c.enc, err = encodingOf(c.caps.PositionEncoding); err != nil {
		return err
	}
	c.mu.Lock()
	c.pulls, c.began = has(c.caps.DiagnosticProvider), time.Now()
	c.mu.Unlock()
	if err := c.rpc.Notify(ctx, "initialized", struct{}{}); err != nil {
		return err
	}
	return c.rpc.Notify(ctx, "workspace/didChangeConfiguration", map[string]any{"settings": c.cfg.Server.Settings})
}

// maxVersion is the maximum size in bytes of a version.
const maxVersion = 60

// versionOf returns a version as a server names it. gopls names that of each of its modules.
func versionOf(text string) string {
	var built struct{ Main struct{ Version string } }
	if json.Unmarshal([]byte(text), &built) == nil && built.Main.Version != "" {
		text = built.Main.Version
	}
	line, _, _ := strings.Cut(text, "\n")
	return strings.ToValidUTF8(line[:min(len(line), maxVersion)], "")
}

// Version returns the version that the server named, "" if it named none.
func (c *Client) Version() string { return c.vers }

// offered are the abilities of this client.
var offered = json.RawMessage(`{"general":{"positionEncodings":["utf-8","utf-16"]},
"window":{"workDoneProgress":true},
"workspace":{"configuration":true,"workspaceFolders":true,"didChangeWatchedFiles":{"dynamicRegistration":true},
"diagnostics":{"refreshSupport":true},"symbol":{}},
"textDocument":{"synchronization":{},"publishDiagnostics":{"versionSupport":true},
"diagnostic":{"dynamicRegistration":true},"definition":{"linkSupport":true},"implementation":{"linkSupport":true},
"references":{},"callHierarchy":{},"typeHierarchy":{},
"hover":{"contentFormat":["markdown","plaintext"]},
"documentSymbol":{"hierarchicalDocumentSymbolSupport":true}}}`)

// Gone returns a channel that is closed when the connection has ended.
func (c *Client) Gone() <-chan struct{} { return c.rpc.DisconnectNotify() }

// Close ends the connection. The caller ends the process.
func (c *Client) Close() {
	_ = c.rpc.Close() // an error means that it has ended already
	<-c.rpc.DisconnectNotify()
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.work.Wait()
}

// Codes that ask for a repetition.
const (
	contentModified = -32801
	serverCancelled = -32802
)

// call makes a request. One that the server drops because it is changing its mind is made again, and one that is
// given up is taken back: the time limit bounds the server's work, too.
func (c *Client) call(ctx context.Context, method string, params, result any) error {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(c.cfg.Call, CallTime))
	defer cancel()
	for try := 1; ; try++ {
		id := jsonrpc2.ID{Num: c.asked.Add(1)}
		err := c.rpc.Call(ctx, method, params, result, jsonrpc2.PickID(id))
		if ctx.Err() != nil { //control:given-up-is-taken-back
			_ = c.rpc.Notify(context.WithoutCancel(ctx), "$/cancelRequest", map[string]any{"id": id}) // it may be gone
		}
		var e *jsonrpc2.Error
		if !errors.As(err, &e) || e.Code != contentModified && e.Code != serverCancelled || try > 8 {
			return c.explained(ctx, err)
		}
		select {
		case <-time.After(time.Duration(try) * 50 * time.Millisecond):
		case <-ctx.Done():
			return c.explained(ctx, ctx.Err())
		}
	}
}

// explained names the timeout of a request, and the end of the connection with its cause.
func (c *Client) explained(ctx context.Context, err error) error {
	switch {
	case err == nil:
	case errors.Is(err, jsonrpc2.ErrClosed):
		if err := c.wire.refused(); err != nil {
			return err
		}
		return errEnded
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fmt.Errorf("%w: %w", ErrSilent, err)
	}
	return err
}

var errEnded = errors.New("it has ended")

// maxAnswers is the maximum number of requests of the server that are answered at a time.
const maxAnswers = 1000

type handlerFunc func(context.Context, *jsonrpc2.Request)

func (f handlerFunc) Handle(ctx context.Context, _ *jsonrpc2.Conn, r *jsonrpc2.Request) { f(ctx, r) }

// handle runs on the reading goroutine: notifications are taken in their order, requests are
// answered beside it.
func (c *Client) handle(ctx context.Context, req *jsonrpc2.Request) {
	params := json.RawMessage("null")
	if req.Params != nil {
		params = *req.Params
	}
	if req.Method == "workspace/diagnostic/refresh" {
		c.mu.Lock()
		c.voided++
		c.wake()
		c.mu.Unlock()
	}
	if !req.Notif {
		c.answers(func() { c.answer(ctx, req.ID, req.Method, params) })
		return
	}
	switch req.Method {
	case "textDocument/publishDiagnostics":
		c.publish(params)
	case "$/progress":
		c.progress(params)
	}
}

// answers runs an answer once there is room for it. After [Client.Close] it does nothing.
func (c *Client) answers(answer func()) {
	select {
	case c.free <- struct{}{}:
	case <-c.rpc.DisconnectNotify():
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	c.work.Go(func() {
		answer()
		<-c.free
	})
}

// answer answers a request of the server: some servers wait for each of them.
func (c *Client) answer(ctx context.Context, id jsonrpc2.ID, method string, params json.RawMessage) {
	var result any
	switch method {
	case "workspace/configuration":
		var err error
		if result, err = c.configuration(params); err != nil {
			_ = c.rpc.ReplyWithError(ctx, id, &jsonrpc2.Error{Code: jsonrpc2.CodeInvalidParams, Message: err.Error()})
			return
		}
	case "client/registerCapability", "client/unregisterCapability":
		c.register(params)
	case "workspace/applyEdit":
		result = map[string]any{"applied": false} //control:servers-edit-nothing
	case "workspace/workspaceFolders":
		result = []any{map[string]any{"uri": uriOf(c.cfg.Root), "name": filepath.Base(c.cfg.Root)}}
	case "window/showDocument":
		result = map[string]any{"success": false}
	case "window/workDoneProgress/create", "window/showMessageRequest",
		"workspace/diagnostic/refresh", "workspace/semanticTokens/refresh", "workspace/inlayHint/refresh",
		"workspace/codeLens/refresh", "workspace/foldingRange/refresh", "workspace/inlineValue/refresh":
	default:
		_ = c.rpc.ReplyWithError(ctx, id, &jsonrpc2.Error{Code: jsonrpc2.CodeMethodNotFound, Message: method})
		return
	}
	_ = c.rpc.Reply(ctx, id, result) // fails only if the server is gone
}

// maxSections is the maximum number of sections of the settings in one request: each is answered with up to all of
// them.
const maxSections = 1000

// configuration returns one value for each section asked for.
func (c *Client) configuration(params json.RawMessage) ([]any, error) {
	var p struct {
		Items []struct {
			Section string `json:"section"`
		} `json:"items"`
	}
	_ = json.Unmarshal(params, &p)  // no items, no values
	if len(p.Items) > maxSections { //control:sections-are-bounded
		return nil, fmt.Errorf("at most %d sections are answered at a time", maxSections)
	}
	out := make([]any, len(p.Items))
	for i, item := range p.Items {
		var at any
		_ = json.Unmarshal(c.cfg.Server.Settings, &at) // none: null
		if item.Section != "" {
			for name := range strings.SplitSeq(item.Section, ".") {
				m, _ := at.(map[string]any)
				at = m[name]
			}
		}
		out[i] = at
	}
	return out, nil
}

// register notes if a server wants to be asked for diagnostics from now on, or no longer.
func (c *Client) register(params json.RawMessage) {
	type methods []struct {
		Method string `json:"method"`
	}
	var p struct {
		More methods `json:"registrations"`
		Less methods `json:"unregisterations"` // as the protocol spells it
	}
	_ = json.Unmarshal(params, &p) // none
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range p.More {
		c.pulls = c.pulls || r.Method == "textDocument/diagnostic"
	}
	for _, r := range p.Less {
		if r.Method == "textDocument/diagnostic" { //control:unregistered
			c.pulls = has(c.caps.DiagnosticProvider)
		}
	}
	c.wake()
}

// maxBusy is the maximum number of kinds of work in progress that are followed.
const maxBusy = 1000

func (c *Client) progress(params json.RawMessage) {
	var p struct {
		Token json.RawMessage `json:"token"`
		Value struct {
			Kind string `json:"kind"`
		} `json:"value"`
	}
	if json.Unmarshal(params, &p) != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case p.Value.Kind == "begin" && len(c.busy) < maxBusy:
		c.busy[string(p.Token)] = true
	case p.Value.Kind == "end":
		delete(c.busy, string(p.Token))
		c.ended = time.Now()
	}
	c.wake()
}

// wake tells the waiting that something has changed. The caller holds c.mu.
func (c *Client) wake() {
	close(c.changed)
	c.changed = make(chan struct{})
}

// grace is the time in which a server announces its first work.
const grace = 700 * time.Millisecond

// pause is the time in which a server that has ended some work begins its next: rust-analyzer
// fetches, builds and indexes one after the other, and finds nothing in between.
const pause = 300 * time.Millisecond

// Ready waits until the server has ended the work that it announced, and begun no other. It
// returns false if the time is up before.
func (c *Client) Ready(ctx context.Context, within time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	for {
		c.mu.Lock()
		idle, changed := len(c.busy) == 0, c.changed
		left := grace - time.Since(c.began)
		if !c.ended.IsZero() {
			left = c.pause - time.Since(c.ended) //control:work-in-stages
		}
		c.mu.Unlock()
		if idle && left <= 0 {
			return true
		}
		if !idle {
			left = within
		}
		t := time.NewTimer(left)
		select {
		case <-changed:
		case <-t.C:
		case <-c.Gone():
			t.Stop()
			return false
		case <-ctx.Done():
			t.Stop()
			return false
		}
		t.Stop()
	}
}

// Busy reports whether the server is at work that it announced.
func (c *Client) Busy() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.busy) > 0
}

func uriOf(path string) string { return (&url.URL{Scheme: "file", Path: path}).String() }

// pathOf returns the path of a URI of a file of this machine, or "". A path with a control character could pass for
// several lines.
func pathOf(uri string) string {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" || !filepath.IsAbs(u.Path) || strings.ContainsFunc(u.Path, unicode.IsControl) {
		return ""
	}
	if u.Host != "" && u.Host != "localhost" { //control:files-of-this-machine
		return ""
	}
	return filepath.Clean(u.Path)
}

type silent struct{}

// Printf drops the messages of the library: errors are returned, too.
func (silent) Printf(string, ...any) {}

// maxMessage is the maximum size in bytes of a message from a server.
const maxMessage = 32 << 20

// frames reads and writes messages with their header.
type frames struct {
	conn io.ReadWriteCloser
	in   *bufio.Reader

	mu  sync.Mutex
	why error // a message was refused, which ends the connection
}

// refused returns the reason for the end of the connection; nil if it ended by itself.
func (f *frames) refused() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.why
}

func (f *frames) refuse(err error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.why = err
	return err
}

// WriteObject implements [jsonrpc2.ObjectStream].
func (f *frames) WriteObject(v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = f.conn.Write(fmt.Appendf(nil, "Content-Length: %d\r\n\r\n%s", len(data), data))
	return err
}

// ReadObject implements [jsonrpc2.ObjectStream]. It refuses messages above [maxMessage].
func (f *frames) ReadObject(v any) error {
	size := -1
	for {
		line, err := f.in.ReadSlice('\n')
		if err != nil {
			return err
		}
		text := strings.TrimSpace(string(line))
		if text == "" {
			break
		}
		if name, value, ok := strings.Cut(text, ":"); ok && strings.EqualFold(name, "Content-Length") {
			if size, err = strconv.Atoi(strings.TrimSpace(value)); err != nil {
				return f.refuse(fmt.Errorf("read header of message: %w", err))
			}
		}
	}
	if size < 0 || size > maxMessage { //control:server-message-size
		return f.refuse(fmt.Errorf("it sent a message of %d bytes, and at most %d are taken", size, maxMessage))
	}
	data := make([]byte, size)
	if _, err := io.ReadFull(f.in, data); err != nil {
		return err
	}
	if err := json.Unmarshal(data, v); err != nil {
		return f.refuse(fmt.Errorf("read message: %w", err))
	}
	return nil
}

// Close implements [jsonrpc2.ObjectStream].
func (f *frames) Close() error { return f.conn.Close() }
