package reach_test

import (
	"testing"

	"github.com/handrail-bot/handrail/policy/reach"
)

// TestLoopback: pages on the loopback interface are known in every spelling, and nothing else is.
func TestLoopback(t *testing.T) {
	for given, want := range map[string]string{
		"http://localhost:3000/":        "http://localhost:3000/",
		" localhost:5173/a?b=c#d ":      "http://localhost:5173/a?b=c#d",
		"http://127.0.0.1:8080":         "http://127.0.0.1:8080",
		"http://0.0.0.0:8000/x":         "http://127.0.0.1:8000/x",
		"http://0.0.0.0/x":              "http://127.0.0.1/x",
		"http://[::1]:1234/":            "http://[::1]:1234/",
		"http://[::]:1234/":             "http://127.0.0.1:1234/",
		"https://app.localhost/":        "https://app.localhost/",
		"http://example.com/":           "",
		"http://localhost.example.com/": "",
		"http://localhost@example.com/": "",
		"http://me:pw@localhost/":       "",
		"http://127.0.0.1.nip.io/":      "",
		"http://169.254.169.254/latest": "",
		"http://2130706433/":            "",
		"http://10.0.0.1:3000/":         "",
		"file:///etc/passwd":            "",
		"file://localhost/etc/passwd":   "",
		"javascript:alert(1)":           "",
		"data:text/html,hello":          "",
		"chrome://settings":             "",
		"view-source:http://localhost/": "",
		"http://localhost\\@evil.test/": "",
		"":                              "",
	} {
		u, err := reach.Loopback(given)
		switch {
		case want == "" && err == nil:
			t.Errorf("%q is taken as %s", given, u)
		case want != "" && err != nil:
			t.Errorf("%q: %v", given, err)
		case want != "" && u.String() != want:
			t.Errorf("%q is %s, want %s", given, u, want)
		}
	}
}
