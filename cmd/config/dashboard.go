package config

import (
	"net"
	"net/url"
	"strings"

	"github.com/handrail-bot/handrail/bot/dashboard"
	"github.com/handrail-bot/handrail/policy/secret"
)

// Dashboard is `dashboard:` in the server's file.
type Dashboard struct {
	Listen    string  `yaml:"listen" jsonschema:"description=Address of the dashboard\\, such as 127.0.0.1:8081; none when unset. On loopback it is read-only and needs no login; another address needs one."`
	URL       string  `yaml:"url" jsonschema:"description=Public address of the dashboard\\, such as https://agent.example; needed for a login."`
	ClientID  string  `yaml:"client_id" jsonschema:"description=Client ID of the GitHub App; it turns the login on. Its client secret is in HANDRAIL_CLIENT_SECRET."`
	Operators []int64 `yaml:"operators" jsonschema:"description=Numbers of the accounts that see the server's configuration and models."`

	Secret secret.Value `yaml:"-"`
}

// check adds a problem for each invalid value.
func (d Dashboard) check(bad *problems) {
	const listen, public = "dashboard.listen", "dashboard.url"
	if d.Listen == "" {
		bad.when(d.URL != "" || d.ClientID != "", listen, "dashboard.url and dashboard.client_id have no effect without it")
		return
	}
	if err := checkListen(d.Listen); err != nil {
		bad.add(listen, err)
		return
	}
	host, _, _ := net.SplitHostPort(d.Listen)
	bad.when(!dashboard.IsLoopback(host) && d.ClientID == "", listen, //control:dashboard-address-needs-login
		"%s can be reached from other machines, so it needs a login: "+
			"set dashboard.client_id and dashboard.url, or listen on 127.0.0.1", d.Listen)
	bad.when(d.ClientID == "" && d.URL != "", public, "a public address needs a login: set dashboard.client_id")
	for _, id := range d.Operators {
		bad.when(id <= 0, "dashboard.operators", "%d is not the number of an account", id)
	}
	if d.ClientID == "" {
		return
	}
	bad.when(d.Secret == "", "",
		"no client secret: set HANDRAIL_CLIENT_SECRET or HANDRAIL_CLIENT_SECRET_FILE to the one of the GitHub App")
	u, err := url.Parse(d.URL)
	bad.when(err != nil || u.Host == "" || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.User != nil, public,
		"%q is no address like https://agent.example", withoutUser(d.URL))
	bad.when(err == nil && u.Scheme != "https" && !dashboard.IsLoopback(u.Hostname()), public,
		"it must begin with https://, since a login goes through it")
}
