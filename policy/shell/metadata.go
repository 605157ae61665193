package shell

import (
	"net/netip"
	"strconv"
	"strings"
)

// metadataAddress reports whether an address is one of the services that
// hand a machine of a cloud its credentials, however it is spelled: a name, a
// dotted, decimal, octal or hexadecimal number, or a mapped IPv6 address.
func metadataAddress(address string) bool {
	host := hostOf(address)
	switch host {
	case "metadata.google.internal", "metadata", "instance-data", "instance-data.ec2.internal", "metadata.azure.internal", "metadata.tencentyun.com":
		return true
	}
	ip, ok := looseAddress(host)
	if !ok {
		return false
	}
	switch ip.String() {
	case "169.254.169.254", "169.254.170.2", "169.254.170.23", "100.100.100.200", "192.0.0.192", "fd00:ec2::254", "fd00:ec2::23", "fd20:ce::254":
		return true
	}
	return false
}

// hostOf is the host in an address or a URL, in small letters.
func hostOf(address string) string {
	_, rest, ok := strings.Cut(address, "://")
	if !ok {
		rest = address
	}
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		rest = rest[:i]
	}
	rest = strings.ToLower(rest[strings.LastIndexByte(rest, '@')+1:])
	if inner, found := strings.CutPrefix(rest, "["); found {
		inner, _, _ = strings.Cut(inner, "]")
		return inner
	}
	if strings.Count(rest, ":") == 1 {
		rest, _, _ = strings.Cut(rest, ":")
	}
	return strings.TrimSuffix(rest, ".")
}

// looseAddress reads an address the way the C library does: 1 to 4 numbers,
// of which the last fills what is left, each decimal, octal or hexadecimal.
func looseAddress(host string) (netip.Addr, bool) {
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.Unmap(), true
	}
	parts := strings.Split(host, ".")
	if len(parts) > 4 {
		return netip.Addr{}, false
	}
	var n uint64
	for i, p := range parts {
		v, err := strconv.ParseUint(p, 0, 33)
		if err != nil || strings.Contains(p, "_") {
			return netip.Addr{}, false
		}
		if i == len(parts)-1 {
			n |= v
			continue
		}
		n |= (v & 0xff) << (24 - 8*i)
	}
	return netip.AddrFrom4([4]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}), true
}
