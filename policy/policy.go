// Package policy makes decisions: requesters and approvers, unsafe commands, sensitive
// paths, the limits of modes, and the actions that need approval. It is pure: facts in,
// decision out, no I/O.
//
// # How an action is decided
//
// [Policy.Check] applies these rules in order. The first that decides wins, and every
// rule that matched is among the reasons.
//
//	1 the kind is unknown, a part is missing, a path leaves the root: deny
//	2 the mode has not this kind, this command or one more edit: deny
//	3 commands.deny matches a command of the line, or
//	  defaults say deny (commands.allow exempts commands): deny
//	4 the command is critical: ask, regardless of settings
//	5 the kind is in always_ask, or commands.ask matches, or
//	  the command reaches the network and defaults.network is ask: ask
//	6 a path that is written or deleted is sensitive:
//	  ask, unless auto_approve_sensitive_edits
//	7 every command of the line matches commands.allow: allow, recorded as automatic
//	8 the command is of high or medium severity, or runs a program that no rule knows
//	  in a workspace without a wall:
//	  ask, unless auto_approve_commands: then allow, recorded as automatic
//	9 nothing above: defaults, by which network and post ask, all else is allowed
//
// If sensitive edits are reviewed, [Policy.Later] moves rule 6 from the tool to the push,
// and the resulting tree is checked.
//
// [Merge] puts a repository's configuration under the server's. It can move a verdict
// only from allow towards deny.
//
// # Other parts
//
// [Mode] defines the allowed actions of a session. [MayAsk] and [MayApprove] decide about
// requesters and approvers. [Approval] is the state machine of an approval request.
// [ValidateBranch] and similar functions check names against a narrow alphabet. The
// subpackage shell analyzes commands, untrusted makes foreign text safe to read and our
// text safe to post, secret finds and redacts credentials.
//
// The zero value of every verdict is deny.
package policy

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"strings"
	"time"

	"github.com/handrail-bot/handrail/policy/shell"
)

// Verdict is the gate's response to an action.
type Verdict int

// The verdicts. The zero value is Deny.
const (
	Deny Verdict = iota
	Ask
	Allow
)

// String returns "deny", "ask" or "allow".
func (v Verdict) String() string {
	switch v {
	case Allow:
		return "allow"
	case Ask:
		return "ask"
	}
	return "deny"
}

// MarshalText writes the verdict as [Verdict.String] does.
func (v Verdict) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText parses the output of MarshalText. Any other word is Deny.
func (v *Verdict) UnmarshalText(text []byte) error {
	*v = Deny
	for _, known := range []Verdict{Ask, Allow} {
		if known.String() == string(text) {
			*v = known
		}
	}
	return nil
}

// Severity is the amount of harm that a command can do, see [shell.Severity].
type Severity = shell.Severity

// The tiers of severity.
const (
	None     = shell.None
	Medium   = shell.Medium
	High     = shell.High
	Critical = shell.Critical
)

// Reason is one rule that matched, see [shell.Reason].
type Reason = shell.Reason

// Kind is the kind of an operation.
type Kind int

// The kinds of operations. The zero value is Unknown, which is denied.
const (
	Unknown  Kind = iota
	Read          // files, search, listings, diagnostics
	Write         // create or change files
	Delete        // remove files
	Execute       // run a command
	Network       // reach an address
	Post          // write on GitHub, in the session's thread
	Converse      // talk to the user or the engine: todo, completion, questions
	MCP           // call a tool of an MCP server, or read its resource
	Foreign       // an action of an external agent's own tools that is none of these

	lastKind = Foreign
)

// Action is the intent of a tool call, as facts. Display is shown to the approver and is
// exactly the action: the command line, or the diff.
type Action struct {
	Kind    Kind
	Tool    string
	Command string   // Execute: the command line, byte for byte
	Cwd     string   // Execute: working directory relative to the root
	Paths   []string // Write, Delete, Read: paths relative to the root
	URL     string   // Network
	Display string
	Effects []Effect // Write, Delete: changes of each file
	Server  string   // MCP: name of the server
	Remote  string   // MCP: its tool, or its resource as "resource:URI"
	Edits   int      // number of edits so far in this session, for modes that limit them
	Subject string   // context of the action: session, base and head
	Triage  bool     // Post: what a triage found about the session's issue
	Labels  []string // Post: labels that a triage puts on
	// Longer is the time that a command may take, if that is more than the ordinary limit; 0
	// means within the limit.
	Longer time.Duration
}

// Decision is the result of checking an action. Digest identifies exactly this action: an
// approval carries it, and it is compared before the action runs.
type Decision struct {
	Verdict  Verdict
	Severity Severity
	Unknown  []string // programs that no rule knows
	Rule     string   // the deciding rule
	Reasons  []Reason
	Digest   string
	Auto     bool // allowed by a setting instead of an approver
}

// Digest returns the hex SHA-256 of all parts that identify the action. Each part is
// length-prefixed, so that parts cannot be shifted into each other.
func (a Action) Digest() string {
	h := sha256.New()
	put := func(s string) {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(s)))
		h.Write(n[:])
		h.Write([]byte(s))
	}
	put("handrail action 1")
	put(a.Kind.String())
	put(a.Tool)
	put(a.Command)
	put(a.Cwd)
	put(a.URL)
	put(a.Display)
	put(a.Subject)
	if a.Kind == MCP {
		put(a.Server)
		put(a.Remote)
	}
	for _, p := range a.Paths {
		put(p)
	}
	for _, e := range a.Effects {
		put("") // no path is empty, so an effect cannot pass for a path
		put(e.Path)
		put(e.Was)
		put(e.Is)
	}
	if a.Triage {
		put("triage")
		put(strings.Join(a.Labels, "\n")) // no name of a label has a line break
	}
	if a.Longer > 0 {
		put("longer")
		put(a.Longer.String())
	}
	return hex.EncodeToString(h.Sum(nil))
}
