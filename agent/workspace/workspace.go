// Package workspace describes where an agent's tools work: in a disposable copy of
// the code with a small tool host, and nothing else. There is no token, no key,
// and no network unless allowed.
//
// An [Engine] (docker, bwrap, local) opens a [Workspace]; a workspace speaks
// JSON-RPC with the tool host, which is the same in all of them (package
// host), so there is one boundary for files, search and commands.
package workspace

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"syscall"
	"time"
)

// Spec says what to open.
type Spec struct {
	Session  string            // names the workspace; letters, digits, "-"
	Source   string            // absolute path of the host directory with the base files; never written to
	Over     string            // of one to lay over Source, with devices 0/0 for what is gone; "" for none; see [Layered]
	Git      string            // of one that comes to hold the past of the source, see [GitReady]; never written to inside; "" for none
	Layer    string            // of one that a set-up filled: [LayerTree] lies below Source, [LayerCache] below the caches; never written to; "" for none
	State    string            // absolute path of a directory that the engine may fill; removed by Close, unless Keep
	Keep     bool              // Close leaves State, with what was added in KeptUpper or KeptTree, and KeptCache
	Name     string            // how people call the tree, such as the repository's name; "Name/a.go" finds "a.go" when there is no Name
	Image    string            // container image, docker only; "" for the engine's own
	Pull     bool              // get the image where it is missing
	Tell     func(string)      `json:"-"` // is told how far that is, in a few words; nil for nobody
	Patience time.Duration     // how long a registry may take to answer; 0 for as long as it likes
	Network  bool              // false: no network at all, or only what Egress lets through
	Egress   Egress            `json:"-"` // nil: no way out besides Network
	Env      map[string]string // added to a clean environment; never secrets
	Limits   Limits
}

// Names in [Spec.Git]: the files that a repository inside begins with, the objects that
// it reads where they are, and the file that comes when all of it is there, or when
// nothing will be.
const (
	GitFiles   = "git"
	GitObjects = "objects"
	GitReady   = "ready"
	GitFailed  = "failed"
)

// Names in [Spec.Layer].
const (
	LayerTree  = "tree"
	LayerCache = "cache"
)

// Names in a [Spec.State] that was kept: what was added to the tree where that was an
// overlay, all of the tree where it was a copy, and the caches.
const (
	KeptUpper = "upper"
	KeptTree  = "tree"
	KeptCache = "cache"
)

// Limits is what the workspace may use. Zero values mean the defaults of
// [DefaultLimits].
type Limits struct {
	MemoryBytes int64
	Pids        int64
	CPUs        float64
	DiskBytes   int64         // of what is added on the server's disk: the tree's changes and caches
	Command     time.Duration // longest run of one command
}

// DefaultLimits are the limits where the configuration is silent.
var DefaultLimits = Limits{MemoryBytes: 4 << 30, Pids: 512, CPUs: 2, DiskBytes: 5 << 30, Command: 10 * time.Minute}

// Engine opens workspaces. Check returns nil when it can, or an error that
// tells what to install. Open returns a ready workspace, an empty directory
// when Source is empty. Engines are safe for concurrent use.
type Engine interface {
	Name() string
	Check(ctx context.Context) error
	Open(ctx context.Context, spec Spec) (*Workspace, error)
}

// Layered is an engine that lays overlays: a [Spec] with Over costs it no more than one
// without.
type Layered interface {
	Layers() bool
}

// Imaged is an engine whose workspaces may be made of images that a project chooses.
type Imaged interface {
	Images() bool
	OnMachine(ctx context.Context) bool // without one they run on this machine's own programs
}

// Bounded is an engine that tells how it holds workspaces to their limits.
type Bounded interface {
	Bounds(ctx context.Context) Bounds
}

// Identified is an engine that tells what programs a workspace would have. The same word
// means the same programs.
type Identified interface {
	Programs(ctx context.Context, spec Spec) (string, error)
}

// Bounds is how the limits are kept on this machine.
type Bounds struct {
	How     string
	Missing []string // limits that are not kept
}

// Errors that callers branch on. They survive the wire.
var (
	ErrNotExist = fs.ErrNotExist
	ErrOutside  = errors.New("path is outside the workspace")
	ErrIgnored  = errors.New("path is excluded by .agentignore")
	ErrNotFile  = errors.New("not a regular file")
	ErrTooLarge = errors.New("file is too large")
	ErrBinary   = errors.New("file is binary")
	ErrGone     = errors.New("the workspace has ended")
)

// ErrNoImage means that a container image is not to be had. Its text tells what to do.
var ErrNoImage = errors.New("there is no image")

// DefaultImage is what workspaces in containers run in when nothing else is known.
const DefaultImage = "handrail-workspace:local"

// ErrFull is what the system says when a disk has no room. It survives the
// wire, too.
const ErrFull = syscall.ENOSPC

// Range is a span of lines, 1-based and inclusive. To 0 means to the end. Column is the
// character, 1-based, from which its first line is read; 0 means the first.
type Range struct {
	From   int `json:"from"`
	To     int `json:"to"`
	Column int `json:"column,omitempty"`
}

// File is what Read returns: lines without their terminators, with the line
// number of the first of each range. Long lines are cut (Cut).
type File struct {
	Path   string  `json:"path"` // slash-separated, relative to the root
	Size   int64   `json:"size"`
	Lines  int     `json:"lines"` // lines in the whole file
	Chunks []Chunk `json:"chunks,omitempty"`
	Binary bool    `json:"binary,omitempty"` // no Chunks then
	Cut    bool    `json:"cut,omitempty"`    // something was left out of Chunks for size
	More   string  `json:"more,omitempty"`   // why the file goes on behind Lines; "" where that is all
}

// Chunk is a run of lines from line From on.
type Chunk struct {
	From  int      `json:"from"`
	Lines []string `json:"lines"`
}

// Entry is one file or directory in a listing. Path ends in "/" for a
// directory.
type Entry struct {
	Path string `json:"path"`
	Size int64  `json:"size"`
}

// Listing is what List returns; Left is how many entries the cap left out.
type Listing struct {
	Base    string  `json:"base"`
	Entries []Entry `json:"entries"`
	Left    int     `json:"left,omitempty"`
}

// Query is a search. Regex patterns are RE2.
type Query struct {
	Pattern string `json:"pattern"`
	Regex   bool   `json:"regex,omitempty"`
	Path    string `json:"path,omitempty"`    // directory or file to search in
	Glob    string `json:"glob,omitempty"`    // only files that match, doublestar
	Context int    `json:"context,omitempty"` // lines around a match
	Max     int    `json:"max,omitempty"`     // matches, 0 for 200
}

// Matches is the answer to a [Query]. Left counts matches beyond the cap.
type Matches struct {
	Files []FileMatches `json:"files"`
	Left  int           `json:"left,omitempty"`
}

// FileMatches groups the lines shown from one file in ascending order.
type FileMatches struct {
	Path  string      `json:"path"`
	Lines []MatchLine `json:"lines"`
}

// MatchLine is one line of a search result; Hit is false for context.
type MatchLine struct {
	N    int    `json:"n"`
	Text string `json:"text"`
	Hit  bool   `json:"hit,omitempty"`
}

// NameQuery asks for files by name. Pattern is a glob (doublestar), or a part of a name
// or path in any case. A glob without a directory is one of names at any depth, and one
// that ends in "/" finds directories.
type NameQuery struct {
	Pattern string `json:"pattern"`
	Path    string `json:"path,omitempty"` // directory to look in
	Max     int    `json:"max,omitempty"`  // entries, 0 for 100
}

// Names is the answer to a [NameQuery], what fits best first. Directories end in "/".
// Left counts what the cap left out. Near says that nothing has the name, and that these are typing errors away.
type Names struct {
	Paths []string `json:"paths"`
	Left  int      `json:"left,omitempty"`
	Near  bool     `json:"near,omitempty"`
}

// OutlineQuery asks for the definitions in a file, or in all files of a directory.
type OutlineQuery struct {
	Path string `json:"path,omitempty"`
	Glob string `json:"glob,omitempty"` // of a directory only files that match, doublestar
	Max  int    `json:"max,omitempty"`  // bytes of what is told of definitions, 0 for 7,000
}

// Outline is the answer to an [OutlineQuery]: of a directory what matters most, the
// files in it before those in directories below.
type Outline struct {
	Files   []FileOutline `json:"files"`
	More    int           `json:"more,omitempty"`    // files with definitions of which none fitted
	Left    int           `json:"left,omitempty"`    // definitions that did not fit
	Unknown []string      `json:"unknown,omitempty"` // endings of names of files whose language is not known
	Unread  int           `json:"unread,omitempty"`  // files that nobody looked at, since there are so many
}

// FileOutline is the definitions of one file, by line.
type FileOutline struct {
	Path string       `json:"path"`
	How  string       `json:"how"` // what found them
	Defs []Definition `json:"defs"`
	Left int          `json:"left,omitempty"`
}

// Definition is a definition: the line that it is on, without what begins a body. Depth
// is how many others it is in.
type Definition struct {
	Line  int    `json:"line"`
	Depth int    `json:"depth,omitempty"`
	Text  string `json:"text"`
}

// Used is a definition with the number of files, beside its own, that have its name in
// them.
type Used struct {
	Path  string `json:"path"`
	Name  string `json:"name"`
	Files int    `json:"files"`
}

// Command is one command for the session's shell.
type Command struct {
	Line    string        `json:"line"`
	Cwd     string        `json:"cwd,omitempty"` // relative; clamped to the root
	Timeout time.Duration `json:"timeout,omitempty"`
}

// CommandResult is how a command ended. Output is combined stdout and stderr
// without escape sequences, capped at [MaxOutput] in the middle (Cut bytes left out).
type CommandResult struct {
	Output   string        `json:"-"`
	Exit     int           `json:"exit"` // -1 when it did not exit by itself
	TimedOut bool          `json:"timed_out,omitempty"`
	Cut      int64         `json:"cut,omitempty"`
	Duration time.Duration `json:"duration"`
	Restart  bool          `json:"restart,omitempty"` // the shell died and was replaced; its state (directory, variables) is lost
	Ended    string        `json:"ended,omitempty"`   // why everything that ran was ended, such as too much memory; "" where it was not
	Dir      string        `json:"dir,omitempty"`     // where the shell stands now, relative to the root; "" where it ended
	Left     string        `json:"left,omitempty"`    // where it stood, when that is outside of the root or gone: then Dir is the root
	Refused  []string      `json:"-"`                 // what of the network was not reached since the command before, and why
	Pipeline []int         `json:"pipeline,omitempty"` // exit codes of the last pipeline of the line, in order; empty if the shell does not tell them
}

// ChangeKind says what happened to a path since the base.
type ChangeKind string

// The kinds of changes. A rename is a delete and a create.
const (
	Created  ChangeKind = "create"
	Modified ChangeKind = "modify"
	Deleted  ChangeKind = "delete"
)

// Change is one path that differs from the base.
type Change struct {
	Path string      `json:"path"`
	Kind ChangeKind  `json:"kind"`
	Mode fs.FileMode `json:"mode"` // regular (with execute bits), symlink, or what it is that Why is about
	Size int64       `json:"size"`
	// Why says why what lies at Path cannot be kept, such as "a socket"; empty
	// for what can. A directory with a Why could not be read: what is below it
	// is not known. Path is "." when that is the root.
	Why string `json:"why,omitempty"`
}

// Files is the part of a workspace that file tools use.
// Paths are relative to the root with slashes; absolute ones inside the root
// are accepted. Nothing outside the root can be reached, by symlink or
// otherwise.
type Files interface {
	Read(ctx context.Context, path string, ranges ...Range) (File, error)
	ReadAll(ctx context.Context, path string, limit int64) ([]byte, fs.FileMode, error)
	Write(ctx context.Context, path string, data []byte) error
	Remove(ctx context.Context, path string) error
	List(ctx context.Context, path string, recursive bool, limit int) (Listing, error)
}

// Searcher finds text, files by their names, and what files define.
type Searcher interface {
	Search(ctx context.Context, q Query) (Matches, error)
	Find(ctx context.Context, q NameQuery) (Names, error)
	Outline(ctx context.Context, q OutlineQuery) (Outline, error)
}

// Shell runs commands in one persistent shell per workspace. progress, when
// not nil, is given output as it comes, from one goroutine.
type Shell interface {
	Run(ctx context.Context, cmd Command, progress func(chunk string)) (CommandResult, error)
}

// Changer reports what differs from the base. Content gives the bytes of a
// created or modified path: file content, or a symlink's target. Unlike ReadAll it
// ignores .agentignore. Readlink gives the target of a symlink, and "" for a file.
type Changer interface {
	Changes(ctx context.Context) ([]Change, error)
	Content(ctx context.Context, path string) (io.ReadCloser, error)
	Readlink(ctx context.Context, path string) (string, error)
}
