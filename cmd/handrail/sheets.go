package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/bot/dashboard"
	"github.com/handrail-bot/handrail/bot/schedule"
	"github.com/handrail-bot/handrail/cmd/doctor"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/strict"
)

// sheets returns the further pages of the dashboard.
func (s *server) sheets() []dashboard.Sheet {
	limited := s.cfg.Dashboard.Operators
	return []dashboard.Sheet{
		{Path: "schedules", Title: "Schedules", Tables: s.scheduleTables},
		{
			Path:      "configuration",
			Title:     "Configuration",
			Limited:   true,
			Operators: limited,
			Test:      testConfig,
			Example:   "# .github/agent.yml\nmode: code\n",
			Tables: func(context.Context, func(string) (bool, error)) ([]dashboard.Table, error) {
				return []dashboard.Table{{
					Title: "In force on this server",
					Head:  []string{"key", "value", "from"},
					Rows:  doctor.InForce(&s.cfg),
					Note:  "A repository’s own file narrows the limits under policy. Secrets are in no file, and not here.",
				}}, nil
			},
		},
		{Path: "index", Title: "Search index", Tables: s.indexTables},
		{Path: "models", Title: "Models", Limited: true, Operators: limited, Tables: s.modelTables},
	}
}

// testConfig returns the problems of a repository's configuration.
func testConfig(text string) (out []string) {
	_, err := policy.ParseConfig("agent.yml", []byte(text))
	if err == nil {
		return nil
	}
	for _, f := range strict.Of(err) {
		out = append(out, strings.TrimSpace(f.Error()+" "+doctor.Remedy(f)))
	}
	if len(out) == 0 {
		out = append(out, err.Error())
	}
	return out
}

// scheduleTables lists the schedules of the repositories that the viewer may read.
func (s *server) scheduleTables(ctx context.Context, reads func(string) (bool, error)) ([]dashboard.Table, error) {
	book := schedule.Book{Meta: s.redactedStore.Meta}
	names, err := book.Repositories(ctx)
	if err != nil {
		return nil, err
	}
	t := dashboard.Table{Title: "Schedules", Head: []string{"repository", "name", "next", "last"}}
	for _, repo := range names {
		ok, err := reads(repo)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		list, err := book.Table(ctx, repo)
		if err != nil {
			return nil, err
		}
		for _, e := range list.Entries {
			st, err := book.State(ctx, e.Repository, e.Name)
			if err != nil {
				return nil, err
			}
			last := "not run yet"
			if n := len(st.Past); n > 0 {
				last = st.Past[n-1].At.UTC().Format(time.RFC3339) + ": " + st.Past[n-1].What
			}
			t.Rows = append(t.Rows, []string{repo, e.Name, e.Outlook(time.Now(), st, time.RFC3339), last})
		}
	}
	if len(t.Rows) == 0 {
		t.Note = "Nothing is scheduled in a repository that you may read."
	}
	return []dashboard.Table{t}, nil
}

// modelTables describes the models that sessions may use, as their server does, and how
// they did in sessions: the form that worked, and their speed since this server's start.
func (s *server) modelTables(ctx context.Context, _ func(string) (bool, error)) ([]dashboard.Table, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	t := dashboard.Table{Title: "Models", Note: modelNote, Head: []string{
		"name", "context", "tool calls", "pictures", "thinks", "form", "answers", "tokens/s", "first word",
	}}
	names := append([]string{s.cfg.Model.Name}, s.cfg.Policy.Models...)
	seen := map[string]bool{"": true}
	for _, name := range names {
		if seen[name] || strings.ContainsAny(name, "*?") {
			continue
		}
		seen[name] = true
		m, err := s.model(name)
		if err == nil {
			caps, cerr := m.Capabilities(ctx)
			if err = cerr; err == nil {
				tokens := fmt.Sprint(caps.ContextLength)
				row := []string{name, tokens, yesNo(caps.Tools), yesNo(caps.Vision), yesNo(caps.Thinking)}
				t.Rows = append(t.Rows, append(row, s.figures(name, caps)...))
				continue
			}
		}
		t.Rows = append(t.Rows, []string{name, "does not answer: " + err.Error(), "", "", "", "", "", "", ""})
	}
	return []dashboard.Table{t}, nil
}

const modelNote = "Answers, tokens/s and first word (the mean wait for it) are those of sessions since this server’s start. " +
	"handrail doctor model NAME tries a model with small tasks in each form."

// figures returns a model's form, and how it answered in sessions of this server.
func (s *server) figures(name string, caps llm.Capabilities) []string {
	form := cmp.Or(s.cfg.Model.Answers(), s.forms.Best(name, caps), llm.FormOf(caps))
	out := []string{string(form), "none yet", "", ""}
	if n, perSecond, first := s.speeds.Of(name); n > 0 {
		out[1], out[3] = fmt.Sprint(n), fmt.Sprintf("%.1f s", first.Seconds())
		if perSecond > 0 {
			out[2] = fmt.Sprintf("%.1f", perSecond)
		}
	}
	return out
}

func yesNo(b bool) string { return map[bool]string{true: "yes", false: "no"}[b] }
