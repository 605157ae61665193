// Newapp creates the GitHub App of a bot by GitHub's manifest flow: a form in the
// browser of its owner takes to GitHub what the App is to be, GitHub sends the browser
// back with a code, and the code is given for the App's key.

package granted

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/google/go-github/v62/github"

	"github.com/handrail-bot/handrail/policy/pattern"
	"github.com/handrail-bot/handrail/policy/secret"
)

// nowhere is the address of the webhook of an App whose deliveries are polled. Its name
// belongs to nobody.
const nowhere = "https://handrail.invalid/webhook"

// Choice is what an App is to be.
type Choice struct {
	Site         string // of GitHub, such as https://github.example; empty for github.com
	Organization string // that owns it; empty for the person at the browser
	Webhook      string // address that GitHub calls; empty for none
	Workflows    bool   // it may push changes of workflow files
}

var organization = pattern.Lazy(`^[A-Za-z0-9][A-Za-z0-9-]{0,38}$`)

// Check returns what is wrong with a choice.
func (c Choice) Check() error {
	if _, err := c.site(); err != nil {
		return err
	}
	if c.Organization != "" && !organization().MatchString(c.Organization) {
		return fmt.Errorf("%q is not the name of an organization", c.Organization)
	}
	if u, err := url.Parse(c.Webhook); c.Webhook != "" && (err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil) {
		return errors.New("the address that GitHub calls must be like https://bot.example")
	}
	return nil
}

// site returns where GitHub's pages are. Keys go over TLS, or stay on this machine.
func (c Choice) site() (*url.URL, error) {
	address := c.Site
	if address == "" {
		address = "https://github.com"
	}
	u, err := url.Parse(strings.TrimRight(address, "/"))
	if err != nil || u.Host == "" || u.Path != "" || u.RawQuery != "" || u.User != nil {
		return nil, fmt.Errorf("%q is not the address of a GitHub such as https://github.example", address)
	}
	if ip := net.ParseIP(u.Hostname()); u.Scheme != "https" && (u.Scheme != "http" || ip == nil || !ip.IsLoopback()) {
		return nil, fmt.Errorf("%q does not begin with https://: the App's key would come in the clear", address)
	}
	return u, nil
}

// API returns the base of the site's REST API; empty for that of github.com.
func (c Choice) API() string {
	u, err := c.site()
	switch {
	case err != nil || u.Host == "github.com":
		return ""
	case strings.HasSuffix(u.Host, ".ghe.com"):
		return "https://api." + u.Host + "/"
	}
	return u.String() + "/api/v3/"
}

// Origin returns the site as a policy for forms names it.
func (c Choice) Origin() string {
	u, err := c.site()
	if err != nil {
		return "'none'"
	}
	return u.Scheme + "://" + u.Host
}

// Form returns where the manifest is sent.
func (c Choice) Form(state string) string {
	path := "/settings/apps/new"
	if c.Organization != "" {
		path = "/organizations/" + c.Organization + path
	}
	return c.Origin() + path + "?state=" + url.QueryEscape(state)
}

// Manifest returns what the App is to be, as GitHub reads it. GitHub sends the browser
// back to an address.
func (c Choice) Manifest(back string) ([]byte, error) {
	hook, rights := c.Webhook, map[string]string{}
	if hook == "" {
		hook = nowhere
	}
	for _, p := range c.Permissions() {
		rights[p.Name] = p.Level
	}
	return json.Marshal(map[string]any{
		"name": "Handrail", "url": "https://github.com/handrail-bot/handrail", "redirect_url": back, "public": false,
		"description":         "A coding agent on our own models. Unsafe commands and sensitive files wait for a person.",
		"hook_attributes":     map[string]any{"url": hook, "active": true},
		"default_permissions": rights, "default_events": Events(),
	})
}

// Permissions returns what the App is to be allowed.
func (c Choice) Permissions() []Permission {
	list := wantedPermissions()
	if c.Workflows {
		list = append(list, workflows())
	}
	return list
}

// App is what GitHub gave.
type App struct {
	ID            int64
	Page          string // of the App
	Key           []byte // PEM
	WebhookSecret secret.Value
}

var handed = pattern.Lazy(`^[A-Za-z0-9_-]{1,200}$`)

// Convert gives the code, with which GitHub sent the browser back, for the App. It works
// once for a code.
func (c Choice) Convert(ctx context.Context, code string) (App, error) {
	if !handed().MatchString(code) {
		return App{}, errors.New("create App: GitHub sent no code that can be read")
	}
	gh := github.NewClient(&http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }})
	gh.UserAgent = "handrail"
	if api := c.API(); api != "" {
		u, err := url.Parse(api)
		if err != nil {
			return App{}, fmt.Errorf("create App: %w", err)
		}
		gh.BaseURL = u
	}
	got, resp, err := gh.Apps.CompleteAppManifest(ctx, code)
	if err != nil && resp != nil {
		return App{}, fmt.Errorf("create App: GitHub answers %s; a code holds for an hour, and once", resp.Status)
	}
	if err != nil {
		return App{}, errors.New("create App: GitHub does not answer") // the error has the code
	}
	if got.GetID() == 0 || got.GetPEM() == "" {
		return App{}, errors.New("create App: GitHub's answer has no App in it")
	}
	return App{ID: got.GetID(), Page: got.GetHTMLURL(), Key: []byte(got.GetPEM()), WebhookSecret: secret.Value(got.GetWebhookSecret())}, nil
}
