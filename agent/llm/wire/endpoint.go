package wire

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/handrail-bot/handrail/agent/llm"
)

// EndpointConfig is the common configuration of all adapters. Example is a valid address.
// Names explains how to find the names of models.
type EndpointConfig struct {
	URL            *url.URL
	HTTP           *http.Client
	Model          string
	Idle           time.Duration
	Log            *slog.Logger
	Example, Names string
}

// Endpoint is a checked configuration of one model on one server: its name, a client made
// by [newHTTP], and a logger that is never nil.
type Endpoint struct {
	Model string
	HTTP  *http.Client
	Log   *slog.Logger
}

// NewEndpoint checks cfg. It does not call the server.
func NewEndpoint(cfg EndpointConfig) (Endpoint, error) {
	switch {
	case cfg.URL == nil:
		return Endpoint{}, errors.New("no server address")
	case cfg.URL.Scheme != "http" && cfg.URL.Scheme != "https", cfg.URL.Host == "":
		return Endpoint{}, fmt.Errorf("server address %q: want %s", cfg.URL.Redacted(), cfg.Example)
	case strings.TrimSpace(cfg.Model) == "":
		return Endpoint{}, errors.New("no model name" + cfg.Names)
	}
	e := Endpoint{Model: strings.TrimSpace(cfg.Model), HTTP: newHTTP(cfg.HTTP, cfg.Idle), Log: cfg.Log}
	if e.Log == nil {
		e.Log = slog.New(slog.DiscardHandler)
	}
	return e, nil
}

// Unsupported returns the error for a model that lacks a capability.
func (e Endpoint) Unsupported(c llm.Capability, err error) *llm.Error {
	return &llm.Error{Kind: llm.Unsupported, Lacks: c, Public: fmt.Sprintf("model %s cannot %s", e.Model, c), Err: err}
}

// TooLong returns the error for a prompt that does not fit.
func (e Endpoint) TooLong(err error) *llm.Error {
	return &llm.Error{
		Kind:   llm.TooLong,
		Public: fmt.Sprintf("the conversation is longer than model %s can hold", e.Model),
		Err:    err,
	}
}

// Died returns the error for an answer that broke off.
func (e Endpoint) Died(err error) *llm.Error {
	return &llm.Error{Kind: llm.Cut, Public: "the model stopped in the middle of its answer", Err: err}
}
