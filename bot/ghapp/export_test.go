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

// ListComments is listComments.
var ListComments = (*Client).listComments
