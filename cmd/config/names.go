package config

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
)

// ErrKey means that the model's server requires a key, or a different one.
var ErrKey = errors.New("does not admit the key")

// Names asks the model's server for the names of its models. The error is for the user, and
// [ErrKey] and [UnknownAuthority] tell its reason.
func (m Model) Names(ctx context.Context) ([]string, error) {
	u, err := m.Address()
	if err != nil {
		return nil, err
	}
	p := m.Of()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.JoinPath(p.Models...).String(), nil)
	if err != nil {
		return nil, err
	}
	if p.Keyed && m.Key != "" {
		req.Header.Set(p.KeyHeader(m.Key))
	}
	resp, err := (&http.Client{Transport: Transport(m.Trusted, m.Sent)}).Do(req)
	if err != nil {
		if full := new(url.Error); errors.As(err, &full) {
			err = full.Err // without the address once more
		}
		return nil, fmt.Errorf("%s does not answer: %w", m.Server(), err)
	}
	defer resp.Body.Close()
	if p.Keyed && resp.StatusCode == http.StatusUnauthorized {
		if m.Key == "" {
			return nil, keyError(m.Server() + " wants a key")
		}
		return nil, keyError(m.Server() + " does not take this key")
	}
	var said struct {
		Models []struct{ Name string }
		Data   []struct{ ID string }
	}
	err = json.NewDecoder(io.LimitReader(resp.Body, 4<<20)).Decode(&said)
	if err != nil || resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s does not answer as a server of models: %s", m.Server(), resp.Status)
	}
	var out []string
	for _, m := range said.Models {
		out = append(out, m.Name)
	}
	for _, m := range said.Data {
		out = append(out, m.ID)
	}
	return out, nil
}

// keyError is an [ErrKey] in words.
type keyError string

// Error implements error.
func (e keyError) Error() string { return string(e) }

// Is implements the interface of [errors.Is].
func (e keyError) Is(target error) bool { return target == ErrKey }
