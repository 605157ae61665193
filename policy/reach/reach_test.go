package reach

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
)

func TestPublic(t *testing.T) {
	t.Parallel()
	for _, a := range []string{"140.82.121.3", "185.199.108.133", "2606:50c0:8000::153", "::ffff:140.82.121.3"} {
		if !Public(netip.MustParseAddr(a)) {
			t.Errorf("%s counts as inside", a)
		}
	}
	for _, a := range []string{
		"0.0.0.0", "0.1.2.3", "10.1.2.3", "100.64.0.1", "127.0.0.1", "169.254.169.254", "172.31.0.1", "192.0.0.8", "192.0.2.1", "192.88.99.1",
		"192.168.1.1", "198.18.0.1", "198.51.100.1", "203.0.113.1", "224.0.0.1", "240.0.0.1", "255.255.255.255", "168.63.129.16", "::", "::1", "::7f00:1",
		"::ffff:10.0.0.1", "::ffff:168.63.129.16", "64:ff9b::a00:1", "64:ff9b:1::1", "100::1", "2001::1", "2001:db8::1", "2002:a00:1::", "5f00::1",
		"fc00::1", "fd00::1", "fe80::1%eth0", "fec0::1", "ff02::1",
	} {
		if Public(netip.MustParseAddr(a)) {
			t.Errorf("%s counts as public", a)
		}
	}
	for a, want := range map[string]bool{"169.254.170.2": true, "::ffff:169.254.169.254": true, "fd00:ec2::23": true, "100.100.100.200": true, "fd00::1": false, "10.0.0.1": false} {
		if Metadata(netip.MustParseAddr(a)) != want {
			t.Errorf("%s: want %t", a, want)
		}
	}
}

func TestName(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]string{"a.example": "a.example", "A.Example": "a.example", "xn--bcher-kva.example": "xn--bcher-kva.example", "mirror": "mirror", "1password.com": "1password.com"} {
		if got, ok := Name(host); !ok || got != want {
			t.Errorf("%s is %q, %t", host, got, ok)
		}
	}
	for _, host := range []string{
		"", ".", "a.example.", ".a.example", "a..example", "u@a.example", "a.example@b.example", "a.example:80", "a.example/x", "a.example\\x", "a_b.example", "bücher.example",
		"a.example\r\n", "a.example ", "a\x00.example", "%61.example", "127.0.0.1", "127.1", "2130706433", "0x7f000001", "0X7F.1", "0177.0.0.1", "1.2.3.0x4", "::1", "[::1]", "a。example",
		"-a.example", "a-.example", "*.example",
	} {
		if got, ok := Name(host); ok {
			t.Errorf("%q is taken for the name %s", host, got)
		}
	}
}

func TestAllowed(t *testing.T) {
	t.Parallel()
	list := []string{"a.example", "*.b.example", "c.example:8443", "UPPER.example", "broken..example", "*.d.example:8080"}
	for host, ports := range map[string][]int{"a.example": {80, 443}, "A.EXAMPLE": {443}, "x.b.example": {80, 443}, "x.y.b.example": {443}, "c.example": {8443}, "upper.example": {80}, "x.d.example": {8080}} {
		for _, port := range ports {
			if !Allowed(list, host, port) {
				t.Errorf("%s:%d is refused", host, port)
			}
		}
	}
	for host, ports := range map[string][]int{
		"a.example": {22, 8443, 0}, "b.example": {443}, "xb.example": {443}, "c.example": {80, 443}, "x.a.example": {443}, "a.example.evil.example": {443},
		"evila.example": {443}, "a.example.": {443}, "a.example@evil.example": {443}, "x.d.example": {443}, "broken..example": {443}, "*.b.example": {443}, "": {443},
	} {
		for _, port := range ports {
			if Allowed(list, host, port) {
				t.Errorf("%s:%d is let through", host, port)
			}
		}
	}
}

func TestCovered(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		list []string
		one  string
		want bool
	}{
		{[]string{"a.example"}, "A.example", true},
		{[]string{"a.example"}, "a.example:443", true},
		{[]string{"a.example"}, "a.example:8443", false},
		{[]string{"a.example:443"}, "a.example", false},
		{[]string{"a.example:443"}, "a.example:443", true},
		{[]string{"*.a.example"}, "x.a.example", true},
		{[]string{"*.a.example"}, "*.a.example", true},
		{[]string{"*.a.example"}, "*.x.a.example", true},
		{[]string{"*.a.example"}, "a.example", false},
		{[]string{"a.example"}, "*.a.example", false},
		{[]string{"x.a.example"}, "*.a.example", false},
		{nil, "a.example", false},
	} {
		if got := Covered(tt.list, tt.one); got != tt.want {
			t.Errorf("%v covers %s: %t", tt.list, tt.one, got)
		}
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"a.example", "*.a.example", "a.example:8443", "mirror:8080"} {
		if err := Check(s); err != nil {
			t.Error(err)
		}
	}
	for _, s := range []string{"", "*", "*.", "10.0.0.1", "[::1]:80", "http://a.example", "a.example/path", "a.example:", "a.example:0", "a.example:65536", "a.example:+80", "a.example:080", "a.*.example", "u@a.example"} {
		if Check(s) == nil {
			t.Errorf("%q is taken", s)
		}
	}
	for s, want := range map[string]string{"*.müller.example:8443": `write "*.xn--mller-kva.example:8443"`, "Bücher.example": `write "xn--bcher-kva.example"`, "müller example": "is not the name of a host"} {
		if err := Check(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("of %s it says %v", s, err)
		}
	}
	for _, name := range Presets() {
		hosts := Preset(name)
		if len(hosts) == 0 || slices.ContainsFunc(hosts, func(h string) bool { return Check(h) != nil }) {
			t.Errorf("preset %s is %v", name, hosts)
		}
	}
}

func TestPlace(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]string{"10.1.2.3": "10.1.2.3/32", "10.1.0.0/16": "10.1.0.0/16", "fd12::1": "fd12::1/128", "127.0.0.1": "127.0.0.1/32"} {
		if p, err := Place(s); err != nil || p.String() != want {
			t.Errorf("%s is %s (%v)", s, p, err)
		}
	}
	for _, s := range []string{"", "mirror", "0.0.0.0/0", "::/0", "10.1.2", "fe80::1%eth0", "10.0.0.0/33"} {
		if _, err := Place(s); err == nil {
			t.Errorf("%q is taken", s)
		}
	}
}
