package doctor

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/ghapp/granted"
	"github.com/handrail-bot/handrail/cmd/config"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

// github checks the bot's access to GitHub.
func (c *Config) github(ctx context.Context) []Finding {
	g := c.Server.GitHub
	if g.AppID == 0 && g.Token == "" {
		return []Finding{
			wrong(
				"GitHub",
				"Set github.app_id and github.private_key_file, or HANDRAIL_GITHUB_TOKEN; handrail init creates an App.",
				"there is no access to it",
			),
		}
	}
	answer, err := granted.Ask(
		ctx,
		granted.Config{
			API:        g.API,
			AppID:      g.AppID,
			Key:        g.Key,
			Token:      g.Token.Reveal(),
			Repository: g.Repository,
			Transport:  c.GitHub,
		},
	)
	clock := c.clock(answer.Date)
	if err != nil {
		return append([]Finding{c.unanswered(ctx, err, clock)}, clock...)
	}
	address := g.API
	if address == "" {
		address = "api.github.com"
	}
	if g.AppID == 0 {
		found := passed("GitHub", "%s takes the token, which may push to %s", address, g.Repository)
		if !answer.Push {
			found = wrong(
				"GitHub",
				"Give the token write access to contents, issues and pull requests of this repository.",
				"the token may not push to %s",
				g.Repository,
			)
		}
		return append([]Finding{found}, clock...)
	}
	out := append([]Finding{passed("GitHub", "%s knows the App %s", address, untrusted.EscapeLine(answer.Name))}, clock...)
	return append(out, c.grants(answer)...)
}

// grants checks the permissions of the App and its installations.
func (c *Config) grants(a granted.Answer) []Finding {
	var out []Finding
	permissions, events := a.App.Lacks()
	where := "On the App's page, Permissions & events (" + a.App.Page + "): "
	if len(permissions) > 0 {
		out = append(
			out,
			wrong(
				"permissions",
				where+"give it "+strings.Join(permissions, ", ")+"; the owner of each installation must accept that.",
				"the App lacks %s",
				strings.Join(permissions, ", "),
			),
		)
	}
	if len(events) > 0 {
		f := wrong("events", where+"subscribe to them.", "the App does not hear %s", strings.Join(events, ", "))
		f.Needed = strings.Contains(strings.Join(events, " "), "issue_comment")
		out = append(out, f)
	}
	if len(a.Installations) == 0 {
		out = append(
			out,
			wrong("installations", "Install it: "+a.App.Page+"/installations/new", "the App is installed nowhere"),
		)
	}
	var good []string
	for _, in := range a.Installations {
		lacks, _ := in.Lacks()
		switch account := untrusted.EscapeLine(in.Account); {
		case in.Suspended:
			out = append(
				out,
				Finding{Name: "installations", Detail: account + ": suspended", Remedy: "Its owner ends that at " + in.Page},
			)
		case len(lacks) > 0 && len(permissions) == 0:
			f := wrong(
				"installations",
				"Its owner accepts the new permissions at "+in.Page,
				"%s has not granted %s",
				account,
				strings.Join(lacks, ", "),
			)
			f.Needed = len(a.Installations) == 1
			out = append(out, f)
		default:
			good = append(good, account)
		}
	}
	if len(good) > 0 && len(permissions) == 0 {
		out = append(out, passed("installations", "%s: with all permissions", strings.Join(good, ", ")))
	}
	return out
}

// unanswered explains why GitHub gave no usable answer.
func (c *Config) unanswered(ctx context.Context, err error, clock []Finding) Finding {
	g := c.Server.GitHub
	if errors.Is(err, granted.ErrKey) {
		const get = "the App's page gives it, below Private keys (NAME.DATE.private-key.pem)"
		if g.PrivateKeyFile == "" {
			return wrong(
				"GitHub",
				"Set github.private_key_file to the file with the App's private key; "+get+".",
				"it was not asked: the App has no private key here",
			)
		}
		return wrong(
			"GitHub",
			"Put the App's private key there, or name its file in github.private_key_file, and let the user that the server runs as read it; "+get+".",
			"it was not asked: there is no private key of an App to be read in %s",
			g.PrivateKeyFile,
		)
	}
	var refused *granted.Refused
	if !errors.As(err, &refused) {
		var why *url.Error
		if errors.As(err, &why) {
			err = why.Err
		}
		remedy := "Can this machine reach it? github.api is its address; HTTPS_PROXY names a proxy."
		if config.UnknownAuthority(err) {
			remedy = "The certificate is of an authority that this machine does not know: put its certificate into a file and name that in github.ca_file."
		}
		return wrong("GitHub", remedy, "it does not answer: %v", err)
	}
	switch refused.Status {
	case http.StatusUnauthorized, http.StatusForbidden:
		remedy := "Is github.private_key_file a key of the App with the number github.app_id? Its page lists the keys."
		if g.AppID == 0 {
			remedy = "Has the token expired, or was it revoked? HANDRAIL_GITHUB_TOKEN needs a new one."
		} else if len(clock) > 0 && !clock[0].OK {
			remedy = "Set the clock of this machine first: the signature of an App is valid for minutes."
		}
		return wrong("GitHub", remedy, "%v", err)
	case http.StatusOK, http.StatusNotFound, http.StatusGone, http.StatusNotAcceptable:
		if better, ok := granted.FindEnterpriseAPI(ctx, refused.Address, c.GitHub); ok &&
			!strings.HasSuffix(strings.TrimRight(refused.Address, "/"), "/api/v3") {
			return wrong("GitHub", "Set github.api to "+better, "%v: the API of GitHub Enterprise Server is below /api/v3", err)
		}
		if g.AppID == 0 {
			return wrong(
				"GitHub", "Can the token see it? github.repository is owner/name.",
				"there is no repository %s for the token (%v)", g.Repository, err,
			)
		}
		return wrong(
			"GitHub",
			"Is github.api the address of its API? On GitHub Enterprise Server it ends in /api/v3.",
			"%v",
			err,
		)
	}
	return wrong("GitHub", "Try again later; githubstatus.com says how github.com is.", "%v", err)
}

// maxClockSkew is the maximum difference of the clocks: GitHub refuses an App's signature
// from the future, or older than ten minutes.
const maxClockSkew = 30 * time.Second

// clock compares this machine's clock with GitHub's.
func (c *Config) clock(theirs time.Time) []Finding {
	if theirs.IsZero() {
		return nil
	}
	off := c.now().Sub(theirs).Round(time.Second)
	if off > maxClockSkew || off < -maxClockSkew {
		side := "ahead of"
		if off < 0 {
			side, off = "behind", -off
		}
		return []Finding{
			wrong("clock", "Have it set by NTP: timedatectl set-ntp true.", "this machine's clock is %s %s GitHub's", off, side),
		}
	}
	return []Finding{passed("clock", "agrees with GitHub's")}
}

// deliveries looks for failed webhook deliveries.
func (c *Config) deliveries(ctx context.Context) []Finding {
	g := c.Server.GitHub
	if g.AppID == 0 || g.Poll != 0 || len(g.Key) == 0 {
		return nil // neither a token nor polling uses a webhook
	}
	app, err := ghapp.New(ghapp.Config{APIURL: g.API, AppID: g.AppID, PrivateKey: g.Key, Transport: c.GitHub, Log: c.Log})
	if err != nil {
		return nil // a bad key is reported for GitHub
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	list, err := app.Deliveries(ctx, c.now().Add(-24*time.Hour))
	if err != nil {
		return []Finding{{Name: "deliveries", Detail: onePerLine(err.Error()), Remedy: "Fix the access to GitHub first."}}
	}
	var out []Finding
	if slices.ContainsFunc(list, isPing) {
		out = append(out, c.Ping(ctx))
	}
	return append(out, events(slices.DeleteFunc(list, isPing)))
}

// events reports whether the deliveries of users' events arrived.
func events(list []ghapp.Delivery) Finding {
	arrived, last := map[string]bool{}, map[string]int{}
	for _, d := range list {
		arrived[d.GUID] = arrived[d.GUID] || d.OK()
		if _, ok := last[d.GUID]; !ok {
			last[d.GUID] = d.Status
		}
	}
	failed, status := 0, 0
	for id, ok := range arrived {
		if !ok {
			failed, status = failed+1, last[id]
		}
	}
	switch {
	case len(arrived) == 0:
		return passed("deliveries", "none within a day")
	case failed == 0:
		return passed("deliveries", "all %d of a day arrived", len(arrived))
	}
	f := wrong(
		"deliveries",
		"GitHub does not reach the server: is the address of the App's webhook https://…/webhook, and open to the internet? If it cannot be, set github.poll.",
		"%d of %d of a day did not arrive; there was no answer",
		failed,
		len(arrived),
	)
	if status == http.StatusUnauthorized || status == http.StatusForbidden || status == http.StatusBadRequest {
		f.Remedy = "The secret of the App's webhook is not HANDRAIL_WEBHOOK_SECRET: set both to the same."
	}
	if status != 0 {
		f.Detail = strings.TrimSuffix(f.Detail, "there was no answer") + "the last answer was " + http.StatusText(status)
	}
	f.Needed = failed == len(arrived)
	return f
}
