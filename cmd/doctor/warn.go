package doctor

import (
	"cmp"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/handrail-bot/handrail/agent/compact"
	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/prompt"
	"github.com/handrail-bot/handrail/agent/tools"
	"github.com/handrail-bot/handrail/bot/schedule"
	"github.com/handrail-bot/handrail/cmd/config"
	"github.com/handrail-bot/handrail/cmd/door"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/pattern"
	"github.com/handrail-bot/handrail/policy/strict"
)

// warnings collects values that are valid but will not have the expected effect.
type warnings struct{ all strict.Faults }

// warnIf adds a warning if bad. Dots separate the names and indexes of key.
func (w *warnings) warnIf(bad bool, key, format string, args ...any) {
	if bad {
		w.all = append(w.all, strict.At(fmt.Sprintf(format, args...), config.Path(key)...))
	}
}

// Server returns warnings about valid but ineffective values in the server's file.
func Server(cfg *config.Server) strict.Faults {
	var w warnings
	w.all = cfg.Idle()
	s, q, m := cfg.Sessions, cfg.Quotas, cfg.Model
	atOnce := cmp.Or(s.AtOnce, config.DefaultAtOnce)
	w.warnIf(
		s.PerUser > atOnce,
		"sessions.per_user",
		"%d is more than the %d sessions that run at once, and limits nothing",
		s.PerUser,
		atOnce,
	)
	w.warnIf(
		s.PerRepo > atOnce,
		"sessions.per_repo",
		"%d is more than the %d sessions that run at once, and limits nothing",
		s.PerRepo,
		atOnce,
	)
	w.warnIf(m.Parallel > atOnce, "model.parallel", "%d is more than the %d sessions that run at once", m.Parallel, atOnce)
	w.warnIf(
		q.WritesPerHour > 0 && q.WritesPerMinute > q.WritesPerHour,
		"quotas.writes_per_minute",
		"%d is more than the %d of an hour",
		q.WritesPerMinute,
		q.WritesPerHour,
	)
	first := firstPrompt()
	w.warnIf(
		m.Context != 0 && m.Context < first,
		"model.context",
		"the first prompt of a session takes about %d tokens before a word of the task: %d are too few, give at least %d",
		first,
		m.Context,
		minContext,
	)
	w.warnIf(
		m.Context >= first && m.Context < minContext,
		"model.context",
		"sessions can do little with fewer than %d tokens",
		minContext,
	)
	w.warnIf(
		m.Silence != 0 && time.Duration(m.Silence) < 10*time.Second,
		"model.silence",
		"%s is shorter than many models take before a first word; their answers would count as cut off",
		m.Silence,
	)
	w.api(cfg.GitHub.API)
	w.base(m.BaseURL)
	w.policy("policy.", cfg.Policy)
	return located(cfg.Locate(w.all.Err()))
}

// repository returns warnings about valid but ineffective values in a repository's file.
// An empty root skips checks against the repository's directories.
func repository(cfg policy.Config, doc *strict.Document, root string) strict.Faults {
	var w warnings
	w.all = doc.Idle(cfg)
	const both = "counts only if the server's file allows it too, below policy"
	w.warnIf(cfg.AutoApproveCommands != nil && *cfg.AutoApproveCommands, "auto_approve_commands", both)
	w.warnIf(cfg.AutoApproveSensitiveEdits != nil && *cfg.AutoApproveSensitiveEdits, "auto_approve_sensitive_edits", both)
	w.warnIf(cfg.Workspace.Network != "" && cfg.Workspace.Network != "none", "workspace.network", both)
	for i, r := range cfg.Repositories {
		w.warnIf(r.Writes(), fmt.Sprintf("repositories.%d", i), "write "+both)
	}
	for i, dir := range cfg.Workspace.Paths {
		w.warnIf(
			root != "" && !isDir(filepath.Join(root, dir)),
			fmt.Sprintf("workspace.paths.%d", i),
			"there is no directory %s here",
			dir,
		)
	}
	for i, e := range schedule.Of("owner/name", policy.Config{}, cfg) {
		w.warnIf(
			e.Refused != "",
			fmt.Sprintf("schedules.%d", i),
			"%s, unless the server's file says something else in policy.schedule_limits",
			e.Refused,
		)
	}
	w.policy("", cfg)
	return located(doc.Locate(w.all.Err()))
}

func located(err error) strict.Faults { return strict.Of(strict.Both(nil, err)) }

// firstPrompt estimates the tokens of a session's first prompt in code mode, without the
// task: the instructions and the tools.
func firstPrompt() int {
	all, err := door.BuiltinTools(nil)
	if err != nil {
		return 0
	}
	specs := tools.ForModel(all.Specs())
	words := prompt.Builder{}.Build(prompt.Input{Mode: "code", Tools: specs})
	return compact.Ratio{}.Tokens(
		compact.Size(llm.Request{Messages: []llm.Message{{Role: llm.RoleSystem, Content: words}}, Tools: specs}),
	)
}

// api checks the address of GitHub's API.
func (w *warnings) api(address string) {
	u, err := url.Parse(address)
	if address == "" || err != nil {
		return
	}
	host := strings.ToLower(u.Hostname())
	w.warnIf(
		host == "github.com" || host == "www.github.com",
		"github.api",
		"this is the site, not the API; leave it out for github.com",
	)
	own := host != "api.github.com" && !strings.HasSuffix(host, ".ghe.com") && host != "github.com" &&
		host != "www.github.com"
	w.warnIf(
		own && !loopback(host) && !strings.HasSuffix(strings.TrimRight(u.Path, "/"), "/api/v3"),
		"github.api",
		"the API of GitHub Enterprise Server ends in /api/v3: write %s://%s/api/v3/",
		u.Scheme,
		u.Host,
	)
}

func loopback(host string) bool {
	return host == "localhost" || strings.HasPrefix(host, "127.") || host == "::1"
}

// base checks the address of an OpenAI-compatible server.
func (w *warnings) base(address string) {
	u, err := url.Parse(address)
	w.warnIf(
		address != "" && err == nil && strings.Trim(u.Path, "/") == "",
		"model.base_url",
		"there is no path in it; most servers have their API below /v1: %s/v1",
		strings.TrimRight(address, "/"),
	)
}

// policy checks the keys that both files can have.
func (w *warnings) policy(under string, c policy.Config) {
	for i, s := range c.Schedules {
		w.warnIf(
			schedule.Never(s),
			fmt.Sprintf("%sschedules.%d.cron", under, i),
			"%q never comes: there is no such day",
			s.Cron,
		)
	}
	for i, a := range c.Approvals.Approvers {
		w.warnIf(
			isImpossibleTeam(a),
			fmt.Sprintf("%sapprovals.approvers.%d", under, i),
			"no team can have this name, so there would be no approver: names in addresses are in small letters, such as team:acme/%s",
			slugOf(a),
		)
	}
	for name, list := range map[string][]string{"allow": c.Commands.Allow, "ask": c.Commands.Ask, "deny": c.Commands.Deny} {
		for i, p := range list {
			w.warnIf(
				commandOperator().MatchString(p),
				fmt.Sprintf("%scommands.%s.%d", under, name, i),
				"matches nothing: the commands of a line are looked at one by one; write a pattern for each",
			)
		}
	}
	for i, dir := range c.Workspace.Paths {
		in := slices.IndexFunc(c.Workspace.Paths, func(p string) bool { return strings.HasPrefix(dir, p+"/") })
		w.warnIf(
			in >= 0 || slices.Index(c.Workspace.Paths, dir) < i,
			fmt.Sprintf("%sworkspace.paths.%d", under, i),
			"%s is there already, by another entry of the list",
			dir,
		)
	}
	n := c.Workspace.Memory
	w.warnIf(n > 0 && n < 64<<20, under+"workspace.memory", "%s is too little for most programs", n)
	w.warnIf(
		c.Workspace.Disk > 0 && c.Workspace.Disk < 16<<20,
		under+"workspace.disk",
		"%s is too little for most builds",
		c.Workspace.Disk,
	)
	w.warnIf(
		c.Workspace.Pids > 0 && c.Workspace.Pids < 16,
		under+"workspace.pids",
		"%d processes are too few for most builds",
		c.Workspace.Pids,
	)
	w.warnIf(
		c.Workspace.CPUs > 0 && c.Workspace.CPUs < 0.1,
		under+"workspace.cpus",
		"%v of a processor is too little for most programs",
		c.Workspace.CPUs,
	)
	d := time.Duration(c.Approvals.Deadline)
	w.warnIf(
		d > 0 && d < time.Minute,
		under+"approvals.deadline",
		"%s is too short to read a request",
		c.Approvals.Deadline,
	)
	first := firstPrompt()
	for _, b := range []struct {
		key string
		n   policy.Limits
	}{{"session", c.Budget.Session}, {"thread", c.Budget.Thread}, {"user_day", c.Budget.UserDay}} {
		key := under + "budget." + b.key
		w.warnIf(
			b.n.Tokens > 0 && b.n.Tokens < first,
			key+".tokens",
			"the first prompt of a session takes about %d tokens already",
			first,
		)
		w.warnIf(
			b.n.Time > 0 && time.Duration(b.n.Time) < 10*time.Second,
			key+".time",
			"%s is shorter than most models take for one answer",
			b.n.Time,
		)
	}
	w.warnIf(
		len(c.Triggers.Review) > 0 && len(c.Modes) > 0 && !slices.Contains(c.Modes, "review"),
		under+"triggers.review",
		"review is not among modes, so nothing would be reviewed",
	)
	for label, mode := range c.Triggers.Labels {
		w.warnIf(
			len(c.Modes) > 0 && !slices.Contains(c.Modes, mode),
			under+"triggers.labels."+label,
			"%s is not among modes, so the label would start nothing",
			mode,
		)
	}
}

// commandOperator matches the operators between the commands of a line.
var commandOperator = pattern.Lazy(`\s(&&|\|\|?|;)\s`)

// isImpossibleTeam reports whether an approver is a team with an impossible name.
func isImpossibleTeam(approver string) bool {
	name, ok := strings.CutPrefix(approver, "team:")
	org, slug, _ := strings.Cut(name, "/")
	return ok &&
		(slug != strings.ToLower(slug) || strings.Contains(slug, ".") || len(org) > 39 || strings.HasSuffix(org, "-") || strings.Contains(org, "--"))
}

// slugOf returns the form of a team's name that GitHub uses in addresses.
func slugOf(approver string) string {
	_, slug, _ := strings.Cut(approver, "/")
	return strings.ReplaceAll(strings.ToLower(slug), ".", "-")
}
