package main

import (
	"strconv"
	"time"

	"github.com/handrail-bot/handrail/bot"
	"github.com/handrail-bot/handrail/bot/quota"
	"github.com/handrail-bot/handrail/cmd/config"
)

// quotas adapts the limits on requests to [bot.Quotas].
type quotas struct{ requests *quota.Requests }

func newQuotas(cfg config.Quotas) quotas {
	q := cfg.WithDefaults()
	return quotas{
		quota.NewRequests(
			quota.Hourly{Sender: q.Sender, Thread: q.Thread, Repository: q.Repository, Installation: q.Installation},
		),
	}
}

func requestOf(a bot.Asker) quota.Request {
	return quota.Request{
		Sender:       a.Sender,
		Thread:       a.Thread,
		Repository:   a.Repository,
		Installation: strconv.FormatInt(a.Installation, 10),
		Urgent:       a.Urgent,
	}
}

// Wait implements [bot.Quotas].
func (q quotas) Wait(now time.Time, a bot.Asker) time.Duration {
	return q.requests.Wait(now, requestOf(a))
}

// Take implements [bot.Quotas].
func (q quotas) Take(now time.Time, a bot.Asker) { q.requests.Take(now, requestOf(a)) }
