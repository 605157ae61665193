package ghapp

import "net/http"

// What the tests outside of the package measure by.
var (
	ErrForbidden = errForbidden
	ErrInvalid   = errInvalid
)

const (
	MaxBody    = maxBody
	MarkerRoom = markerRoom
	MaxPicture = maxPicture
)

// Outside is outside.
func Outside() http.RoundTripper { return publicTransport() }

// SetOutside has public addresses reached by rt.
func SetOutside(a *App, rt http.RoundTripper) { a.outside = rt }

// Queued returns the number of writes that wait for their turn.
func Queued(a *App) (n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, p := range a.pacers {
		p.mu.Lock()
		n += len(p.waiting)
		p.mu.Unlock()
	}
	return n
}

// ListComments is listComments.
var ListComments = (*Client).listComments
