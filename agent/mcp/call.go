package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/handrail-bot/handrail/agent/session"
)

// Limits of the pictures of one result: those of read_file.
const (
	maxImage  = 5 << 20
	maxImages = 10 << 20
)

// maxRounds is the maximum number of times that a server asks for input in one call.
const maxRounds = 5

// Call is one call of a tool, or one read of a resource.
type Call struct {
	Server    string
	Tool      string          // "" for a resource
	Arguments json.RawMessage // of the tool
	URI       string          // of the resource
	// Answer returns the requester's answer to a question of an earlier call; nil means
	// that there is none.
	Answer func(text string) (answer string, ok bool)
	// Said receives progress on the calling goroutine; it may be nil.
	Said func(text string)
}

// Result is the result of a call. Text is the server's, neither cleaned nor bounded
// beyond the limit of a response.
type Result struct {
	Text     string
	Images   []session.Blob
	Failed   bool      // the server says that the call failed
	Question *Question // an open question: the call has no result
	Unfit    string    // a question of the server that was not passed on, or an answer that was not
}

// Call makes a call. Its errors are worded for the model, except for those of starting a
// program, which are passed on.
func (h *Hub) Call(ctx context.Context, c Call) (Result, error) {
	l := h.link(c.Server)
	if l == nil {
		return Result{}, fmt.Errorf("there is no MCP server %q", c.Server)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.Frozen != nil && l.Frozen.Down != "" {
		return Result{}, fmt.Errorf("the MCP server %q is not used: %s", l.Name, l.Frozen.Down)
	}
	if err := l.ready(ctx); err != nil {
		return Result{}, fmt.Errorf("MCP server %q: %w", l.Name, err)
	}
	within, cancel := context.WithTimeout(ctx, l.Wait) //control:mcp-call-deadline
	defer cancel()
	a := &asking{tool: c.Tool, answer: c.Answer, said: make(chan string, 8)}
	l.asking.Store(a)
	defer l.asking.Store(nil)
	l.meter.n.Store(0)
	var res Result
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		if c.Tool == "" {
			res, err = l.read(within, c.URI)
			return
		}
		res, err = l.call(within, c, a)
	}()
	for waits := true; waits; {
		select {
		case <-done:
			waits = false
		case text := <-a.said:
			if c.Said != nil {
				c.Said(text)
			}
		}
	}
	if err != nil {
		return Result{}, l.failed(ctx, within, err)
	}
	q, unfit := a.open()
	if q != nil {
		return Result{Question: q}, nil
	}
	res.Unfit = unfit
	return res, nil
}

// ready connects, and compares the tools of a connection that is there already: a server
// may change them at any time, and need not say so. l.mu is held.
func (l *link) ready(ctx context.Context) error {
	if l.cs == nil {
		return l.connect(ctx)
	}
	within, cancel := context.WithTimeout(ctx, l.Patience)
	defer cancel()
	err := l.freeze(within) //control:mcp-rug-pull
	if err == nil || ctx.Err() != nil {
		return err
	}
	l.end()
	if errors.Is(err, errChanged) {
		l.starts = maxStarts
		return err
	}
	return l.connect(ctx) // it ended since the last call
}

// failed words the error of a call. The connection ends unless the server itself answered
// with the error. l.mu is held.
func (l *link) failed(ctx, within context.Context, err error) error {
	var said *jsonrpc.Error
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case within.Err() != nil:
		l.end()
		return fmt.Errorf("the MCP server %q did not answer within %s", l.Name, l.Wait)
	case l.meter.over.Load(), errors.Is(err, mcp.ErrConnectionClosed):
		why := l.why(errors.New("it ended during the call"))
		l.end()
		return fmt.Errorf("the MCP server %q: %w", l.Name, why)
	case errors.As(err, &said):
		return fmt.Errorf("the MCP server %q answered with an error: %s", l.Name, oneLine(said.Message))
	}
	why := l.why(err)
	l.end()
	return fmt.Errorf("the MCP server %q: %s", l.Name, oneLine(why.Error()))
}

// errSampling means that a server asked for more than the requester's words.
var errSampling = errors.New("it asked for a model's answer or for directories, which are not given")

// call calls a tool, and answers the server's requests for input.
func (l *link) call(ctx context.Context, c Call, a *asking) (Result, error) {
	p := &mcp.CallToolParams{Name: c.Tool, Arguments: c.Arguments}
	p.SetProgressToken("1")
	for range maxRounds {
		res, err := l.cs.CallTool(ctx, p)
		if err != nil {
			return Result{}, err
		}
		if !res.NeedsInput() {
			return resultOf(res), nil
		}
		if len(res.InputRequests) == 0 {
			return Result{}, errors.New("it is busy; try again later")
		}
		next := mcp.InputResponseMap{}
		for id, in := range res.InputRequests {
			ask, ok := in.(*mcp.ElicitParams)
			if !ok {
				return Result{}, errSampling
			}
			next[id] = a.ask(l.Name, ask)
			if q, _ := a.open(); q != nil {
				return Result{}, nil
			}
		}
		p.InputResponses, p.RequestState = next, res.RequestState
	}
	return Result{}, fmt.Errorf("it asked for input more than %d times", maxRounds)
}

func (l *link) read(ctx context.Context, uri string) (Result, error) {
	res, err := l.cs.ReadResource(ctx, &mcp.ReadResourceParams{URI: uri})
	if err != nil {
		return Result{}, err
	}
	if res.NeedsInput() {
		return Result{}, errSampling
	}
	var b builder
	for _, c := range res.Contents {
		b.resource(c)
	}
	return b.result(), nil
}

// progress passes the progress of the running call on, and drops it if the last one was not taken.
func (l *link) progress(_ context.Context, req *mcp.ProgressNotificationClientRequest) {
	a := l.asking.Load()
	if a == nil || req.Params == nil {
		return
	}
	text := req.Params.Message
	if text == "" && req.Params.Total > 0 {
		text = fmt.Sprintf("%.0f of %.0f", req.Params.Progress, req.Params.Total)
	}
	if text = oneLine(text); text == "" {
		return
	}
	select {
	case a.said <- text + "\n":
	default:
	}
}

// builder collects the parts of a result.
type builder struct {
	parts  []string
	images []session.Blob
	size   int
}

func (b *builder) result() Result {
	return Result{Text: strings.Join(b.parts, "\n"), Images: b.images}
}

func resultOf(res *mcp.CallToolResult) Result {
	var b builder
	for _, c := range res.Content {
		switch c := c.(type) {
		case *mcp.TextContent:
			b.parts = append(b.parts, c.Text)
		case *mcp.ImageContent:
			b.image("picture", c.Data)
		case *mcp.EmbeddedResource:
			b.resource(c.Resource)
		case *mcp.ResourceLink:
			b.parts = append(b.parts, fmt.Sprintf("[resource %s: %s]", oneLine(c.URI), oneLine(c.Name)))
		case *mcp.AudioContent:
			b.parts = append(b.parts, fmt.Sprintf("[sound, %d bytes: not shown]", len(c.Data)))
		default:
			b.parts = append(b.parts, "[a part of an unknown kind: not shown]")
		}
	}
	if len(b.parts)+len(b.images) == 0 && res.StructuredContent != nil {
		if data, err := json.MarshalIndent(res.StructuredContent, "", "  "); err == nil {
			b.parts = append(b.parts, string(data))
		}
	}
	out := b.result()
	out.Failed = res.IsError
	return out
}

func (b *builder) resource(c *mcp.ResourceContents) {
	switch {
	case c == nil:
	case len(c.Blob) == 0:
		b.parts = append(b.parts, fmt.Sprintf("[resource %s]\n%s", oneLine(c.URI), c.Text))
	default:
		b.image("resource "+oneLine(c.URI), c.Blob)
	}
}

// image attaches a picture. Its kind is that of its bytes, not the one that the server
// says.
func (b *builder) image(name string, data []byte) {
	kind := http.DetectContentType(data)
	switch {
	case !strings.HasPrefix(kind, "image/"):
		b.parts = append(b.parts, fmt.Sprintf("[%s, %d bytes, no text and no picture: not shown]", name, len(data)))
	case len(data) > maxImage || b.size+len(data) > maxImages:
		b.parts = append(b.parts, fmt.Sprintf("[%s, %d bytes: too large to attach]", name, len(data)))
	default:
		b.size += len(data)
		b.images = append(b.images, session.Blob{Name: name, Type: kind, Data: data})
		b.parts = append(b.parts, fmt.Sprintf("[%s, %s, %d bytes: attached]", name, kind, len(data)))
	}
}
