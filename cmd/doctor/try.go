package doctor

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/handrail-bot/handrail/bot/ghapp"
)

// Try checks that the model exists, answers, and calls a tool.
func (c *Config) Try(ctx context.Context) []Finding {
	found := gather(ctx, c.model)
	if slices.ContainsFunc(found, func(f Finding) bool { return !f.OK && f.Needed }) {
		return found
	}
	return append(found, gather(ctx, c.calls)...)
}

func (c *Config) calls(ctx context.Context) []Finding {
	const name = "answers"
	with, err := c.Exam(c.Server.Model.Name)
	if err != nil {
		return []Finding{wrong(name, "", "%v", err)}
	}
	d, err := callsExam(ctx, with)
	if err != nil {
		return []Finding{
			{Name: name, Detail: "not tried to the end", Remedy: "Try it: handrail doctor model " + c.Server.Model.Name},
		}
	}
	switch {
	case !d.OK:
		return []Finding{
			wrong(
				name,
				"The bot needs a model that was made for calling tools. Name another one as model.name; `handrail doctor model NAME` tries it out.",
				"%s",
				onePerLine(d.Findings[len(d.Findings)-1].Detail),
			),
		}
	case d.Figures.Calls == "text":
		return []Finding{passed(name, "it answers, and calls tools in its text, which works and costs some context")}
	}
	return []Finding{passed(name, "it answers, and calls tools")}
}

// pingTimeout is the maximum time to wait for a redelivered ping.
const pingTimeout = 10 * time.Second

// Ping checks that GitHub reaches the server. GitHub sends a ping when an App is created;
// Ping has GitHub redeliver one that failed.
func (c *Config) Ping(ctx context.Context) Finding {
	const name = "webhook"
	g := c.Server.GitHub
	app, err := ghapp.New(ghapp.Config{APIURL: g.API, AppID: g.AppID, PrivateKey: g.Key, Transport: c.GitHub, Log: c.Log})
	if err != nil {
		return wrong(name, "", "%v", err)
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	list, err := pings(ctx, app, c.now())
	switch {
	case err != nil:
		return Finding{Name: name, Detail: onePerLine(err.Error()), Remedy: "Fix the access to GitHub first."}
	case len(list) == 0:
		return Finding{Name: name, Detail: "GitHub sent no ping yet"}
	case list[0].OK():
		return passed(name, "GitHub's ping arrived")
	}
	last := list[0]
	if err := app.Redeliver(ctx, last.ID); err != nil {
		return Finding{Name: name, Detail: onePerLine(err.Error()), Remedy: "Fix the access to GitHub first."}
	}
	again, stop := time.NewTicker(pingTimeout/20), time.After(pingTimeout)
	defer again.Stop()
	for last.ID == list[0].ID {
		select {
		case <-again.C:
		case <-stop:
			return pingFinding(last)
		case <-ctx.Done():
			return pingFinding(last)
		}
		if now, err := pings(ctx, app, c.now()); err == nil && len(now) > 0 {
			last = now[0]
		}
	}
	return pingFinding(last)
}

func pingFinding(d ghapp.Delivery) Finding {
	const name = "webhook"
	f := Finding{
		Name:   name,
		Remedy: "GitHub does not reach the server: does it run, is the address of the App's webhook https://…/webhook, and is that open to the internet? If it cannot be, set github.poll.",
	}
	switch {
	case d.OK():
		return passed(name, "GitHub's ping arrived")
	case d.Status == 0:
		f.Detail = "GitHub's ping did not arrive: there was no answer"
	case d.Status == http.StatusUnauthorized:
		f.Detail, f.Remedy = "GitHub's ping was refused", "The secret of the App's webhook is not HANDRAIL_WEBHOOK_SECRET: set both to the same."
	default:
		f.Detail = fmt.Sprintf("GitHub's ping did not arrive: the answer was %d %s", d.Status, http.StatusText(d.Status))
	}
	return f
}

// pings returns the ping deliveries of the last 24 hours, newest first.
func pings(ctx context.Context, app *ghapp.App, now time.Time) ([]ghapp.Delivery, error) {
	list, err := app.Deliveries(ctx, now.Add(-24*time.Hour))
	return slices.DeleteFunc(list, func(d ghapp.Delivery) bool { return !isPing(d) }), err
}

func isPing(d ghapp.Delivery) bool { return d.Event == "ping" }
