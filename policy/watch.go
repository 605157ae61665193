package policy

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Watch configures the events that start sessions, other than commands in a thread.
type Watch struct {
	Triggers  Triggers   `yaml:"triggers,omitempty" json:"triggers,omitzero"`
	CIFix     CIFix      `yaml:"ci_fix,omitempty" json:"ci_fix,omitzero"`
	Triage    Triage     `yaml:"triage,omitempty" json:"triage,omitzero"`
	Schedules []Schedule `yaml:"schedules,omitempty" json:"schedules,omitempty" jsonschema:"description=Sessions by the clock\\, or when the default branch changes."`

	ScheduleLimits ScheduleLimits `yaml:"schedule_limits,omitempty" json:"schedule_limits,omitzero"`
}

// Triggers are the events that start a session without a command. Each is off by default.
// The account that caused the event is the requester, with its own rights.
type Triggers struct {
	Labels   map[string]string `yaml:"labels,omitempty" json:"labels,omitempty" jsonschema:"description=Labels that start a session\\, each with its mode."`
	Assignee string            `yaml:"assignee,omitempty" json:"assignee,omitempty" jsonschema:"description=Login of an account: assigned issues and requested reviews start a session."`
	Review   []string          `yaml:"review,omitempty" json:"review,omitempty" jsonschema:"description=Events that start a review of a pull request.,enum=opened,enum=synchronize,enum=ready_for_review,enum=draft"`
	Checks   *bool             `yaml:"checks,omitempty" json:"checks,omitempty" jsonschema:"description=A failed check on a pull request of the agent resumes its session\\, see ci_fix."`
	Dispatch *bool             `yaml:"dispatch,omitempty" json:"dispatch,omitempty" jsonschema:"description=The events repository_dispatch and workflow_dispatch bring tasks."`
}

// Triage configures the triage of issues. On is the event that starts it without a request:
// "opened". Such a triage only puts on labels of the list Labels. Hourly is the maximum
// number of them in a repository within an hour; zero means 20.
type Triage struct {
	On     string   `yaml:"on,omitempty" json:"on,omitempty" jsonschema:"enum=opened,description=Event that starts the triage of an issue without a request."`
	Labels []string `yaml:"labels,omitempty" json:"labels,omitempty" jsonschema:"description=Labels that a triage may put on. Unset\\, one on request may use all of the repository\\, and one without a request none."`
	Hourly int      `yaml:"hourly,omitempty" json:"hourly,omitempty" jsonschema:"minimum=0,maximum=1000,description=Issues of a repository that are sorted without a request within an hour; 20 when unset.,default=20"`
}

// MayLabel reports whether a triage may put on a label: it is on the list, if there is one,
// and starts no session. The case of its name does not matter.
func (c Config) MayLabel(name string) bool {
	for at := &c; at != nil; at = at.Above {
		list := at.Triage.Labels
		if len(list) > 0 && !slices.ContainsFunc(list, func(l string) bool { return strings.EqualFold(l, name) }) {
			return false
		}
		if at.Triggers.startsSession(name) { //control:triage-starts-nothing
			return false
		}
	}
	return true
}

// startsSession reports whether a label starts a session. GitHub ignores case in its name.
func (t Triggers) startsSession(name string) bool {
	for label := range t.Labels {
		if strings.EqualFold(label, name) {
			return true
		}
	}
	return false
}

// ListsLabels reports whether the configuration names the labels of a triage.
func (c Config) ListsLabels() bool {
	return len(c.Triage.Labels) > 0 || c.Above != nil && c.Above.ListsLabels()
}

// CIFix limits the work on failed checks: Attempts per session, PerHead per commit. Wait
// is the maximum time to wait for running checks. Zero means the default: three, one, and
// six hours.
type CIFix struct {
	Attempts int `yaml:"attempts,omitempty" json:"attempts,omitempty" jsonschema:"minimum=0,maximum=20,description=How often failed checks resume a session; 3 when unset.,default=3"`
	PerHead  int `yaml:"per_head,omitempty" json:"per_head,omitempty" jsonschema:"minimum=0,maximum=20,description=How often they resume it for one commit; 1 when unset.,default=1"`

	Wait Duration `yaml:"wait,omitempty" json:"wait,omitzero" jsonschema:"default=6h"`
}

// Schedule is an unattended session, started by time (Cron has five fields, in the time
// zone Zone) or by a change of the default branch (On is "push"). Kind is the kind of
// work; Task describes it, or adds instructions to the other kinds. The result goes to
// the schedule's own issue or, if Result is "comment", to the thread Number. Unattended
// decides whether actions that need approval are denied or asked for there; only with
// "ask" may the mode change files.
type Schedule struct {
	Name       string   `yaml:"name" json:"name" jsonschema:"required,minLength=1"`
	Cron       string   `yaml:"cron,omitempty" json:"cron,omitempty" jsonschema:"description=Five fields: minute hour day month weekday."`
	On         string   `yaml:"on,omitempty" json:"on,omitempty" jsonschema:"enum=push,description=In place of the clock: when the default branch changes."`
	Kind       string   `yaml:"kind,omitempty" json:"kind,omitempty" jsonschema:"enum=task,enum=review,enum=stale,enum=dependencies,enum=triage,description=Subject of the session; task when unset.,default=task"`
	Task       string   `yaml:"task,omitempty" json:"task,omitempty" jsonschema:"description=The task\\, as in a comment."`
	Days       int      `yaml:"days,omitempty" json:"days,omitempty" jsonschema:"minimum=0,description=For stale: days without activity; for triage: highest age of an issue; 14 when unset.,default=14"`
	Zone       string   `yaml:"zone,omitempty" json:"zone,omitempty" jsonschema:"description=Time zone of cron\\, such as Europe/Vienna; UTC when unset.,default=UTC"`
	Jitter     Duration `yaml:"jitter,omitempty" json:"jitter,omitzero"`
	Missed     string   `yaml:"missed,omitempty" json:"missed,omitempty" jsonschema:"enum=once,enum=skip,description=Start of missed times\\, when no server ran: one run for all of them\\, or none; once when unset.,default=once"`
	Mode       string   `yaml:"mode,omitempty" json:"mode,omitempty" jsonschema:"enum=code,enum=architect,enum=ask,enum=debug,enum=explore,enum=plan,enum=review,enum=security,enum=triage"`
	Result     string   `yaml:"result,omitempty" json:"result,omitempty" jsonschema:"enum=issue,enum=comment,default=issue"`
	Number     int      `yaml:"number,omitempty" json:"number,omitempty" jsonschema:"minimum=0"`
	Unattended string   `yaml:"unattended,omitempty" json:"unattended,omitempty" jsonschema:"enum=deny,enum=ask,description=Answer to requests for approval; deny when unset.,default=deny"`
}

// ScheduleLimits limit the schedules of repositories. Only the server's limits count.
type ScheduleLimits struct {
	Most  int      `yaml:"most,omitempty" json:"most,omitempty" jsonschema:"minimum=0,description=Schedules of one repository; 5 when unset.,default=5" only:"server"`
	Every Duration `yaml:"every,omitempty" json:"every,omitzero" jsonschema:"default=1h" only:"server"`
	Modes []string `yaml:"modes,omitempty" json:"modes,omitempty" jsonschema:"description=Modes that schedules may have; those that only read when unset." only:"server"`
}

// reviewActions returns the pull request events that may trigger a review.
func reviewActions() []string { return []string{"opened", "synchronize", "ready_for_review", "draft"} }

// mergeWatch prefers the repository's triggers. The lower limits on failed checks apply.
func mergeWatch(server, repo Watch) Watch {
	s, r := server.Triggers, repo.Triggers
	out := Triggers{
		Labels: maps.Clone(s.Labels), Assignee: cmp.Or(r.Assignee, s.Assignee), Review: orList(r.Review, s.Review),
		Checks: cmp.Or(r.Checks, s.Checks), Dispatch: cmp.Or(r.Dispatch, s.Dispatch),
	}
	if r.Labels != nil {
		out.Labels = maps.Clone(r.Labels)
	}
	return Watch{
		Triggers: out,
		CIFix: CIFix{
			Attempts: minLimit(server.CIFix.Attempts, repo.CIFix.Attempts),
			PerHead:  minLimit(server.CIFix.PerHead, repo.CIFix.PerHead),
			Wait:     minLimit(server.CIFix.Wait, repo.CIFix.Wait),
		},
		Triage: Triage{
			On:     cmp.Or(repo.Triage.On, server.Triage.On),
			Labels: orList(repo.Triage.Labels, server.Triage.Labels),
			Hourly: minLimit(server.Triage.Hourly, repo.Triage.Hourly),
		},
		Schedules: append(slices.Clone(server.Schedules), repo.Schedules...), ScheduleLimits: server.ScheduleLimits,
	}
}

func (c Config) checkWatch(p *problems) {
	for _, name := range slices.Sorted(maps.Keys(c.Triggers.Labels)) {
		if strings.TrimSpace(name) == "" {
			p.add("a label needs a name", "triggers", "labels")
		}
		p.oneOf(c.Triggers.Labels[name], modeNames(), "triggers", "labels", name)
	}
	if a := c.Triggers.Assignee; a != "" && ValidateLogin(a) != nil {
		p.add(fmt.Sprintf("%q is not the login of an account", a), "triggers", "assignee")
	}
	for i, r := range c.Triggers.Review {
		p.requiredOneOf(r, reviewActions(), "triggers", "review", i)
	}
	for key, n := range map[string]int{"attempts": c.CIFix.Attempts, "per_head": c.CIFix.PerHead} {
		if n < 0 || n > 20 {
			p.add("must be a number from 0 to 20", "ci_fix", key)
		}
	}
	p.oneOf(c.Triage.On, []string{"opened"}, "triage", "on")
	for i, name := range c.Triage.Labels {
		switch {
		case strings.TrimSpace(name) == "":
			p.add("a label needs a name", "triage", "labels", i)
		case c.Triggers.startsSession(name):
			p.add(fmt.Sprintf("%q starts a session, see triggers.labels", name), "triage", "labels", i)
		}
	}
	if n := c.Triage.Hourly; n < 0 || n > 1000 {
		p.add("must be a number from 0 to 1000", "triage", "hourly")
	}
	for i, m := range c.ScheduleLimits.Modes {
		p.requiredOneOf(m, modeNames(), "schedule_limits", "modes", i)
	}
	p.atLeastZero(float64(c.ScheduleLimits.Most), "schedule_limits", "most")
	seen := map[string]bool{}
	for i, s := range c.Schedules {
		c.checkSchedule(p, i)
		if seen[s.Name] {
			p.add(fmt.Sprintf("%q is there twice", s.Name), "schedules", i, "name")
		}
		seen[s.Name] = true
	}
}

func (c Config) checkSchedule(p *problems, i int) {
	s := c.Schedules[i]
	if strings.TrimSpace(s.Name) == "" {
		p.add("a schedule needs a name", "schedules", i)
	}
	if strings.TrimSpace(s.Task) == "" && (s.Kind == "" || s.Kind == "task") {
		p.add("a schedule needs a task, or another kind", "schedules", i)
	}
	if (s.Cron == "") == (s.On == "") {
		p.add("a schedule needs either a cron or on: push", "schedules", i)
	}
	if n := len(strings.Fields(s.Cron)); s.Cron != "" && n != 5 && !strings.HasPrefix(s.Cron, "@") {
		p.add(
			fmt.Sprintf("%q has %d fields, five are needed: minute hour day month weekday", s.Cron, n),
			"schedules",
			i,
			"cron",
		)
	}
	if _, err := time.LoadLocation(s.Zone); err != nil {
		p.add(fmt.Sprintf("%q is not a time zone such as Europe/Vienna", s.Zone), "schedules", i, "zone")
	}
	p.oneOf(s.On, []string{"push"}, "schedules", i, "on")
	p.oneOf(s.Kind, []string{"task", "review", "stale", "dependencies", triage}, "schedules", i, "kind")
	p.oneOf(s.Missed, []string{"once", "skip"}, "schedules", i, "missed")
	p.oneOf(s.Mode, modeNames(), "schedules", i, "mode")
	p.oneOf(s.Result, []string{"issue", "comment"}, "schedules", i, "result")
	p.oneOf(s.Unattended, []string{"deny", "ask"}, "schedules", i, "unattended")
	p.atLeastZero(float64(s.Number), "schedules", i, "number")
	p.atLeastZero(float64(s.Days), "schedules", i, "days")
	if s.Kind == triage && s.Mode != "" && s.Mode != triage {
		p.add("a schedule that sorts issues has the mode triage", "schedules", i, "mode")
	}
	if s.Result == "comment" && s.Number == 0 {
		p.add("result: comment needs the number of the issue or pull request", "schedules", i, "result")
	}
	if m, err := ParseMode(s.Mode); s.Mode != "" && err == nil && !m.ReadOnly() && s.Unattended != "ask" { //control:schedules-read
		p.add("a schedule has no requester, so a mode that changes files needs unattended: ask", "schedules", i, "mode")
	}
}
