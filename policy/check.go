package policy

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/policy/phrase"
	"github.com/handrail-bot/handrail/policy/reach"
	"github.com/handrail-bot/handrail/policy/shell"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

// Policy decides about actions according to one configuration. It is immutable, does no
// I/O, and is safe for concurrent use. The zero Policy denies everything.
type Policy struct {
	ready     bool
	config    Config
	sensitive [][]pathRule
	allow     []commandPattern
	deny      []commandPattern
	ask       []commandPattern
	alwaysAsk kindSet
	defaults  [lastKind + 1]Verdict
	walled    bool
	kept      string   // directory in which nothing may be changed; "" if none
	open      []string // directories below kept in which everything may
	tests     []string // commands that run the project's tests
	remote    *Remote  // destination of the work; nil if there is none
	analyze   func(string) shell.Analysis
}

// New returns the policy of a configuration. An error names the invalid key.
func New(config Config) (*Policy, error) {
	if err := config.Validate(); err != nil {
		return nil, fmt.Errorf("make policy: %w", err)
	}
	p := &Policy{ready: true, config: config, analyze: shell.Analyze}
	p.sensitive = sensitiveLayers(config)
	p.allow = commandPatterns(config.Commands.Allow)
	p.deny = commandPatterns(config.Commands.Deny)
	p.ask = commandPatterns(config.Commands.Ask)
	for _, name := range config.AlwaysAsk {
		k, err := parseKind(name)
		if err != nil {
			return nil, fmt.Errorf("make policy: %w", err)
		}
		p.alwaysAsk |= kinds(k)
	}
	p.defaults = defaultVerdicts(config.Defaults)
	return p, nil
}

// Walled returns the policy for a workspace in a container or a sandbox without network
// access. Commands there can only change a copy, which is checked before it is pushed,
// so only critical ones need approval. Review modes may run the given test commands; the
// caller must discard the files that these leave behind.
func (p *Policy) Walled(tests ...string) *Policy {
	q := *p
	q.walled, q.tests = true, slices.Clone(tests)
	return &q
}

func defaultVerdicts(d Defaults) [lastKind + 1]Verdict {
	out := [lastKind + 1]Verdict{
		Read:     verdictOr(d.Read, Allow),
		Write:    verdictOr(d.Write, Allow),
		Delete:   verdictOr(d.Delete, Allow),
		Execute:  verdictOr(d.Execute, Allow),
		Network:  verdictOr(d.Network, Ask),
		Converse: Allow,
		MCP:      Ask,
		Foreign:  Ask,
	}
	out[Post] = verdictOr(d.Post, Ask) //control:posts-are-asked-for
	return out
}

func verdictOr(word string, unset Verdict) Verdict {
	switch word {
	case "":
		return unset
	case "allow":
		return Allow
	case "ask":
		return Ask
	}
	return Deny
}

// facts is an action with the facts that the rules need.
type facts struct {
	mode  Mode
	act   Action
	shell shell.Analysis
}

// Check decides about an action in a mode. The reasons contain every rule that matched,
// the deciding one first.
func (p *Policy) Check(m Mode, a Action) Decision {
	d := Decision{Verdict: Deny, Digest: a.Digest()}
	if p == nil || !p.ready {
		return d.settle(Deny, "policy.none", "no policy is loaded, so nothing is allowed")
	}
	if err := wellFormed(a); err != nil {
		return d.settle(Deny, "action.malformed", err.Error())
	}
	f := facts{mode: m, act: a}
	if a.Kind == Execute {
		if f.shell = p.analyze(a.Command).Open(); p.walled {
			f.shell = p.analyze(a.Command).Walled()
		}
		d.Severity, d.Unknown = f.shell.Severity, f.shell.Unknown
		d.Reasons = slices.Clone(f.shell.Reasons)
	}
	for _, name := range a.Paths {
		if a.Kind == Read && shell.HoldsSecrets(name) { //control:read-of-a-secret
			d.Severity = High // like a command that prints it
			d.Reasons = append(
				d.Reasons,
				Reason{Rule: "read.secret", Text: untrusted.EscapeLine(name) + " is a file that holds credentials"},
			)
		}
	}
	steps := [...]func(facts, *Decision) bool{
		p.modeStep, p.pageStep, p.denyStep, p.keptStep, criticalStep, longerStep, p.alwaysAskStep, p.triageStep,
		p.mcpStep, p.networkStep, p.sensitiveStep, p.allowStep, p.severityStep,
	}
	for _, step := range steps {
		if step(f, &d) {
			return d
		}
	}
	return p.defaultStep(f, d)
}

// settle sets the verdict and puts the deciding rule first.
func (d Decision) settle(v Verdict, rule, text string) Decision {
	d.Verdict, d.Rule = v, rule
	d.Reasons = append([]Reason{{Rule: rule, Text: text}}, d.Reasons...)
	return d
}

func wellFormed(a Action) error {
	switch a.Kind {
	case Execute:
		if strings.TrimSpace(a.Command) == "" {
			return errors.New("an execute action needs a command")
		}
		if strings.ContainsRune(a.Command, 0) {
			return errors.New("the command contains a NUL character")
		}
	case Write, Delete:
		if len(a.Paths) == 0 || slices.Contains(a.Paths, "") {
			return fmt.Errorf("a %s action needs a path", a.Kind)
		}
	case Network:
		if strings.TrimSpace(a.URL) == "" {
			return errors.New("a network action needs a URL")
		}
	case Post:
		if strings.TrimSpace(a.Display) == "" {
			return errors.New("a post action needs a text")
		}
	case Foreign:
		if strings.TrimSpace(a.Display) == "" {
			return errors.New("an action of another agent needs a text to show")
		}
	case MCP:
		if a.Server == "" || a.Remote == "" || strings.TrimSpace(a.Display) == "" {
			return errors.New("a call of an MCP server needs the server, a tool and a text to show")
		}
	case Read, Converse:
	default:
		return errors.New("the kind of the action is not known")
	}
	for _, p := range append(slices.Clone(a.Paths), a.Cwd) {
		if err := insideRoot(p); err != nil {
			return err
		}
	}
	return nil
}

// insideRoot rejects paths that are lexically outside of the workspace. The workspace
// itself handles symlinks.
func insideRoot(p string) error {
	if len(p) > maxPathBytes {
		return fmt.Errorf("path %q… has %d bytes, and the longest that the system takes is %d", p[:60], len(p), maxPathBytes)
	}
	slash := strings.ReplaceAll(p, `\`, "/")
	clean := path.Clean(slash)
	if strings.ContainsRune(p, 0) || strings.HasPrefix(slash, "/") || clean == ".." || strings.HasPrefix(clean, "../") {
		return fmt.Errorf("path %q is outside the workspace; use a path relative to its root", p)
	}
	return nil
}

func (p *Policy) modeStep(f facts, d *Decision) bool {
	m, k := f.mode, f.act.Kind
	refuse := func(format string, args ...any) bool {
		*d = d.settle(Deny, "mode."+m.Name, fmt.Sprintf(format, args...))
		return true
	}
	if !m.Allows(k) {
		return refuse("mode %q allows %s; %s is not possible in it", m.Name, kindList(m.allowed()), k)
	}
	if k == Post && m.Triages() != f.act.Triage { //control:triage-posts-nothing-else
		return refuse("mode %q only puts on labels, and writes what it found", triage)
	}
	if k == Execute && m.commands < anyCommand && !p.runsTests(f) {
		if m.commands == gitRead && p.walled && len(p.tests) > 0 && !f.shell.ReadOnly {
			return refuse(
				"mode %q only runs git commands that read and, as one command of its own, the project's tests: %s",
				m.Name,
				strings.Join(p.tests, ", "),
			)
		}
		if m.commands == noCommands || !f.shell.ReadOnly {
			return refuse(
				"mode %q only runs commands that read; use the read and search tools, or describe the change instead of making it",
				m.Name,
			)
		}
		if m.commands == gitRead && !onlyGitReads(f.shell) {
			return refuse("mode %q only runs git commands that read, such as git log, git diff, git show and git blame", m.Name)
		}
	}
	changes := k == Write || k == Delete || k == Execute && len(f.shell.Writes) > 0
	if changes && m.EditLimit != NoEditLimit && f.act.Edits >= m.EditLimit {
		return refuse(
			"mode %q allows %d edits and %d were made; finish with what there is, or ask for another mode",
			m.Name,
			m.EditLimit,
			f.act.Edits,
		)
	}
	return false
}

func kindList(list []Kind) string {
	if len(list) == 0 {
		return "nothing"
	}
	names := make([]string, len(list))
	for i, k := range list {
		names[i] = k.String()
	}
	return strings.Join(names, ", ")
}

// runsTests reports whether a review mode may run the line because it is a single
// command that runs the project's tests behind a wall. Its additional arguments, such as
// the name of a test, can reach no further than the tests themselves.
func (p *Policy) runsTests(f facts) bool {
	v, line := f.shell, strings.TrimSpace(f.act.Command)
	if f.mode.commands != gitRead || !p.walled || len(v.Commands) != 1 || len(v.Writes) > 0 || v.Network { //control:review-runs-tests
		return false
	}
	return !strings.ContainsAny(line, ";&<>`$(){}\n\\") && slices.ContainsFunc(p.tests, func(t string) bool {
		return line == t || strings.HasPrefix(line, t+" ")
	})
}

// onlyGitReads reports whether every command of the line is a git command. The caller has
// checked that they only read.
func onlyGitReads(v shell.Analysis) bool {
	if len(v.Git) == 0 || len(v.Writes) > 0 || v.Network {
		return false
	}
	for _, c := range v.Commands {
		if program, _, _ := strings.Cut(c, " "); path.Base(program) != "git" {
			return false
		}
	}
	return true
}

// pageStep decides about the browser, which shows pages of the workspace's own servers and no
// others. They are no network, unless the configuration asks about every network operation.
func (p *Policy) pageStep(f facts, d *Decision) bool {
	if f.act.Kind != Network || f.act.Tool != BrowserTool {
		return false
	}
	if _, err := reach.Loopback(f.act.URL); err != nil { //control:browser-policy
		*d = d.settle(Deny, "browser.loopback", err.Error())
		return true
	}
	if p.alwaysAsk.has(Network) {
		return false
	}
	*d = d.settle(Allow, "browser.loopback", "the page is served by the workspace itself")
	return true
}

func (p *Policy) denyStep(f facts, d *Decision) bool {
	if f.act.Kind == Execute {
		if pat, cmd, ok := matchAny(p.deny, f.shell.Commands); ok {
			*d = d.settle(Deny, "commands.deny", fmt.Sprintf("%q matches the deny list entry %q", cmd, pat))
			return true
		}
	}
	if f.shell.Network && p.config.Defaults.Network == "deny" {
		*d = d.settle(Deny, "defaults.network", "the command reaches the network, which the configuration denies")
		return true
	}
	if p.defaults[f.act.Kind] != Deny {
		return false
	}
	if f.act.Kind == Execute && len(p.allow) > 0 {
		if _, ok := matchAll(p.allow, f.shell.Commands); ok {
			return false
		}
	}
	*d = d.settle(
		Deny,
		"defaults."+f.act.Kind.String(),
		fmt.Sprintf("the configuration denies every %s operation", f.act.Kind),
	)
	return true
}

func criticalStep(_ facts, d *Decision) bool {
	if d.Severity < Critical {
		return false
	}
	*d = d.settle(Ask, "severity.critical", "critical commands always need approval, with any settings")
	return true
}

// longerStep asks about a command that ran out of time and is to run again with more.
func longerStep(f facts, d *Decision) bool {
	if f.act.Kind != Execute || f.act.Longer <= 0 { //control:more-time-is-asked
		return false
	}
	*d = d.settle(Ask, "time.longer", fmt.Sprintf("it ran out of time before, and may now take up to %s", f.act.Longer))
	return true
}

func (p *Policy) alwaysAskStep(f facts, d *Decision) bool {
	if p.alwaysAsk.has(f.act.Kind) || f.shell.Network && p.alwaysAsk.has(Network) {
		*d = d.settle(Ask, "always_ask", fmt.Sprintf("%s operations always need approval here", f.act.Kind))
		return true
	}
	if pat, cmd, ok := matchAny(p.ask, f.shell.Commands); ok {
		*d = d.settle(Ask, "commands.ask", fmt.Sprintf("%q matches the ask list entry %q", cmd, pat))
		return true
	}
	return false
}

// triageStep allows a triage with labels that it may put on: its requester may label issues
// without it, or the configuration names the labels.
func (p *Policy) triageStep(f facts, d *Decision) bool {
	if !f.act.Triage {
		return false
	}
	for _, name := range f.act.Labels {
		if !p.config.MayLabel(name) { //control:triage-labels-of-the-list
			*d = d.settle(Deny, "triage.labels", fmt.Sprintf("a triage may not put on the label %q here", name))
			return true
		}
	}
	if p.config.Defaults.Post == "ask" {
		return false
	}
	*d = d.settle(Allow, "mode."+triage, "labels and a comment are what a triage is for")
	return true
}

// networkStep asks about commands that reach the network, and reports whether it did. It
// asks only if the configuration itself says ask. The built-in default leaves these
// commands to their severity, because a workspace has no network unless it was given one.
func (p *Policy) networkStep(f facts, d *Decision) bool {
	if !f.shell.Network || p.config.Defaults.Network != "ask" {
		return false
	}
	*d = d.settle(Ask, "defaults.network", "the command reaches the network, which needs approval here")
	return true
}

func (p *Policy) sensitiveStep(f facts, d *Decision) bool {
	var paths []string
	switch f.act.Kind {
	case Write, Delete:
		paths = f.act.Paths
	case Execute:
		paths = commandPaths(f.act.Cwd, f.shell.Writes)
	default:
		return false
	}
	reasons := p.sensitiveReasons(f, paths)
	if len(reasons) == 0 {
		return false
	}
	if p.config.autoEdits() {
		d.Auto = true
		d.Reasons = append(d.Reasons, reasons...)
		return false
	}
	d.Verdict, d.Rule, d.Reasons = Ask, "sensitive_files", append(reasons, d.Reasons...)
	return true
}

// sensitiveReasons returns one reason per pattern, with the sensitive files among paths.
func (p *Policy) sensitiveReasons(f facts, paths []string) []Reason {
	var patterns []string
	names := map[string][]string{}
	for i, name := range paths {
		if rest := paths[i+1:]; f.act.Kind == Execute && len(rest) > 0 && rest[0] == path.Join(f.act.Cwd, name) &&
			p.Touches(rest[0]).Sensitive {
			continue // the same file, relative to the command's directory
		}
		v := p.Touches(name)
		if f.act.Kind == Delete && path.Clean(name) == "." {
			v = PathVerdict{Sensitive: true, Pattern: "**"}
		}
		if !v.Sensitive {
			continue
		}
		if names[v.Pattern] == nil {
			patterns = append(patterns, v.Pattern)
		}
		if !slices.Contains(names[v.Pattern], name) {
			names[v.Pattern] = append(names[v.Pattern], name)
		}
	}
	var out []Reason
	for _, pattern := range patterns {
		list, is := names[pattern], "is a sensitive file"
		if len(list) > 1 {
			is = "are sensitive files"
		}
		out = append(
			out,
			Reason{Rule: "sensitive_files", Text: fmt.Sprintf("%s %s (%s)", untrusted.EscapeLine(nameList(list)), is, pattern)},
		)
	}
	return out
}

// maxNamedFiles is the maximum number of files in one reason. The changes are shown anyway.
const maxNamedFiles = 50

// nameList formats a list as "a, b and c".
func nameList(list []string) string {
	if n := len(list) - maxNamedFiles; n > 0 {
		list = append(slices.Clone(list[:maxNamedFiles]), fmt.Sprintf("%d more", n))
	}
	return phrase.List(list)
}

func (p *Policy) allowStep(f facts, d *Decision) bool {
	if f.act.Kind != Execute || len(p.allow) == 0 {
		return false
	}
	pat, ok := matchAll(p.allow, f.shell.Commands)
	if !ok {
		return false
	}
	d.Auto = true
	*d = d.settle(Allow, "commands.allow", fmt.Sprintf("every command of the line is on the allow list (%s)", pat))
	return true
}

func (p *Policy) severityStep(f facts, d *Decision) bool {
	if d.Severity < Medium {
		return false
	}
	rule, what, each := "severity."+d.Severity.String(), fmt.Sprintf("commands of %s severity", d.Severity), "command"
	if f.act.Kind == Read {
		what, each = "reads of files that hold credentials", "read"
	}
	switch {
	case !p.config.autoCommands():
		*d = d.settle(Ask, rule, what+" need approval")
	case p.defaults[f.act.Kind] == Ask:
		*d = d.settle(Ask, "defaults."+f.act.Kind.String(), "the configuration asks before every "+each)
	default:
		d.Auto = true
		*d = d.settle(Allow, "auto_approve_commands", what+" are approved by the configuration")
	}
	return true
}

func (p *Policy) defaultStep(f facts, d Decision) Decision {
	v := p.defaults[f.act.Kind]
	if v == Allow && d.Auto { // allowed only by auto_approve_sensitive_edits
		return d.settle(v, "auto_approve_sensitive_edits", "edits of sensitive files are approved by the configuration")
	}
	if f.act.Kind == Foreign {
		return d.settle(v, "defaults.foreign", "it is a tool of the agent's own, whose effects are not known")
	}
	word := map[Verdict]string{Allow: "allowed", Ask: "subject to approval", Deny: "denied"}[v]
	return d.settle(v, "defaults."+f.act.Kind.String(), fmt.Sprintf("%s operations are %s", f.act.Kind, word))
}

// commandPaths returns the paths that a command writes in two spellings: as written, and
// relative to the root.
func commandPaths(cwd string, writes []string) []string {
	var out []string
	for _, w := range writes {
		out = append(out, w)
		if cwd != "" && cwd != "." && !strings.HasPrefix(w, "/") {
			out = append(out, path.Join(cwd, w))
		}
	}
	return out
}
