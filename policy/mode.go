package policy

import (
	"fmt"
	"slices"
	"strings"
)

// String returns the name of the kind in the notation of the configuration: "read",
// "write", "delete", "execute", "network", "post", "converse", "mcp" or "foreign".
func (k Kind) String() string {
	switch k {
	case Read:
		return "read"
	case Write:
		return "write"
	case Delete:
		return "delete"
	case Execute:
		return "execute"
	case Network:
		return "network"
	case Post:
		return "post"
	case Converse:
		return "converse"
	case MCP:
		return "mcp"
	case Foreign:
		return "foreign"
	}
	return "unknown"
}

// parseKind returns the kind with the given name, see [Kind.String].
func parseKind(name string) (Kind, error) {
	for k := Read; k <= lastKind; k++ {
		if k.String() == name {
			return k, nil
		}
	}
	return Unknown, fmt.Errorf("parse kind: %q is not one of read, write, delete, execute, network, post, converse, mcp, foreign", name)
}

// MarshalText writes the kind as [Kind.String] does.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText parses the output of MarshalText. Any other word is Unknown.
func (k *Kind) UnmarshalText(text []byte) error {
	*k, _ = parseKind(string(text)) // Unknown on error
	return nil
}

// kindSet is a set of kinds, with one bit per kind.
type kindSet uint16

func kinds(list ...Kind) kindSet {
	var s kindSet
	for _, k := range list {
		s |= 1 << k
	}
	return s
}

func (s kindSet) has(k Kind) bool { return k > Unknown && k <= lastKind && s&(1<<k) != 0 }

// commandScope is the set of commands that a mode may run. A smaller scope allows less.
type commandScope int

const (
	noCommands   commandScope = iota
	gitRead                   // read-only git commands, and the project's tests behind a wall
	readCommands              // any read-only command
	anyCommand
)

// NoEditLimit is the EditLimit of a mode with unlimited edits.
const NoEditLimit = -1

// Mode defines the allowed actions of a session. It is comparable and immutable. The zero
// Mode allows nothing.
type Mode struct {
	Name        string
	Description string // one sentence, for help texts and the prompt
	EditLimit   int    // maximum number of edits in a session, or NoEditLimit
	Turns       int    // default turn limit
	kinds       kindSet
	commands    commandScope
}

// Turn limits of the modes if neither the request nor the configuration sets one.
const (
	agentTurns    = 25
	readOnlyTurns = 10
)

var modeTable = [...]Mode{
	{Name: "code", Description: "Make the change: edit files and run commands without an edit limit.",
		EditLimit: NoEditLimit, Turns: agentTurns, commands: anyCommand,
		kinds: kinds(Read, Write, Delete, Execute, Network, Post, Converse, MCP, Foreign)},
	{Name: "architect", Description: "Design and write it down: at most three edits, commands that only read.",
		EditLimit: 3, Turns: agentTurns, commands: readCommands,
		kinds: kinds(Read, Write, Execute, Network, Post, Converse, MCP, Foreign)},
	{Name: "ask", Description: "Answer a question: no edits, commands that only read.",
		EditLimit: 0, Turns: agentTurns, commands: readCommands,
		kinds: kinds(Read, Execute, Network, Converse, MCP, Foreign)},
	{Name: "debug", Description: "Find a fault and fix it: any command, at most five edits.",
		EditLimit: 5, Turns: agentTurns, commands: anyCommand,
		kinds: kinds(Read, Write, Delete, Execute, Network, Post, Converse, MCP, Foreign)},
	{Name: "explore", Description: "Look around and report: read and search only.",
		EditLimit: 0, Turns: readOnlyTurns, kinds: kinds(Read, Converse)},
	{Name: PlanMode, Description: "Write a plan for approval: read and search only.",
		EditLimit: 0, Turns: readOnlyTurns, kinds: kinds(Read, Converse)},
	{
		Name:        "review",
		Description: "Review a change: read, search, git commands that only read and, in a sandbox, the project's tests.",
		EditLimit:   0,
		Turns:       readOnlyTurns,
		commands:    gitRead,
		kinds:       kinds(Read, Execute, Converse),
	},
	{
		Name:        "security",
		Description: "Review a change for security: read, search, git commands that only read and, in a sandbox, the project's tests.",
		EditLimit:   0,
		Turns:       readOnlyTurns,
		commands:    gitRead,
		kinds:       kinds(Read, Execute, Converse),
	},
	{Name: triage, Description: "Sort an issue: labels, duplicates, a question to its author. Read and search only.",
		EditLimit: 0, Turns: readOnlyTurns, kinds: kinds(Read, Post, Converse)},
}

// PlanMode is the name of the mode that writes a plan for approval.
const PlanMode = "plan"

// triage is the name of the mode that sorts issues. Its labels are put on unasked, so only a
// requester or the configuration chooses it, never a model.
const triage = "triage"

// Modes returns all modes in the order of help texts.
func Modes() []Mode { return slices.Clone(modeTable[:]) }

// ParseMode returns the mode with the given name, ignoring case and surrounding space.
// The error for an unknown name lists the known ones and suggests a similar one.
func ParseMode(name string) (Mode, error) {
	want := strings.ToLower(strings.TrimSpace(name))
	names := make([]string, 0, len(modeTable))
	for _, m := range modeTable {
		if m.Name == want {
			return m, nil
		}
		names = append(names, m.Name)
	}
	hint := ""
	if near := Nearest(want, names); near != "" {
		hint = fmt.Sprintf(", did you mean %q?", near)
	}
	return Mode{}, fmt.Errorf("unknown mode %q%s (modes: %s)", name, hint, strings.Join(names, ", "))
}

// Allows reports whether the mode allows actions of kind k at all. [Policy.Check] checks
// the limits on edits and commands.
func (m Mode) Allows(k Kind) bool { return m.kinds.has(k) }

// Writes reports whether a session in this mode may change files.
func (m Mode) Writes() bool { return m.Allows(Write) && m.EditLimit != 0 }

// allowed returns the allowed kinds in declared order.
func (m Mode) allowed() []Kind {
	var out []Kind
	for k := Read; k <= lastKind; k++ {
		if m.kinds.has(k) {
			out = append(out, k)
		}
	}
	return out
}

// ReviewTurns returns the turns of a review in this mode by the size of the change: one more
// for every two files and every 200 lines beyond a small change, at most three times those of
// the mode.
func (m Mode) ReviewTurns(files, lines int) int {
	const smallFiles, smallLines = 5, 300
	more := max(0, files-smallFiles)/2 + max(0, lines-smallLines)/200
	return min(m.Turns+more, 3*m.Turns) //control:turns-by-size
}

// Reviews reports whether a session in this mode reviews a change.
func (m Mode) Reviews() bool { return m.Name == "review" || m.Name == "security" }

// Triages reports whether a session in this mode sorts an issue.
func (m Mode) Triages() bool { return m.Name == triage }

// ReadOnly reports whether no action in this mode can change a file.
func (m Mode) ReadOnly() bool {
	return !m.kinds.has(Write) && !m.kinds.has(Delete) && m.commands < anyCommand
}

// narrower restricts wanted to granted: the kinds of both, the smaller limits, the
// narrower command scope. With it, a session can switch modes without gaining permissions
// that its requester lacks, and a sub-session inherits from its parent. The result has
// wanted's name.
func narrower(granted, wanted Mode) Mode {
	out := wanted
	out.kinds &= granted.kinds
	out.commands = min(out.commands, granted.commands)
	out.Turns = min(out.Turns, granted.Turns)
	if wanted.Triages() != granted.Triages() { //control:triage-is-not-switched-to
		out.kinds &^= kinds(Post)
	}
	switch {
	case out.EditLimit == NoEditLimit:
		out.EditLimit = granted.EditLimit
	case granted.EditLimit != NoEditLimit:
		out.EditLimit = min(out.EditLimit, granted.EditLimit)
	}
	return out
}

// IncludedModes lists the names of the modes within m, for display.
func (m Mode) IncludedModes() string {
	var names []string
	for _, other := range modeTable {
		if other.Within(m) {
			names = append(names, other.Name)
		}
	}
	return strings.Join(names, ", ")
}

// Within reports whether m allows nothing beyond granted.
func (m Mode) Within(granted Mode) bool {
	n := narrower(granted, m)
	return n.kinds == m.kinds && n.commands == m.commands && n.EditLimit == m.EditLimit
}
