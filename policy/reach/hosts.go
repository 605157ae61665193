// Package reach decides about network destinations: which hosts a list allows, and which
// addresses are inside a network, regardless of the name that resolves to them.
package reach

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/net/idna"

	"github.com/handrail-bot/handrail/policy/pattern"
)

// The ports of an entry without a port.
const (
	portHTTP  = 80
	portHTTPS = 443
)

// presets are the hosts from which package managers download. Hosts that accept uploads
// are left out if they are separate, because data could leave through them.
var presets = map[string][]string{
	"cargo":    {"index.crates.io", "static.crates.io"},
	"composer": {"api.github.com", "codeload.github.com", "repo.packagist.org"},
	"gem":      {"index.rubygems.org", "rubygems.org"},
	"go":       {"proxy.golang.org", "sum.golang.org"},
	"gradle": {
		"downloads.gradle.org", "plugins-artifacts.gradle.org", "plugins.gradle.org", "repo.maven.apache.org", "repo1.maven.org",
		"services.gradle.org",
	},
	"hex":   {"builds.hex.pm", "repo.hex.pm"},
	"maven": {"repo.maven.apache.org", "repo1.maven.org"},
	"npm":   {"registry.npmjs.org", "registry.yarnpkg.com"},
	"nuget": {"api.nuget.org"},
	"pip":   {"files.pythonhosted.org", "pypi.org"},
	"swift": {"github.com"},
}

// Presets returns the names that [Preset] knows.
func Presets() []string { return slices.Sorted(maps.Keys(presets)) }

// Preset returns the hosts of a package manager.
func Preset(name string) []string { return slices.Clone(presets[name]) }

var plainName = pattern.Lazy(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$`)

// Name normalizes a host name to lower case. It reports false unless it is a plain name:
// for an address in any notation, a trailing dot, a user part, or any other form that
// programs may interpret differently.
func Name(host string) (string, bool) {
	name := strings.ToLower(host)
	last := name[strings.LastIndexByte(name, '.')+1:]
	if len(name) > 253 || !plainName().MatchString(name) || numeric(last) { //control:plain-names
		return "", false
	}
	return name, true
}

// numeric reports whether some programs parse a name with this last label as an address.
func numeric(label string) bool {
	digits, hex := strings.CutPrefix(label, "0x")
	return strings.Trim(digits, "0123456789") == "" || hex && strings.Trim(digits, "0123456789abcdef") == ""
}

// entry is a parsed list entry: a name, or all names below it. Port 0 means 80 and 443.
type entry struct {
	name  string
	below bool
	port  int
}

func parse(s string) (entry, error) {
	var e entry
	name, port, found := strings.Cut(s, ":")
	name, e.below = strings.CutPrefix(name, "*.")
	var ok bool
	if plain, err := idna.Lookup.ToASCII(name); err == nil && !isASCII(name) {
		return e, fmt.Errorf(
			"%q has letters that names of hosts are not looked up with: write %q",
			s,
			strings.Replace(s, name, plain, 1),
		)
	}
	if e.name, ok = Name(name); !ok || strings.Trim(port, "0123456789") != "" {
		return e, fmt.Errorf(
			"%q is not the name of a host, such as proxy.example.org, *.example.org or mirror.example.org:8443",
			s,
		)
	}
	if n, err := strconv.Atoi(port); found && (err != nil || n < 1 || n > 65535 || strconv.Itoa(n) != port) {
		return e, fmt.Errorf("%q does not name a port, a number up to 65535", s)
	} else if found {
		e.port = n
	}
	return e, nil
}

func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r > unicode.MaxASCII })
}

// Check returns an error unless s is a valid entry of a host list: a name, *.NAME for all
// names below it, or either with a port instead of the default 80 and 443.
func Check(s string) error {
	_, err := parse(s)
	return err
}

// Allowed reports whether a list allows a host and port. Invalid entries allow nothing.
func Allowed(list []string, host string, port int) bool {
	name, ok := Name(host)
	return ok && port > 0 && slices.ContainsFunc(list, func(s string) bool {
		e, err := parse(s)
		return err == nil && e.covers(entry{name: name, port: port})
	})
}

// Lists reports whether a list allows a host at any port.
func Lists(list []string, host string) bool {
	name, ok := Name(host)
	return ok && slices.ContainsFunc(list, func(s string) bool {
		e, err := parse(s)
		e.port = 0
		return err == nil && e.covers(entry{name: name, port: portHTTPS})
	})
}

// Covered reports whether a list allows everything that the entry s allows.
func Covered(list []string, s string) bool {
	narrow, err := parse(s)
	return err == nil && slices.ContainsFunc(list, func(s string) bool {
		e, err := parse(s)
		return err == nil && e.covers(narrow)
	})
}

func (e entry) covers(n entry) bool {
	port := e.port == n.port || e.port == 0 && (n.port == portHTTP || n.port == portHTTPS)
	if !e.below {
		return port && !n.below && e.name == n.name
	}
	return port && (strings.HasSuffix(n.name, "."+e.name) || n.below && e.name == n.name)
}

// Place parses the allowed addresses of a host inside a network: one address, or a range
// such as 10.1.0.0/16.
func Place(s string) (netip.Prefix, error) {
	p, err := netip.ParsePrefix(s)
	if a, single := netip.ParseAddr(s); single == nil && a.Zone() == "" {
		p, err = netip.PrefixFrom(a, a.BitLen()), nil
	}
	if err != nil || p.Bits() == 0 {
		return p, fmt.Errorf("%q is not an address, such as 10.1.2.3, or a range of them, such as 10.1.0.0/16", s)
	}
	return p, nil
}
