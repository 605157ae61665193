package policy

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Config is the configuration of one repository, `.github/agent.yml`, or of the server.
// [ParseConfig] parses it, [Merge] combines both. The zero value is valid: every key has
// a default, see [DefaultConfig].
type Config struct {
	Model  string   `yaml:"model,omitempty" json:"model,omitempty" jsonschema:"description=Model that runs sessions."`
	Models []string `yaml:"models,omitempty" json:"models,omitempty" jsonschema:"description=Models that may be chosen; empty allows any. A repository can only shorten the server's list."`
	Mode   string   `yaml:"mode,omitempty" json:"mode,omitempty" jsonschema:"description=Mode of a request that names none.,enum=code,enum=architect,enum=ask,enum=debug,enum=explore,enum=plan,enum=review,enum=security,enum=triage,default=code"`
	Modes  []string `yaml:"modes,omitempty" json:"modes,omitempty" jsonschema:"description=Modes that may be requested; empty allows all. A repository can only shorten the server's list."`
	Turns  int      `yaml:"turns,omitempty" json:"turns,omitempty" jsonschema:"description=Turn limit; 0 takes the mode's own.,minimum=0,maximum=1000"`

	AutoApproveCommands       *bool `yaml:"auto_approve_commands,omitempty" json:"auto_approve_commands,omitempty" jsonschema:"description=Run commands of medium and high severity without asking. Critical ones always ask."`
	AutoApproveSensitiveEdits *bool `yaml:"auto_approve_sensitive_edits,omitempty" json:"auto_approve_sensitive_edits,omitempty" jsonschema:"description=Change sensitive files without asking."`

	Commands       Commands        `yaml:"commands,omitempty" json:"commands,omitzero"`
	Defaults       Defaults        `yaml:"defaults,omitempty" json:"defaults,omitzero"`
	AlwaysAsk      []string        `yaml:"always_ask,omitempty" json:"always_ask,omitempty" jsonschema:"description=Kinds of operation that always need approval.,enum=read,enum=write,enum=delete,enum=execute,enum=network,enum=post,enum=mcp,enum=foreign"`
	SensitiveFiles []SensitiveFile `yaml:"sensitive_files,omitempty" json:"sensitive_files,omitempty" jsonschema:"description=Ordered globs on top of the built-in ones; the last match wins."`

	Approvals   Approvals   `yaml:"approvals,omitempty" json:"approvals,omitzero"`
	Branch      string      `yaml:"branch,omitempty" json:"branch,omitempty" jsonschema:"description=Branch of a session; {number} {slug} {session} and {mode} are filled in.,example=agent/{number}-{slug},default=agent/{number}-{slug}"`
	Workspace   Workspace   `yaml:"workspace,omitempty" json:"workspace,omitzero"`
	Budget      Budget      `yaml:"budget,omitempty" json:"budget,omitzero"`
	PullRequest PullRequest `yaml:"pull_request,omitempty" json:"pull_request,omitzero"`
	MCP         Servers     `yaml:"mcp,omitempty" json:"mcp,omitzero"`

	Repositories []Repository `yaml:"repositories,omitempty" json:"repositories,omitempty" jsonschema:"description=Other repositories that sessions read; in the server's policy those that repositories may name\\, with owner/* for all of an owner."`

	Delivery `yaml:",inline"`
	Watch    `yaml:",inline"`
	Running  `yaml:",inline"`

	// Above is the configuration that this one was merged under, see [Merge]; nil if there
	// is none. Its rules apply in addition to these.
	Above *Config `yaml:"-" json:"-"`
}

// Commands lists patterns for resolved commands: the program's name and its arguments,
// separated by single spaces, with `*` for any text. A pattern without arguments matches
// the program with any arguments. Deny and ask match if any command of the line matches,
// allow only if all of them do.
type Commands struct {
	Allow []string `yaml:"allow,omitempty" json:"allow,omitempty" jsonschema:"description=Run without asking\\, unless critical."`
	Deny  []string `yaml:"deny,omitempty" json:"deny,omitempty" jsonschema:"description=Never run."`
	Ask   []string `yaml:"ask,omitempty" json:"ask,omitempty" jsonschema:"description=Always ask."`
}

// Defaults are the verdicts for operations that no other rule decides: "allow", "ask" or
// "deny". An empty field means the built-in default: network and post ask, everything
// else is allowed.
type Defaults struct {
	Read    string `yaml:"read,omitempty" json:"read,omitempty" jsonschema:"enum=allow,enum=ask,enum=deny"`
	Write   string `yaml:"write,omitempty" json:"write,omitempty" jsonschema:"enum=allow,enum=ask,enum=deny"`
	Delete  string `yaml:"delete,omitempty" json:"delete,omitempty" jsonschema:"enum=allow,enum=ask,enum=deny"`
	Execute string `yaml:"execute,omitempty" json:"execute,omitempty" jsonschema:"enum=allow,enum=ask,enum=deny"`
	Network string `yaml:"network,omitempty" json:"network,omitempty" jsonschema:"enum=allow,enum=ask,enum=deny"`
	Post    string `yaml:"post,omitempty" json:"post,omitempty" jsonschema:"enum=allow,enum=ask,enum=deny"`
}

// SensitiveFile makes the files that match Pattern sensitive or not. Approve is
// "required" if their edits need approval, or "auto".
type SensitiveFile struct {
	Pattern string `yaml:"pattern" json:"pattern" jsonschema:"required,minLength=1"`
	Approve string `yaml:"approve" json:"approve" jsonschema:"required,enum=auto,enum=required"`
}

// Approvals configures how approvals are requested, the approvers, and the deadline. By
// is "comment" (the default) or "review": a sensitive edit then waits as a small pull
// request into the session's branch.
type Approvals struct {
	By           string   `yaml:"by,omitempty" json:"by,omitempty" jsonschema:"enum=comment,enum=review,description=Form of a request for a sensitive edit: a comment\\, or a small pull request to review."`
	Deadline     Duration `yaml:"deadline,omitempty" json:"deadline,omitzero" jsonschema:"default=72h"`
	NotRequester *bool    `yaml:"not_requester,omitempty" json:"not_requester,omitempty" jsonschema:"description=The requester of a session cannot approve in it."`
	Approvers    []string `yaml:"approvers,omitempty" json:"approvers,omitempty" jsonschema:"description=Approvers: user:<id>\\, team:<org>/<slug>\\, codeowners\\, write\\, maintain or admin; empty means write."`
	Bots         []int64  `yaml:"bots,omitempty" json:"bots,omitempty" jsonschema:"description=Numeric ids of bot accounts that may ask and approve."`
}

// Workspace configures the environment and the limits of a session's commands.
type Workspace struct {
	Engine     string   `yaml:"engine,omitempty" json:"engine,omitempty" jsonschema:"enum=docker,enum=bwrap,enum=local,description=Only the server's configuration can choose local." only:"server"`
	Image      string   `yaml:"image,omitempty" json:"image,omitempty" jsonschema:"description=Container image."`
	Images     []string `yaml:"images,omitempty" json:"images,omitempty" jsonschema:"description=Globs of images that a repository may choose; empty allows any." only:"server"`
	Pull       string   `yaml:"pull,omitempty" json:"pull,omitempty" jsonschema:"enum=missing,enum=never,description=Only in the server's configuration: whether an image that is not on the machine is pulled.,default=missing" only:"server"`
	Build      string   `yaml:"build,omitempty" json:"build,omitempty" jsonschema:"enum=approved,enum=never,description=Only in the server's configuration: whether the Dockerfile of a development container is built after an approval of the set-up.,default=approved" only:"server"`
	Toolchains []string `yaml:"toolchains,omitempty" json:"toolchains,omitempty" jsonschema:"description=Only in the server's configuration: directories of toolchains outside of /usr that workspaces in bwrap see\\, read-only." only:"server"`
	LSP        string   `yaml:"lsp,omitempty" json:"lsp,omitempty" jsonschema:"description=Only in the server's configuration: directory of language servers that handrail lsp install has filled; workspaces see it\\, read-only." only:"server"`
	Network    string   `yaml:"network,omitempty" json:"network,omitempty" jsonschema:"enum=none,enum=allowlist,enum=open,description=Network of the workspace."`
	Hosts      []string `yaml:"hosts,omitempty" json:"hosts,omitempty" jsonschema:"description=Hosts that network: allowlist reaches: names\\, *.NAME for all below one\\, either with a port in place of 80 and 443."`
	Presets    []string `yaml:"presets,omitempty" json:"presets,omitempty" jsonschema:"description=Package managers whose public hosts network: allowlist reaches.,enum=cargo,enum=composer,enum=gem,enum=go,enum=gradle,enum=hex,enum=maven,enum=npm,enum=nuget,enum=pip,enum=swift"`
	Paths      []string `yaml:"paths,omitempty" json:"paths,omitempty" jsonschema:"description=Directories of the repository that are in the workspace\\, with the files that lie directly in those above them; empty is all of it.,maxItems=100"`
	Memory     Size     `yaml:"memory,omitempty" json:"memory,omitzero" jsonschema:"default=4g"`
	Pids       int      `yaml:"pids,omitempty" json:"pids,omitempty" jsonschema:"minimum=0,default=1024"`
	Disk       Size     `yaml:"disk,omitempty" json:"disk,omitzero" jsonschema:"default=5g"`

	// Inside maps hosts on a private network to their address, or to a range that contains
	// it. All other hosts are reached at public addresses only.
	Inside    map[string]string `yaml:"inside,omitempty" json:"inside,omitempty" jsonschema:"description=Only in the server's configuration: hosts that may be inside a network\\, with their address or a range of addresses." only:"server"`
	Unlimited bool              `yaml:"unlimited,omitempty" json:"unlimited,omitempty" jsonschema:"description=Only in the server's configuration: serve although the machine cannot hold workspaces to all limits." only:"server"`
	CPUs      float64           `yaml:"cpus,omitempty" json:"cpus,omitempty" jsonschema:"minimum=0,default=2"`
}

// ReadyWhenGreen is the value of [PullRequest.Ready] by which checks end the draft if they pass
// on the last commit of a session that is done.
const ReadyWhenGreen = "when checks pass"

// PullRequest configures how a session's change is offered. A nil Draft means true. Ready is
// the end of the draft: [ReadyWhenGreen], or "on request", the default.
// Title and Body are templates, see [PullWords]. Branch is the destination of work
// requested on a pull request: "own" (its branch, the default) or "stacked" (a new one on
// top). Base is the base branch of work requested in issues; empty means the default
// branch.
type PullRequest struct {
	Draft  *bool  `yaml:"draft,omitempty" json:"draft,omitempty" jsonschema:"description=Open as draft; true when unset."`
	Ready  string `yaml:"ready,omitempty" json:"ready,omitempty" jsonschema:"enum=on request,enum=when checks pass,description=End of the draft.,default=on request"`
	Title  string `yaml:"title,omitempty" json:"title,omitempty" jsonschema:"description=Template of the title."`
	Body   string `yaml:"body,omitempty" json:"body,omitempty" jsonschema:"description=Template of the body."`
	Branch string `yaml:"branch,omitempty" json:"branch,omitempty" jsonschema:"enum=own,enum=stacked,description=Branch of work requested on a pull request."`

	Base          string   `yaml:"base,omitempty" json:"base,omitempty" jsonschema:"description=Base branch of work requested in issues; the default branch when unset."`
	Labels        []string `yaml:"labels,omitempty" json:"labels,omitempty" jsonschema:"description=Labels for new pull requests."`
	Reviewers     []string `yaml:"reviewers,omitempty" json:"reviewers,omitempty" jsonschema:"description=Logins of reviewers."`
	TeamReviewers []string `yaml:"team_reviewers,omitempty" json:"team_reviewers,omitempty" jsonschema:"description=Short names of teams that review."`
}

// Budget holds the limits of one session, of one thread, and of one user per day. Zero
// means unlimited.
type Budget struct {
	Session Limits `yaml:"session,omitempty" json:"session,omitzero"`
	Thread  Limits `yaml:"thread,omitempty" json:"thread,omitzero"`
	UserDay Limits `yaml:"user_day,omitempty" json:"user_day,omitzero"`
}

// Limits are the amounts that a budget counts. Zero means unlimited.
type Limits struct {
	Turns  int      `yaml:"turns,omitempty" json:"turns,omitempty" jsonschema:"minimum=0"`
	Tokens int      `yaml:"tokens,omitempty" json:"tokens,omitempty" jsonschema:"minimum=0"`
	Time   Duration `yaml:"time,omitempty" json:"time,omitzero"`
	Edits  int      `yaml:"edits,omitempty" json:"edits,omitempty" jsonschema:"minimum=0"`
	Lines  int      `yaml:"lines,omitempty" json:"lines,omitempty" jsonschema:"minimum=0"`
}

// Duration is a length of time, written as "90s", "30m", "72h" or "90d".
type Duration time.Duration

// maxDuration is a hundred years.
const maxDuration = 36500 * 24 * time.Hour

// String returns the duration in the notation of the configuration.
func (d Duration) String() string { return time.Duration(d).String() }

// MarshalText writes the duration as [Duration.String] does.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText parses a duration, which must not be negative.
func (d *Duration) UnmarshalText(text []byte) error {
	days, rest, ok := strings.Cut(string(text), "d")
	if !ok {
		days, rest = "0", days
	}
	n, bad := strconv.ParseUint(days, 10, 16)
	v, err := time.ParseDuration(cmp.Or(rest, "0s"))
	if err != nil || bad != nil || ok && v < 0 || !ok && rest == "" || v > maxDuration ||
		n > uint64(maxDuration/(24*time.Hour)) {
		return fmt.Errorf("parse duration: %q is not a length of time such as 90s, 30m, 72h or 90d", text)
	}
	v += time.Duration(n) * 24 * time.Hour
	if v < 0 {
		return fmt.Errorf("parse duration: %q is negative", text)
	}
	*d = Duration(v)
	return nil
}

// DefaultConfig returns the default configuration.
func DefaultConfig() Config {
	return Config{
		Mode:      "code",
		Branch:    "agent/{number}-{slug}",
		Approvals: Approvals{Deadline: Duration(72 * time.Hour)},
		Delivery:  Delivery{Push: Push{Hold: "workflows"}, Comments: Comments{After: Duration(3 * time.Minute)}},
		Workspace: Workspace{
			Engine:  "docker",
			Pull:    "missing",
			Build:   "approved",
			Network: "none",
			Memory:  4 << 30,
			Pids:    1024,
			CPUs:    2,
			Disk:    5 << 30,
		},
		Running: Running{SetUp: SetUp{Network: "none", Propose: "auto"}},
		Budget: Budget{
			Session: Limits{Tokens: 2_000_000, Time: Duration(time.Hour), Lines: 5000},
			Thread:  Limits{Tokens: 10_000_000},
			UserDay: Limits{Tokens: 20_000_000},
		},
	}
}

// autoCommands reports whether auto_approve_commands is set.
func (c Config) autoCommands() bool { return isTrue(c.AutoApproveCommands) }

// ByReview reports whether sensitive edits are requested as pull requests.
func (c Config) ByReview() bool { return c.Approvals.By == "review" }

// autoEdits reports whether auto_approve_sensitive_edits is set.
func (c Config) autoEdits() bool { return isTrue(c.AutoApproveSensitiveEdits) }

func isTrue(b *bool) bool { return b != nil && *b }
