package workspace

import (
	"context"
	"time"
)

// Coder answers questions about code with language servers that run inside the workspace, and
// reports problems in files.
type Coder interface {
	Languages(ctx context.Context, configured []LanguageServer) ([]Language, error)
	Code(ctx context.Context, q CodeQuery) (CodeAnswer, error)
	Problems(ctx context.Context, q ProblemsQuery) ([]FileProblems, error)
}

// LanguageServer is a server that the configuration names. Without a command it is the known
// one of that name.
type LanguageServer struct {
	Name       string   `json:"name"`
	Command    []string `json:"command,omitempty"`
	Extensions []string `json:"extensions,omitempty"` // with or without the dot
}

// Language is a language of the files in the workspace that has a server here.
type Language struct {
	Server     string   `json:"server"`
	Extensions []string `json:"extensions"`
	Index      bool     `json:"index,omitempty"` // the server keeps one on disk, see [Workspace.Warm]
}

// ServerState is the state of a language server that has files in the workspace. Without an
// installed one, it is the first that could be.
type ServerState struct {
	Server     string        `json:"server"`
	Extensions []string      `json:"extensions"`
	Files      int           `json:"files"`
	Installed  bool          `json:"installed"`
	Bundled    bool          `json:"bundled,omitempty"` // it is one of [Spec.LSP]
	Version    string        `json:"version,omitempty"` // as the server names it
	Start      time.Duration `json:"start,omitempty"`   // time that it took to start
	Why        string        `json:"why,omitempty"`     // why it does not start; "" if it does
	Install    string        `json:"install,omitempty"` // command that installs it
}

// CodeAsk is a kind of question about code.
type CodeAsk string

// The questions about code.
const (
	AskOutline         CodeAsk = "outline" // of a file
	AskDefinition      CodeAsk = "definition"
	AskReferences      CodeAsk = "references"
	AskImplementations CodeAsk = "implementations"
	AskSymbol          CodeAsk = "symbol" // by name in the whole workspace
	AskHover           CodeAsk = "hover"
	AskCalls           CodeAsk = "calls"
	AskTypes           CodeAsk = "types"
)

// CodeQuery is a question about code. A position is a name, a line, or a line and a character,
// both 1-based; zero means that it is not given.
type CodeQuery struct {
	Ask         CodeAsk `json:"ask"`
	Path        string  `json:"path,omitempty"`
	Name        string  `json:"name,omitempty"` // also a name path, "Class.method"
	Line        int     `json:"line,omitempty"`
	Character   int     `json:"character,omitempty"`
	Declaration bool    `json:"declaration,omitempty"` // references include it
	Kind        string  `json:"kind,omitempty"`        // of the symbols to find; "" means all
	Direction   string  `json:"direction,omitempty"`   // incoming, outgoing, supertypes, subtypes
	Depth       int     `json:"depth,omitempty"`
	Max         int     `json:"max,omitempty"`
}

// CodeAnswer is the answer to a [CodeQuery]. Without items, Why is the reason.
type CodeAnswer struct {
	Server string     `json:"server,omitempty"`
	Name   string     `json:"name,omitempty"` // the name at the position
	Items  []CodeItem `json:"items,omitempty"`
	Left   int        `json:"left,omitempty"` // number of items beyond the limit
	More   []FileLeft `json:"more,omitempty"` // in these files
	Text   string     `json:"text,omitempty"` // of a hover
	Why    string     `json:"why,omitempty"`
	Lacks  bool       `json:"lacks,omitempty"` // the server cannot answer such questions
	Notes  []string   `json:"notes,omitempty"` // about the way to the answer, as sentences
	// Also lists places with the same word in files that the answer does not name, so that it may
	// be incomplete. AlsoMore counts the files that are not listed.
	Also     []CodeItem `json:"also,omitempty"`
	AlsoMore int        `json:"also_more,omitempty"`
}

// FileLeft counts items that are not shown.
type FileLeft struct {
	Path  string `json:"path"`
	Count int    `json:"count"`
}

// CodeItem is a place in the code. Lines are 1-based. The path of a file outside of the workspace
// is absolute.
type CodeItem struct {
	Path      string      `json:"path"`
	Line      int         `json:"line"`
	To        int         `json:"to,omitempty"`
	Kind      string      `json:"kind,omitempty"`
	Name      string      `json:"name,omitempty"`
	Container string      `json:"container,omitempty"`
	Depth     int         `json:"depth,omitempty"`
	Lines     []MatchLine `json:"lines,omitempty"` // the line and those around it
	Sites     []int       `json:"sites,omitempty"` // lines of calls in Path
}

// ProblemsQuery asks for the problems of files. With Changed, they are those that were changed
// since the last such query, and Paths is not used.
type ProblemsQuery struct {
	Paths   []string      `json:"paths,omitempty"`
	Changed bool          `json:"changed,omitempty"`
	Base    bool          `json:"base,omitempty"`  // compare with the base, not with the last known state
	Parse   bool          `json:"parse,omitempty"` // only whether the files parse, without a server
	Within  time.Duration `json:"within,omitempty"`
}

// FileProblems are the problems of one file. Items is empty unless State is "fresh". Before is the
// earlier state to compare with; Known is false if it is unknown.
type FileProblems struct {
	Path   string    `json:"path"`
	Source string    `json:"source,omitempty"`
	State  string    `json:"state"` // fresh, settling or none
	Why    string    `json:"why,omitempty"`
	Items  []Problem `json:"items,omitempty"`
	Left   int       `json:"left,omitempty"` // problems that Items lacks, none of them worse
	Before []Problem `json:"before,omitempty"`
	Known  bool      `json:"known,omitempty"`
	Base   []Problem `json:"base,omitempty"`    // in the base, where no other file differed
	OfBase bool      `json:"of_base,omitempty"` // Base is known
}

// Problem is one problem. Line and Column are 1-based; Column is 0 if unknown.
type Problem struct {
	Line     int    `json:"line"`
	Column   int    `json:"column,omitempty"`
	Severity int    `json:"severity"` // 1 error, 2 warning, 3 and 4 less
	Code     string `json:"code,omitempty"`
	Message  string `json:"message"`
	Text     string `json:"text,omitempty"` // of the line
}

// Languages tells the tool host about the configured servers, and returns the languages of the
// files here that have a server.
func (w *Workspace) Languages(ctx context.Context, configured []LanguageServer) ([]Language, error) {
	var out []Language
	err := w.call(ctx, MethodLanguages, configured, &out)
	return out, err
}

// Servers starts the language servers of the files here, and reports how they are. [Workspace.Languages]
// has told the tool host about the configured ones.
func (w *Workspace) Servers(ctx context.Context) ([]ServerState, error) {
	var out []ServerState
	err := w.call(ctx, MethodServers, nil, &out)
	return out, err
}

// Warm starts the language servers of the files here that keep an index on disk, lets them make it, and ends
// them. It returns their names. It takes minutes at most.
func (w *Workspace) Warm(ctx context.Context) ([]string, error) {
	var out []string
	err := w.call(ctx, MethodWarm, nil, &out)
	return out, err
}

// Code answers a question about code.
func (w *Workspace) Code(ctx context.Context, q CodeQuery) (CodeAnswer, error) {
	var out CodeAnswer
	err := w.call(ctx, MethodCode, q, &out)
	return out, err
}

// Problems returns the problems of files. Files without a checker are left out if the query is for
// changed ones.
func (w *Workspace) Problems(ctx context.Context, q ProblemsQuery) ([]FileProblems, error) {
	var out []FileProblems
	err := w.call(ctx, MethodProblems, q, &out)
	return out, err
}
