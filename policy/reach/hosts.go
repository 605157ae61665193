// Package reach says what may be reached over a network: which hosts a list names, and
// which addresses are inside one, whatever name leads to them.
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

// Ports that an entry without a port stands for.
const (
	portHTTP  = 80
	portHTTPS = 443
)

// presets are the hosts that package managers read packages from. Hosts that take
// packages in are left out where they are others: what is sent there leaves.
var presets = map[string][]string{
	"cargo": {"index.crates.io", "static.crates.io"},
	"go":    {"proxy.golang.org", "sum.golang.org"},
	"npm":   {"registry.npmjs.org", "registry.yarnpkg.com"},
	"pip":   {"files.pythonhosted.org", "pypi.org"},
}

// Presets returns the names that [Preset] knows.
func Presets() []string { return slices.Sorted(maps.Keys(presets)) }

// Preset returns the hosts of a package manager.
func Preset(name string) []string { return slices.Clone(presets[name]) }

var plainName = pattern.Lazy(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$`)

// Name returns a host's name as it is compared, in lower case. It reports false for what
// is no plain name: an address in any spelling, a name with a dot at its end, with a user
// in front of it, or with anything else that somebody may read in another way.
func Name(host string) (string, bool) {
	name := strings.ToLower(host)
	last := name[strings.LastIndexByte(name, '.')+1:]
	if len(name) > 253 || !plainName().MatchString(name) || numeric(last) { //control:plain-names
		return "", false
	}
	return name, true
}

// numeric reports whether a name that ends so is read as an address by some programs.
func numeric(label string) bool {
	digits, hex := strings.CutPrefix(label, "0x")
	return strings.Trim(digits, "0123456789") == "" || hex && strings.Trim(digits, "0123456789abcdef") == ""
}

// entry is one of a list: a name, or all names below one; port 0 is the two usual ones.
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
		return e, fmt.Errorf("%q has letters that names of hosts are not looked up with: write %q", s, strings.Replace(s, name, plain, 1))
	}
	if e.name, ok = Name(name); !ok || strings.Trim(port, "0123456789") != "" {
		return e, fmt.Errorf("%q is not the name of a host, such as proxy.example.org, *.example.org or mirror.example.org:8443", s)
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

// Check says what is wrong with an entry of a list of hosts: a name, *.NAME for all names
// below one, or either with a port in place of the usual 80 and 443.
func Check(s string) error {
	_, err := parse(s)
	return err
}

// Allowed reports whether a list lets a host be reached at a port. What is no entry lets
// nothing through.
func Allowed(list []string, host string, port int) bool {
	name, ok := Name(host)
	return ok && port > 0 && slices.ContainsFunc(list, func(s string) bool {
		e, err := parse(s)
		return err == nil && e.covers(entry{name: name, port: port})
	})
}

// Covered reports whether a list lets everything through that one entry does.
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

// Place returns the addresses that a host inside a network may have: one address, or a
// range of them, such as 10.1.0.0/16.
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
