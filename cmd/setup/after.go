package setup

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/handrail-bot/handrail/bot/ghapp/granted"
	"github.com/handrail-bot/handrail/cmd/config"
	"github.com/handrail-bot/handrail/cmd/doctor"
	"github.com/handrail-bot/handrail/cmd/door"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

// after guides the user from the new App to the first comment.
type after struct {
	*Verb

	w     *door.Console
	app   granted.App
	files files
	of    doctor.Of
	every time.Duration // between checks for the installation
}

func (v *Verb) after(w *door.Console, app granted.App, f files, of doctor.Of) *after {
	return &after{v, w, app, f, of, 2 * time.Second}
}

func (a *after) say(format string, args ...any) { fmt.Fprintf(a.w.Out, format, args...) }

// guide prints and checks the next steps. After Ctrl-C it prints the remaining steps
// without checks.
func (a *after) guide(ctx context.Context) error {
	a.say(
		"\nThe App is there, and so are these files, which only your account can read:\n\n  %s  the configuration\n  %s  secrets of the server\n  %s  the App's key\n",
		a.files.Config,
		a.files.Environment,
		a.files.Key,
	)
	steps := 0
	step := func(title string) { steps++; a.say("\n%d. %s\n", steps, title) }

	step("Install the App: open this address, and choose the repositories in which the bot is to work.")
	a.say("\n  %s/installations/new\n\n", a.app.Page)
	there := a.waitInstalled(ctx)

	server, err := config.Read(a.files.Config, func(name string) string {
		if secret, ok := a.secrets[name]; ok {
			return secret
		}
		return os.Getenv(name)
	})
	if err != nil {
		return fmt.Errorf(
			"the files are written, but with the other variables of the environment the server would not start: %w",
			err,
		)
	}
	look := a.of(server, slog.New(slog.DiscardHandler))
	if ctx.Err() == nil {
		step("The model. Loading it for the first time can take minutes; Ctrl-C leaves this out.")
		a.say("\n")
		found := look.Try(ctx)
		doctor.List(a.w, found)
	}
	if a.Address != "" && ctx.Err() == nil {
		step("The webhook, for GitHub's events.")
		a.say("\n")
		doctor.List(a.w, []doctor.Finding{a.checkWebhook(ctx, &look)})
	}
	if ctx.Err() != nil {
		a.say(
			"\nThe rest is not checked. When the bot runs, this says whether all is well, in a second terminal:\n\n  %s\n",
			a.files.doctor(),
		)
	}
	step("Start the bot, and leave it running:")
	a.say("\n  %s\n", strings.ReplaceAll(a.files.Start, "\n", "\n  "))
	step("Write the first comment. " + a.first(there) + ":")
	a.say(
		"\n  /agent ask what is this repository about?\n\nWithin half a minute the bot puts 👀 on it, and then answers there.\n",
	)
	return nil
}

// checkWebhook checks that GitHub reaches the server. The server need not be running yet.
func (a *after) checkWebhook(ctx context.Context, look *doctor.Config) doctor.Finding {
	f := look.Ping(ctx)
	if !f.OK {
		f.Remedy = "A ping arrives only when the bot runs. After its start this asks for it again, in a second terminal: " + a.files.doctor()
	}
	return f
}

// waitInstalled waits until the App is installed, and returns its repositories.
func (a *after) waitInstalled(ctx context.Context) []granted.Repository {
	cfg := granted.Config{API: a.choice().API(), AppID: a.app.ID, Key: a.app.Key, Transport: config.Transport(nil, nil)}
	if !a.NoWait {
		a.say("Waiting until it is installed. Ctrl-C goes on without that.\n")
	}
	again := time.NewTicker(a.every)
	defer again.Stop()
	for said := ""; ; {
		list, err := granted.Repositories(ctx, cfg)
		switch {
		case ctx.Err() != nil:
			return nil
		case len(list) > 0:
			a.list(list)
			return list
		case err != nil && err.Error() != said:
			said = err.Error()
			a.say("! GitHub does not answer as it should: %s\n", untrusted.EscapeLine(said))
		}
		if a.NoWait {
			a.say("! It is installed on no repository yet.\n")
			return nil
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// maxListed is the maximum number of repositories in the list.
const maxListed = 20

func (a *after) list(all []granted.Repository) {
	a.say("✔ The App is installed on:\n\n")
	for _, r := range all[:min(len(all), maxListed)] {
		a.say("  %s\n", untrusted.EscapeLine(r.Name))
	}
	if more := len(all) - maxListed; more > 0 {
		a.say("  and %d more\n", more)
	}
}

// first describes the place for the first comment.
func (a *after) first(all []granted.Repository) string {
	for _, r := range all {
		if r.Issues {
			return "Open " + a.choice().Origin() + "/" + untrusted.EscapeLine(r.Name) + "/issues/new, give any title, and write as the text"
		}
	}
	if len(all) > 0 {
		return "These repositories have no issues, so write it in a pull request"
	}
	return "Open a new issue in one of the repositories, give any title, and write as the text"
}
