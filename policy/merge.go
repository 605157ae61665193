package policy

import (
	"cmp"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/handrail-bot/handrail/policy/reach"
)

// WithDefaults returns c with the value of [DefaultConfig] for every unset key. It is for
// a configuration that is not merged with another.
func (c Config) WithDefaults() Config {
	d := DefaultConfig()
	if len(c.Modes) == 0 || slices.Contains(c.Modes, d.Mode) {
		c.Mode = cmp.Or(c.Mode, d.Mode)
	}
	c.Branch = cmp.Or(c.Branch, d.Branch)
	c.Push.Hold = cmp.Or(c.Push.Hold, d.Push.Hold)
	c.Approvals.Deadline = cmp.Or(c.Approvals.Deadline, d.Approvals.Deadline)
	c.Comments.After = cmp.Or(c.Comments.After, d.Comments.After)
	w, dw := &c.Workspace, d.Workspace
	w.Engine, w.Network, w.Pull = cmp.Or(w.Engine, dw.Engine), cmp.Or(w.Network, dw.Network), cmp.Or(w.Pull, dw.Pull)
	w.Build = cmp.Or(w.Build, dw.Build)
	w.Memory, w.Pids, w.CPUs = cmp.Or(w.Memory, dw.Memory), cmp.Or(w.Pids, dw.Pids), cmp.Or(w.CPUs, dw.CPUs)
	w.Disk = cmp.Or(w.Disk, dw.Disk)
	c.SetUp.Propose = cmp.Or(proposeOff(c.SetUp, SetUp{}), "auto") // before the default of the network
	c.SetUp.Network = cmp.Or(c.SetUp.Network, d.SetUp.Network)
	c.Budget.Session = c.Budget.Session.or(d.Budget.Session)
	c.Budget.Thread = c.Budget.Thread.or(d.Budget.Thread)
	c.Budget.UserDay = c.Budget.UserDay.or(d.Budget.UserDay)
	return c
}

func (l Limits) or(d Limits) Limits {
	return Limits{
		Turns: cmp.Or(l.Turns, d.Turns), Tokens: cmp.Or(l.Tokens, d.Tokens), Time: cmp.Or(l.Time, d.Time),
		Edits: cmp.Or(l.Edits, d.Edits), Lines: cmp.Or(l.Lines, d.Lines),
	}
}

// Merge combines the server's configuration with a repository's. For preferences (model,
// mode, image, templates, schedules), the repository chooses from the server's lists. For
// safety settings, it can only be stricter: switches need both, deny and ask rules add
// up, allow lists and approvers narrow, the smaller limit applies. If the server alone
// would ask or deny, the result never allows; if it would deny, the result never asks.
// The engine is the server's.
func Merge(server, repo Config) Config {
	out := Config{Above: &server}
	out.Models = narrowList(server.Models, repo.Models)
	out.Model = pick(pick(repo.Model, server.Model, server.Models), "", out.Models)
	out.Modes = narrowList(server.Modes, repo.Modes)
	out.Mode = pick(pick(repo.Mode, server.Mode, server.Modes), "", out.Modes)
	out.Turns = minLimit(server.Turns, repo.Turns)
	out.AutoApproveCommands = both(server.AutoApproveCommands, repo.AutoApproveCommands)
	out.AutoApproveSensitiveEdits = both(server.AutoApproveSensitiveEdits, repo.AutoApproveSensitiveEdits)
	out.Commands = mergeCommands(server.Commands, repo.Commands)
	out.Defaults = mergeDefaults(server.Defaults, repo.Defaults)
	out.AlwaysAsk = union(server.AlwaysAsk, repo.AlwaysAsk)
	out.SensitiveFiles = slices.Clone(repo.SensitiveFiles)
	out.Approvals = mergeApprovals(server.Approvals, repo.Approvals)
	out.Workspace = mergeWorkspace(server.Workspace, repo.Workspace)
	out.Budget = Budget{
		Session: lowerLimits(server.Budget.Session, repo.Budget.Session),
		Thread:  lowerLimits(server.Budget.Thread, repo.Budget.Thread),
		UserDay: lowerLimits(server.Budget.UserDay, repo.Budget.UserDay),
	}
	out.Branch = cmp.Or(repo.Branch, server.Branch)
	out.Undo = cmp.Or(repo.Undo, server.Undo)
	out.Commits = mergeCommits(server.Commits, repo.Commits)
	out.Comments = Comments{
		Severity: cmp.Or(repo.Comments.Severity, server.Comments.Severity),
		Inline:   cmp.Or(repo.Comments.Inline, server.Comments.Inline),
		Progress: cmp.Or(repo.Comments.Progress, server.Comments.Progress),
		End:      cmp.Or(repo.Comments.End, server.Comments.End),
		After:    cmp.Or(repo.Comments.After, server.Comments.After),
		Approval: cmp.Or(repo.Comments.Approval, server.Comments.Approval),
	}
	out.Push.Hold = stricterHold(server.Push.Hold, repo.Push.Hold) //control:hold-tightens
	out.PullRequest = PullRequest{
		Draft:         cmp.Or(repo.PullRequest.Draft, server.PullRequest.Draft),
		Ready:         cmp.Or(repo.PullRequest.Ready, server.PullRequest.Ready),
		Branch:        cmp.Or(repo.PullRequest.Branch, server.PullRequest.Branch),
		Title:         cmp.Or(repo.PullRequest.Title, server.PullRequest.Title),
		Body:          cmp.Or(repo.PullRequest.Body, server.PullRequest.Body),
		Base:          cmp.Or(repo.PullRequest.Base, server.PullRequest.Base),
		Labels:        orList(repo.PullRequest.Labels, server.PullRequest.Labels),
		Reviewers:     orList(repo.PullRequest.Reviewers, server.PullRequest.Reviewers),
		TeamReviewers: orList(repo.PullRequest.TeamReviewers, server.PullRequest.TeamReviewers),
	}
	out.Watch = mergeWatch(server.Watch, repo.Watch)
	out.Test = orList(repo.Test, server.Test)
	out.Verify = cmp.Or(repo.Verify, server.Verify)
	out.LongRunningCommands = union(server.LongRunningCommands, repo.LongRunningCommands)
	out.Tools = mergeTools(server.Tools, repo.Tools)
	out.SetUp = mergeSetUp(server.SetUp, repo.SetUp)
	out.MCP = mergeServers(server.MCP, repo.MCP)
	out.Repositories = mergeRepositories(server.Repositories, repo.Repositories)
	var unfit []string
	out.LanguageServers, unfit = mergeLanguageServers(server.LanguageServers, repo.LanguageServers)
	out.MCP.Unfit = append(out.MCP.Unfit, unfit...)
	return out
}

// orList returns first unless it is nil. An empty first means an empty list.
func orList(first, second []string) []string {
	if first != nil {
		return slices.Clone(first)
	}
	return slices.Clone(second)
}

// both returns a switch that is on if the server turns it on and the repository does not
// turn it off. It returns nil if neither sets it.
func both(server, repo *bool) *bool {
	if server == nil && repo == nil {
		return nil
	}
	on := isTrue(server) && (repo == nil || *repo)
	return &on
}

// either returns a switch that is on if either turns it on. It returns nil if neither
// sets it.
func either(server, repo *bool) *bool {
	if server == nil && repo == nil {
		return nil
	}
	on := isTrue(server) || isTrue(repo)
	return &on
}

// minLimit returns the smaller of two limits. Zero means unlimited.
func minLimit[N int | float64 | Duration | Size](a, b N) N {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

func lowerLimits(a, b Limits) Limits {
	return Limits{
		Turns: minLimit(a.Turns, b.Turns), Tokens: minLimit(a.Tokens, b.Tokens), Time: minLimit(a.Time, b.Time),
		Edits: minLimit(a.Edits, b.Edits), Lines: minLimit(a.Lines, b.Lines),
	}
}

// pick returns want if the list allows it, and otherwise if not. An empty list allows
// any value.
func pick(want, otherwise string, list []string) string {
	if want == "" || len(list) > 0 && !slices.Contains(list, want) {
		return otherwise
	}
	return want
}

// narrowList returns the intersection of two lists. An empty list means everything. If
// the intersection is empty, it returns the repository's list, of which [Config.Choose]
// then allows nothing.
func narrowList(server, repo []string) []string {
	if len(server) == 0 {
		return slices.Clone(repo)
	}
	out := slices.DeleteFunc(slices.Clone(server), func(s string) bool { return !slices.Contains(repo, s) })
	switch {
	case len(repo) == 0:
		return slices.Clone(server)
	case len(out) == 0:
		return slices.Clone(repo)
	}
	return out
}

func union(a, b []string) []string {
	out := slices.Clone(a)
	for _, s := range b {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

func mergeCommands(server, repo Commands) Commands {
	out := Commands{
		Deny:  union(server.Deny, repo.Deny),
		Ask:   union(server.Ask, repo.Ask),
		Allow: slices.Clone(server.Allow),
	}
	if repo.Allow == nil {
		return out
	}
	above := commandPatterns(server.Allow)
	out.Allow = slices.DeleteFunc(slices.Clone(repo.Allow), func(s string) bool { return !covered(above, s) })
	return out
}

// covered reports whether some pattern matches everything that pattern s matches. A star
// in s is treated as ordinary text, which only a star can match.
func covered(above []commandPattern, s string) bool {
	for _, narrow := range commandPatterns([]string{s}) {
		for _, wide := range above {
			program, _, _ := strings.Cut(narrow.text, " ")
			if wide.text == narrow.text || wildcard(wide.text, narrow.text) && (wide.args == narrow.args) ||
				!wide.args && wide.text == program && !strings.Contains(program, "*") {
				return true
			}
		}
	}
	return false
}

func mergeDefaults(server, repo Defaults) Defaults {
	return Defaults{
		Read:    stricter(server.Read, repo.Read, Allow),
		Write:   stricter(server.Write, repo.Write, Allow),
		Delete:  stricter(server.Delete, repo.Delete, Allow),
		Execute: stricter(server.Execute, repo.Execute, Allow),
		Network: stricter(server.Network, repo.Network, Ask),
		Post:    stricter(server.Post, repo.Post, Ask),
	}
}

// stricter returns the stricter of two defaults. An unset server value means the built-in
// one.
func stricter(server, repo string, builtin Verdict) string {
	s, r := verdictOr(server, builtin), verdictOr(repo, Allow)
	if r <= s && repo != "" {
		return repo
	}
	return server
}

func mergeApprovals(server, repo Approvals) Approvals {
	out := Approvals{
		// review pushes unapproved edits to a branch of their own: the server can rule that out
		By:           cmp.Or(server.By, repo.By),
		Deadline:     minLimit(server.Deadline, repo.Deadline),
		NotRequester: either(server.NotRequester, repo.NotRequester),
		Approvers:    slices.Clone(repo.Approvers),
		Bots:         slices.Clone(server.Bots),
	}
	if repo.Bots != nil {
		out.Bots = slices.DeleteFunc(out.Bots, func(id int64) bool { return !slices.Contains(repo.Bots, id) })
	}
	return out
}

// Lists reports whether network: allowlist can reach a host, at any port.
func (w Workspace) Lists(host string) bool { return reach.Lists(w.Reaches(), host) }

// Reaches returns the hosts that network: allowlist can reach, including presets.
func (w Workspace) Reaches() []string {
	out := slices.Clone(w.Hosts)
	for _, name := range w.Presets {
		out = union(out, reach.Preset(name))
	}
	return out
}

func networkNames() []string { return []string{"none", "allowlist", "open"} }

func mergeWorkspace(server, repo Workspace) Workspace {
	out := server
	if repo.Image != "" && imageAllowed(server.Images, repo.Image) {
		out.Image = repo.Image
	}
	out.Images, out.Hosts = slices.Clone(server.Images), slices.Clone(server.Hosts)
	out.Presets = slices.Clone(server.Presets)
	out.Toolchains = slices.Clone(server.Toolchains)
	names := networkNames()
	have, want := max(0, slices.Index(names, server.Network)), slices.Index(names, repo.Network)
	if want >= 0 && want < have {
		out.Network = repo.Network
	}
	switch {
	case out.Network != server.Network:
		out.Hosts, out.Presets = slices.Clone(repo.Hosts), slices.Clone(repo.Presets)
	case repo.Hosts != nil || repo.Presets != nil: // by host, because a part of a preset may remain
		out.Presets = nil
		out.Hosts = slices.DeleteFunc(repo.Reaches(), func(h string) bool { return !reach.Covered(server.Reaches(), h) }) //control:hosts-narrow
	}
	out.Paths = orList(repo.Paths, server.Paths) // not a security boundary
	out.Memory = minLimit(server.Memory, repo.Memory)
	out.Pids = minLimit(server.Pids, repo.Pids)
	out.CPUs = minLimit(server.CPUs, repo.CPUs)
	out.Disk = minLimit(server.Disk, repo.Disk)
	return out
}

// BuiltImages is the repository of the images that are built from Dockerfiles. No configuration of a repository
// names one: it could have private files of another.
const BuiltImages = "handrail-built"

func imageAllowed(globs []string, image string) bool {
	if strings.Contains(image, BuiltImages) { //control:built-for-others
		return false
	}
	if len(globs) == 0 {
		return validImage(image)
	}
	return slices.ContainsFunc(globs, func(g string) bool {
		ok, err := doublestar.Match(g, image)
		return err == nil && ok
	})
}

// standardImages are common development images of Docker, Microsoft and Deno. They may be
// pulled if the server's configuration does not restrict images.
var standardImages = []string{
	"golang", "node", "python", "rust", "ruby", "php", "composer", "maven", "gradle", "eclipse-temurin", "elixir", "dart", "swift",
	"debian", "ubuntu", "buildpack-deps", "denoland/deno", "mcr.microsoft.com/dotnet/sdk", "mcr.microsoft.com/devcontainers/**",
}

// top returns the topmost configuration.
func (c Config) top() Config {
	for c.Above != nil {
		c = *c.Above
	}
	return c
}

// AllowsImage reports whether a repository may choose the image.
func (c Config) AllowsImage(image string) bool {
	return validImage(image) && imageAllowed(c.top().Workspace.Images, image)
}

// Builds reports whether images are built from Dockerfiles of repositories.
func (c Config) Builds() bool { return c.top().Workspace.Build != "never" } //control:build-never

// Pulls reports whether the image may be pulled if it is missing. That holds for the
// image in the server's configuration, for those that it lets repositories choose and,
// if it does not restrict them, for the standard images. A repository must not decide
// from which registries the server fetches, or which registries see its logins.
func (c Config) Pulls(image string) bool {
	w := c.top().Workspace
	if w.Pull == "never" || image == "" { //control:pull-never
		return false
	}
	if image == w.Image {
		return true
	}
	if len(w.Images) > 0 {
		return imageAllowed(w.Images, image)
	}
	name, _, _ := strings.Cut(image, "@")
	if i := strings.LastIndexByte(name, ':'); i > strings.LastIndexByte(name, '/') {
		name = name[:i]
	}
	return imageAllowed(standardImages, name) //control:pull-standard-images
}

// approverGroups returns the lists of approvers, the server's first. An approval needs an
// entry of each list.
func (c Config) approverGroups() [][]string {
	var out [][]string
	if c.Above != nil {
		out = c.Above.approverGroups()
	}
	if len(c.Approvals.Approvers) > 0 {
		out = append(out, slices.Clone(c.Approvals.Approvers))
	}
	return out
}
