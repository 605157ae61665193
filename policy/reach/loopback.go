package reach

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
)

// Loopback parses the URL of a page on the loopback interface, also as servers print it:
// "localhost:3000", "http://0.0.0.0:3000". Any other URL is an error.
func Loopback(s string) (*url.URL, error) {
	s = strings.TrimSpace(s)
	if head, _, _ := strings.Cut(s, "/"); !strings.Contains(s, "://") && strings.Contains(head, ":") {
		s = "http://" + s
	}
	u, err := url.Parse(s)
	if err != nil {
		return nil, fmt.Errorf("the URL %q cannot be parsed", s)
	}
	host := u.Hostname()
	if host == "0.0.0.0" || host == "::" {
		port := u.Port()
		host, u.Host = "127.0.0.1", "127.0.0.1"
		if port != "" {
			u.Host = net.JoinHostPort(host, port)
		}
	}
	loopback := host == "localhost" || strings.HasSuffix(host, ".localhost") || host == "127.0.0.1" || host == "::1"
	if u.Scheme != "http" && u.Scheme != "https" || !loopback || u.User != nil { //control:browser-loopback
		return nil, errors.New("only pages that a server in the workspace serves can be opened, " +
			"such as http://localhost:3000/")
	}
	return u, nil
}
