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

// WireVersion is the version of the protocol between [Workspace] and the tool host.
// Both are part of one binary, so a difference means a wrong mount.
const WireVersion = 10

// Methods of the wire. The client calls and the host answers, except for MethodProgress
// and MethodOutput (notifications from the host), MethodCancel and MethodStop
// (notifications from the client), and MethodDial and MethodUp (calls of the host, see
// [Egress]).
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
	MethodOther    = "other" // the changes of another repository
	MethodStrays   = "strays"
	MethodCancel   = "cancel"
	MethodStart    = "start"
	MethodInput    = "input"
	MethodOutput   = "output"
	MethodStop     = "stop"
	MethodListen   = "listen"
	MethodDial     = "dial"
	MethodUp       = "up"
	MethodDown     = "down"

	MethodLanguages = "languages"
	MethodServers   = "servers"
	MethodWarm      = "warm"
	MethodCode      = "code"
	MethodProblems  = "problems"
	MethodChromium  = "chromium"
	MethodPage      = "page"
)

// maxMessage is the maximum size in bytes of a message in either direction: messages
// from the workspace are untrusted.
const maxMessage = 48 << 20

// MaxWrite is the maximum size in bytes of one Write.
const MaxWrite = 16 << 20

// MaxChunk is the maximum size in bytes of one chunk of a file on the wire.
const MaxChunk = 512 << 10

// MaxOutput is the maximum size in bytes of the output kept of one command.
const MaxOutput = 8 << 20

// RunResult is a [CommandResult] with its output as raw bytes.
type RunResult struct {
	CommandResult
	Text []byte `json:"-"`
}

func (r *RunResult) bulk() *[]byte { return &r.Text }

// HelloResult introduces the host.
type HelloResult struct {
	Version int    `json:"version"`
	Root    string `json:"root"` // absolute path of the workspace as seen by commands
}

// PathParams is a path with the options of some calls. Paths are bytes: file names need
// not be UTF-8.
type PathParams struct {
	Path      []byte  `json:"path"`
	Ranges    []Range `json:"ranges,omitempty"`
	Recursive bool    `json:"recursive,omitempty"`
	Max       int     `json:"max,omitempty"`
}

// UsedParams asks for the definitions in files that the others name most often. Time is
// the time limit.
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

// ReadResult is a [File] with its lines as one text: those of all Spans, each
// terminated by a line feed.
type ReadResult struct {
	File
	Spans []Range `json:"spans"` // ascending, To is inclusive
	Text  []byte  `json:"-"`
}

func (r *ReadResult) bulk() *[]byte { return &r.Text }

// unfold splits the text into chunks. It checks the spans, because the workspace is
// untrusted.
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

// ChunkParams asks for bytes of a file, beginning at Offset. A non-empty Stamp must
// match the file's. Raw reads a symlink as its target and ignores .agentignore.
type ChunkParams struct {
	Path   []byte `json:"path"`
	Offset int64  `json:"offset,omitempty"`
	Stamp  string `json:"stamp,omitempty"`
	Limit  int64  `json:"limit,omitempty"` // maximum size of the whole file; 0 means unlimited
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

// ProgressParams carries output of a running command. ID is the id of its request.
type ProgressParams struct {
	ID   uint64 `json:"id"`
	Text string `json:"text"`
}

// CancelParams names a cancelled request.
type CancelParams struct {
	ID uint64 `json:"id"`
}

// WireChange is a [Change] with its path as bytes.
type WireChange struct {
	Path []byte      `json:"path"`
	Kind ChangeKind  `json:"kind"`
	Mode fs.FileMode `json:"mode"`
	Size int64       `json:"size"`
	Why  string      `json:"why,omitempty"`

	Wrote bool `json:"wrote,omitempty"`
}

// StartParams starts a program; the client picks the ID.
type StartParams struct {
	ID uint64 `json:"id"`
	Program
}

// StreamParams carries input or output of a started program, or of a proxy connection.
// End marks the end of the data.
type StreamParams struct {
	ID   uint64 `json:"id"`
	Data []byte `json:"-"`
	End  bool   `json:"end,omitempty"`
	Exit string `json:"exit,omitempty"` // with End from the host: how the program ended
}

func (p *StreamParams) bulk() *[]byte { return &p.Data }

// wireErrors maps codes to the errors that keep their identity.
func wireErrors() map[int64]error {
	return map[int64]error{
		1: ErrNotExist, 2: ErrOutside, 3: ErrIgnored, 4: ErrNotFile, 5: ErrTooLarge, 6: ErrBinary, 7: ErrGone,
		8: fs.ErrExist, 9: fs.ErrPermission, 10: context.DeadlineExceeded, 11: context.Canceled, 12: fs.ErrInvalid,
		13: ErrFull, 14: ErrOther,
	}
}

// encodeError encodes an error for the wire. [errors.Is] gives the same result for the
// decoded error, if the target is one of [wireErrors].
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

// remoteError is an error received over the wire.
type remoteError struct {
	text string
	kind error
}

func (e *remoteError) Error() string { return e.text }
func (e *remoteError) Unwrap() error { return e.kind }

// decodeError reverses encodeError. Other errors mean that the workspace has ended.
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
	if errors.Is(err, jsonrpc2.ErrClosed) {
		return ErrGone
	}
	return fmt.Errorf("%w: %w", ErrGone, err)
}

// Program is a process to run beside the shell, such as a language server or an MCP
// server. It has no terminal. Env is added to the workspace's environment.
type Program struct {
	Argv []string          `json:"argv"`
	Cwd  string            `json:"cwd,omitempty"` // relative; clamped to the root
	Env  map[string]string `json:"env,omitempty"`
}
