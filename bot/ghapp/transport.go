package ghapp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/bradleyfalzon/ghinstallation/v2"
)

// hostGuard lets a request pass only to its intended host. It comes before every
// transport that adds a token, and it sees every hop of a redirect.
type hostGuard struct {
	scheme, host string
	next         http.RoundTripper
}

func (g hostGuard) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme != g.scheme || r.URL.Host != g.host {
		if r.Body != nil {
			r.Body.Close()
		}
		return nil, &notSent{fmt.Errorf("%w %q; the API is at %q", errOtherHost, r.URL.Host, g.host)}
	}
	return g.next.RoundTrip(r)
}

// tokenSource provides tokens with the required permissions and is told of rejected
// ones.
type tokenSource interface {
	token(context.Context, permissions) (string, error)
	refused(token string) bool // reports whether a new token may help
}

// fixedToken is a personal access token or a workflow token.
type fixedToken string

func (t fixedToken) token(context.Context, permissions) (string, error) { return string(t), nil }
func (fixedToken) refused(string) bool                                  { return false }

// installationToken provides tokens for one repository, one per set of permissions.
// Each is valid for an hour and is renewed automatically.
type installationToken struct {
	apps         *ghinstallation.AppsTransport
	baseURL      string
	found        func(context.Context) error // fails if a 404 does not prove absence
	installation int64
	repo         string
	client       ghinstallation.Client

	mu   sync.Mutex
	kept map[permissions]*cachedToken
}

// cachedToken is the token for one set of permissions.
type cachedToken struct {
	source *ghinstallation.Transport
	last   string // the last token issued
}

func (t *installationToken) source(p permissions) *cachedToken {
	t.mu.Lock()
	defer t.mu.Unlock()
	k := t.kept[p]
	if k == nil {
		// An AppsTransport keeps state per user, so each token source gets its own copy.
		apps := *t.apps
		k = &cachedToken{source: ghinstallation.NewFromAppsTransport(&apps, t.installation)}
		k.source.BaseURL = t.baseURL
		k.source.Client = t.client
		k.source.InstallationTokenOptions = p.options(t.repo) //control:least-rights
		t.kept[p] = k
	}
	return k
}

func (t *installationToken) token(ctx context.Context, p permissions) (string, error) {
	k := t.source(p)
	tok, err := k.source.Token(ctx)
	var answered *ghinstallation.HTTPError
	if errors.As(err, &answered) && answered.Response != nil &&
		answered.Response.StatusCode == http.StatusUnprocessableEntity {
		return "", &Error{Op: "get installation token", Kind: Permanent, Status: http.StatusForbidden,
			Err: fmt.Errorf("GitHub gives the App no token for this: it needs %s in its settings, accepted by the installation, and access to the repository", p)}
	}
	if answered != nil && answered.Response != nil && answered.Response.StatusCode == http.StatusNotFound {
		if err := t.found(ctx); err != nil {
			return "", err
		}
	}
	if err != nil {
		return "", &notSent{err}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	k.last = tok
	return tok, nil
}

// refused drops a rejected token, unless another call has already renewed it.
func (t *installationToken) refused(token string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for p, k := range t.kept {
		if k.last == token {
			delete(t.kept, p)
		}
	}
	return true
}

// tokenCalls is the transport below ghinstallation, which leaks the body of a failed
// token request and cannot tell a rate limit from a refusal.
type tokenCalls struct{ next http.RoundTripper }

func (t tokenCalls) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := t.next.RoundTrip(r)
	if err != nil || resp.StatusCode < 300 || !strings.HasSuffix(r.URL.Path, "/access_tokens") {
		return resp, err
	}
	discard(resp)
	resp.Body = http.NoBody
	after, _ := strconv.Atoi(resp.Header.Get("Retry-After"))
	limited := after > 0 || resp.Header.Get("X-Ratelimit-Remaining") == "0" ||
		resp.StatusCode == http.StatusTooManyRequests
	if !limited || resp.StatusCode >= 500 {
		return resp, nil
	}
	wait := defaultRetryAfter
	if after > 0 {
		wait = time.Duration(after) * time.Second
	}
	return nil, &Error{Op: "get installation token", Kind: Temporary, Status: resp.StatusCode, RetryAfter: wait,
		Err: errors.New("rate limit")}
}

// authorize adds the token. A rejected token is renewed once: GitHub did not process
// the request, so this is safe for writes too.
type authorize struct {
	source tokenSource
	api    string // base path of the API
	next   http.RoundTripper
}

func (a authorize) RoundTrip(r *http.Request) (*http.Response, error) {
	need, err := permissionsOf(r, a.api)
	if err != nil {
		return nil, &notSent{err}
	}
	for first := true; ; first = false {
		tok, err := a.source.token(r.Context(), need)
		if err != nil {
			return nil, err
		}
		req, err := rewind(r)
		if err != nil {
			return nil, &notSent{err}
		}
		req.Header.Set("Authorization", "Bearer "+tok)
		resp, err := a.next.RoundTrip(req)
		if err != nil || resp.StatusCode != http.StatusUnauthorized || !first || !a.source.refused(tok) {
			return resp, err
		}
		discard(resp)
	}
}

// rewind returns a copy of r with its body rewound to the start.
func rewind(r *http.Request) (*http.Request, error) {
	c := r.Clone(r.Context())
	if r.Body == nil || r.Body == http.NoBody {
		return c, nil
	}
	if r.GetBody == nil {
		return nil, errors.New("send request: its body cannot be read twice")
	}
	body, err := r.GetBody()
	if err != nil {
		return nil, fmt.Errorf("read request body: %w", err)
	}
	c.Body = body
	return c, nil
}

func discard(resp *http.Response) {
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10)) // drain, so that the connection is reused
	resp.Body.Close()
}

// isRead reports whether a request has no side effects.
func isRead(r *http.Request) bool {
	q, asks := queryOf(r)
	return asks && !queries[q].write || r.Method == http.MethodGet || r.Method == http.MethodHead
}

// retryReads retries reads on network errors and 5xx answers.
type retryReads struct {
	backoff time.Duration
	next    http.RoundTripper
}

const readAttempts = 4

func (t retryReads) RoundTrip(r *http.Request) (resp *http.Response, err error) {
	if !isRead(r) {
		return t.next.RoundTrip(r)
	}
	err = repeat(r.Context(), t.backoff, func(last bool) (again bool, err error) {
		if resp, err = t.next.RoundTrip(r); err != nil { //nolint:bodyclose // the caller closes it
			return worthRepeating(err), err
		}
		if again = resp.StatusCode >= http.StatusInternalServerError; again && !last {
			discard(resp)
			resp = nil
		}
		return again, nil
	})
	return resp, err
}

// repeat calls send, which changes nothing, until its answer is not worth repeating; last says
// that it is not called again.
func repeat(ctx context.Context, wait time.Duration, send func(last bool) (again bool, err error)) error {
	for attempt := 1; ; attempt++ {
		again, err := send(attempt == readAttempts)
		if attempt == readAttempts || !again {
			return err
		}
		if err := Sleep(ctx, wait+rand.N(wait/2+1)); err != nil {
			return err
		}
		wait *= 2
	}
}

// worthRepeating reports whether a failed read may succeed if it is repeated.
func worthRepeating(err error) bool {
	var own *Error
	if err == nil || errors.As(err, &own) {
		return false
	}
	var tok *ghinstallation.HTTPError
	if errors.As(err, &tok) && tok.Response != nil && tok.Response.StatusCode < 500 {
		return false
	}
	return !errors.Is(err, errOtherHost) && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded)
}

// Sleep waits for d, or until ctx is done.
func Sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// sameHost is the redirect policy of all clients of this package.
func sameHost(api *url.URL) func(*http.Request, []*http.Request) error {
	return func(r *http.Request, via []*http.Request) error {
		if len(via) >= 5 {
			return errors.New("follow redirect: too many")
		}
		if r.URL.Host != api.Host || r.URL.Scheme != api.Scheme {
			return fmt.Errorf("%w: redirected to %q", errOtherHost, r.URL.Host)
		}
		return nil
	}
}
