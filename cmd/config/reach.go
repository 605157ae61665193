package config

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"

	"github.com/handrail-bot/handrail/policy/pattern"
	"github.com/handrail-bot/handrail/policy/secret"
)

// Authorities returns the system's certificate authorities and those in a file. It
// returns nil, which means only the system's, if file is empty.
func Authorities(file string) (*x509.CertPool, error) {
	if file == "" {
		return nil, nil
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool() // the system has no pool
	}
	if !pool.AppendCertsFromPEM(data) {
		return nil, fmt.Errorf("%s holds no certificate in PEM form", file)
	}
	return pool, nil
}

// Transport returns a transport that uses the proxy of the environment (HTTPS_PROXY,
// NO_PROXY; never for this machine) and adds secret headers. A non-nil also replaces the
// system's certificate authorities.
func Transport(also *x509.CertPool, headers map[string]secret.Value) http.RoundTripper {
	t := http.DefaultTransport
	if plain, ok := t.(*http.Transport); ok && also != nil {
		plain = plain.Clone()
		plain.TLSClientConfig = &tls.Config{RootCAs: also, MinVersion: tls.VersionTLS12}
		t = plain
	}
	if len(headers) == 0 {
		return t
	}
	return headerTransport{t, headers}
}

// UnknownAuthority reports whether err means that a server's certificate is from an untrusted
// authority.
func UnknownAuthority(err error) bool { return errors.As(err, new(x509.UnknownAuthorityError)) }

// headerTransport adds headers to each request.
type headerTransport struct {
	next    http.RoundTripper
	headers map[string]secret.Value
}

// RoundTrip implements [http.RoundTripper].
func (h headerTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for name, value := range h.headers {
		r.Header.Set(name, value.Reveal())
	}
	return h.next.RoundTrip(r)
}

var (
	headerName   = pattern.Lazy(`^[A-Za-z][A-Za-z0-9-]*$`)
	variableName = pattern.Lazy(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

// readReach reads the authorities of both servers and checks the names of headers.
func (c *Server) readReach(bad *problems) {
	var err error
	if c.GitHub.Trusted, err = Authorities(c.GitHub.CAFile); err != nil {
		bad.add("github.ca_file", err)
	}
	if c.Model.Trusted, err = Authorities(c.Model.CAFile); err != nil {
		bad.add("model.ca_file", err)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Model.Headers)) {
		bad.when(!headerName().MatchString(name), "model.headers", "%q cannot be the name of a header", name)
		bad.when(
			!variableName().MatchString(c.Model.Headers[name]),
			"model.headers",
			"the value of %s must be the name of a variable of the environment that holds it, not the value itself",
			name,
		)
	}
}

// readHeaders reads the values of headers from the environment: those for the model's
// server, and those for MCP servers.
func (c *Server) readHeaders(getenv func(string) string, bad *problems) {
	if len(c.Model.Headers) > 0 {
		c.Model.Sent = readHeaders(c.Model.Headers, "model.headers", getenv, bad)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Policy.MCP.Servers)) {
		if headers := c.Policy.MCP.Servers[name].Headers; len(headers) > 0 {
			if c.ServerHeaders == nil {
				c.ServerHeaders = map[string]map[string]secret.Value{}
			}
			c.ServerHeaders[name] = readHeaders(headers, "policy.mcp.servers."+name+".headers", getenv, bad)
		}
	}
}

func readHeaders(
	headers map[string]string, key string, getenv func(string) string, bad *problems,
) map[string]secret.Value {
	sent := map[string]secret.Value{}
	for name, variable := range headers {
		if !variableName().MatchString(variable) {
			continue // reported elsewhere without the value, which may be the secret
		}
		value, err := Secret(getenv, variable)
		if err == nil && value == "" {
			err = errors.New("for the header " + name + " neither " + variable + " nor " + variable + "_FILE is set")
		}
		bad.add(key, err)
		sent[name] = value
	}
	return sent
}
