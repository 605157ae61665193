// Package lsptest is a language server small enough for tests. It finds definitions by the words
// "func" and "def", references by whole words, and an error in each line with the word BROKEN or with
// "needs NAME" for a name without definition, all in files that end in .x. It can be told to lie in the ways of
// real servers.
package lsptest

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf16"

	"github.com/sourcegraph/jsonrpc2"
)

// The lies, and other behavior that a server may be told.
const (
	Late      = "late"      // diagnostics come 300 ms after the edit, or the question
	Never     = "never"     // no diagnostics come
	Stale     = "stale"     // those of the text before come, with its version
	Nameless  = "nameless"  // they come without a version
	Pull      = "pull"      // they are to be asked for
	Idle      = "idle"      // they come only if the text has changed
	TSServer  = "tsserver"  // they come without a version, a command gives them, and the disk is read if a command says so
	Beyond    = "beyond"    // they are in lines that the file does not have
	Partial   = "partial"   // references are only looked for in open documents
	Missing   = "missing"   // the last one is never found, in any question across files
	Crash     = "crash"     // the server ends at the first question after a start
	Silent    = "silent"    // no question is answered
	UTF8      = "utf8"      // columns are bytes, and that is said
	UTF7      = "utf7"      // an encoding is said that was not offered
	Modified  = "modified"  // each question has to be asked three times
	Asks      = "asks"      // the server answers only after its own requests were answered
	Busy      = "busy"      // it works for 300 ms first, and knows only open documents until then
	Hungry    = "hungry"    // it takes 200 MB of memory
	Null      = "null"      // each answer is null
	Negative  = "negative"  // lines and columns are negative
	Else      = "else"      // places are no files
	Escaped   = "escaped"   // each byte of a path is escaped
	Later     = "later"     // each question is answered when the next one comes
	Unchanged = "unchanged" // a list that was asked for is said to be that of before
	Twice     = "twice"     // each question is answered a second time, with null
	Early     = "early"     // lists of a high version come before a document is opened
	Former    = "former"    // a document that is opened again gets a list for the version that it had first
	Endless   = "endless"   // work begins with the first question, and does not end
	Huge      = "huge"      // answers begin, and are said to have 40 MiB
	Flood     = "flood"     // each place is named 100 times, in as many columns
	Draft     = "draft"     // an empty list comes first, while work goes on for 300 ms
	Itemless  = "itemless"  // lists have no problems, not even none
	Shifted   = "shifted"   // references are one line below
	Deaf      = "deaf"      // changes on the disk are not heard
	Returns   = "returns"   // a lone carriage return ends a line
	Greedy    = "greedy"    // the server answers once it has been refused 200,000 sections of the settings
	Wavers    = "wavers"    // with each question it wants to be asked for diagnostics, and then no longer
	This      = "this"      // references to a name are also those to "this"
	Guesses   = "guesses"   // the index has every name for each query
	HangUp    = "hang up"   // the server closes its output at the first question, and stays
	Orphan    = "orphan"    // it ends at the first question, and leaves a program that has its output
	Slow      = "slow"      // the handshake ends once there is a file "ready" in the root
	Nulls     = "nulls"     // each list has null as its first item
	Host      = "host"      // files are on another machine
	Drive     = "drive"     // files are on a drive of Windows
	Rangeless = "rangeless" // definitions have only the range around the name, and symbols of the index none
	UTF32     = "utf32"     // columns are characters, and that is said without an offer
	Falling   = "falling"   // after each list come empty ones for version 1, for -1, and for one that is not there yet
	Leaves    = "leaves"    // the server ends well after the handshake
	Turns     = "turns"     // with the first question the server wants to be asked for diagnostics, and pushes none
	Spread    = "spread"    // a name is in 20,000 files that do not exist, too
	Sunken    = "sunken"    // symbols of a file are one line below
	Pieces    = "pieces"    // places come as work in progress, the answer is null
	Parting   = "parting"   // requests come with the end of the connection
	Lengthy   = "lengthy"   // problems have long messages and codes
	Kindless  = "kindless"  // a list that was asked for says no kind, as that of gopls
)

// Server is one server. Ended is called if it crashes; nil does nothing. Wait takes the time of a
// server that is late or busy; nil means 300 ms. Index is a file that gets a line with the method of each
// question, and for each that is taken back; "" means none.
type Server struct {
	Index string
	Lies  string // names with commas between
	Ext   string // extension of its files; "" means .x
	Ended func()
	Wait  func()

	mu    sync.Mutex
	turns bool // diagnostics are to be asked for by now
	conn  *jsonrpc2.Conn
	root  string
	docs  map[string]doc
	known map[string]string // what was on the disk when the server was last told
	busy  bool
	asked int
	timer sync.WaitGroup
	wire  io.WriteCloser
	first map[string]int // first version of documents
	later func()         // answers the question before
	hoard []byte
}

type doc struct {
	text    string
	version int
}

func (s *Server) lies(name string) bool { return slices.Contains(strings.Split(s.Lies, ","), name) }

// Serve serves a client until it hangs up.
func (s *Server) Serve(conn io.ReadWriteCloser) {
	s.docs, s.first, s.wire = map[string]doc{}, map[string]int{}, conn
	stream := jsonrpc2.NewBufferedStream(buffered{bufio.NewReader(conn), conn}, jsonrpc2.VSCodeObjectCodec{})
	ready := make(chan struct{})
	s.conn = jsonrpc2.NewConn(context.Background(), stream, handler(func(ctx context.Context, r *jsonrpc2.Request) {
		<-ready
		s.handle(ctx, r)
	}))
	close(ready)
	<-s.conn.DisconnectNotify()
	s.timer.Wait()
}

type buffered struct {
	io.Reader
	io.WriteCloser
}

type handler func(context.Context, *jsonrpc2.Request)

func (h handler) Handle(ctx context.Context, _ *jsonrpc2.Conn, r *jsonrpc2.Request) { h(ctx, r) }

type params struct {
	RootURI      string          `json:"rootUri"`
	Query        string          `json:"query"`
	ID           json.RawMessage `json:"id"`
	Arguments    []any           `json:"arguments"`
	TextDocument struct {
		URI     string `json:"uri"`
		Version int    `json:"version"`
		Text    string `json:"text"`
	} `json:"textDocument"`
	Changes []struct{ Text string } `json:"contentChanges"`
	Events  []struct {
		URI  string `json:"uri"`
		Type int    `json:"type"`
	} `json:"changes"`
	Position struct{ Line, Character int }
	Item     struct {
		Name string `json:"name"`
	} `json:"item"`
}

func (s *Server) handle(ctx context.Context, r *jsonrpc2.Request) {
	var p params
	if r.Params != nil {
		_ = json.Unmarshal(*r.Params, &p)
	}
	if !r.Notif && r.Method != "initialize" {
		s.timer.Go(func() { s.question(ctx, r, p) })
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	path := pathOf(p.TextDocument.URI)
	switch r.Method {
	case "initialize":
		s.root = pathOf(p.RootURI)
		s.look()
		s.slow()
		_ = s.conn.Reply(ctx, r.ID, map[string]any{
			"capabilities": s.capabilities(), "serverInfo": map[string]any{"name": "fake", "version": "1.2.3"},
		})
		if s.lies(Early) {
			for path := range s.known {
				s.say(ctx, path, 1000)
			}
		}
	case "initialized":
		if s.lies(Leaves) {
			if s.Ended != nil {
				s.Ended()
			}
			_ = s.conn.Close()
			return
		}
		s.begin(ctx)
	case "textDocument/didOpen":
		s.docs[path] = doc{p.TextDocument.Text, p.TextDocument.Version}
		if first, before := s.first[path]; before && s.lies(Former) {
			s.say(ctx, path, first)
		} else {
			s.first[path] = p.TextDocument.Version
		}
		s.push(ctx, path, doc{})
	case "textDocument/didChange":
		was := s.docs[path]
		s.docs[path] = doc{p.Changes[0].Text, p.TextDocument.Version}
		s.push(ctx, path, was)
	case "$/cancelRequest":
		s.index(r.Method + " " + string(p.ID))
	case "textDocument/didClose":
		delete(s.docs, path)
	case "workspace/didChangeWatchedFiles":
		if !s.lies(TSServer) && !s.lies(Deaf) {
			for _, e := range p.Events {
				s.event(pathOf(e.URI), e.Type)
			}
		}
	}
}

// say sends an empty list for a version of a document.
func (s *Server) say(ctx context.Context, path string, version int) {
	_ = s.conn.Notify(ctx, "textDocument/publishDiagnostics", map[string]any{
		"uri": s.uri(path), "version": version, "diagnostics": []any{},
	})
}

// slow waits for a file.
func (s *Server) slow() {
	if !s.lies(Slow) {
		return
	}
	s.index("initialize")
	for range 6000 {
		if _, err := os.Lstat(filepath.Join(s.root, "ready")); err == nil {
			return
		}
		<-time.After(10 * time.Millisecond)
	}
}

// uri returns the URI of a file.
func (s *Server) uri(path string) string {
	switch {
	case s.lies(Else):
		return "jdt://contents" + path + "?=a/b%5C<c"
	case s.lies(Host):
		return "file://elsewhere" + path
	case s.lies(Drive):
		return "file:///c%3A" + path
	case s.lies(Escaped):
		out := "file://"
		for part := range strings.SplitSeq(strings.TrimPrefix(path, "/"), "/") {
			out += "/"
			for _, b := range []byte(part) {
				out += fmt.Sprintf("%%%02x", b)
			}
		}
		return out
	}
	return uriOf(path)
}

func (s *Server) capabilities() map[string]any {
	out := map[string]any{
		"definitionProvider": true, "referencesProvider": true, "implementationProvider": true, "hoverProvider": true,
		"documentSymbolProvider": true, "workspaceSymbolProvider": true, "callHierarchyProvider": true,
	}
	if s.lies(TSServer) {
		out["executeCommandProvider"] = map[string]any{"commands": []string{"typescript.tsserverRequest"}}
	}
	switch {
	case s.lies(UTF8):
		out["positionEncoding"] = "utf-8"
	case s.lies(UTF7):
		out["positionEncoding"] = "utf-7"
	case s.lies(UTF32):
		out["positionEncoding"] = "utf-32"
	}
	if s.lies(Pull) {
		out["diagnosticProvider"] = map[string]any{}
	}
	return out
}

// begin announces the server's first work.
func (s *Server) begin(ctx context.Context) {
	if s.lies(Hungry) {
		s.hoard = make([]byte, 200<<20)
		for i := range s.hoard {
			s.hoard[i] = 1
		}
	}
	if !s.lies(Busy) {
		return
	}
	s.busy = true
	s.work(ctx, "index", func() {
		s.mu.Lock()
		s.busy = false
		s.mu.Unlock()
	})
}

// work announces some work, waits, and ends it with done.
func (s *Server) work(ctx context.Context, token string, done func()) {
	say := func(kind string) {
		_ = s.conn.Notify(ctx, "$/progress", map[string]any{"token": token, "value": map[string]any{"kind": kind}})
	}
	say("begin")
	s.timer.Go(func() {
		s.wait()
		done()
		say("end")
	})
}

// wait takes the time of a server that is late or busy.
func (s *Server) wait() {
	if s.Wait != nil {
		s.Wait()
		return
	}
	<-time.After(300 * time.Millisecond)
}

// event takes a change on the disk. As a real server, it does not read a file that it does not know and that
// is only said to be changed.
func (s *Server) event(path string, kind int) {
	_, known := s.known[path]
	data, err := os.ReadFile(path)
	switch {
	case kind == 3 || err != nil:
		delete(s.known, path)
	case (known || kind == 1) && filepath.Ext(path) == cmp.Or(s.Ext, ".x"):
		s.known[path] = string(data)
	}
}

// look reads the files of the root.
func (s *Server) look() {
	s.known = map[string]string{}
	_ = filepath.WalkDir(s.root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && filepath.Ext(path) == cmp.Or(s.Ext, ".x") {
			data, _ := os.ReadFile(path)
			s.known[path] = string(data)
		}
		return nil
	})
}

// push sends the diagnostics of a document.
func (s *Server) push(ctx context.Context, path string, was doc) {
	if s.lies(Pull) || s.lies(Never) || s.turns {
		return
	}
	d := s.docs[path]
	if s.lies(Idle) && was.text == d.text {
		return
	}
	if s.lies(Stale) && was.version > 0 {
		d = was
	}
	send := s.list(ctx, path, d)
	if s.lies(Draft) {
		s.work(ctx, "draft", send)
		s.say(ctx, path, d.version)
		return
	}
	if s.lies(Late) {
		s.timer.Go(func() {
			s.wait()
			send()
		})
		return
	}
	send()
}

// list returns a function that sends the diagnostics of a text.
func (s *Server) list(ctx context.Context, path string, d doc) func() {
	m := map[string]any{"uri": s.uri(path), "diagnostics": s.broken(d.text)}
	if s.lies(Itemless) {
		m["diagnostics"] = nil
	}
	if !s.lies(Nameless) && !s.lies(TSServer) {
		m["version"] = d.version
	}
	return func() {
		_ = s.conn.Notify(ctx, "textDocument/publishDiagnostics", m)
		if s.lies(Falling) {
			for _, version := range []int{1, -1, d.version + 100} {
				s.say(ctx, path, version)
			}
		}
	}
}

func (s *Server) broken(text string) []any {
	out := s.list0()
	for n, line := range s.lines(text) {
		at := strings.Index(line, "BROKEN")
		if name, ok := strings.CutPrefix(line, "needs "); ok && len(s.places(`\bfunc +`+name+`\b`, false, false)) == 0 {
			at = 0
		}
		if at < 0 {
			continue
		}
		if s.lies(Beyond) {
			n += 1000
		}
		severity := 1
		if strings.HasSuffix(line, "HINT") {
			severity = 4
		}
		d := map[string]any{"range": s.span(n, line, at, 6), "severity": severity, "message": "undefined: BROKEN"}
		if s.lies(Lengthy) {
			d["message"], d["code"] = strings.Repeat("undefined: BROKEN ", 100_000), strings.Repeat("B", 1<<20)
		}
		out = append(out, d)
	}
	return out
}

// list0 returns the beginning of a list.
func (s *Server) list0() []any {
	if s.lies(Nulls) {
		return []any{nil}
	}
	return []any{}
}

// lines returns the lines of a text.
func (s *Server) lines(text string) []string {
	if s.lies(Returns) {
		text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
	}
	return strings.Split(text, "\n")
}

func (s *Server) span(n int, line string, at, length int) map[string]any {
	end := at + length
	switch {
	case s.lies(Negative):
		n, at, end = -5-n, -3-at, -3-end
	case !s.lies(UTF8):
		at, end = len(utf16.Encode([]rune(line[:at]))), len(utf16.Encode([]rune(line[:end])))
	}
	return map[string]any{
		"start": map[string]any{"line": n, "character": at}, "end": map[string]any{"line": n, "character": end},
	}
}

// answers are the right answers to some requests of the server.
var answers = map[string]string{
	"workspace/configuration": "[7]", "workspace/applyEdit": `{"applied":false}`, "client/registerCapability": "null",
}

func (s *Server) question(ctx context.Context, r *jsonrpc2.Request, p params) {
	if s.lies(Silent) {
		return
	}
	s.mu.Lock()
	s.asked++
	n := s.asked
	s.index(r.Method)
	s.mu.Unlock()
	switch {
	case s.lies(Crash):
		if s.Ended != nil {
			s.Ended()
		}
		_ = s.conn.Close()
		return
	case s.lies(HangUp):
		_ = s.wire.Close()
		<-make(chan struct{}) // until it is killed
	case s.lies(Orphan):
		child := exec.Command("sleep", "3600")
		child.Stdout = os.Stdout
		_ = child.Start() // fails only without the program
		if s.Ended != nil {
			s.Ended()
		}
	case s.lies(Modified) && n%3 != 0:
		_ = s.conn.ReplyWithError(ctx, r.ID, &jsonrpc2.Error{Code: -32801, Message: "content modified"})
		return
	case s.lies(Asks):
		for _, method := range []string{
			"workspace/configuration", "client/registerCapability", "window/workDoneProgress/create",
			"workspace/applyEdit", "workspace/workspaceFolders", "window/showMessageRequest",
		} {
			var got json.RawMessage
			err := s.conn.Call(ctx, method, map[string]any{"items": []any{map[string]any{"section": "a.b"}}}, &got)
			want, known := answers[method]
			if err != nil || known && string(got) != want {
				return // it waits for the right answer for ever
			}
		}
		var refused *jsonrpc2.Error
		if err := s.conn.Call(ctx, "window/unheardOf", nil, nil); !errors.As(err, &refused) || refused.Code != -32601 {
			return
		}
		_ = s.conn.Notify(ctx, "$/unheardOf", nil)
	case s.lies(Endless) && n == 1:
		_ = s.conn.Notify(ctx, "$/progress", map[string]any{"token": 7, "value": map[string]any{"kind": "begin"}})
	default:
		if !s.wishes(ctx, r, n) {
			return
		}
	}
	s.mu.Lock()
	result := s.answer(r.Method, p)
	s.mu.Unlock()
	switch {
	case s.lies(Null):
		result = nil
	case s.lies(Pieces):
		_ = s.conn.Notify(ctx, "$/progress", map[string]any{"token": "references", "value": result})
		result = nil
	case s.lies(Huge):
		_, _ = io.WriteString(s.wire, "Content-Length: 41943040\r\n\r\n") // the client ends
		return
	}
	if s.lies(Late) && r.Method == "textDocument/diagnostic" {
		s.wait()
	}
	if s.lies(Later) {
		s.mu.Lock()
		before := s.later
		s.later = func() { _ = s.conn.Reply(ctx, r.ID, result) }
		s.mu.Unlock()
		if before != nil {
			before()
		}
		return
	}
	_ = s.conn.Reply(ctx, r.ID, result)
	if s.lies(Twice) {
		_ = s.conn.Reply(ctx, r.ID, nil)
	}
}

// wishes makes the requests of a server that lies before it answers its n-th question. It returns false if there
// is no answer.
func (s *Server) wishes(ctx context.Context, r *jsonrpc2.Request, n int) bool {
	which := []any{map[string]any{"id": "7", "method": "textDocument/diagnostic"}}
	register := func() error {
		return s.conn.Call(ctx, "client/registerCapability", map[string]any{"registrations": which}, nil)
	}
	switch {
	case s.lies(Greedy):
		items := make([]struct{}, 200_000)
		err := s.conn.Call(ctx, "workspace/configuration", map[string]any{"items": items}, nil)
		var refused *jsonrpc2.Error
		return errors.As(err, &refused)
	case s.lies(Wavers):
		if r.Method == "textDocument/diagnostic" {
			_ = s.conn.ReplyWithError(ctx, r.ID, &jsonrpc2.Error{Code: -32601, Message: r.Method})
			return false
		}
		err := register()
		return errors.Join(err, s.conn.Call(ctx, "client/unregisterCapability", map[string]any{"unregisterations": which}, nil)) == nil
	case s.lies(Turns) && n == 1:
		s.mu.Lock()
		s.turns = true
		s.mu.Unlock()
		return register() == nil
	case s.lies(Parting):
		for range 200 {
			_, _ = s.conn.DispatchCall(ctx, "workspace/configuration", nil)
		}
	}
	return true
}

// index adds a line to the index.
func (s *Server) index(line string) {
	if s.Index == "" {
		return
	}
	_ = os.MkdirAll(filepath.Dir(s.Index), 0o755) // a missing index fails the test
	if f, err := os.OpenFile(s.Index, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644); err == nil {
		_, _ = f.WriteString(line + "\n")
		_ = f.Close()
	}
}

func (s *Server) answer(method string, p params) any {
	path := pathOf(p.TextDocument.URI)
	switch method {
	case "textDocument/diagnostic":
		if s.lies(Unchanged) {
			return map[string]any{"kind": "unchanged", "resultId": "7"}
		}
		if s.lies(Itemless) {
			return map[string]any{"kind": "full"}
		}
		kind := "full"
		if s.lies(Kindless) {
			kind = ""
		}
		return map[string]any{"kind": kind, "items": s.broken(s.docs[path].text)}
	case "workspace/executeCommand":
		return s.tsserver(p.Arguments)
	case "textDocument/documentSymbol":
		return s.symbols(path, "")
	case "workspace/symbol":
		out := s.list0()
		if s.lies(Guesses) {
			p.Query = ""
		}
		for _, file := range s.files() {
			if _, open := s.docs[file]; !open && s.lies(Partial) {
				continue
			}
			for _, d := range s.symbols(file, p.Query) {
				m, _ := d.(map[string]any)
				if m == nil {
					continue
				}
				at := map[string]any{"uri": s.uri(file), "range": m["selectionRange"]}
				if s.lies(Rangeless) {
					delete(at, "range")
				}
				out = append(out, map[string]any{"name": m["name"], "kind": m["kind"], "location": at})
			}
		}
		if s.lies(Missing) && len(out) > 0 {
			out = out[:len(out)-1]
		}
		return out
	case "callHierarchy/incomingCalls":
		out := s.list0()
		for _, l := range s.places(`\b`+regexp.QuoteMeta(p.Item.Name)+`\(`, s.lies(Partial), s.lies(Missing)) {
			m, _ := l.(map[string]any)
			if m == nil {
				continue
			}
			out = append(out, map[string]any{"fromRanges": []any{m["range"]}, "from": map[string]any{
				"name": "caller", "kind": 12, "uri": m["uri"], "range": m["range"], "selectionRange": m["range"],
			}})
		}
		return out
	case "callHierarchy/outgoingCalls":
		return []any{}
	}
	word := s.word(path, p.Position.Line, p.Position.Character)
	if word == "" {
		return nil
	}
	switch method {
	case "textDocument/hover":
		return map[string]any{"contents": map[string]any{"kind": "markdown", "value": "```go\nfunc " + word + "\n```"}}
	case "textDocument/prepareCallHierarchy":
		at := s.span(p.Position.Line, "", 0, 0)
		return []any{map[string]any{"name": word, "kind": 12, "uri": s.uri(path), "range": at, "selectionRange": at}}
	case "textDocument/references":
		if s.lies(This) {
			return s.places(`\b(?:this|`+regexp.QuoteMeta(word)+`)\b`, false, false)
		}
		return s.places(`\b`+regexp.QuoteMeta(word)+`\b`, s.lies(Partial), s.lies(Missing))
	case "textDocument/definition":
		found := s.places(`\b(?:func|def) +`+regexp.QuoteMeta(word)+`\b`, false, false)
		for i := 0; i < len(found) && s.lies(Rangeless); i++ {
			m := found[i].(map[string]any)
			found[i] = map[string]any{"targetUri": m["uri"], "targetRange": m["range"]}
		}
		return found
	case "textDocument/implementation":
		return s.places(`\b(?:func|def|class .*) +`+regexp.QuoteMeta(word)+`\b`, s.lies(Partial), s.lies(Missing))
	}
	return nil
}

// tsserver answers a request for tsserver.
func (s *Server) tsserver(arguments []any) any {
	body := []any{}
	switch arguments[0] {
	case "reloadProjects":
		s.look()
	case "semanticDiagnosticsSync":
		path, _ := arguments[1].(map[string]any)["file"].(string)
		for n, line := range strings.Split(s.text(path), "\n") {
			if len(s.broken(line)) > 0 {
				body = append(body, map[string]any{
					"start": map[string]any{"line": n + 1, "offset": 1}, "text": "undefined: BROKEN", "category": "error",
				})
			}
		}
	}
	return map[string]any{"type": "response", "body": body}
}

// files returns the files that the server knows at this time.
func (s *Server) files() (out []string) {
	for path := range s.known {
		out = append(out, path)
	}
	slices.Sort(out)
	return out
}

func (s *Server) text(path string) string {
	if d, ok := s.docs[path]; ok {
		return d.text
	}
	return s.known[path]
}

func (s *Server) places(pattern string, openOnly, missing bool) []any {
	re, out := regexp.MustCompile(pattern), s.list0()
	for i := 0; i < 20_000 && s.lies(Spread); i++ {
		out = append(out, map[string]any{"uri": s.uri(fmt.Sprintf("%s/gone%d.x", s.root, i)), "range": s.span(0, "", 0, 0)})
	}
	for _, path := range s.files() {
		if _, open := s.docs[path]; !open && (openOnly || s.busy) {
			continue
		}
		for n, line := range s.lines(s.text(path)) {
			for _, at := range re.FindAllStringIndex(line, -1) {
				named := n
				if s.lies(Shifted) {
					named++
				}
				out = append(out, map[string]any{"uri": s.uri(path), "range": s.span(named, line, at[0], at[1]-at[0])})
				for i := 1; i < 100 && s.lies(Flood); i++ {
					at := map[string]any{"line": n, "character": at[0] + i}
					out = append(out, map[string]any{"uri": s.uri(path), "range": map[string]any{"start": at, "end": at}})
				}
			}
		}
	}
	if missing && len(out) > 0 {
		out = out[:len(out)-1]
	}
	return out
}

func (s *Server) symbols(path, query string) []any {
	out := s.list0()
	for n, line := range s.lines(s.text(path)) {
		m := regexp.MustCompile(`\b(?:func|def) +(\w+)`).FindStringSubmatchIndex(line)
		if m == nil || !strings.Contains(line[m[2]:m[3]], query) {
			continue
		}
		if s.lies(Sunken) {
			n++
		}
		name := s.span(n, line, m[2], m[3]-m[2])
		out = append(out, map[string]any{"name": line[m[2]:m[3]], "kind": 12, "range": name, "selectionRange": name})
	}
	return out
}

func (s *Server) word(path string, line, column int) string {
	lines := s.lines(s.text(path))
	if line >= len(lines) {
		return ""
	}
	at, text := column, lines[line]
	if !s.lies(UTF8) {
		units := utf16.Encode([]rune(text))
		at = len(string(utf16.Decode(units[:min(column, len(units))])))
	}
	for _, m := range regexp.MustCompile(`[\pL_]\w*`).FindAllStringIndex(text, -1) {
		if m[0] <= at && at < m[1] {
			return text[m[0]:m[1]]
		}
	}
	return ""
}

func uriOf(path string) string { return (&url.URL{Scheme: "file", Path: path}).String() }

func pathOf(uri string) string {
	u, err := url.Parse(uri)
	if err != nil {
		return ""
	}
	return u.Path
}
