// Package workspace defines the place in which an agent's tools work: a disposable copy
// of the code with a small tool host, and nothing else. It has no token, no key, and no
// network unless allowed.
//
// An [Engine] (docker, bwrap, local) opens a [Workspace]. A workspace speaks JSON-RPC
// with the tool host, which is the same for all engines (package host), so there is one
// boundary for files, search and commands.
package workspace

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"syscall"
	"time"
)

// Spec specifies a workspace. All paths are absolute paths of directories on the host.
type Spec struct {
	Session  string            // identifies the workspace; letters, digits, "-"
	Source   string            // base files; never written to
	Over     string            // to lay over Source, with devices 0/0 for deleted files; "" if none; see [Layered]
	Git      string            // to receive the git history, see [GitReady]; read-only inside; "" if none
	Layer    string            // set-up layer: [LayerTree] below Source, [LayerCache] below the caches; "" if none
	LSP      string            // installed language servers, each in a directory of its name; read-only inside; "" if none
	State    string            // for use by the engine; removed by Close unless Keep is set
	Keep     bool              // Close keeps State, with the additions in KeptUpper or KeptTree, and KeptCache
	Others   []Other           // other repositories
	Name     string            // display name of the tree; "Name/a.go" finds "a.go" if there is no entry Name
	Image    string            // container image, docker only; "" means the engine's own
	Pull     bool              // pull a missing image
	Tell     func(string)      `json:"-"` // receives the progress of the pull, in a few words; may be nil
	Patience time.Duration     // time limit for the registry's first response; 0 means none
	Network  bool              // unrestricted network; if false, only Egress
	Egress   Egress            `json:"-"` // nil means no network besides Network
	Env      map[string]string // added to a clean environment; no secrets
	Limits   Limits
}

// Other is another repository in a workspace: the files of Source are in the directory
// Path, read-only, or with Write as a copy that may be changed.
type Other struct {
	Name   string // "owner/name"
	Source string
	Write  bool
}

// OthersDir is the directory of the other repositories, below the root. Like all names that
// begin with ".handrail-" at the root, no change contains it; searches enter it only if
// they begin there.
const OthersDir = ".handrail-repositories"

// Path returns the place of the files, relative to the root.
func (o Other) Path() string { return OthersDir + "/" + o.Name }

// Names in [Spec.Git]: the initial files of the repository inside, the objects that it
// reads in place, and the marker files for a complete history and for a failure. From the
// beginning there are patterns of gitignore(5) below those of the .gitignore files, and a
// marker file if all patterns match in upper and lower case.
const (
	GitIgnored  = "ignored"
	GitCaseless = "caseless"
	GitFiles    = "git"
	GitObjects  = "objects"
	GitReady    = "ready"
	GitFailed   = "failed"
)

// Names in [Spec.Layer].
const (
	LayerTree  = "tree"
	LayerCache = "cache"
)

// Names in a kept [Spec.State]: the additions to the tree if it was an overlay, the
// complete tree if it was a copy, and the caches.
const (
	KeptUpper = "upper"
	KeptTree  = "tree"
	KeptCache = "cache"
)

// Limits are the resource limits of a workspace. Zero fields mean those of
// [DefaultLimits].
type Limits struct {
	MemoryBytes int64
	Pids        int64
	CPUs        float64
	DiskBytes   int64         // additions on the server's disk: changes of the tree, and caches
	Command     time.Duration // time limit of one command
}

// MaxCommand is the maximum time of a command that got more time by an approval.
const MaxCommand = time.Hour

// DefaultLimits are the limits used if the configuration sets none.
var DefaultLimits = Limits{MemoryBytes: 4 << 30, Pids: 512, CPUs: 2, DiskBytes: 5 << 30, Command: 10 * time.Minute}

// Engine opens workspaces. Check returns nil if it can, or an error that names the
// missing prerequisites. Open returns a ready workspace; it is empty if Source is.
// Engines are safe for concurrent use.
type Engine interface {
	Name() string
	Check(ctx context.Context) error
	Open(ctx context.Context, spec Spec) (*Workspace, error)
}

// Layered is an engine with overlays: a [Spec] with Over costs it no more than one
// without.
type Layered interface {
	Layers() bool
}

// Imaged is an engine that supports images chosen by a project.
type Imaged interface {
	Images() bool
	OnMachine(ctx context.Context) bool // whether workspaces without an image use this machine's programs
}

// Bounded is an engine that describes how it enforces limits.
type Bounded interface {
	Bounds(ctx context.Context) Bounds
}

// Builder is an engine that builds images.
type Builder interface {
	// HasImage reports whether an image is there.
	HasImage(ctx context.Context, name string) (bool, error)
	// Build builds an image. An error that wraps [ErrBuild] is one of the Dockerfile's.
	Build(ctx context.Context, b Build) error
}

// Build is the building of an image. Its commands run as root of a container, with the
// engine's ordinary rights and no network but that of Beside.
type Build struct {
	Image   string            // its name
	Text    string            // the Dockerfile
	From    []string          // images on this machine that it names; none may have instructions for builds from it
	Files   string            // directory of the repository's files
	Dir     string            // directory below Files, with slashes, to copy from
	Target  string            // stage to build; "" means the last
	Args    map[string]string // build arguments
	Network bool              // unrestricted network
	Beside  string            // session of an open workspace whose network the commands have; "" means none
	Limits  Limits            // memory and processors count
	Tell    func(string)      // receives the steps; may be nil
}

// ErrBuild is the error of a Dockerfile that cannot be built.
var ErrBuild = errors.New("the image cannot be built")

// Identified is an engine that identifies the programs of a workspace. Equal strings
// mean equal programs.
type Identified interface {
	Programs(ctx context.Context, spec Spec) (string, error)
}

// Bounds describes the enforcement of limits on this machine.
type Bounds struct {
	How     string
	Missing []string // limits that are not enforced
}

// Errors for callers to test. They survive the wire.
var (
	ErrNotExist = fs.ErrNotExist
	ErrOutside  = errors.New("path is outside the workspace")
	ErrIgnored  = errors.New("path is excluded by .agentignore")
	ErrNotFile  = errors.New("not a regular file")
	ErrTooLarge = errors.New("file is too large")
	ErrBinary   = errors.New("file is binary")
	ErrGone     = errors.New("the workspace has ended")
	ErrOther    = errors.New("another repository, which is here for reading")
)

// ErrNoImage means that a container image is unavailable. Its text suggests a remedy.
var ErrNoImage = errors.New("there is no image")

// DefaultImage is the default image of workspaces in containers.
const DefaultImage = "handrail-workspace:local"

// ErrFull is the system's error for a full disk. It survives the wire, too.
const ErrFull = syscall.ENOSPC

// Range is a range of lines, 1-based and inclusive. To 0 means the end. Column is the
// first character, 1-based, to read of its first line; 0 means the first.
type Range struct {
	From   int `json:"from"`
	To     int `json:"to"`
	Column int `json:"column,omitempty"`
}

// File is the result of Read: lines without their terminators, in chunks with the
// number of their first line. Long lines are cut (Cut).
type File struct {
	Path   string  `json:"path"` // slash-separated, relative to the root
	Size   int64   `json:"size"`
	Lines  int     `json:"lines"` // number of lines in the whole file
	Chunks []Chunk `json:"chunks,omitempty"`
	Binary bool    `json:"binary,omitempty"` // if set, there are no Chunks
	Cut    bool    `json:"cut,omitempty"`    // Chunks is incomplete because of size limits
	More   string  `json:"more,omitempty"`   // why the file has more than Lines; "" if it has not
}

// Chunk is a run of lines that begins at line From.
type Chunk struct {
	From  int      `json:"from"`
	Lines []string `json:"lines"`
}

// Entry is one file or directory in a listing. The path of a directory ends in "/".
type Entry struct {
	Path string `json:"path"`
	Size int64  `json:"size"`
}

// MaxLeft is the number of entries beyond its limit at which a listing stops: to count all takes as long as
// to list them.
const MaxLeft = 1000

// Listing is the result of List. Left is the number of entries beyond the limit, at most [MaxLeft].
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
	Context int    `json:"context,omitempty"` // number of lines around a match
	Max     int    `json:"max,omitempty"`     // maximum number of matches; 0 means 200
}

// Matches is the answer to a [Query]. Left is the number of matches beyond the limit.
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
// or path, ignoring case. A glob without a directory matches names at any depth. A glob
// that ends in "/" matches directories.
type NameQuery struct {
	Pattern string `json:"pattern"`
	Path    string `json:"path,omitempty"` // directory to look in
	Max     int    `json:"max,omitempty"`  // maximum number of entries; 0 means 100
}

// Names is the answer to a [NameQuery], best match first. Directories end in "/". Left
// is the number of paths beyond the limit. Near means that only similar names exist.
type Names struct {
	Paths []string `json:"paths"`
	Left  int      `json:"left,omitempty"`
	Near  bool     `json:"near,omitempty"`
}

// OutlineQuery asks for the definitions in a file, or in all files of a directory.
type OutlineQuery struct {
	Path string `json:"path,omitempty"`
	Glob string `json:"glob,omitempty"` // for a directory: only files that match, doublestar
	Max  int    `json:"max,omitempty"`  // maximum bytes of the definitions; 0 means the default
}

// Outline is the answer to an [OutlineQuery]. For a directory it has the most important
// definitions, with direct files before those in subdirectories.
type Outline struct {
	Files   []FileOutline `json:"files"`
	More    int           `json:"more,omitempty"`    // number of files of which no definition fitted
	Left    int           `json:"left,omitempty"`    // number of definitions that did not fit
	Unknown []string      `json:"unknown,omitempty"` // extensions of unknown languages
	Unread  int           `json:"unread,omitempty"`  // number of files not read, because there are too many
}

// FileOutline has the definitions of one file, ordered by line.
type FileOutline struct {
	Path string       `json:"path"`
	How  string       `json:"how"` // parser that found them
	Defs []Definition `json:"defs"`
	Left int          `json:"left,omitempty"`
}

// Definition is a definition. Text is its first line without the beginning of a body.
// Depth is the number of enclosing definitions.
type Definition struct {
	Line  int    `json:"line"`
	Depth int    `json:"depth,omitempty"`
	Text  string `json:"text"`
}

// Used is a definition with the number of other files that contain its name.
type Used struct {
	Path  string `json:"path"`
	Name  string `json:"name"`
	Files int    `json:"files"`
}

// Command is a command for the session's shell. With NoGit it finds no repository if none was made
// before: to make one takes a second in a tree of 50,000 files.
type Command struct {
	Line    string        `json:"line"`
	Cwd     string        `json:"cwd,omitempty"` // relative; clamped to the root
	Timeout time.Duration `json:"timeout,omitempty"`
	NoGit   bool          `json:"no_git,omitempty"`
}

// CommandResult is the result of a command. Output is stdout and stderr without escape
// sequences; beyond [MaxOutput], Cut bytes in the middle are missing.
type CommandResult struct {
	Output   string        `json:"-"`
	Exit     int           `json:"exit"` // -1 if it did not exit by itself
	TimedOut bool          `json:"timed_out,omitempty"`
	Cut      int64         `json:"cut,omitempty"`
	Duration time.Duration `json:"duration"`
	Restart  bool          `json:"restart,omitempty"`  // the shell died and was replaced; its state (directory, variables) is lost
	Ended    string        `json:"ended,omitempty"`    // why all processes were ended, such as too much memory; "" if they were not
	Dir      string        `json:"dir,omitempty"`      // present directory of the shell, relative to the root; "" if the shell ended
	Left     string        `json:"left,omitempty"`     // directory left because it is gone or outside of the root; then Dir is the root
	Refused  []string      `json:"-"`                  // refused network accesses since the previous command, with reasons
	Pipeline []int         `json:"pipeline,omitempty"` // exit codes of the last pipeline of the line; empty if the shell does not report them
}

// ChangeKind is the kind of a [Change].
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
	Mode fs.FileMode `json:"mode"` // regular (with execute bits), symlink, or the type of a file with Why
	Size int64       `json:"size"`
	// Why explains why the file cannot be stored, such as "a socket"; empty if it can. A
	// directory with a Why could not be read, so changes below it are unknown. Path is "."
	// if that is the root.
	Why string `json:"why,omitempty"`
	// Wrote means that Write has written the file, so that not only commands did.
	Wrote bool `json:"wrote,omitempty"`
}

// StrayCommit begins the name of a [Stray] that no ref leads to; the commit's id follows.
const StrayCommit = "the commit "

// Stray is a ref of the repository in a workspace, or a commit, with work that the files do
// not have. Paths are some of its files; More counts the others.
type Stray struct {
	Ref     string   `json:"ref"` // full name
	Commits int      `json:"commits"`
	Paths   []string `json:"paths,omitempty"`
	More    int      `json:"more,omitempty"`
}

// Files is the part of a workspace that file tools use. Paths are relative to the root,
// with slashes; absolute ones inside the root are accepted. Nothing outside the root
// can be reached, by symlink or otherwise.
type Files interface {
	Read(ctx context.Context, path string, ranges ...Range) (File, error)
	ReadAll(ctx context.Context, path string, limit int64) ([]byte, fs.FileMode, error)
	Write(ctx context.Context, path string, data []byte) error
	Remove(ctx context.Context, path string) error
	List(ctx context.Context, path string, recursive bool, limit int) (Listing, error)
}

// Searcher finds text, file names, and definitions.
type Searcher interface {
	Search(ctx context.Context, q Query) (Matches, error)
	Find(ctx context.Context, q NameQuery) (Names, error)
	Outline(ctx context.Context, q OutlineQuery) (Outline, error)
}

// Shell runs commands in one persistent shell per workspace. progress, if not nil,
// receives output as it arrives, from one goroutine.
type Shell interface {
	Run(ctx context.Context, cmd Command, progress func(chunk string)) (CommandResult, error)
}

// Changer reports the differences from the base. Content returns the bytes of a created
// or modified path: the content of a file, or the target of a symlink. Unlike ReadAll
// it ignores .agentignore. Readlink returns the target of a symlink, or "" for a file.
type Changer interface {
	Changes(ctx context.Context) ([]Change, error)
	Content(ctx context.Context, path string) (io.ReadCloser, error)
	Readlink(ctx context.Context, path string) (string, error)
}
