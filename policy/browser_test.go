package policy

import (
	"testing"
)

// TestBrowser: the browser shows pages of the workspace without a question, in the modes that may
// run things, and no other page with any setting.
func TestBrowser(t *testing.T) {
	for _, tt := range []struct {
		mode, url string
		config    Config
		want      Verdict
	}{
		{"code", "http://localhost:3000/", Config{}, Allow},
		{"ask", "http://localhost:3000/", Config{}, Allow},
		{"plan", "http://localhost:3000/", Config{}, Deny},
		{"review", "http://localhost:3000/", Config{}, Deny},
		{"code", "http://localhost:3000/", Config{Defaults: Defaults{Network: "deny"}}, Allow},
		{"code", "http://localhost:3000/", Config{AlwaysAsk: []string{"network"}}, Ask},
		{"code", "https://example.com/", Config{}, Deny},
		{"code", "https://example.com/", Config{Defaults: Defaults{Network: "allow"}}, Deny},
		{"code", "http://169.254.169.254/", Config{AlwaysAsk: []string{"network"}}, Deny},
		{"code", "file:///etc/passwd", Config{Defaults: Defaults{Network: "allow"}}, Deny},
	} {
		p, err := New(tt.config)
		if err != nil {
			t.Fatal(err)
		}
		m, err := ParseMode(tt.mode)
		if err != nil {
			t.Fatal(err)
		}
		act := Action{Kind: Network, Tool: BrowserTool, URL: tt.url, Display: "launch " + tt.url}
		for _, p := range []*Policy{p, p.Walled()} {
			if d := p.Check(m, act); d.Verdict != tt.want {
				t.Errorf("%s %s %+v: %s (%s), want %s", tt.mode, tt.url, tt.config, d.Verdict, d.Rule, tt.want)
			}
		}
	}
}
