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

// maxPicture is the maximum size of a picture, in bytes.
const maxPicture = 5 << 20

// Picture is an image embedded in a text on GitHub. Type is its media type, detected
// from the content: PNG, JPEG, GIF or WebP.
type Picture struct {
	Type string
	Data []byte
}

// Refused is the reason for which a picture was not fetched, worded for users. It
// contains nothing from the answer.
type Refused struct{ Reason string }

// Error implements error.
func (r *Refused) Error() string { return "fetch picture: " + r.Reason }

func refused(format string, args ...any) error { return &Refused{fmt.Sprintf(format, args...)} }

// Picture fetches an image that a text embeds by this address. It asks GitHub only:
// attachments come from the signed address in the text's HTML, files of the client's
// own repository from the API, and all other GitHub addresses are read without a token.
// Every address is checked again at each redirect and at dial time. A *[Refused] holds
// a reason for the user.
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
	if size, _, err := image.DecodeConfig(bytes.NewReader(data)); err == nil && size.Width*size.Height > maxPixels {
		return Picture{}, refused("it has too many pixels, %d × %d", size.Width, size.Height)
	}
	return Picture{Type: kind, Data: data}, nil
}

// maxPixels limits the size of a decoded picture; no screen has as many pixels. A
// small file can declare a size that exhausts the memory of the model server.
const maxPixels = 50_000_000

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

// ownFile returns the possible locations of a file of the client's repository, or nil
// if the address is not one. A branch name may contain slashes, so there are several
// candidates.
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

// readOwn reads the first existing candidate with the client's own token.
func (c *Client) readOwn(ctx context.Context, places []place) ([]byte, error) {
	for _, p := range places {
		data, err := c.rawFile(ctx, p)
		if !errors.Is(err, ErrNotFound) {
			return data, err
		}
	}
	return nil, refused("the repository has no such file")
}

// rawFile reads a file in raw form, without the size limit of [Client.FileAt].
func (c *Client) rawFile(ctx context.Context, p place) ([]byte, error) {
	const op = "read picture"
	name := (&url.URL{Path: p.path}).EscapedPath()
	req, err := c.gh.NewRequest(
		http.MethodGet,
		fmt.Sprintf("repos/%s/%s/contents/%s?ref=%s", c.owner, c.repo, name, url.QueryEscape(p.ref)),
		nil,
	)
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

// capped is a buffer for at most [maxPicture] bytes.
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
	if len(b.data) == 0 {
		return nil, refused("GitHub answered with nothing")
	}
	return b.data, nil
}

var imageSource = pattern.Lazy(`<img\b[^>]*?\ssrc="([^"]*)"`)

// signed returns the signed address of an attachment from the text's HTML, or nil if
// the text does not embed it.
func (c *Client) signed(ctx context.Context, at Text, id string) *url.URL {
	text, err := c.CurrentText(ctx, at)
	if err != nil {
		return nil // the attachment may be public
	}
	for _, m := range imageSource().FindAllStringSubmatch(text.HTML, -1) {
		u, err := url.Parse(html.UnescapeString(m[1]))
		if err == nil && strings.Contains(u.Path, id) && c.app.site.serves(u) {
			return u
		}
	}
	return nil
}

// operated reports whether u is on a host that the operator configured: that of the
// API, or the site and its subdomains.
func (s site) operated(u *url.URL) bool {
	if u.Scheme == s.api.Scheme && u.Host == s.api.Host {
		return true
	}
	return !s.public() && secure(u) && (u.Hostname() == s.name || strings.HasSuffix(u.Hostname(), "."+s.name))
}

func secure(u *url.URL) bool { return u.Scheme == "https" && (u.Port() == "" || u.Port() == "443") }

// serves reports whether a picture may be requested from u.
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
	pictureTimeout = 20 * time.Second
	pictureHops    = 3
)

// fetch downloads u without a token.
func (a *App) fetch(ctx context.Context, u *url.URL) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, pictureTimeout)
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

// hops checks each request of a redirect chain and chooses its transport: the
// operator's own for the operator's host, and one for public addresses only for every
// other host.
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

// HostOf returns the host of an address for display, or a placeholder if it is
// malformed.
func HostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" ||
		strings.Trim(strings.ToLower(u.Hostname()), "abcdefghijklmnopqrstuvwxyz0123456789.-:") != "" {
		return "an address that is none"
	}
	return u.Hostname()
}
