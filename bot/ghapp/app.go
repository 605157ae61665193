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

	"github.com/handrail-bot/handrail/bot/ghapp/answer"
	"github.com/handrail-bot/handrail/bot/quota"
	"github.com/handrail-bot/handrail/bot/thread"
	"github.com/handrail-bot/handrail/policy/secret"
)

// Config is the bot's identity on GitHub: either AppID and PrivateKey, or Token.
type Config struct {
	APIURL     string            // base URL of the REST API, https://host/api/v3/ for enterprise; empty means github.com
	AppID      int64             // the app's id
	PrivateKey []byte            // the app's key in PEM
	Token      string            // token for one repository, instead of an app
	Own        *secret.Key       // key of this server; binds texts to their markers, see [App.Written]; nil disables it
	Login      string            // the bot's own login; empty asks GitHub, which a workflow's token cannot do
	Transport  http.RoundTripper // nil means a clone of http.DefaultTransport with a time limit
	Log        *slog.Logger      // nil disables logging
	Clock      func() time.Time  // nil means the real time
	Spacing    time.Duration     // between writes of one installation; 0 means 1 s, negative means none
	Limits     quota.Limits      // on writes per installation; 0 means GitHub's own, by minute if spaced; negative: none
	Lookups    int               // of accounts without rights, per hour and installation; 0 means 600, negative: no limit
	Backoff    time.Duration     // before the first retry of a read; 0 means 500 ms
	MaxSleep   time.Duration     // longest secondary limit to wait for in a call; 0 means 30 s

	// Clean is the last filter of every text that is written: titles, bodies, reviews, check
	// runs. It must be deterministic. nil disables it.
	Clean func(string) string
	// Inert makes the bot's own commands inert in its texts.
	Inert func(string) string
}

// App is the bot's identity. It is safe for concurrent use.
type App struct {
	cfg  Config
	api  *url.URL // ends in a slash
	apps *ghinstallation.AppsTransport
	self *github.Client // client of the app itself; nil with a token

	site    site              // addresses of pages, repositories and pictures
	outside http.RoundTripper // reaches public addresses only

	mu      sync.Mutex
	login   string
	pacers  map[int64]*pacer
	clients map[string]*Client

	lookups *lookups
	reached atomic.Bool // GitHub has answered at this address
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
	a := &App{
		cfg:     cfg,
		api:     api,
		login:   cfg.Login,
		site:    newSite(api),
		outside: publicTransport(),
		pacers:  map[int64]*pacer{},
		clients: map[string]*Client{},
		lookups: newLookups(cfg.Lookups),
	}
	if cfg.Token != "" {
		if cfg.AppID != 0 {
			return nil, errors.New("configure github: give either an app or a token, not both")
		}
		return a, nil
	}
	if cfg.AppID == 0 || len(cfg.PrivateKey) == 0 {
		return nil, errors.New("configure github: give the app's id and private key, or a token")
	}
	guard := tokenCalls{a.wire(nil)}
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
	cfg.Lookups = max(0, cmp.Or(cfg.Lookups, maxLookups))
	if cfg.Backoff <= 0 {
		cfg.Backoff = 500 * time.Millisecond
	}
	if cfg.MaxSleep == 0 {
		cfg.MaxSleep = 30 * time.Second
	}
}

// wire returns the transport of every request to the API. A request goes to the API's host
// only, before source adds a token; nil adds none. An answer that is none does not pass.
func (a *App) wire(source tokenSource) http.RoundTripper {
	var next http.RoundTripper = answer.Judge{Next: a.cfg.Transport, Base: a.api.Path, Now: a.cfg.Clock}
	if source != nil {
		next = authorize{source, a.api.Path, next}
	}
	return hostGuard{a.api.Scheme, a.api.Host, next}
}

// cloning keeps ghinstallation from changing a caller's request.
type cloning struct{ next http.RoundTripper }

func (t cloning) RoundTrip(r *http.Request) (*http.Response, error) {
	req, err := rewind(r)
	if err != nil {
		return nil, &notSent{err}
	}
	return t.next.RoundTrip(req)
}

// limited waits for short secondary limits; longer ones become an error.
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

// whoami implements [App.Self].
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

// Check asks GitHub for the bot's identity. An error concerns the bot as a whole, not a
// request: GitHub cannot be reached, or does not know the key. It is temporary, since the
// operator can fix it.
func (a *App) Check(ctx context.Context) error {
	const op = "ask GitHub for the bot's account"
	var err error
	switch {
	case a.self != nil:
		_, _, err = a.self.Apps.Get(ctx, "")
	case a.cfg.Login == "": // a workflow's token cannot ask
		_, _, err = a.tokenClient().Users.Get(ctx, "")
	}
	if err == nil {
		a.reached.Store(true)
		return nil
	}
	out := &Error{Op: op, Err: err}
	if errors.As(a.fail(op, false, err), &out) {
		out.Kind = Temporary
	}
	return out
}

// confirmAPI returns nil if the address is known to be GitHub's API. Only then does "not
// found" mean that something does not exist.
func (a *App) confirmAPI(ctx context.Context) error {
	if a.reached.Load() {
		return nil
	}
	return a.Check(ctx)
}

func (a *App) fail(op string, write bool, err error) error {
	return classify(op, write, a.cfg.Clock(), err)
}

func (a *App) tokenClient() *github.Client {
	return a.rest(a.limited(a.newPacer(), retryReads{a.cfg.Backoff, a.wire(fixedToken(a.cfg.Token))}))
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

// Speaks reports whether an account, or the app through which it writes, is the bot, by
// number or name. A user's account never is, not even if the token belongs to it.
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

// Installed returns the installation through which the bot reaches a repository, or 0 if
// it no longer does: the repository is gone, or the App was removed. With a token, an
// existing repository has installation 1.
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

// For returns the client of one repository; the number in ref is not used. installation
// is that of the event, or 0 to ask GitHub for it. Clients are cached, and share tokens
// and caches.
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
		source = &installationToken{
			apps:         a.apps,
			baseURL:      a.apps.BaseURL,
			found:        a.confirmAPI,
			installation: installation,
			repo:         ref.Repo,
			kept:         map[permissions]*cachedToken{},
			client:       &http.Client{Transport: a.wire(nil), CheckRedirect: sameHost(a.api)},
		}
	}
	reads := newCachingTransport(retryReads{a.cfg.Backoff, a.wire(source)})
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

// site has the addresses of GitHub's pages, repositories and pictures: those of
// github.com, or of an enterprise server and the names below it.
type site struct {
	api   *url.URL
	pages string // prefix of the URLs of pages; ends in a slash
	host  string // host of the pages, as in URLs
	name  string // host without the port
}

// newSite returns the site of an API. An enterprise server has the API below its pages,
// at /api/v3/. Otherwise the API has a host of its own: that of the pages, prefixed by
// "api.".
func newSite(api *url.URL) site {
	home := *api
	home.Path = strings.TrimSuffix(api.Path, "api/v3/")
	if home.Path == api.Path {
		home.Host = strings.TrimPrefix(api.Host, "api.") //control:pages-of-the-host
	}
	return site{api, home.String(), home.Host, home.Hostname()}
}

func (s site) public() bool { return s.name == "github.com" }

// repository returns the URL of a repository's page.
func (s site) repository(owner, repo string) string { return s.pages + owner + "/" + repo }
