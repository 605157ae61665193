package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/sourcegraph/jsonrpc2"
)

// WireVersion is the version of the protocol between [Workspace] and the tool
// host; both come out of one binary, so a difference means a wrong mount.
const WireVersion = 6

// Methods of the wire. The client calls, the host answers; MethodProgress and
// MethodOutput are notifications from the host, MethodCancel and MethodStop
// notifications from the client. MethodDial and MethodUp are the host's calls: see
// [Egress].
const (
	MethodHello    = "hello"
	MethodRead     = "read"
	MethodChunk    = "chunk"
	MethodWrite    = "write"
	MethodRemove   = "remove"
	MethodList     = "list"
	MethodSearch   = "search"
	MethodFind     = "find"
	MethodOutline  = "outline"
	MethodUsed     = "used"
	MethodRun      = "run"
	MethodProgress = "progress"
	MethodChanges  = "changes"
	MethodCancel   = "cancel"
	MethodStart    = "start"
	MethodInput    = "input"
	MethodOutput   = "output"
	MethodStop     = "stop"
	MethodListen   = "listen"
	MethodDial     = "dial"
	MethodUp       = "up"
	MethodDown     = "down"
)

// maxMessage is the largest message in either direction: what comes from the
// workspace is not trusted to be small.
const maxMessage = 48 << 20

// MaxWrite is the most data that one Write takes.
const MaxWrite = 16 << 20

// MaxChunk is the most data in one chunk of a file on the wire.
const MaxChunk = 512 << 10

// MaxOutput is how much of one command's output is kept, in bytes.
const MaxOutput = 8 << 20

// RunResult is a [CommandResult] whose output goes as it is.
type RunResult struct {
	CommandResult
	Text []byte `json:"-"`
}

func (r *RunResult) bulk() *[]byte { return &r.Text }

// HelloResult introduces the host.
type HelloResult struct {
	Version int    `json:"version"`
	Root    string `json:"root"` // absolute path of the workspace as commands see it
}

// PathParams is a path and what some calls need beside it. Paths are bytes:
// file names need not be UTF-8.
type PathParams struct {
	Path      []byte  `json:"path"`
	Ranges    []Range `json:"ranges,omitempty"`
	Recursive bool    `json:"recursive,omitempty"`
	Max       int     `json:"max,omitempty"`
}

// UsedParams asks which definitions in files the others name most often. Time is how long
// that may take.
type UsedParams struct {
	Paths []string      `json:"paths"`
	Time  time.Duration `json:"time"`
	Max   int           `json:"max"`
}

// WriteParams is a file to write.
type WriteParams struct {
	Path []byte `json:"path"`
	Data []byte `json:"-"`
}

func (p *WriteParams) bulk() *[]byte { return &p.Data }

// ReadResult is a [File] whose lines go as one text: those of all Spans, each
// with a line feed after it.
type ReadResult struct {
	File
	Spans []Range `json:"spans"` // ascending, To included
	Text  []byte  `json:"-"`
}

func (r *ReadResult) bulk() *[]byte { return &r.Text }

// unfold puts the lines in their chunks. What comes from the workspace is not
// trusted to fit.
func (r *ReadResult) unfold() (File, error) {
	f := r.File
	f.Chunks = make([]Chunk, 0, len(r.Spans))
	text := strings.ToValidUTF8(string(r.Text), "\uFFFD")
	left, next := strings.Count(text, "\n"), 1
	for _, s := range r.Spans {
		if s.From < next || s.To < s.From || s.To-s.From >= left {
			return File{}, fmt.Errorf("read %s: the tool host sent %d lines for %d-%d", f.Path, left, s.From, s.To)
		}
		lines := make([]string, s.To-s.From+1)
		for i := range lines {
			lines[i], text, _ = strings.Cut(text, "\n")
		}
		left, next = left-len(lines), s.To+1
		f.Chunks = append(f.Chunks, Chunk{From: s.From, Lines: lines})
	}
	return f, nil
}

// ChunkParams asks for bytes of a file from Offset on. Stamp, when not empty,
// must still be the file's. Raw reads a symlink as its target and ignores
// .agentignore.
type ChunkParams struct {
	Path   []byte `json:"path"`
	Offset int64  `json:"offset,omitempty"`
	Stamp  string `json:"stamp,omitempty"`
	Limit  int64  `json:"limit,omitempty"` // largest size of the whole file, 0 for any
	Raw    bool   `json:"raw,omitempty"`
}

// ChunkResult is one piece of a file. More is false for the last one.
type ChunkResult struct {
	Data  []byte      `json:"-"`
	Mode  fs.FileMode `json:"mode"`
	Size  int64       `json:"size"`
	Stamp string      `json:"stamp"`
	More  bool        `json:"more,omitempty"`
}

func (r *ChunkResult) bulk() *[]byte { return &r.Data }

// ProgressParams carries output of the running command with request id ID.
type ProgressParams struct {
	ID   uint64 `json:"id"`
	Text string `json:"text"`
}

// CancelParams names the request that nobody waits for any more.
type CancelParams struct {
	ID uint64 `json:"id"`
}

// WireChange is a [Change] with a path of bytes.
type WireChange struct {
	Path []byte      `json:"path"`
	Kind ChangeKind  `json:"kind"`
	Mode fs.FileMode `json:"mode"`
	Size int64       `json:"size"`
	Why  string      `json:"why,omitempty"`
}

// StartParams starts a program; the client picks the ID.
type StartParams struct {
	ID uint64 `json:"id"`
	Program
}

// StreamParams carries bytes of a started program: its input, its output, or
// with End that there is no more of it. Those of a connection to the proxy go in the same
// form.
type StreamParams struct {
	ID   uint64 `json:"id"`
	Data []byte `json:"-"`
	End  bool   `json:"end,omitempty"`
	Exit string `json:"exit,omitempty"` // with End from the host: how the program ended
}

func (p *StreamParams) bulk() *[]byte { return &p.Data }

// wireErrors pairs the errors that keep their identity with their codes.
func wireErrors() map[int64]error {
	return map[int64]error{
		1: ErrNotExist, 2: ErrOutside, 3: ErrIgnored, 4: ErrNotFile, 5: ErrTooLarge, 6: ErrBinary, 7: ErrGone,
		8: fs.ErrExist, 9: fs.ErrPermission, 10: context.DeadlineExceeded, 11: context.Canceled, 12: fs.ErrInvalid,
		13: ErrFull,
	}
}

// encodeError makes an error fit for the wire. What [errors.Is] says of the
// errors of this package about err it also says of the decoded one.
func encodeError(err error) *jsonrpc2.Error {
	out := &jsonrpc2.Error{Code: jsonrpc2.CodeInternalError, Message: err.Error()}
	for code := int64(1); code <= int64(len(wireErrors())); code++ {
		if errors.Is(err, wireErrors()[code]) {
			out.Code = code
			break
		}
	}
	return out
}

// remoteError is an error that came over the wire.
type remoteError struct {
	text string
	kind error
}

func (e *remoteError) Error() string { return e.text }
func (e *remoteError) Unwrap() error { return e.kind }

// decodeError undoes encodeError; other errors mean that the workspace has gone.
func decodeError(err error) error {
	if err == nil {
		return nil
	}
	var rpc *jsonrpc2.Error
	if errors.As(err, &rpc) {
		return &remoteError{text: rpc.Message, kind: wireErrors()[rpc.Code]}
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrGone, err)
}

// Program is a process to start beside the shell: a language server, an MCP
// server. It has no terminal; Env is added to the workspace's environment.
type Program struct {
	Argv []string          `json:"argv"`
	Cwd  string            `json:"cwd,omitempty"` // relative; clamped to the root
	Env  map[string]string `json:"env,omitempty"`
}
