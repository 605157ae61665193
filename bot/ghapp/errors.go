package ghapp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/bradleyfalzon/ghinstallation/v2"
	"github.com/google/go-github/v62/github"

	"github.com/handrail-bot/handrail/bot/ghapp/answer"
)

// Kind classifies an error by the reaction that it requires.
type Kind int

// The kinds of errors. The zero value is Permanent: a retry will not help, and the user
// must be told.
const (
	Permanent Kind = iota
	Temporary      // nothing was done; retry after RetryAfter
	Unknown        // a write was sent and its answer lost: call Find before sending it again
)

// String returns "permanent", "temporary" or "unknown".
func (k Kind) String() string {
	switch k {
	case Temporary:
		return "temporary"
	case Unknown:
		return "unknown"
	}
	return "permanent"
}

// Sentinel errors for callers. An [Error] matches them by its status.
var (
	ErrNotFound  = errors.New("not found on github")
	errForbidden = errors.New("forbidden by github")
	errInvalid   = errors.New("refused by github")
)

// Error is a failed call to GitHub.
type Error struct {
	Op                string // the operation, such as "create comment"
	Kind              Kind
	Status            int           // HTTP status; 0 if there was no answer
	RetryAfter        time.Duration // minimum wait if Temporary; 0 means the caller's own backoff
	Reset             time.Time     // set if the primary rate limit is exhausted
	MissingPermission string        // missing App permission, such as "pull_requests=write"; empty if none
	Err               error
}

// Error returns the operation and GitHub's message. It contains no secrets.
func (e *Error) Error() string { return fmt.Sprintf("%s: %v", e.Op, e.Err) }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is reports whether e is one of the sentinels.
func (e *Error) Is(target error) bool {
	switch target {
	case ErrNotFound:
		return e.Status == http.StatusNotFound || e.Status == http.StatusGone
	case errForbidden:
		return e.Status == http.StatusForbidden || e.Status == http.StatusUnauthorized
	case errInvalid:
		return e.Status == http.StatusUnprocessableEntity || e.Status == http.StatusBadRequest
	}
	return false
}

// KindOf returns the kind of err. Errors of other packages are Permanent, except
// context errors, which are Temporary.
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return Temporary
	}
	return Permanent
}

// LimitEnd returns the end of the rate limit that err tells of, or the zero time if it tells
// of none.
func LimitEnd(err error, now time.Time) time.Time {
	var e *Error
	switch {
	case !errors.As(err, &e):
		return time.Time{}
	case e.Reset.IsZero() && e.RetryAfter > 0:
		return now.Add(e.RetryAfter)
	}
	return e.Reset
}

// notSent marks an error that occurred before the first byte of the request was sent.
type notSent struct{ err error }

func (e *notSent) Error() string { return e.err.Error() }
func (e *notSent) Unwrap() error { return e.err }

// errOtherHost is the refusal to send a token to another host.
var errOtherHost = errors.New("refusing to send a token to another host")

const defaultRetryAfter = time.Minute // GitHub's rule if there is no Retry-After header

// classify converts an error of go-github into an Error. write means that the call may
// have had an effect.
func classify(op string, write bool, now time.Time, err error) error {
	if err == nil {
		return nil
	}
	var own *Error
	if errors.As(err, &own) {
		return err
	}
	e := &Error{Op: op, Err: err}
	var primary *github.RateLimitError
	var secondary *github.AbuseRateLimitError
	var answered *github.ErrorResponse
	var token *ghinstallation.HTTPError
	switch {
	case errors.As(err, &primary):
		e.Kind, e.Status, e.Reset = Temporary, http.StatusForbidden, primary.Rate.Reset.Time
		e.RetryAfter = max(primary.Rate.Reset.Sub(now), time.Second)
	case errors.As(err, &secondary):
		e.Kind, e.Status, e.RetryAfter = Temporary, http.StatusForbidden, defaultRetryAfter
		if secondary.RetryAfter != nil && *secondary.RetryAfter > 0 {
			e.RetryAfter = *secondary.RetryAfter
		}
	case errors.As(err, &answered):
		e.Status = answered.Response.StatusCode
		e.Kind = kindOfStatus(e.Status, write)
		e.MissingPermission = missingPermission(answered)
		if e.Status == http.StatusForbidden && strings.Contains(answered.Message, "suspended") {
			e.Kind = Temporary //control:suspension-waits
		}
		if e.Kind == Temporary && e.Status == http.StatusTooManyRequests {
			e.RetryAfter = defaultRetryAfter
		}
	case errors.As(err, &token):
		e.Kind = Temporary
		if token.Response != nil {
			e.Status = token.Response.StatusCode
			e.Kind = kindOfStatus(e.Status, false)
		}
		if e.Status == http.StatusForbidden { // a suspended App gets no token
			e.Kind = Temporary
		}
	case errors.Is(err, errOtherHost):
		e.Kind = Permanent
	default:
		e.Kind = kindOfTransport(err, write)
	}
	return e
}

// missingPermission returns the permission that was missing for a refused call: the one named in
// the answer, or else the usual one for its address.
func missingPermission(e *github.ErrorResponse) string {
	if e.Response.StatusCode != http.StatusForbidden || !strings.HasPrefix(e.Message, "Resource not accessible by") {
		return ""
	}
	if says := e.Response.Header.Get("X-Accepted-Github-Permissions"); says != "" {
		return says
	}
	grant := "=write"
	if e.Response.Request == nil || e.Response.Request.Method == http.MethodGet {
		grant = "=read"
	}
	for _, of := range [...][2]string{
		{"/check-runs", "checks"}, {"/check-suites", "checks"}, {"/pulls", "pull_requests"}, {"/issues", "issues"}, {"/statuses", "statuses"},
		{"/actions/", "actions"}, {"/git/", "contents"}, {"/contents", "contents"}, {"/compare/", "contents"}, {"/commits", "contents"},
	} {
		if e.Response.Request != nil && strings.Contains(e.Response.Request.URL.Path, of[0]) {
			return of[1] + grant
		}
	}
	return "contents" + grant
}

func kindOfStatus(status int, write bool) Kind {
	switch {
	case status == http.StatusTooManyRequests:
		return Temporary
	case status == http.StatusUnauthorized: //control:refused-key-waits
		return Temporary // a rejected credential says nothing about the request
	case status >= 500 && write:
		return Unknown
	case status >= 500:
		return Temporary
	}
	return Permanent
}

func kindOfTransport(err error, write bool) Kind {
	if !write {
		return Temporary
	}
	var ns *notSent
	var op *net.OpError
	if errors.As(err, &ns) || (errors.As(err, &op) && op.Op == "dial") {
		return Temporary
	}
	return Unknown
}

// BadAnswer returns the fault of an answer that is none, for users, or "" if err is no such
// error.
func BadAnswer(err error) string {
	var none *answer.Error
	if errors.As(err, &none) {
		return none.Error()
	}
	return ""
}

// Refusal is the reason for which GitHub will never accept a write.
type Refusal struct{ Reason string }

// Error implements error.
func (r *Refusal) Error() string { return r.Reason }

// UnlessRefused returns nil if err is a [Refusal], and err otherwise. It is for
// optional writes.
func UnlessRefused(err error) error {
	var r *Refusal
	if errors.As(err, &r) {
		return nil
	}
	return err
}
