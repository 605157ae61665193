package policy

import (
	"fmt"
	"maps"
	"math"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/handrail-bot/handrail/policy/reach"
	"github.com/handrail-bot/handrail/policy/strict"
)

// problems collects invalid values.
type problems struct{ all strict.Faults }

func (p *problems) add(text string, path ...any) { p.all = append(p.all, strict.At(text, path...)) }

// oneOf adds a problem unless value is empty or in the list.
func (p *problems) oneOf(value string, list []string, path ...any) {
	if value == "" || slices.Contains(list, value) {
		return
	}
	hint := ""
	if near := Nearest(value, list); near != "" {
		hint = fmt.Sprintf(", did you mean %q?", near)
	}
	p.add(fmt.Sprintf("%q is not one of %s%s", value, strings.Join(list, ", "), hint), path...)
}

func (p *problems) atLeastZero(n float64, path ...any) {
	if n < 0 || math.IsNaN(n) || math.IsInf(n, 0) {
		p.add("must be a number from 0 up", path...)
	}
}

func verdictNames() []string { return []string{"allow", "ask", "deny"} }

func kindNames() []string {
	return []string{"read", "write", "delete", "execute", "network", "post", "mcp"}
}

func modeNames() []string {
	names := make([]string, len(modeTable))
	for i, m := range modeTable {
		names[i] = m.Name
	}
	return names
}

// Validate returns the keys with invalid values, as [strict.Faults].
func (c Config) Validate() error {
	var p problems
	p.oneOf(c.Mode, modeNames(), "mode")
	for i, m := range c.Modes {
		p.requiredOneOf(m, modeNames(), "modes", i)
	}
	if c.Mode != "" && len(c.Modes) > 0 && !slices.Contains(c.Modes, c.Mode) {
		p.add(fmt.Sprintf("%q is not among modes: %s", c.Mode, strings.Join(c.Modes, ", ")), "mode")
	}
	if c.Model != "" && len(c.Models) > 0 && !slices.Contains(c.Models, c.Model) {
		p.add(fmt.Sprintf("%q is not among models: %s", c.Model, strings.Join(c.Models, ", ")), "model")
	}
	p.atLeastZero(float64(c.Turns), "turns")
	if c.Turns > 1000 {
		p.add("at most 1000 turns", "turns")
	}
	p.atLeastZero(float64(c.Comments.Inline), "comments", "inline")
	if c.Comments.Inline > 50 {
		p.add("at most 50 comments on lines", "comments", "inline")
	}
	c.checkSafety(&p)
	c.checkApprovals(&p)
	c.checkWorkspace(&p)
	c.checkSetUp(&p)
	c.checkLanguageServers(&p)
	c.checkServers(&p)
	c.checkRepositories(&p)
	c.checkTools(&p)
	c.checkBudget(&p)
	c.checkDelivery(&p)
	c.checkWatch(&p)
	return p.all.Err()
}

// requiredOneOf is oneOf for a required value.
func (p *problems) requiredOneOf(value string, list []string, path ...any) {
	if value == "" {
		p.add("a value is needed: "+strings.Join(list, ", "), path...)
		return
	}
	p.oneOf(value, list, path...)
}

func (c Config) checkSafety(p *problems) {
	checkPatterns(p, c.Commands.Allow, "commands", "allow")
	checkPatterns(p, c.Commands.Deny, "commands", "deny")
	checkPatterns(p, c.Commands.Ask, "commands", "ask")
	checkPatterns(p, c.LongRunningCommands, "long_running_commands")
	for i, cmd := range c.Commands.Allow {
		if strings.Trim(cmd, "* ") == "" {
			p.add("a pattern that allows every command is not accepted; use auto_approve_commands", "commands", "allow", i)
		}
	}
	d := c.Defaults
	p.oneOf(d.Read, verdictNames(), "defaults", "read")
	p.oneOf(d.Write, verdictNames(), "defaults", "write")
	p.oneOf(d.Delete, verdictNames(), "defaults", "delete")
	p.oneOf(d.Execute, verdictNames(), "defaults", "execute")
	p.oneOf(d.Network, verdictNames(), "defaults", "network")
	p.oneOf(d.Post, verdictNames(), "defaults", "post")
	for i, k := range c.AlwaysAsk {
		p.requiredOneOf(k, kindNames(), "always_ask", i)
	}
	for i, s := range c.SensitiveFiles {
		if strings.TrimSpace(s.Pattern) == "" {
			p.add("a pattern is needed, such as \"**/*.pem\"", "sensitive_files", i)
		} else if !doublestar.ValidatePattern(foldPattern(s.Pattern)) {
			p.add(fmt.Sprintf("%q is not a valid glob", s.Pattern), "sensitive_files", i, "pattern")
		}
		p.requiredOneOf(s.Approve, []string{"auto", "required"}, "sensitive_files", i, "approve")
	}
}

func checkPatterns(p *problems, list []string, path ...any) {
	for i, s := range list {
		if strings.TrimSpace(s) == "" {
			p.add("an empty pattern matches nothing; write a program, such as \"go test *\"", append(slices.Clone(path), i)...)
		}
	}
}

func (c Config) checkApprovals(p *problems) {
	p.oneOf(c.Approvals.By, []string{"comment", "review"}, "approvals", "by")
	for i, a := range c.Approvals.Approvers {
		if !validApprover(a) {
			p.add(
				fmt.Sprintf("%q is not user:<numeric id>, team:<org>/<slug>, codeowners, write, maintain or admin", a),
				"approvals",
				"approvers",
				i,
			)
		}
	}
	for i, id := range c.Approvals.Bots {
		if id <= 0 {
			p.add("a numeric account id is needed", "approvals", "bots", i)
		}
	}
	if c.Approvals.Deadline < 0 {
		p.add("must not be negative", "approvals", "deadline")
	}
}

func validApprover(s string) bool {
	return regexp.MustCompile(`^(user:[1-9][0-9]{0,17}|team:[A-Za-z0-9][A-Za-z0-9-]*/[A-Za-z0-9][A-Za-z0-9._-]*|codeowners|write|maintain|admin)$`).MatchString(s)
}

func (c Config) checkWorkspace(p *problems) {
	w := c.Workspace
	p.oneOf(w.Engine, []string{"docker", "bwrap", "local"}, "workspace", "engine")
	p.oneOf(w.Pull, []string{"missing", "never"}, "workspace", "pull")
	p.oneOf(w.Build, []string{"approved", "never"}, "workspace", "build")
	p.reach(w, "workspace")
	p.atLeastZero(float64(w.Memory), "workspace", "memory")
	p.atLeastZero(float64(w.Pids), "workspace", "pids")
	p.atLeastZero(w.CPUs, "workspace", "cpus")
	p.atLeastZero(float64(w.Disk), "workspace", "disk")
	if w.Image != "" && !validImage(w.Image) {
		p.add(fmt.Sprintf("%q is not an image name", w.Image), "workspace", "image")
	}
	isPlace := func(dir string, at ...any) {
		if !path.IsAbs(dir) || path.Clean(dir) == "/" {
			p.add(fmt.Sprintf("%q is not the absolute path of a directory", dir), at...)
		}
	}
	for i, dir := range w.Toolchains {
		isPlace(dir, "workspace", "toolchains", i)
	}
	if w.LSP != "" {
		isPlace(w.LSP, "workspace", "lsp")
	}
	for i, g := range w.Images {
		if g == "" || !doublestar.ValidatePattern(g) {
			p.add(fmt.Sprintf("%q is not a valid glob", g), "workspace", "images", i)
		}
	}
	w.checkPaths(p)
	for _, host := range slices.Sorted(maps.Keys(w.Inside)) {
		if _, ok := reach.Name(host); !ok {
			p.add("it is not the name of a host, such as mirror.example.org", "workspace", "inside", host)
		}
		if _, err := reach.Place(w.Inside[host]); err != nil {
			p.add(err.Error(), "workspace", "inside", host)
		}
	}
}

// reach checks the network settings below a key.
func (p *problems) reach(w Workspace, key string) {
	p.oneOf(w.Network, networkNames(), key, "network")
	for i, h := range w.Hosts {
		if err := reach.Check(h); err != nil {
			p.add(err.Error(), key, "hosts", i)
		}
	}
	for i, name := range w.Presets {
		p.requiredOneOf(name, reach.Presets(), key, "presets", i)
	}
}

func validImage(s string) bool {
	return len(s) <= 255 && regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/:@-]*$`).MatchString(s)
}

func (c Config) checkBudget(p *problems) {
	keys := []string{"session", "thread", "user_day"}
	for i, l := range []Limits{c.Budget.Session, c.Budget.Thread, c.Budget.UserDay} {
		key := keys[i]
		p.atLeastZero(float64(l.Turns), "budget", key, "turns")
		p.atLeastZero(float64(l.Tokens), "budget", key, "tokens")
		p.atLeastZero(float64(l.Time), "budget", key, "time")
		p.atLeastZero(float64(l.Edits), "budget", key, "edits")
		p.atLeastZero(float64(l.Lines), "budget", key, "lines")
	}
}

func (c Config) checkDelivery(p *problems) {
	if c.Branch != "" {
		if err := validateBranchTemplate(c.Branch); err != nil {
			p.add(err.Error(), "branch")
		}
	}
	p.oneOf(c.Undo, []string{"commit", "reset"}, "undo")
	p.oneOf(c.Push.Hold, holds, "push", "hold")
	p.oneOf(c.Commits.Sign, signs, "commits", "sign")
	c.checkPull(p)
	p.oneOf(c.Comments.Progress, []string{"edit", NoProgress}, "comments", "progress")
	p.oneOf(c.Comments.End, []string{"mention", Quiet}, "comments", "end")
	p.oneOf(c.Comments.Severity, []string{"low", "medium", "high"}, "comments", "severity")
	p.oneOf(c.Comments.Approval, []string{"mention", Quiet}, "comments", "approval")
}

// CheckEffect returns the keys that are set but have no effect, as [strict.Faults]. They
// would promise a behavior that does not happen.
func (c Config) CheckEffect() error {
	var p problems
	switch w := c.Workspace; {
	case w.Network == "allowlist" && w.Engine == "local":
		p.add(
			"a local workspace has no wall, so a list of hosts cannot be kept there: use docker or bwrap",
			"workspace",
			"network",
		)
	case w.Network == "allowlist":
	case len(w.Hosts) > 0: //control:keys-without-effect
		p.add("this does nothing without network: allowlist beside it; add that, or take it out", "workspace", "hosts")
	case len(w.Presets) > 0:
		p.add("this does nothing without network: allowlist beside it; add that, or take it out", "workspace", "presets")
	}
	if s := c.SetUp; s.Network != "allowlist" && len(s.Hosts)+len(s.Presets) > 0 { //control:setup-keys-without-effect
		key := "hosts"
		if len(s.Hosts) == 0 {
			key = "presets"
		}
		p.add("this does nothing without network: allowlist beside it; add that, or take it out", "setup", key)
	}
	if c.Undo == "reset" {
		p.add(
			"no branch is reset, because others may build on it: /agent undo makes a reverting commit, and nothing is lost; take it out",
			"undo",
		)
	}
	return p.all.Err()
}

// CheckRepository returns the keys of a repository's file that have no effect because
// only the server may set them (their fields have the tag only:"server"), as
// [strict.Faults].
func (c Config) CheckRepository() error {
	var p problems
	p.ofServer(reflect.ValueOf(c), nil)
	for i, r := range c.Repositories {
		if _, all := r.owner(); all {
			p.add("only the server's file may name all repositories of an owner; name one", "repositories", i)
		}
	}
	return p.all.Err()
}

func (p *problems) ofServer(v reflect.Value, path []any) {
	for _, k := range strict.Keys(v.Type()) {
		f, _ := v.Type().FieldByName(k.Field)
		part, below := v.FieldByName(k.Field), append(path[:len(path):len(path)], k.Name)
		switch {
		case f.Tag.Get("only") == "server" && !part.IsZero(): //control:keys-of-the-server
			p.add("only the server's file may say this, below policy; take it out", below...)
		case part.Kind() == reflect.Struct:
			p.ofServer(part, below)
		case part.Kind() == reflect.Map && part.Type().Elem().Kind() == reflect.Struct:
			for _, name := range part.MapKeys() {
				p.ofServer(part.MapIndex(name), append(below[:len(below):len(below)], name.String()))
			}
		}
	}
}
