// Package granted asks GitHub for the permissions of the bot: those of the App and each
// of its installations, or of a token in its repository. It changes nothing.
package granted

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/bradleyfalzon/ghinstallation/v2"

	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/ghapp/answer"
)

// Config is the identity that asks: an App with its key, or a token for a repository.
type Config struct {
	API        string // base address of the API; empty means github.com
	AppID      int64
	Key        []byte // PEM
	Token      string
	Repository string // owner/name; with a token only
	Transport  http.RoundTripper
}

// Grant is the permissions and events of an App or of an installation.
type Grant struct {
	Account     string // account of the installation; empty for the App itself
	Permissions map[string]string
	Events      []string
	Page        string // settings page for changes
	Suspended   bool

	id int64
}

// Answer is GitHub's answer to [Ask].
type Answer struct {
	Date          time.Time // time by GitHub's clock; zero if unknown
	Name          string    // name of the App
	App           Grant
	Installations []Grant
	Push          bool // the token may push to its repository
}

// Refused is a refusal, or an answer that did not come from GitHub's API.
type Refused struct {
	Address string
	Status  int
	Why     string // fault of an answer that is not of the API; continues "its answer"
}

// Error returns the address, and the status of the answer or its fault.
func (r *Refused) Error() string {
	if r.Why != "" {
		return fmt.Sprintf("%s answers %d, and its answer %s", r.Address, r.Status, r.Why)
	}
	return fmt.Sprintf("%s answers %d %s", r.Address, r.Status, http.StatusText(r.Status))
}

// ErrKey means that the App's key is unusable. No request was sent.
var ErrKey = errors.New("the App's private key cannot be read")

// Ask asks GitHub for the grants. If it fails, the answer holds the partial result.
func Ask(ctx context.Context, cfg Config) (Answer, error) {
	if cfg.API == "" {
		cfg.API = "https://api.github.com/"
	}
	way := judged(cfg.API, cfg.Transport)
	a := asker{api: strings.TrimRight(cfg.API, "/"), client: &http.Client{Transport: way, Timeout: 15 * time.Second}}
	if cfg.Token != "" {
		a.token = cfg.Token
		var repo struct{ Permissions struct{ Push bool } }
		err := a.get(ctx, "/repos/"+cfg.Repository, &repo)
		return Answer{Date: a.date, Push: repo.Permissions.Push}, err
	}
	apps, err := ghinstallation.NewAppsTransport(way, cfg.AppID, cfg.Key)
	if err != nil {
		return Answer{}, ErrKey
	}
	a.client.Transport = apps
	var app struct {
		Name        string
		HTMLURL     string `json:"html_url"`
		Permissions map[string]string
		Events      []string
	}
	err = a.get(ctx, "/app", &app)
	out := Answer{
		Date: a.date,
		Name: app.Name,
		App:  Grant{Permissions: app.Permissions, Events: app.Events, Page: app.HTMLURL},
	}
	if err != nil {
		return out, err
	}
	out.Installations, err = a.installations(ctx)
	return out, err
}

// judged returns a transport that passes only answers of GitHub's API.
func judged(api string, next http.RoundTripper) http.RoundTripper {
	if next == nil {
		next = http.DefaultTransport
	}
	base := "/"
	if u, err := url.Parse(api); err == nil {
		base = strings.TrimSuffix(u.Path, "/") + "/"
	}
	return answer.Judge{Next: next, Base: base}
}

// FindEnterpriseAPI reports whether a GitHub Enterprise Server serves its API at /api/v3 of an
// address, and returns the API's address.
func FindEnterpriseAPI(ctx context.Context, address string, transport http.RoundTripper) (string, bool) {
	u, err := url.Parse(address)
	if err != nil {
		return "", false
	}
	u.Path, u.RawQuery = "/api/v3", ""
	client := &http.Client{Transport: judged(u.String(), transport), Timeout: 15 * time.Second}
	a := asker{api: u.String(), client: client}
	var meta json.RawMessage
	err = a.get(ctx, "/meta", &meta)
	var refused *Refused
	return u.String() + "/", err == nil || errors.As(err, &refused) && refused.Status == http.StatusUnauthorized
}

// Repository is a repository of an installation.
type Repository struct {
	Name   string // owner/name
	Issues bool   // users can open issues there
}

// Repositories returns the repositories of all active installations, up to 300 for each
// account.
func Repositories(ctx context.Context, cfg Config) ([]Repository, error) {
	app, of, err := asApp(cfg)
	if err != nil {
		return nil, err
	}
	list, err := app.installations(ctx)
	if err != nil {
		return nil, err
	}
	var out []Repository
	for _, in := range list {
		if in.Suspended {
			continue
		}
		there, _, err := of(in).repositories(ctx, 3)
		if err != nil {
			return nil, err
		}
		out = append(out, there...)
	}
	return out, nil
}

// AllRepositories is the complete set of repositories of an App. Names are in lower case.
type AllRepositories struct {
	Repositories map[string]bool // owner/name
	Unknown      map[string]bool // owners that suspended the App, or whose list is incomplete
}

// maxPages is the maximum number of pages of a list, at 100 entries each.
const maxPages = 1000

// All returns all repositories of the App. A repository that is missing in the result
// is not installed: in case of doubt the call fails, or the owner is in Unknown.
func All(ctx context.Context, cfg Config) (AllRepositories, error) {
	out := AllRepositories{map[string]bool{}, map[string]bool{}}
	app, of, err := asApp(cfg)
	if err != nil {
		return out, err
	}
	list, whole, err := app.installationPages(ctx, maxPages)
	if err == nil && !whole {
		err = fmt.Errorf("the App has more than %d installations", maxPages*100)
	}
	if err != nil {
		return out, err
	}
	for _, in := range list {
		owner := strings.ToLower(in.Account)
		var there []Repository
		whole := false
		if !in.Suspended {
			there, whole, err = of(in).repositories(ctx, maxPages)
		}
		if err != nil || !whole { //control:unknown-installation
			if owner == "" {
				return out, errors.Join(errors.New("an installation without an account cannot be read"), err)
			}
			out.Unknown[owner], err = true, nil
		}
		for _, r := range there {
			out.Repositories[strings.ToLower(r.Name)] = true
		}
	}
	return out, ctx.Err()
}

// asApp returns a client that acts as the App, and a function for its installations.
func asApp(cfg Config) (app *asker, of func(Grant) *asker, err error) {
	if cfg.API == "" {
		cfg.API = "https://api.github.com/"
	}
	apps, err := ghinstallation.NewAppsTransport(judged(cfg.API, cfg.Transport), cfg.AppID, cfg.Key)
	if err != nil {
		return nil, nil, ErrKey
	}
	apps.BaseURL = strings.TrimRight(cfg.API, "/")
	return &asker{api: apps.BaseURL, client: noRedirects(apps)}, func(in Grant) *asker {
		t := ghinstallation.NewFromAppsTransport(apps, in.id)
		t.BaseURL = apps.BaseURL
		return &asker{api: apps.BaseURL, client: noRedirects(t)}
	}, nil
}

// noRedirects returns a client that follows no redirects, so that credentials go nowhere
// else.
func noRedirects(t http.RoundTripper) *http.Client {
	return &http.Client{
		Transport:     t,
		Timeout:       15 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// repositories reads at most the given number of pages of an installation's
// repositories and reports whether the list is complete.
func (a *asker) repositories(ctx context.Context, pages int) (out []Repository, whole bool, err error) {
	for page := 1; page <= pages; page++ {
		var list struct {
			Total        *int `json:"total_count"`
			Repositories []struct {
				FullName  string `json:"full_name"`
				HasIssues bool   `json:"has_issues"`
				Archived  bool
			}
		}
		if err := a.get(ctx, fmt.Sprintf("/installation/repositories?per_page=100&page=%d", page), &list); err != nil {
			return out, false, err
		}
		for _, r := range list.Repositories {
			out = append(out, Repository{Name: r.FullName, Issues: r.HasIssues && !r.Archived})
		}
		if len(list.Repositories) < 100 {
			return out, list.Total != nil && *list.Total == len(out), nil
		}
	}
	return out, false, nil
}

type asker struct {
	api, token string
	client     *http.Client
	date       time.Time
}

func (a *asker) installations(ctx context.Context) ([]Grant, error) {
	out, _, err := a.installationPages(ctx, 10)
	return out, err
}

// installationPages reads at most pages pages of installations and reports whether the list is
// complete.
func (a *asker) installationPages(ctx context.Context, pages int) (out []Grant, whole bool, err error) {
	for page := 1; page <= pages; page++ {
		var list []struct {
			ID          int64
			HTMLURL     string `json:"html_url"`
			Account     struct{ Login string }
			Permissions map[string]string
			Events      []string
			SuspendedAt *time.Time `json:"suspended_at"`
		}
		if err := a.get(ctx, fmt.Sprintf("/app/installations?per_page=100&page=%d", page), &list); err != nil {
			return out, false, err
		}
		for _, i := range list {
			out = append(
				out,
				Grant{
					Account:     i.Account.Login,
					Permissions: i.Permissions,
					Events:      i.Events,
					Page:        i.HTMLURL,
					Suspended:   i.SuspendedAt != nil,
					id:          i.ID,
				},
			)
		}
		if len(list) < 100 {
			return out, true, nil
		}
	}
	return out, false, nil
}

const (
	maxTries   = 3 // at an answer that is none
	pauseAfter = 100 * time.Millisecond
)

// get reads an answer. One that is none is asked for again.
func (a *asker) get(ctx context.Context, path string, into any) error {
	for try := 1; ; try++ {
		err := a.getOnce(ctx, path, into)
		var refused *Refused
		bad := errors.As(err, &refused) && refused.Why != "" || errors.As(err, new(*answer.Error))
		if try == maxTries || !bad {
			return err
		}
		select {
		case <-time.After(pauseAfter):
		case <-ctx.Done():
			return err
		}
	}
}

func (a *asker) getOnce(ctx context.Context, path string, into any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, a.api+path, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Accept", "application/vnd.github+json")
	req.Header.Set("X-GitHub-Api-Version", "2022-11-28")
	if a.token != "" {
		req.Header.Set("Authorization", "Bearer "+a.token)
	}
	resp, err := a.client.Do(req)
	var none *answer.Error
	if errors.As(err, &none) && none.Err == nil {
		return &Refused{a.api, none.Status, none.Why}
	}
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if at, err := http.ParseTime(resp.Header.Get("Date")); err == nil {
		a.date = at
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, 8<<20))
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return &Refused{a.api, resp.StatusCode, ""}
	}
	return json.Unmarshal(body, into)
}

// Lacks returns the missing permissions, such as "checks: write", and the missing
// events.
func (g Grant) Lacks() (permissions, events []string) {
	rank := map[string]int{"read": 1, "write": 2, "admin": 3}
	for _, p := range wantedPermissions() {
		if rank[g.Permissions[p.Name]] < rank[p.Level] {
			permissions = append(permissions, p.Name+": "+p.Level)
		}
	}
	for _, e := range ghapp.Subscriptions() {
		if !slices.Contains(g.Events, e) {
			events = append(events, e)
		}
	}
	return permissions, events
}
