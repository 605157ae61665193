package ghapp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"html"
	"image"
	_ "image/gif" // these three, to read their sizes
	_ "image/jpeg"
	_ "image/png"
	"io"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/handrail-bot/handrail/policy/pattern"
)

// maxPicture is the most bytes that a picture may have.
const maxPicture = 5 << 20

// Picture is a picture out of a text on GitHub. Type is its media type, found
// out from the bytes: PNG, JPEG, GIF or WebP.
type Picture struct {
	Type string
	Data []byte
}

// Refused is why a picture was not fetched, in words for people. Nothing in it
// comes from the answer.
type Refused struct{ Reason string }

// Error implements error.
func (r *Refused) Error() string { return "fetch picture: " + r.Reason }

func refused(format string, args ...any) error { return &Refused{fmt.Sprintf(format, args...)} }

// Picture fetches a picture that the text at shows under this address. Only
// GitHub is asked: attachments by the signed address that GitHub itself puts
// into the text's HTML, files of the client's own repository through the API,
// and what else lies at a GitHub address without any token. Every address is
// checked again at each redirect and, by its number, when it is dialed. A
// *[Refused] says why there is no picture.
func (c *Client) Picture(ctx context.Context, at Text, address string) (Picture, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.User != nil {
		return Picture{}, refused("its address is not one of the web")
	}
	if !c.app.site.serves(u) { //control:picture-host
		return Picture{}, refused("it is not on GitHub, and nothing else is asked")
	}
	data, err := c.picture(ctx, at, u)
	if err != nil {
		return Picture{}, err
	}
	kind := http.DetectContentType(data)
	if !slices.Contains([]string{"image/png", "image/jpeg", "image/gif", "image/webp"}, kind) {
		return Picture{}, refused("it is no picture that models take (PNG, JPEG, GIF or WebP)")
	}
	if size, _, err := image.DecodeConfig(bytes.NewReader(data)); err == nil && size.Width*size.Height > mostPixels {
		return Picture{}, refused("it has too many pixels, %d × %d", size.Width, size.Height)
	}
	return Picture{Type: kind, Data: data}, nil
}

// mostPixels is more than a screen of any size has. A few bytes can say that
// they are a picture that fills the memory of the model's server.
const mostPixels = 50_000_000

func (c *Client) picture(ctx context.Context, at Text, u *url.URL) ([]byte, error) {
	if places := c.ownFile(u); places != nil {
		return c.readOwn(ctx, places)
	}
	if id, ok := strings.CutPrefix(u.Path, "/user-attachments/assets/"); ok && id != "" {
		if signed := c.signed(ctx, at, id); signed != nil {
			u = signed
		}
	}
	return c.app.fetch(ctx, u)
}

// place is a file at a branch, tag or commit.
type place struct{ ref, path string }

// ownFile returns which files of the client's repository an address can mean: a
// branch may have slashes in its name, so its end is found by trying. It is
// nil for anything else.
func (c *Client) ownFile(u *url.URL) []place {
	parts := strings.Split(strings.TrimPrefix(path.Clean(u.Path), "/"), "/")
	raw := u.Hostname() == "raw.githubusercontent.com"
	if len(parts) < 4 || !strings.EqualFold(parts[0], c.owner) || !strings.EqualFold(parts[1], c.repo) {
		return nil
	}
	rest := parts[2:]
	if !raw {
		if rest[0] != "raw" && rest[0] != "blob" {
			return nil
		}
		rest = rest[1:]
	}
	if len(rest) > 3 && rest[0] == "refs" && (rest[1] == "heads" || rest[1] == "tags") {
		rest = rest[2:]
	}
	var out []place
	for i := 1; i < len(rest) && i <= 4; i++ {
		out = append(out, place{strings.Join(rest[:i], "/"), strings.Join(rest[i:], "/")})
	}
	return out
}

// readOwn reads a file of the repository with the client's own rights.
func (c *Client) readOwn(ctx context.Context, places []place) ([]byte, error) {
	for _, p := range places {
		data, err := c.rawFile(ctx, p)
		if !errors.Is(err, ErrNotFound) {
			return data, err
		}
	}
	return nil, refused("the repository has no such file")
}

// rawFile reads the bytes of a file, which may be larger than [Client.FileAt]
// takes.
func (c *Client) rawFile(ctx context.Context, p place) ([]byte, error) {
	const op = "read picture"
	name := (&url.URL{Path: p.path}).EscapedPath()
	req, err := c.gh.NewRequest(http.MethodGet, fmt.Sprintf("repos/%s/%s/contents/%s?ref=%s", c.owner, c.repo, name, url.QueryEscape(p.ref)), nil)
	if err != nil {
		return nil, &Error{Op: op, Err: err}
	}
	req.Header.Set("Accept", "application/vnd.github.raw+json")
	var b capped
	if _, err = c.gh.Do(ctx, req, &b); err != nil && !b.full() {
		return nil, c.readError(op, err)
	}
	return b.bytes()
}

// capped takes at most [maxPicture] bytes.
type capped struct{ data []byte }

var errFull = errors.New("there is more than that")

// Write implements io.Writer.
func (b *capped) Write(p []byte) (int, error) {
	b.data = append(b.data, p[:min(len(p), maxPicture+1-len(b.data))]...)
	if b.full() {
		return 0, errFull
	}
	return len(p), nil
}

func (b *capped) full() bool { return len(b.data) > maxPicture }

func (b *capped) bytes() ([]byte, error) {
	if b.full() {
		return nil, refused("it has more than %d bytes", maxPicture)
	}
	return b.data, nil
}

var imageSource = pattern.Lazy(`<img\b[^>]*?\ssrc="([^"]*)"`)

// signed is the address under which GitHub shows an attachment to those who
// may read the text, nil when the text shows none by that id.
func (c *Client) signed(ctx context.Context, at Text, id string) *url.URL {
	text, err := c.Said(ctx, at)
	if err != nil {
		return nil // it may be public
	}
	for _, m := range imageSource().FindAllStringSubmatch(text.HTML, -1) {
		u, err := url.Parse(html.UnescapeString(m[1]))
		if err == nil && strings.Contains(u.Path, id) && c.app.site.serves(u) {
			return u
		}
	}
	return nil
}

// operated reports whether u is at the API's own host or below it, which the
// operator has named.
func (s site) operated(u *url.URL) bool {
	if u.Scheme == s.api.Scheme && u.Host == s.api.Host {
		return true
	}
	return !s.public() && secure(u) && (u.Hostname() == s.name || strings.HasSuffix(u.Hostname(), "."+s.name))
}

func secure(u *url.URL) bool { return u.Scheme == "https" && (u.Port() == "" || u.Port() == "443") }

// serves reports whether u may be asked for a picture.
func (s site) serves(u *url.URL) bool {
	if u.User != nil {
		return false
	}
	if s.operated(u) {
		return true
	}
	h := strings.ToLower(u.Hostname())
	return secure(u) && (h == "github.com" || strings.HasSuffix(h, ".githubusercontent.com") ||
		strings.HasPrefix(h, "github-production-") && strings.HasSuffix(h, ".s3.amazonaws.com"))
}

const (
	pictureTime = 20 * time.Second
	pictureHops = 3
)

// fetch reads u without a token.
func (a *App) fetch(ctx context.Context, u *url.URL) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, pictureTime)
	defer cancel()
	client := &http.Client{Transport: hops{a}, CheckRedirect: func(_ *http.Request, via []*http.Request) error {
		if len(via) > pictureHops {
			return refused("it is behind more than %d redirects", pictureHops)
		}
		return nil
	}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, refused("its address is not one of the web")
	}
	req.Header.Set("User-Agent", "handrail")
	req.Header.Set("Accept", "image/png, image/jpeg, image/gif, image/webp")
	resp, err := client.Do(req)
	if err != nil {
		var r *Refused
		if errors.As(err, &r) {
			return nil, r
		}
		return nil, refused("GitHub did not answer")
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, refused("GitHub answered %d", resp.StatusCode)
	}
	var b capped
	if _, err := io.Copy(&b, resp.Body); err != nil && !b.full() {
		return nil, refused("GitHub broke off in the middle")
	}
	return b.bytes()
}

// hops looks at each request of a chain, redirects included, and sends it by
// the transport that is right for its host: the operator's own for the host
// that the operator named, one that reaches public addresses only for every
// other.
type hops struct{ app *App }

// RoundTrip implements http.RoundTripper.
func (h hops) RoundTrip(r *http.Request) (*http.Response, error) {
	switch {
	case !h.app.site.serves(r.URL): //control:picture-redirect
		return nil, refused("it leads away from GitHub, and nothing else is asked")
	case h.app.site.operated(r.URL) && !h.app.site.public():
		return h.app.cfg.Transport.RoundTrip(r)
	}
	return h.app.outside.RoundTrip(r)
}

// HostOf returns the host of an address, as far as it can be one.
func HostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" || strings.Trim(strings.ToLower(u.Hostname()), "abcdefghijklmnopqrstuvwxyz0123456789.-:") != "" {
		return "an address that is none"
	}
	return u.Hostname()
}
