package bot

import (
	"context"
	"fmt"
	"slices"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/approval"
	"github.com/handrail-bot/handrail/bot/command"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/live"
	"github.com/handrail-bot/handrail/bot/render"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/bot/thread"
	"github.com/handrail-bot/handrail/policy"
)

// Order hands on a text that an account wrote in the dashboard about a session. It is
// stored like the delivery of a comment in the session's thread: with the same parser,
// rights and order. Orders with the same id are one.
func (b *Bot) Order(ctx context.Context, row *store.Session, by policy.Actor, id, text string) error {
	at, err := thread.Parse(row.Thread)
	if err != nil {
		return err
	}
	user := ghapp.User{ID: by.ID, Login: by.Login}
	payload, err := ghapp.FromDashboard(at, live.DataOf(row).Installation, user, text, b.cfg.Now())
	if err != nil {
		return fmt.Errorf("write order: %w", err)
	}
	d := &store.Delivery{
		ID:       approval.DashboardSource(id),
		Event:    ghapp.Dashboard,
		Thread:   row.Thread,
		Sender:   by.Login,
		Priority: b.priorityOf(text),
		Payload:  payload,
	}
	_, err = b.cfg.Store.Deliveries.Put(ctx, d)
	return err
}

// priorityOf returns the priority of a text: that of its most urgent command.
func (b *Bot) priorityOf(text string) int {
	cmds, err := specs(b.rows).Parse(text)
	if err != nil || len(cmds) == 0 {
		return store.PriorityAnswer
	}
	return urgency(b.rows, cmds)
}

// MayAnswer reports whether an account may answer a request of a session now.
func (b *Bot) MayAnswer(ctx context.Context, row *store.Session, by policy.Actor, asked session.Asked) (bool, error) {
	at, err := b.threadOf(row)
	if err == nil {
		err = at.Reach(ctx, b.cfg.GitHub, live.DataOf(row).Installation)
	}
	if err != nil {
		return false, err
	}
	if asked.Kind.ByID() {
		return b.live.Approvals(&at, row).MayAny(ctx, by, []session.Asked{asked})
	}
	may, _ := b.mayAsk(by, policy.Steer, row)
	return may == policy.Allow, nil
}

// DiffOf returns the diff between two commits of a session. It is empty if the
// repository's content is not available.
func (b *Bot) DiffOf(ctx context.Context, row *store.Session, from, to string) (string, error) {
	at, err := b.threadOf(row)
	if err == nil {
		err = at.Connect(ctx, b.cfg.GitHub, live.DataOf(row).Installation)
	}
	if err != nil || b.cfg.Clone == nil || from == to {
		return "", err
	}
	return b.cfg.Clone.Diff(ctx, at, from, to)
}

func (b *Bot) threadOf(row *store.Session) (live.Thread, error) {
	ref, err := thread.Parse(row.Thread)
	return live.Thread{Ref: ref}, err
}

// tellDashboard tells the thread of a text that was written in the dashboard. Answers to
// requests have a line of their own.
func (c *change) tellDashboard(s userMessage) {
	if s.from == inDashboard {
		c.reply(s, render.InDashboard(s.author.Login, s.body))
	}
}

// onlyAnswers reports whether commands only settle requests.
func onlyAnswers(rows []row, cmds []command.Command) bool {
	return !slices.ContainsFunc(cmds, func(c command.Command) bool {
		row, err := rowOf(rows, c)
		return err != nil || row.right != policy.Settle
	})
}
