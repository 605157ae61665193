package policy

import (
	"fmt"
	"slices"
	"strings"
)

// String returns the name of the kind as it is written in the configuration:
// "read", "write", "delete", "execute", "network", "post" or "converse".
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
	}
	return "unknown"
}

// parseKind returns the kind called name, see [Kind.String].
func parseKind(name string) (Kind, error) {
	for k := Read; k <= Converse; k++ {
		if k.String() == name {
			return k, nil
		}
	}
	return Unknown, fmt.Errorf("parse kind: %q is not one of read, write, delete, execute, network, post, converse", name)
}

// MarshalText writes the kind as [Kind.String] does.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText reads what MarshalText wrote. Any other word is Unknown.
func (k *Kind) UnmarshalText(text []byte) error {
	*k, _ = parseKind(string(text)) // Unknown goes with the error
	return nil
}

// kindSet is a set of kinds, one bit each.
type kindSet uint8

func kinds(list ...Kind) kindSet {
	var s kindSet
	for _, k := range list {
		s |= 1 << k
	}
	return s
}

func (s kindSet) has(k Kind) bool { return k > Unknown && k <= Converse && s&(1<<k) != 0 }

// commandScope says which commands a mode may run. A smaller scope allows less.
type commandScope int

const (
	noCommands   commandScope = iota
	gitRead                   // git commands that only read, and the project's tests behind a wall
	readCommands              // any command that only reads
	anyCommand
)

// NoEditLimit is the edit limit of a mode that does not count edits.
const NoEditLimit = -1

// Mode is what a session may do. It is a comparable value that never changes. The
// zero Mode allows nothing.
type Mode struct {
	Name        string
	Description string // one sentence, for help texts and for the prompt
	EditLimit   int    // edits a session may make, NoEditLimit for any number
	Turns       int    // turn limit when nobody set another
	kinds       kindSet
	commands    commandScope
}

// Turn limits of the modes when neither the request nor the configuration
// sets one.
const (
	agentTurns    = 25
	readOnlyTurns = 10
)

var modeTable = [...]Mode{
	{Name: "code", Description: "Make the change: edit files and run commands without an edit limit.",
		EditLimit: NoEditLimit, Turns: agentTurns, commands: anyCommand,
		kinds: kinds(Read, Write, Delete, Execute, Network, Post, Converse)},
	{Name: "architect", Description: "Design and write it down: at most three edits, commands that only read.",
		EditLimit: 3, Turns: agentTurns, commands: readCommands,
		kinds: kinds(Read, Write, Execute, Network, Post, Converse)},
	{Name: "ask", Description: "Answer a question: no edits, commands that only read.",
		EditLimit: 0, Turns: agentTurns, commands: readCommands,
		kinds: kinds(Read, Execute, Network, Converse)},
	{Name: "debug", Description: "Find a fault and fix it: any command, at most five edits.",
		EditLimit: 5, Turns: agentTurns, commands: anyCommand,
		kinds: kinds(Read, Write, Delete, Execute, Network, Post, Converse)},
	{Name: "explore", Description: "Look around and report: read and search only.",
		EditLimit: 0, Turns: readOnlyTurns, kinds: kinds(Read, Converse)},
	{Name: "plan", Description: "Write a plan that a person can approve: read and search only.",
		EditLimit: 0, Turns: readOnlyTurns, kinds: kinds(Read, Converse)},
	{Name: "review", Description: "Review a change: read, search, git commands that only read and, in a sandbox, the project's tests.",
		EditLimit: 0, Turns: readOnlyTurns, commands: gitRead, kinds: kinds(Read, Execute, Converse)},
	{Name: "security", Description: "Review a change for security: read, search, git commands that only read and, in a sandbox, the project's tests.",
		EditLimit: 0, Turns: readOnlyTurns, commands: gitRead, kinds: kinds(Read, Execute, Converse)},
}

// Modes returns all modes in the order in which help texts list them.
func Modes() []Mode { return slices.Clone(modeTable[:]) }

// ParseMode returns the mode called name. Case and surrounding space do not
// matter. The error of an unknown name lists the known ones and, where one
// is close, asks whether it was meant.
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

// Allows reports whether the mode lets actions of kind k through at all.
// Limits on edits and on which commands may run are checked by [Policy.Check].
func (m Mode) Allows(k Kind) bool { return m.kinds.has(k) }

// Writes reports whether a session in the mode may change files.
func (m Mode) Writes() bool { return m.Allows(Write) && m.EditLimit != 0 }

// allowed returns the kinds the mode allows, in their declared order.
func (m Mode) allowed() []Kind {
	var out []Kind
	for k := Read; k <= Converse; k++ {
		if m.kinds.has(k) {
			out = append(out, k)
		}
	}
	return out
}

// ReadOnly reports whether no action in this mode can change a file.
func (m Mode) ReadOnly() bool {
	return !m.kinds.has(Write) && !m.kinds.has(Delete) && m.commands < anyCommand
}

// narrower returns wanted cut down to what granted allows: the kinds both
// have, the smaller limits, the narrower set of commands. It is how a session
// switches mode without gaining what its requester was not allowed, and how
// a sub-session inherits from its parent. The result carries wanted's name.
func narrower(granted, wanted Mode) Mode {
	out := wanted
	out.kinds &= granted.kinds
	out.commands = min(out.commands, granted.commands)
	out.Turns = min(out.Turns, granted.Turns)
	switch {
	case out.EditLimit == NoEditLimit:
		out.EditLimit = granted.EditLimit
	case granted.EditLimit != NoEditLimit:
		out.EditLimit = min(out.EditLimit, granted.EditLimit)
	}
	return out
}

// Holds names the modes that allow nothing that m does not allow, for a person to read.
func (m Mode) Holds() string {
	var names []string
	for _, other := range modeTable {
		if other.Within(m) {
			names = append(names, other.Name)
		}
	}
	return strings.Join(names, ", ")
}

// Within reports whether m allows nothing that granted does not allow too.
func (m Mode) Within(granted Mode) bool {
	n := narrower(granted, m)
	return n.kinds == m.kinds && n.commands == m.commands && n.EditLimit == m.EditLimit
}
