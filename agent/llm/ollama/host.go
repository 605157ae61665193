package ollama

import (
	"errors"
	"net"
	"net/url"
	"strconv"
	"strings"
)

// errHost does not repeat the address because it may contain a password.
var errHost = errors.New("not an address like http://127.0.0.1:11434")

// ParseHost reads OLLAMA_HOST like Ollama's own clients: scheme, port and path are
// optional. The default port is 11434 without a scheme, and that of the scheme otherwise.
// An invalid port is ignored. 0.0.0.0 and :: are addresses to listen on, so they become
// the loopback address.
func ParseHost(host string) (*url.URL, error) {
	given := strings.TrimSpace(strings.Trim(strings.TrimSpace(host), `"'`))
	scheme, rest, ok := strings.Cut(given, "://")
	if !ok {
		scheme, rest = "http", given
	}
	scheme = strings.ToLower(scheme)
	fallback, known := map[string]string{"http": "80", "https": "443"}[scheme]
	switch {
	case given == "ollama.com":
		scheme, fallback = "https", "443"
	case !ok:
		fallback = "11434"
	case !known:
		return nil, errHost
	}
	rest, path, _ := strings.Cut(rest, "/")
	var user *url.Userinfo
	if i := strings.LastIndex(rest, "@"); i >= 0 {
		named, err := url.Parse("http://" + rest[:i+1] + "host")
		if err != nil {
			return nil, errHost
		}
		user, rest = named.User, rest[i+1:]
	}
	name, port := hostAndPort(rest, fallback)
	u := &url.URL{Scheme: scheme, User: user, Host: net.JoinHostPort(name, port)}
	if path = strings.TrimRight(path, "/"); path != "" {
		u.Path = "/" + path
	}
	if _, err := url.Parse(u.String()); err != nil || strings.ContainsAny(name, " \t\r\n\"'<>?#[]@\\") ||
		strings.ContainsAny(path, "?#") {
		return nil, errHost
	}
	return u, nil
}

func hostAndPort(s, fallback string) (host, port string) {
	host, port, err := net.SplitHostPort(s)
	if err != nil {
		host, port = strings.Trim(s, "[]"), fallback
		if net.ParseIP(host) == nil {
			host = s // not an IPv6 address
		}
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		port = fallback
	}
	switch ip := net.ParseIP(host); {
	case host == "":
		host = "127.0.0.1"
	case ip != nil && ip.IsUnspecified() && ip.To4() != nil:
		host = "127.0.0.1"
	case ip != nil && ip.IsUnspecified():
		host = "::1"
	}
	return host, port
}
