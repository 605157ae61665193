// This file creates the bot's GitHub App by the manifest flow: a form in the owner's
// browser submits the manifest to GitHub, GitHub redirects the browser back with a
// code, and the code is exchanged for the App's key.

package granted

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"

	"github.com/google/go-github/v62/github"

	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/ghapp/answer"
	"github.com/handrail-bot/handrail/policy/pattern"
	"github.com/handrail-bot/handrail/policy/secret"
)

// unusedWebhook is the webhook address of an App whose deliveries are polled. The name is in
// a reserved domain and never resolves.
const unusedWebhook = "https://handrail.invalid/webhook"

// Choice is the configuration of an App to create.
type Choice struct {
	Site         string // GitHub's address, such as https://github.example; empty means github.com
	Organization string // owner of the App; empty means the browser's user
	Webhook      string // webhook address; empty if there is none
	Workflows    bool   // allow changes of workflow files
}

var organization = pattern.Lazy(`^[A-Za-z0-9][A-Za-z0-9-]{0,38}$`)

// Check validates the choice.
func (c Choice) Check() error {
	if _, err := c.site(); err != nil {
		return err
	}
	if c.Organization != "" && !organization().MatchString(c.Organization) {
		return fmt.Errorf("%q is not the name of an organization", c.Organization)
	}
	if u, err := url.Parse(c.Webhook); c.Webhook != "" &&
		(err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil) {
		return errors.New("the address that GitHub calls must be like https://bot.example")
	}
	return nil
}

// site returns the address of GitHub's web pages. It requires TLS, except on loopback.
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

// API returns the base address of the site's REST API; empty means github.com.
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

// Origin returns the site's origin for a form-action policy.
func (c Choice) Origin() string {
	u, err := c.site()
	if err != nil {
		return "'none'"
	}
	return u.Scheme + "://" + u.Host
}

// Form returns the address to which the manifest is posted.
func (c Choice) Form(state string) string {
	path := "/settings/apps/new"
	if c.Organization != "" {
		path = "/organizations/" + c.Organization + path
	}
	return c.Origin() + path + "?state=" + url.QueryEscape(state)
}

// Manifest returns the App's manifest. GitHub redirects the browser to back.
func (c Choice) Manifest(back string) ([]byte, error) {
	hook, rights := c.Webhook, map[string]string{}
	if hook == "" {
		hook = unusedWebhook
	}
	for _, p := range c.Permissions() {
		rights[p.Name] = p.Level
	}
	return json.Marshal(map[string]any{
		"name": "Handrail", "url": "https://github.com/handrail-bot/handrail", "redirect_url": back, "public": false,
		"description":         "A coding agent on our own models. Unsafe commands and sensitive files wait for approval.",
		"hook_attributes":     map[string]any{"url": hook, "active": true},
		"default_permissions": rights, "default_events": ghapp.Subscriptions(),
	})
}

// Permissions returns the permissions that the App will request.
func (c Choice) Permissions() []Permission {
	list := wantedPermissions()
	if c.Workflows {
		list = append(list, workflows())
	}
	return list
}

// App is the newly created App.
type App struct {
	ID            int64
	Page          string // address of the App's page
	Key           []byte // PEM
	WebhookSecret secret.Value
}

var codeRE = pattern.Lazy(`^[A-Za-z0-9_-]{1,200}$`)

// Convert exchanges the code from GitHub's redirect for the App. Each code works once.
func (c Choice) Convert(ctx context.Context, code string) (App, error) {
	if !codeRE().MatchString(code) {
		return App{}, errors.New("create App: GitHub sent no code that can be read")
	}
	gh := github.NewClient(noRedirects(judged(c.API(), nil)))
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
		return App{}, fmt.Errorf("create App: GitHub answers %s; a code is valid for an hour, and once", resp.Status)
	}
	var none *answer.Error
	if errors.As(err, &none) {
		return App{}, fmt.Errorf("create App: %w", none)
	}
	if err != nil {
		return App{}, errors.New("create App: GitHub does not answer") // the cause contains the code, so it is dropped
	}
	return App{
		ID:            got.GetID(),
		Page:          got.GetHTMLURL(),
		Key:           []byte(got.GetPEM()),
		WebhookSecret: secret.Value(got.GetWebhookSecret()),
	}, nil
}
