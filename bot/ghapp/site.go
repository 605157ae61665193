package ghapp

import (
	"net/url"
	"strings"
)

// site is where GitHub's pages, repositories and pictures lie: github.com, or
// an enterprise server with what is below it.
type site struct {
	api   *url.URL
	pages string // beginning of the addresses of pages, ends in a slash
	host  string // of the pages, as it stands in addresses
	name  string // that host without a port
}

// newSite finds the site of an API. An enterprise server has it below its
// pages, at /api/v3/; all others on a host of its own, that of the pages with
// "api." before it.
func newSite(api *url.URL) site {
	home := *api
	home.Path = strings.TrimSuffix(api.Path, "api/v3/")
	if home.Path == api.Path {
		home.Host = strings.TrimPrefix(api.Host, "api.") //control:pages-of-the-host
	}
	return site{api, home.String(), home.Host, home.Hostname()}
}

func (s site) public() bool { return s.name == "github.com" }

// repository is the page of a repository.
func (s site) repository(owner, repo string) string { return s.pages + owner + "/" + repo }
