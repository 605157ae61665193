package policy

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Lookup is the outcome of asking GitHub for an account's permission. The zero value
// is NotAsked, which grants nothing.
type Lookup int

// The outcomes of a lookup.
const (
	NotAsked  Lookup = iota
	Found            // the response has a permission
	NotFound         // 404: the account has no access
	Forbidden        // 403: the bot may not ask
	Failed           // any other result: the permission is unknown
)

// Actor is an account as GitHub describes it at the time of its request. Accounts are
// identified by ID, because logins can be renamed and look alike.
type Actor struct {
	ID         int64
	Login      string
	Bot        bool
	Permission string   // admin, maintain, write, triage, read or none, as in the collaborator API
	Teams      []string // relevant teams, "org/slug", as in the team API
	CodeOwner  bool     // owns the paths in question
	Lookup     Lookup
}

// Request is the kind of an actor's request.
type Request int

// The kinds of requests. The zero value is refused.
const (
	NoRequest  Request = iota
	View               // read-only: status, diff, help, config
	AskRead            // a read-only task: review, plan, explain
	AskChange          // a task that may change files
	Settle             // approve or deny
	Stop               // stop
	Steer              // resume, retry, clear
	Rewind             // undo, redo, keep, rebase
	RaiseLimit         // more budget, another model
)

// String returns the request as a phrase for a reply.
func (r Request) String() string {
	switch r {
	case View:
		return "view sessions"
	case AskRead:
		return "ask for a review or an answer"
	case AskChange:
		return "ask for changes"
	case Settle:
		return "approve or deny"
	case Stop, Steer:
		return "stop or resume sessions"
	case Rewind:
		return "undo changes"
	case RaiseLimit:
		return "raise limits"
	}
	return "do this"
}

// rank returns the rank of a permission, or -1 if it is unknown.
func rank(permission string) int {
	return slices.Index([]string{"none", "read", "triage", "write", "maintain", "admin"}, permission)
}

// minPermission returns the minimum permission for a request, or "" if the request is unknown.
func minPermission(r Request) string {
	switch r {
	case View:
		return "read"
	case AskRead, Stop, Steer:
		return "triage"
	case AskChange, Settle, Rewind:
		return "write" //control:least-permission
	case RaiseLimit:
		return "maintain"
	}
	return ""
}

// Insider reports whether GitHub granted the account more than read permission, which
// every account has on a public repository.
func Insider(a Actor) bool { return a.Lookup == Found && rank(a.Permission) >= rank("triage") }

// AskFacts are the facts about a request other than its actor.
type AskFacts struct {
	Request     Request
	RequesterID int64   // requester of the session, 0 if it is new
	Bots        []int64 // allowed bot accounts, by id
}

// MayAsk decides whether the actor may make the request, with a reason for the reply.
// It grants nothing after a failed lookup, but for one thing: the requester may stop their
// own session, since a stop takes away and gives nothing.
func MayAsk(a Actor, f AskFacts) (Verdict, string) {
	need := minPermission(f.Request)
	if need == "" {
		return Deny, "the request is not known"
	}
	if f.Request == Settle {
		return MayApprove(a, ApprovalFacts{RequesterID: f.RequesterID, Bots: f.Bots})
	}
	own := a.ID > 0 && a.ID == f.RequesterID
	if f.Request == Stop && own && !a.Bot && a.Lookup == Failed { //control:own-stop-needs-no-lookup
		return Allow, "it is the requester's own session"
	}
	if listed, v, why := admit(a, f.Bots); listed || v == Deny {
		return v, why
	}
	if rank(a.Permission) >= rank(need) {
		return Allow, fmt.Sprintf("%s permission is enough to %s", a.Permission, f.Request)
	}
	if (f.Request == Stop || f.Request == Steer) && own && rank(a.Permission) >= rank("read") {
		return Allow, "it is the requester's own session"
	}
	return Deny, fmt.Sprintf(
		"it needs %s permission on this repository to %s, and %s has %s",
		need,
		f.Request,
		nameOf(a),
		orNone(a.Permission),
	)
}

// MayPush reports whether GitHub says that the account may push to the repository.
func MayPush(a Actor) bool { return a.Lookup == Found && rank(a.Permission) >= rank("write") }

// admit makes the decisions that do not depend on the request: unknown accounts, bots
// and failed lookups. listed is true for a bot that the configuration lists by id.
func admit(a Actor, bots []int64) (listed bool, v Verdict, why string) {
	if a.ID <= 0 {
		return false, Deny, "the account has no id"
	}
	if a.Lookup == NotFound {
		return false, Deny, fmt.Sprintf("%s has no access to this repository", nameOf(a))
	}
	if a.Bot {
		if !slices.Contains(bots, a.ID) {
			return false, Deny, "bots are not answered unless their id is on the list"
		}
		if a.Lookup == Found || a.Lookup == NotAsked {
			return true, Allow, "the bot is on the list by its id"
		}
	}
	if a.Lookup != Found { //control:failed-lookup
		return false, Deny, "GitHub did not tell the permission of the account; try again later"
	}
	return false, Allow, ""
}

func nameOf(a Actor) string {
	if ValidateLogin(a.Login) != nil {
		return "account " + strconv.FormatInt(a.ID, 10)
	}
	return a.Login
}

func orNone(permission string) string {
	if rank(permission) < 0 {
		return "none"
	}
	return permission
}

// ApprovalFacts are the facts about an approval other than its actor.
type ApprovalFacts struct {
	RequesterID  int64      // requester of the session
	NotRequester bool       // the requester cannot approve
	Groups       [][]string // lists of approvers; each must have a matching entry; none means write permission
	Bots         []int64    // allowed bot accounts, by id
}

// ApprovalFacts returns the configured facts about approvals in a session of the given
// requester.
func (p *Policy) ApprovalFacts(requesterID int64) ApprovalFacts {
	if p == nil || !p.ready {
		return ApprovalFacts{RequesterID: requesterID, NotRequester: true, Groups: [][]string{{}}}
	}
	c := p.config
	return ApprovalFacts{
		RequesterID: requesterID, NotRequester: isTrue(c.Approvals.NotRequester),
		Groups: c.approverGroups(), Bots: slices.Clone(c.Approvals.Bots),
	}
}

// MayApprove decides whether the actor may approve or deny, with a reason for the reply.
// It is checked when the answer arrives, and again before the approved action runs.
func MayApprove(a Actor, f ApprovalFacts) (Verdict, string) {
	listed, v, why := admit(a, f.Bots)
	if v == Deny {
		return Deny, why
	}
	if f.NotRequester && a.ID == f.RequesterID {
		return Deny, "the requester of a session cannot approve in it"
	}
	if listed {
		return Allow, why
	}
	groups := f.Groups
	if len(groups) == 0 {
		groups = [][]string{{"write"}}
	}
	for _, group := range groups {
		if !slices.ContainsFunc(group, func(entry string) bool { return matchesApprover(a, entry) }) {
			return Deny, fmt.Sprintf("%s is not an approver here: %s", nameOf(a), describeApprovers(group))
		}
	}
	return Allow, "listed as approver"
}

// describeApprovers describes a list of approvers in words.
func describeApprovers(group []string) string {
	if len(group) == 0 {
		return "there are none"
	}
	var out []string
	for _, entry := range group {
		if rank(entry) >= 0 {
			entry = "users with " + entry + " permission"
		}
		out = append(out, entry)
	}
	return strings.Join(out, ", ")
}

// matchesApprover reports whether an entry of approvers matches the actor. It never matches an
// account without access to the repository.
func matchesApprover(a Actor, entry string) bool {
	kind, value, _ := strings.Cut(entry, ":")
	switch kind {
	case "user":
		id, err := strconv.ParseInt(value, 10, 64)
		return err == nil && id == a.ID && rank(a.Permission) >= rank("read")
	case "team":
		return rank(a.Permission) >= rank("read") &&
			slices.ContainsFunc(a.Teams, func(t string) bool { return strings.EqualFold(t, value) })
	case "codeowners":
		return a.CodeOwner && rank(a.Permission) >= rank("write")
	case "write", "maintain", "admin":
		return rank(a.Permission) >= rank(kind)
	}
	return false
}
