package deps

import (
	"regexp"
	"strings"
	"sync"

	"github.com/handrail-bot/handrail/policy/pattern"
)

// Lack is a package that a command did not find.
type Lack struct {
	Manager *Manager
	Package string // as the output names it; "" if it does not
}

// maxSearched is the maximum number of bytes of output to search, from its end.
const maxSearched = 64 << 10

var compiled sync.Map // pattern → *regexp.Regexp

// FindLack returns the missing package that a command's output tells of, among those of
// these managers.
func FindLack(list []*Manager, output string) (Lack, bool) {
	output = output[max(0, len(output)-maxSearched):]
	for _, m := range list {
		re, ok := compiled.Load(m.missing)
		if !ok {
			re, _ = compiled.LoadOrStore(m.missing, regexp.MustCompile(m.missing))
		}
		for _, found := range re.(*regexp.Regexp).FindAllStringSubmatch(output, -1) {
			name := strings.TrimRight(strings.Join(found[1:], ""), ".:")
			if !isOwn(m, name) {
				return Lack{m, name}, true
			}
		}
	}
	return Lack{}, false
}

// isOwn reports whether a name is that of a file of the repository, and not of a package.
func isOwn(m *Manager, name string) bool {
	return strings.HasPrefix(name, ".") || m.Place == "node_modules" && strings.HasPrefix(name, "/")
}

// refused matches the errors of programs without a network. An address of the machine
// itself is no sign: tests connect to servers of their own.
var refused = pattern.Lazy(`getaddrinfo (?:ENOTFOUND|EAI_AGAIN)|Temporary failure in name resolution|Name or service not known|` +
	`[Cc]ould ?n[o']t resolve host|Could not resolve hostname|nodename nor servname|Network is unreachable|ENETUNREACH|` +
	`dial tcp: lookup |UnknownHostException|php_network_getaddresses|nxdomain|Unknown host|Failed to open TCP connection to [a-z]`)

// IsRefused reports whether a command's output shows that it wanted a network.
func IsRefused(output string) bool {
	return refused().MatchString(output[max(0, len(output)-maxSearched):])
}
