package bot_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/ghapp/ghtest/ghcheck"
	"github.com/handrail-bot/handrail/bot/ghapp/ghtest/hub"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/longtest"
)

// TestChecksOfOthers: a check brings a session back when GitHub says that one failed on
// the newest commit of the session's own pull request, and its requester may still ask;
// whatever the event says, and whoever made it.
func TestChecksOfOthers(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	on := true
	for _, tt := range []struct {
		name  string
		cfg   policy.Triggers
		event string // what the event says in place of the truth
		role  string // of the requester in the end
		own   bool   // the failed check is the bot's
		as    string // kind of the event; "" for check_run
		state string // of the pull request; "" for open
		want  bool
	}{
		{name: "a check that failed", want: true},
		{name: "a status that failed", as: "status", event: `"sha": "%[1]s", "state": "failure", "context": "jenkins", "branches": [{"name": "main", "commit": {"sha": "x"}}, {"name": "%[4]s", "commit": {"sha": "%[1]s"}}]`, want: true},
		{name: "a status that has not ended", as: "status", event: `"sha": "%[1]s", "state": "pending", "branches": [{"name": "%[4]s", "commit": {"sha": "%[1]s"}}]`},
		{name: "a status of a branch that only contains the commit", as: "status", event: `"sha": "%[1]s", "state": "failure", "branches": [{"name": "%[4]s", "commit": {"sha": "x"}}]`},
		{name: "a status, not configured", cfg: policy.Triggers{Dispatch: &on}, as: "status", event: `"sha": "%[1]s", "state": "failure", "branches": [{"name": "%[4]s", "commit": {"sha": "%[1]s"}}]`},
		{name: "not configured", cfg: policy.Triggers{Dispatch: &on}},
		{name: "of another commit", event: `"head_sha": "0123456789012345678901234567890123456789", "pull_requests": [{"number": %[2]d}]`},
		{name: "of a fork's branch of the same name", event: `"head_sha": "0123456789012345678901234567890123456789", "check_suite": {"head_branch": "agent/1-a-fault"}`},
		{name: "of another pull request", event: `"head_sha": "%[1]s", "pull_requests": [{"number": 77}]`},
		{name: "that says it failed on the right commit", event: `"head_sha": "%[1]s", "conclusion": "failure", "pull_requests": [{"number": %[2]d}]`, want: true},
		{name: "the requester may only read now", role: "read"},
		{name: "the agent's own check", own: true},
		{name: "the pull request is closed", state: "closed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			b := w.listens(ghapp.Config{}, func(c *bot.Config) {
				if c.Policy.Triggers = tt.cfg; tt.cfg.Dispatch == nil {
					c.Policy.Triggers.Checks = &on
				}
			})
			w.run = func(ctx context.Context, work bot.Work) (session.Outcome, error) {
				sha, err := w.gh.Push(repo, work.Task.Branch, "kim", map[string]string{"a.txt": "b\n"})
				must(t, err)
				return changes(sha, finish("It is done."))(ctx, work)
			}
			w.say("/agent fix it")
			must(t, b.Work(t.Context(), w.issue.Key()))
			row, err := w.store.Sessions.ByThread(t.Context(), w.issue.Key())
			must(t, err)
			if row.Pull == 0 {
				t.Fatal("there is no pull request")
			}
			at := w.issue
			at.Number = row.Pull
			head := w.gh.Thread(at).Pull.HeadSHA
			if tt.role != "" {
				w.gh.AddUser("kim", tt.role)
			}
			if tt.as == "status" {
				must(t, w.gh.As("", repo, func(r *hub.Repo, _ *hub.User) error {
					r.Statuses = append(r.Statuses, &hub.CommitStatus{ID: 7, SHA: head, State: "failure", Context: "jenkins", Author: w.gh.EnsureUser("ci", "User")})
					return nil
				}))
			}
			id, err := w.gh.RunCheck(repo, head, ghcheck.Result{Name: "test", Conclusion: map[bool]string{true: "success", false: "failure"}[tt.as != ""], Log: "wrong\n##[error]Process completed with exit code 1."})
			must(t, err)
			must(t, w.gh.As("", repo, func(r *hub.Repo, _ *hub.User) error {
				for _, k := range r.Checks {
					k.ByApp = k.ByApp || k.ID == id && tt.own
				}
				if tt.state != "" {
					r.Issues[at.Number].State = tt.state
				}
				return nil
			}))
			said := fmt.Sprintf(`"head_sha": %q, "pull_requests": [{"number": %d}]`, head, row.Pull)
			if tt.event != "" {
				said = fmt.Sprintf(tt.event+"%[3]s", head, row.Pull, "", row.Branch)
			}
			again := false
			w.run = func(ctx context.Context, work bot.Work) (session.Outcome, error) {
				again = true
				return finish("It is mended.")(ctx, work)
			}
			kind, said := "check_run", fmt.Sprintf(`"action": "completed", "check_run": {"id": 5, "app": {"id": 15368}, %s}`, said)
			if tt.as != "" {
				kind, said = tt.as, fmt.Sprintf(tt.event+"%[3]s", head, row.Pull, "", row.Branch)
			}
			payload := fmt.Appendf(nil, `{%s, "repository": {"id": 1, "full_name": %q}, "installation": {"id": %d}, "sender": {"id": 9, "login": "ci[bot]", "type": "Bot"}}`, said, repo, w.inst)
			src, taken, err := b.Source(t.Context(), kind, payload)
			must(t, err)
			for n := range 2 { // GitHub tells of the run and of its suite
				if taken {
					_, err = w.store.Deliveries.Put(t.Context(), &store.Delivery{ID: fmt.Sprint("check", n), Event: kind, Thread: src.Thread, Payload: payload})
					must(t, err)
				}
				must(t, b.Work(t.Context(), w.issue.Key()))
				if again != (tt.want && n == 0) {
					t.Fatalf("delivery %d: the session goes on %t, taken %t", n, again, taken)
				}
				again = false
			}
		})
	}
}
