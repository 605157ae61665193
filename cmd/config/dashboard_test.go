package config

import (
	"strings"
	"testing"
)

// TestDashboard: an address that other machines reach needs a login, and a login needs
// TLS, its client secret and a public address.
func TestDashboard(t *testing.T) {
	t.Parallel()
	full := Dashboard{Listen: ":8081", URL: "https://agent.example", ClientID: "Iv1.a", Secret: "s"}
	for name, tt := range map[string]struct {
		change func(*Dashboard)
		want   string // part of the problem; "" means none
	}{
		"none":                 {func(d *Dashboard) { *d = Dashboard{} }, ""},
		"loopback":             {func(d *Dashboard) { *d = Dashboard{Listen: "127.0.0.1:8081"} }, ""},
		"with a login":         {func(*Dashboard) {}, ""},
		"behind a proxy":       {func(d *Dashboard) { d.Listen = "127.0.0.1:8081" }, ""},
		"all without a login":  {func(d *Dashboard) { *d = Dashboard{Listen: ":8081"} }, "it needs a login"},
		"one without a login":  {func(d *Dashboard) { *d = Dashboard{Listen: "10.0.0.4:8081"} }, "it needs a login"},
		"a name":               {func(d *Dashboard) { *d = Dashboard{Listen: "agent.example:8081"} }, "it needs a login"},
		"no secret":            {func(d *Dashboard) { d.Secret = "" }, "HANDRAIL_CLIENT_SECRET"},
		"no address":           {func(d *Dashboard) { d.URL = "" }, "is no address like"},
		"an address in plain":  {func(d *Dashboard) { d.URL = "http://agent.example" }, "must begin with https://"},
		"an address of a path": {func(d *Dashboard) { d.URL = "https://agent.example/x" }, "is no address like"},
		"settings for nothing": {func(d *Dashboard) { d.Listen = "" }, "have no effect without it"},
		"no account":           {func(d *Dashboard) { d.Operators = []int64{0} }, "not the number of an account"},
	} {
		d := full
		tt.change(&d)
		bad := &problems{}
		d.check(bad)
		err := bad.err()
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
}
