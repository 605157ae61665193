// Package policy decides. It knows who may ask for what, which commands are
// unsafe, which paths are sensitive, what a mode allows, and what must wait
// for a person. It is pure: facts in, decision out; nothing here does I/O.
//
// # How an action is decided
//
// [Policy.Check] asks these rules in order; the first that settles wins, and
// every rule that matched is among the reasons.
//
//	rule                                                            verdict
//	1 the kind is unknown, a part is missing, a path leaves the root  deny
//	2 the mode has not this kind, this command or one more edit       deny
//	3 commands.deny matches a command of the line                     deny
//	  defaults say deny (commands.allow exempts commands)             deny
//	4 the command is critical                                         ask, whatever the settings
//	5 the kind is in always_ask, or commands.ask matches              ask
//	  the command reaches the network and defaults.network is ask     ask
//	6 a path that is written or deleted is sensitive                  ask, unless auto_approve_sensitive_edits
//	7 every command of the line matches commands.allow                allow, recorded as automatic
//	8 the command is of high or medium severity, or runs a program that
//	  no rule knows where no wall is around the workspace                       ask, unless auto_approve_commands:
//	                                                                  then allow, recorded as automatic
//	9 nothing above                                                   defaults: network asks, all else is allowed
//
// Where sensitive edits are reviewed, [Policy.Later] moves rule 6 from the tool to
// the push, where the resulting tree is checked.
//
// A repository's configuration is merged under the server's by [Merge] and
// can move a verdict only from allow towards deny.
//
// # What else is here
//
// [Mode] says what a session may do. [MayAsk] and [MayApprove] say who may
// ask and approve. [Approval] is the life of one request to a person: which
// word may follow which. [ValidateBranch] and its neighbors check names against a
// narrow alphabet. Below are three packages: shell says what a command can do,
// untrusted makes foreign text safe to read and our text safe to post, secret
// finds and redacts credentials.
//
// The zero value of every verdict is deny.
package policy

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"

	"github.com/handrail-bot/handrail/policy/shell"
)

// Verdict is what the gate does with an action.
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

// UnmarshalText reads what MarshalText wrote. Any other word is Deny.
func (v *Verdict) UnmarshalText(text []byte) error {
	*v = Deny
	for _, known := range []Verdict{Ask, Allow} {
		if known.String() == string(text) {
			*v = known
		}
	}
	return nil
}

// Severity is how much harm a command can do, see [shell.Severity].
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
	Post          // write on GitHub, in the session's own thread
	Converse      // talk to the person or to the engine: todo, completion, questions
)

// Action is what a tool call intends, as facts. Display is what a person is
// shown and is exactly what will be done: the command line, or the diff.
type Action struct {
	Kind    Kind
	Tool    string
	Command string   // Execute: the command line, byte for byte
	Cwd     string   // Execute: working directory relative to the root
	Paths   []string // Write, Delete, Read: paths relative to the root
	URL     string   // Network
	Display string
	Effects []Effect // Write, Delete: what it makes of each file
	Edits   int      // edits made so far in this session, for modes that limit them
	Subject string   // what the action is for: session, base and head
}

// Decision is the answer to an action. Digest identifies exactly this action:
// an approval carries it, and what runs is compared with it.
type Decision struct {
	Verdict  Verdict
	Severity Severity
	Unknown  []string // programs that no rule knows
	Rule     string   // the rule that settled it
	Reasons  []Reason
	Digest   string
	Auto     bool // allowed by a setting that stands in for a person
}

// Digest returns the hex SHA-256 over the parts of a that make it this action
// and no other. Every part is length-prefixed, so parts cannot be shifted
// into each other.
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
	for _, p := range a.Paths {
		put(p)
	}
	for _, e := range a.Effects {
		put("") // no path is empty, so this is none
		put(e.Path)
		put(e.Was)
		put(e.Is)
	}
	return hex.EncodeToString(h.Sum(nil))
}
