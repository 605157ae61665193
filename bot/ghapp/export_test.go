package ghapp

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

// ListComments is listComments.
var ListComments = (*Client).listComments
