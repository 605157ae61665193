package gitops

import (
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

	"github.com/handrail-bot/handrail/gitops/trailer"
)

const maxAdvert = 64 << 20 // bytes of a list of refs

// wire speaks git's smart protocol over HTTP. Cancelling the context closes
// the connection.
type wire struct {
	http http.RoundTripper
	auth func(context.Context, string, Access) (string, string, error)
}

func newWire(cfg Config) *wire {
	w := &wire{http: cfg.HTTP, auth: cfg.Auth}
	if w.http == nil {
		w.http = http.DefaultTransport
	}
	return w
}

// service is one side of a remote: git-upload-pack or git-receive-pack.
type service struct {
	w      *wire
	name   string
	base   string // where the repository is, after redirects
	header string // value of Authorization, "" for none
	adv    *packp.AdvRefs
	empty  bool
}

// dial asks for the refs of a remote.
func (w *wire) dial(ctx context.Context, remote, name string, a Access) (*service, error) {
	s := &service{w: w, name: name, base: remote, adv: packp.NewAdvRefs()}
	if w.auth != nil {
		user, token, err := w.auth(ctx, remote, a)
		if err != nil {
			return nil, fmt.Errorf("get credentials: %w", err)
		}
		if user == "" {
			user = "x-access-token"
		}
		if token != "" {
			s.header = "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+token))
		}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, remote+"/info/refs?service="+name, nil)
	if err != nil {
		return nil, err
	}
	res, err := s.do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	want := "application/x-" + name + "-advertisement"
	if kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")); kind != want {
		return nil, fmt.Errorf("list refs: the server does not speak git's smart protocol here (content type %q)", kind)
	}
	s.base = strings.TrimSuffix(res.Request.URL.Scheme+"://"+res.Request.URL.Host+res.Request.URL.EscapedPath(), "/info/refs")
	err = s.adv.Decode(io.LimitReader(res.Body, maxAdvert))
	switch {
	case errors.Is(err, packp.ErrEmptyAdvRefs), err == nil && s.adv.IsEmpty():
		s.empty = true
	case err != nil:
		return nil, fmt.Errorf("list refs: %w", err)
	}
	return s, nil
}

// post sends a request to the service and returns the body of the answer.
func (s *service) post(ctx context.Context, body io.Reader, size int64) (io.ReadCloser, error) {
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
	return answer{res.Body}, nil
}

func (s *service) do(req *http.Request) (*http.Response, error) {
	req.Header.Set("User-Agent", "git/2.0 (handrail)")
	if s.header != "" {
		req.Header.Set("Authorization", s.header)
	}
	client := http.Client{Transport: s.w.http, CheckRedirect: sameHost}
	res, err := client.Do(req)
	if err != nil {
		if cause := context.Cause(req.Context()); cause != nil {
			return nil, fmt.Errorf("%s: %w", s.name, cause)
		}
		var ue *url.Error
		if errors.As(err, &ue) {
			err = ue.Err // the rest repeats the address
		}
		if errors.Is(err, errRedirect) {
			return nil, fmt.Errorf("%s: %w", s.name, err)
		}
		return nil, fmt.Errorf("%s: %w: %w", s.name, ErrUnavailable, err)
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
		return nil, fmt.Errorf("%s: %w: %q", s.name, ErrAuth, trailer.OneLine(string(text)))
	case http.StatusNotFound:
		return nil, fmt.Errorf("%s: repository %w (or the credentials may not see it)", s.name, ErrNotFound)
	}
	if res.StatusCode >= 500 || res.StatusCode == http.StatusTooManyRequests {
		return nil, fmt.Errorf("%s: %w: it said %s: %q", s.name, ErrUnavailable, res.Status, trailer.OneLine(string(text)))
	}
	return nil, fmt.Errorf("%s: the server answered %s: %q", s.name, res.Status, trailer.OneLine(string(text)))
}

// answer is the body of an answer. That it was cut off says nothing about
// what was asked: the remote can be asked again.
type answer struct{ io.ReadCloser }

func (a answer) Read(p []byte) (int, error) {
	n, err := a.ReadCloser.Read(p)
	if err != nil && err != io.EOF { //nolint:errorlint // readers return io.EOF itself
		err = fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return n, err
}

// errRedirect is a redirect that is not followed.
var errRedirect = errors.New("redirect refused")

// sameHost follows a repository that was renamed, and nothing else: not to
// another host, where the credentials have no business, and no POST.
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
