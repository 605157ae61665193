package ghapp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bradleyfalzon/ghinstallation/v2"
	"github.com/gofri/go-github-ratelimit/v2/github_ratelimit/github_secondary_ratelimit"
	"github.com/google/go-github/v62/github"

	"github.com/handrail-bot/handrail/bot/quota"
	"github.com/handrail-bot/handrail/bot/thread"
	"github.com/handrail-bot/handrail/policy/secret"
)

// Config says who the bot is on GitHub. Either AppID and PrivateKey, or Token.
type Config struct {
	APIURL     string            // base of the REST API; empty for github.com, "https://host/api/v3/" for an enterprise server
	AppID      int64             // the app's id
	PrivateKey []byte            // the app's key in PEM
	Token      string            // instead of an app: a token for one repository
	Own        *secret.Key       // of this server alone; binds what it writes to its marker, see [App.Written]; nil for none
	Login      string            // the bot's own login; empty to ask GitHub (a workflow's token cannot ask)
	Transport  http.RoundTripper // nil for one like http.DefaultTransport with a time limit
	Log        *slog.Logger      // nil for none
	Clock      func() time.Time  // nil for the real time
	Spacing    time.Duration     // between writes of one installation; 0 for one second, negative for none
	Limits     quota.Limits      // on writes of one installation; 0 for GitHub's own (of a minute: where writes are spaced), negative for none
	Lookups    int               // of accounts without rights, in an hour and installation; 0 for 600, negative for no limit
	Backoff    time.Duration     // before the first repetition of a read; 0 for half a second
	MaxSleep   time.Duration     // longest secondary limit to sit out in a call; 0 for 30 seconds

	// Clean is the last gate for every text that is written: titles, bodies,
	// reviews, check runs. It must give the same for the same. Nil for none.
	Clean func(string) string
	// Inert makes the bot's own commands inert in what it writes.
	Inert func(string) string
}

// App is the bot's identity. It is safe for concurrent use.
type App struct {
	cfg  Config
	api  *url.URL // ends in a slash
	apps *ghinstallation.AppsTransport
	self *github.Client // speaks as the app itself; nil with a token

	site    site              // where pages, repositories and pictures lie
	outside http.RoundTripper // to public addresses only

	mu      sync.Mutex
	login   string
	pacers  map[int64]*pacer
	clients map[string]*Client

	lookups *lookups
	there   atomic.Bool // GitHub has answered at this address
}

// New checks the configuration and returns the bot's identity. It does not
// talk to GitHub.
func New(cfg Config) (*App, error) {
	if cfg.APIURL == "" {
		cfg.APIURL = "https://api.github.com/"
	}
	api, err := url.Parse(strings.TrimRight(cfg.APIURL, "/") + "/")
	if err != nil || api.Host == "" || (api.Scheme != "https" && api.Scheme != "http") {
		return nil, fmt.Errorf("read API address %q: write https://host/api/v3/", cfg.APIURL)
	}
	if api.User != nil {
		return nil, errors.New("read API address: it must not contain a user or a password")
	}
	setDefaults(&cfg)
	a := &App{cfg: cfg, api: api, login: cfg.Login, site: newSite(api), outside: outside(), pacers: map[int64]*pacer{}, clients: map[string]*Client{}, lookups: newLookups(cfg.Lookups)}
	if cfg.Token != "" {
		if cfg.AppID != 0 {
			return nil, errors.New("configure github: give either an app or a token, not both")
		}
		return a, nil
	}
	if cfg.AppID == 0 || len(cfg.PrivateKey) == 0 {
		return nil, errors.New("configure github: give the app's id and private key, or a token")
	}
	guard := tokenCalls{hostGuard{api.Scheme, api.Host, cfg.Transport}}
	if a.apps, err = ghinstallation.NewAppsTransport(guard, cfg.AppID, cfg.PrivateKey); err != nil {
		return nil, errors.New("read private key: it is not an RSA key in PEM form")
	}
	a.apps.BaseURL = strings.TrimRight(api.String(), "/")
	p := a.pacer(0)
	a.self = a.rest(a.limited(p, paced{p, "", retryReads{cfg.Backoff, cloning{a.apps}}}))
	return a, nil
}

func setDefaults(cfg *Config) {
	if cfg.Transport == nil {
		if t, ok := http.DefaultTransport.(*http.Transport); ok {
			t = t.Clone()
			t.ResponseHeaderTimeout = time.Minute
			cfg.Transport = t
		}
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	if cfg.Spacing == 0 {
		cfg.Spacing = time.Second
	}
	l := &cfg.Limits
	l.PerHour = cmp.Or(l.PerHour, quota.PerHour)
	if cfg.Spacing > 0 {
		l.PerMinute = cmp.Or(l.PerMinute, quota.PerMinute)
	}
	l.Reserve = cmp.Or(l.Reserve, quota.Reserve)
	l.Alone = l.Alone || cfg.Token != ""
	cfg.Lookups = max(0, cmp.Or(cfg.Lookups, mostLookups))
	if cfg.Backoff <= 0 {
		cfg.Backoff = 500 * time.Millisecond
	}
	if cfg.MaxSleep == 0 {
		cfg.MaxSleep = 30 * time.Second
	}
}

// cloning keeps ghinstallation from changing the request it was given.
type cloning struct{ next http.RoundTripper }

func (t cloning) RoundTrip(r *http.Request) (*http.Response, error) {
	req, err := again(r)
	if err != nil {
		return nil, &notSent{err}
	}
	return t.next.RoundTrip(req)
}

// limited sits out short secondary limits; longer ones become an error.
func (a *App) limited(p *pacer, next http.RoundTripper) http.RoundTripper {
	log := a.cfg.Log
	return github_secondary_ratelimit.New(next,
		github_secondary_ratelimit.WithSingleSleepLimit(a.cfg.MaxSleep, nil),
		github_secondary_ratelimit.WithLimitDetectedCallback(func(c *github_secondary_ratelimit.CallbackContext) {
			log.Warn("github secondary rate limit", "path", c.Request.URL.Path)
			if c.ResetTime != nil {
				p.hold(*c.ResetTime)
			}
		}))
}

// rest returns a go-github client over rt.
func (a *App) rest(rt http.RoundTripper) *github.Client {
	c := github.NewClient(&http.Client{Transport: rt, CheckRedirect: sameHost(a.api)})
	c.BaseURL = a.api
	c.UploadURL = a.api
	c.UserAgent = "handrail"
	return c
}

// Self returns the bot's own login, "handrail[bot]" for an app. It asks GitHub once.
func (a *App) Self(ctx context.Context) (string, error) { return a.whoami(ctx) }

// whoami returns the bot's own login, "handrail[bot]" for an app.
func (a *App) whoami(ctx context.Context) (string, error) {
	a.mu.Lock()
	login := a.login
	a.mu.Unlock()
	if login != "" {
		return login, nil
	}
	if a.self == nil {
		u, _, err := a.tokenClient().Users.Get(ctx, "")
		if err != nil {
			return "", a.fail("find own login", false, err)
		}
		login = u.GetLogin()
	} else {
		app, _, err := a.self.Apps.Get(ctx, "")
		if err != nil {
			return "", a.fail("find own app", false, err)
		}
		login = app.GetSlug() + "[bot]"
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.login = login
	return login, nil
}

// Check asks GitHub who the bot is. An error is about the bot as a whole, and about
// no request: GitHub cannot be reached there, or knows no such key. Trying later can
// help, when somebody has seen to it.
func (a *App) Check(ctx context.Context) error {
	const op = "ask GitHub who the bot is"
	var err error
	switch {
	case a.self != nil:
		_, _, err = a.self.Apps.Get(ctx, "")
	case a.cfg.Login == "": // a workflow's token cannot ask
		_, _, err = a.tokenClient().Users.Get(ctx, "")
	}
	if err == nil {
		a.there.Store(true)
		return nil
	}
	out := &Error{Op: op, Err: err}
	if errors.As(a.fail(op, false, err), &out) {
		out.Kind = Temporary
	}
	return out
}

// found returns nil when the address is known to be that of GitHub's API: what it
// does not find there is not there.
func (a *App) found(ctx context.Context) error {
	if a.there.Load() {
		return nil
	}
	return a.Check(ctx)
}

func (a *App) fail(op string, write bool, err error) error {
	return classify(op, write, a.cfg.Clock(), err)
}

func (a *App) tokenClient() *github.Client {
	guard := hostGuard{a.api.Scheme, a.api.Host, authorize{fixedToken(a.cfg.Token), a.api.Path, a.cfg.Transport}}
	return a.rest(a.limited(a.newPacer(), retryReads{a.cfg.Backoff, guard}))
}

func (a *App) pacer(installation int64) *pacer {
	a.mu.Lock()
	defer a.mu.Unlock()
	p := a.pacers[installation]
	if p == nil {
		p = a.newPacer()
		a.pacers[installation] = p
	}
	return p
}

// Speaks reports whether an account, or the app through which it writes, is the bot
// by its number or name. With a token it is nobody: the account may be a
// person's.
func (a *App) Speaks(ctx context.Context, u User, app int64) (bool, error) {
	if a.cfg.AppID != 0 && app == a.cfg.AppID {
		return true, nil
	}
	if !u.Bot {
		return false, nil
	}
	self, err := a.whoami(ctx)
	return err == nil && strings.EqualFold(self, u.Login), err
}

// IsApp reports whether the bot is a GitHub App: only Apps make check runs.
func (a *App) IsApp() bool { return a.apps != nil }

// Installed returns the installation through which the bot reaches a repository, 0 when
// it reaches it no more: the repository is gone, or the App was taken off it. With a
// token a repository that is there has installation 1.
func (a *App) Installed(ctx context.Context, ref thread.Ref) (int64, error) {
	var id int64
	var err error
	if a.self != nil {
		var in *github.Installation
		in, _, err = a.self.Apps.FindRepositoryInstallation(ctx, ref.Owner, ref.Repo)
		id = in.GetID()
	} else {
		_, _, err = a.tokenClient().Repositories.Get(ctx, ref.Owner, ref.Repo)
		id = 1
	}
	err = a.fail("find installation for "+ref.Repository(), false, err)
	if errors.Is(err, ErrNotFound) {
		return 0, a.Check(ctx) //control:gone-for-certain
	}
	return id, err
}

// For returns the client of one repository; the number in ref is not used.
// The installation is that of the event, or 0 to ask GitHub for it. Clients
// are kept, so their tokens and caches are shared.
func (a *App) For(ctx context.Context, ref thread.Ref, installation int64) (*Client, error) {
	if err := thread.ValidateRepository(ref.Owner, ref.Repo); err != nil {
		return nil, err
	}
	if a.self != nil && installation == 0 {
		in, _, err := a.self.Apps.FindRepositoryInstallation(ctx, ref.Owner, ref.Repo)
		if err != nil {
			return nil, a.fail("find installation for "+ref.Repository(), false, err)
		}
		installation = in.GetID()
	}
	key := fmt.Sprintf("%d %s", installation, strings.ToLower(ref.Repository()))
	a.mu.Lock()
	c := a.clients[key]
	a.mu.Unlock()
	if c != nil {
		return c, nil
	}
	c = a.newClient(ref, installation)
	a.mu.Lock()
	defer a.mu.Unlock()
	if old := a.clients[key]; old != nil {
		return old, nil
	}
	a.clients[key] = c
	return c, nil
}

func (a *App) newClient(ref thread.Ref, installation int64) *Client {
	var source tokenSource = fixedToken(a.cfg.Token)
	if a.apps != nil {
		base := hostGuard{a.api.Scheme, a.api.Host, a.cfg.Transport}
		source = &installationToken{apps: a.apps, baseURL: a.apps.BaseURL, found: a.found, installation: installation, repo: ref.Repo, kept: map[permissions]*keptToken{},
			client: &http.Client{Transport: base, CheckRedirect: sameHost(a.api)}}
	}
	guard := hostGuard{a.api.Scheme, a.api.Host, authorize{source, a.api.Path, a.cfg.Transport}}
	reads := newEtag(retryReads{a.cfg.Backoff, guard})
	p := a.pacer(installation)
	rt := a.limited(p, paced{p, strings.ToLower(ref.Repository()), reads})
	return &Client{app: a, gh: a.rest(rt), source: source, owner: ref.Owner, repo: ref.Repo, installation: installation}
}

// pages calls f for each page of a listing.
func pages(f func(github.ListOptions) (*github.Response, error)) error {
	o := github.ListOptions{PerPage: 100}
	for {
		resp, err := f(o)
		if err != nil {
			return err
		}
		if resp.NextPage == 0 {
			return nil
		}
		o.Page = resp.NextPage
	}
}

// site is where GitHub's pages, repositories and pictures lie: github.com, or
// an enterprise server with what is below it.
type site struct {
	api   *url.URL
	pages string // beginning of the addresses of pages, ends in a slash
	host  string // of the pages, as it stands in addresses
	name  string // that host without a port
}

// newSite finds the site of an API. An enterprise server has it below its
// pages, at /api/v3/; all others on a host of its own, that of the pages with
// "api." before it.
func newSite(api *url.URL) site {
	home := *api
	home.Path = strings.TrimSuffix(api.Path, "api/v3/")
	if home.Path == api.Path {
		home.Host = strings.TrimPrefix(api.Host, "api.") //control:pages-of-the-host
	}
	return site{api, home.String(), home.Host, home.Hostname()}
}

func (s site) public() bool { return s.name == "github.com" }

// repository is the page of a repository.
func (s site) repository(owner, repo string) string { return s.pages + owner + "/" + repo }
