package gitops

// The wire is git's smart protocol over HTTP: it lists refs and posts the
// requests of fetches and pushes. Credentials are sent in one header only.

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/protocol/packp"

	"github.com/handrail-bot/handrail/gitops/objects"
)

const maxAdvert = 64 << 20 // maximum size of a ref list, in bytes

// Access is the access level that credentials are requested for.
type Access int

// The access levels.
const (
	AccessRead      Access = iota // list and fetch
	AccessPush                    // update a branch
	AccessWorkflows               // update a branch with changes to workflow files
)

// wire connects to remotes. Canceling the context of a call closes the connection.
type wire struct {
	HTTP http.RoundTripper // nil means [http.DefaultTransport]
	// Auth returns the credentials for a URL. A nil Auth or an empty token means none. An
	// empty user means "x-access-token".
	Auth func(ctx context.Context, url string, a Access) (user, token string, err error)
}

// service is one side of a remote: git-upload-pack or git-receive-pack.
type service struct {
	Adv   *packp.AdvRefs // advertised refs and capabilities
	Empty bool           // the repository has no refs

	w      *wire
	name   string
	base   string // URL of the repository, after redirects
	header string // value of Authorization; empty without credentials
	v2     bool   // uses version 2 of the protocol
}

// dial requests the refs of a remote.
func (w *wire) dial(ctx context.Context, remote, name string, a Access) (*service, error) {
	s, err := w.service(ctx, remote, name, a)
	if err != nil {
		return nil, err
	}
	body, err := s.advertisement(ctx)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	s.Adv = packp.NewAdvRefs()
	err = s.Adv.Decode(io.LimitReader(body, maxAdvert))
	empty := errors.Is(err, packp.ErrEmptyAdvRefs) || err == nil && s.Adv.IsEmpty()
	switch {
	case empty && len(s.Adv.Prefix) == 0:
		return nil, fmt.Errorf("list refs: %w: its answer is empty", ErrUnavailable)
	case empty:
		s.Empty = true
	case err != nil:
		return nil, fmt.Errorf("list refs: %w", unreadableAnswer(err))
	}
	return s, nil
}

func (w *wire) service(ctx context.Context, remote, name string, a Access) (*service, error) {
	s := &service{w: w, name: name, base: remote}
	if w.Auth == nil {
		return s, nil
	}
	user, token, err := w.Auth(ctx, remote, a)
	if err != nil {
		return nil, fmt.Errorf("get credentials: %w", err)
	}
	if token != "" {
		s.header = "Basic " + base64.StdEncoding.EncodeToString([]byte(cmp.Or(user, "x-access-token")+":"+token))
	}
	return s, nil
}

// advertisement returns the service's advertisement, and updates base after redirects.
func (s *service) advertisement(ctx context.Context) (io.ReadCloser, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.base+"/info/refs?service="+s.name, nil)
	if err != nil {
		return nil, err
	}
	res, err := s.do(req)
	if err != nil {
		return nil, err
	}
	want := "application/x-" + s.name + "-advertisement"
	if kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")); kind != want {
		res.Body.Close()
		return nil, fmt.Errorf(
			"list refs: %w: the server does not speak git's smart protocol here (content type %q)",
			ErrUnavailable,
			kind,
		)
	}
	s.base = strings.TrimSuffix(
		res.Request.URL.Scheme+"://"+res.Request.URL.Host+res.Request.URL.EscapedPath(),
		"/info/refs",
	)
	return &framed{ReadCloser: res.Body}, nil
}

// Post sends a request to the service and returns the body of the response. The caller
// must close it.
func (s *service) Post(ctx context.Context, body io.Reader, size int64) (io.ReadCloser, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.base+"/"+s.name, body)
	if err != nil {
		return nil, err
	}
	req.ContentLength = size
	req.Header.Set("Content-Type", "application/x-"+s.name+"-request")
	req.Header.Set("Accept", "application/x-"+s.name+"-result")
	res, err := s.do(req) //nolint:bodyclose // the caller closes the answer
	if err != nil {
		return nil, err
	}
	return &framed{ReadCloser: res.Body}, nil
}

func (s *service) do(req *http.Request) (*http.Response, error) {
	req.Header.Set("User-Agent", "git/2.0 (handrail)")
	if s.header != "" {
		req.Header.Set("Authorization", s.header)
	}
	if s.v2 {
		req.Header.Set("Git-Protocol", "version=2")
	}
	client := http.Client{Transport: s.w.HTTP, CheckRedirect: sameHost}
	res, err := client.Do(req)
	if err != nil {
		if cause := context.Cause(req.Context()); cause != nil {
			return nil, fmt.Errorf("%s: %w", s.name, cause)
		}
		var ue *url.Error
		if errors.As(err, &ue) {
			err = ue.Err // the outer error repeats the address
		}
		return nil, fmt.Errorf("%s: %w: %w", s.name, ErrUnavailable, err) // also if it leads to a portal
	}
	if res.StatusCode == http.StatusOK {
		return res, nil
	}
	defer res.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(res.Body, 512))
	switch res.StatusCode {
	case http.StatusUnauthorized:
		return nil, fmt.Errorf("%s: %w", s.name, ErrAuth)
	case http.StatusForbidden:
		return nil, fmt.Errorf("%s: %w: %q", s.name, ErrAuth, oneLine(string(text)))
	case http.StatusNotFound:
		return nil, fmt.Errorf("%s: repository %w (or the credentials may not see it)", s.name, objects.ErrNotFound)
	}
	odd := res.StatusCode < 400 //control:odd-status-is-an-outage
	if res.StatusCode >= 500 || odd || res.StatusCode == http.StatusTooManyRequests {
		return nil, fmt.Errorf("%s: %w: it said %s: %q", s.name, ErrUnavailable, res.Status, oneLine(string(text)))
	}
	return nil, fmt.Errorf("%s: the server answered %s: %q", s.name, res.Status, oneLine(string(text)))
}

// errRedirect means that a redirect was not followed.
var errRedirect = errors.New("redirect refused")

// sameHost follows redirects of renamed repositories only: never to another host,
// which must not get the credentials, and never for a POST.
func sameHost(req *http.Request, via []*http.Request) error {
	first := via[0]
	switch {
	case len(via) > 3:
		return fmt.Errorf("%w: there are too many", errRedirect)
	case first.Method != http.MethodGet:
		return fmt.Errorf("%w: of a %s", errRedirect, first.Method)
	case req.URL.Scheme != first.URL.Scheme || !strings.EqualFold(req.URL.Host, first.URL.Host):
		return fmt.Errorf("%w: to another host (%s)", errRedirect, req.URL.Host)
	case !strings.HasSuffix(req.URL.Path, "/info/refs"):
		return fmt.Errorf("%w: away from the repository", errRedirect)
	}
	return nil
}
