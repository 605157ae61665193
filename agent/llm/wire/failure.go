package wire

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/handrail-bot/handrail/agent/llm"
)

// Failure converts a network error to an [llm.Error]. An [llm.Error] is returned
// unchanged, and nil stays nil. After the end of ctx the kind is Unknown, so that a
// canceled request is not retried; errors.Is still finds the context's error.
func Failure(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	var known *llm.Error
	if errors.As(err, &known) {
		return err
	}
	if ctx.Err() != nil {
		return &llm.Error{Kind: llm.Unknown, Public: "the request to the model was stopped", Err: context.Cause(ctx)}
	}
	kind, public := classify(err)
	return &llm.Error{Kind: kind, Public: public, Err: err}
}

func classify(err error) (llm.Kind, string) {
	var (
		op        *net.OpError
		dns       *net.DNSError
		header    tls.RecordHeaderError
		authority x509.UnknownAuthorityError
		verify    *tls.CertificateVerificationError
		host      x509.HostnameError
	)
	switch {
	case errors.Is(err, errIdle):
		return llm.Cut, "the model server fell silent in the middle of an answer"
	case errors.Is(err, errRedirect):
		return llm.Invalid, "the model server sends its clients to another address; the operator must configure that address"
	case errors.As(err, &authority):
		return llm.Invalid, "the certificate of the model server is of an authority that is not known here: name the file with that authority's certificate, with --ca-file on the command line or as model.ca_file in the server's configuration"
	case errors.As(err, &header), errors.As(err, &verify), errors.As(err, &host),
		errors.Is(err, http.ErrSchemeMismatch):
		return llm.Invalid, "no trusted connection to the model server; the operator must check its certificate and address"
	case errors.As(err, &dns), errors.As(err, &op) && op.Op == "dial":
		return llm.Unreachable, "the model server does not answer; it may be starting or stopped"
	case unsupportedScheme(err):
		return llm.Invalid, "the configured address of the model server is not one that can be called"
	}
	return llm.Cut, "the connection to the model server broke off"
}

func unsupportedScheme(err error) bool {
	var u *url.Error
	return errors.As(err, &u) && (u.Op == "parse" || strings.Contains(u.Err.Error(), "unsupported protocol scheme"))
}

// StatusFailure returns the error for a response status with an unknown text. Its kind is
// Cut for a fault of the server, and Invalid if the status is not specific either.
func StatusFailure(status int, err error) *llm.Error {
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return &llm.Error{
			Kind:   llm.Refused,
			Public: "the model server refused access; the operator must check its key (HANDRAIL_API_KEY)",
			Err:    err,
		}
	case status == http.StatusTooManyRequests, status == http.StatusServiceUnavailable, status == 529:
		return Busy(err)
	case status == http.StatusRequestTimeout,
		status == http.StatusBadGateway,
		status == http.StatusGatewayTimeout,
		status >= 520 && status < 530:
		return &llm.Error{
			Kind:   llm.Unreachable,
			Public: "the model server does not answer; it may be starting or stopped",
			Err:    err,
		}
	case status == http.StatusMethodNotAllowed, status == http.StatusNotImplemented: // of a web server
		return &llm.Error{
			Kind:   llm.Invalid,
			Public: "the server at the model's address does not speak the expected API; the operator must check the address",
			Err:    err,
		}
	}
	if status >= 500 { //control:unknown-fault-is-tried-again
		return &llm.Error{Kind: llm.Cut, Public: "the model server failed", Err: err}
	}
	return &llm.Error{Kind: llm.Invalid, Public: "the model server did not accept the request", Err: err}
}

// Busy returns the error for a server with a full queue.
func Busy(err error) *llm.Error {
	return &llm.Error{Kind: llm.Busy, Public: "the model server is busy", Err: err}
}

// Loading returns the error for a server that is not ready yet.
func Loading(err error) *llm.Error {
	return &llm.Error{Kind: llm.Unreachable, Public: "the model is still being loaded", Err: err}
}

// maxRetryAfter is the maximum wait accepted from a server.
const maxRetryAfter = time.Hour

// RetryAfter returns the wait requested by a server in its Retry-After header, in seconds
// or as a date, at most an hour; 0 if there is none.
func RetryAfter(h http.Header, now time.Time) time.Duration {
	v := strings.TrimSpace(h.Get("Retry-After"))
	if v == "" {
		return 0
	}
	wait := time.Duration(0)
	if s, err := strconv.ParseFloat(v, 64); err == nil || errors.Is(err, strconv.ErrRange) {
		if s > 0 { // also excludes NaN
			wait = time.Duration(min(s, maxRetryAfter.Seconds()) * float64(time.Second))
		}
	} else if at, err := http.ParseTime(v); err == nil {
		wait = at.Sub(now)
	}
	return min(max(wait, 0), maxRetryAfter)
}
