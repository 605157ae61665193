package work

import (
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/agent"
	"github.com/handrail-bot/handrail/policy/secret"
)

// People see the last line that a command printed, without what they may not see.
func TestLastLine(t *testing.T) {
	const known = "hunter2-is-the-password"
	key := "-----BEGIN RSA PRIVATE KEY-----\n" + strings.Repeat(strings.Repeat("QUJDREVG", 8)+"\n", 20)
	for name, tt := range map[string]struct {
		chunks []string
		want   string
	}{
		"nothing":              {nil, ""},
		"empty lines":          {[]string{"\n", "\n\n"}, ""},
		"a line":               {[]string{"one\ntwo\n"}, "two"},
		"empty ones after it":  {[]string{"one\ntwo\n", "\n \n"}, "two"},
		"more than one chunk":  {[]string{"one\n", "two\n", "three\n"}, "three"},
		"hidden characters":    {[]string{"t\u200bwo\u202e\n"}, "two"},
		"a secret":             {[]string{"the password is " + known + "\n"}, "the password is " + secret.Redacted},
		"a secret in two":      {[]string{"one\nhunter2-is-\n", "the-password\n"}, secret.Redacted},
		"a key":                {[]string{"one\n", key}, secret.Redacted},
		"a key line by line":   {strings.SplitAfter("one\n"+key, "\n"), secret.Redacted},
		"a long line":          {[]string{strings.Repeat("é", 500) + "\n"}, strings.Repeat("é", maxLastLine-1) + "…"},
		"a very long line":     {[]string{"one\n", strings.Repeat("x", 2*maxTail) + "\n"}, strings.Repeat("x", maxLastLine-1) + "…"},
		"after much that came": {[]string{strings.Repeat("much\n", maxTail), "two\n"}, "two"},
		"very long, then more": {[]string{strings.Repeat("x", 2*maxTail), "\ntwo\n"}, "two"},
	} {
		var last func() string
		live := Job{Shown: Shown{OnOutput: func(f func() string) { last = f }}}.live(secret.NewRedactor(known))
		live(agent.Live{Call: "before", Output: "of another call\n"})
		for _, c := range tt.chunks {
			live(agent.Live{Call: "now", Output: c})
		}
		live(agent.Live{Title: "Thinking"})
		if tt.chunks == nil {
			tt.want = "of another call"
		}
		if got := last(); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

// What is kept of an output is bounded, whatever the output is.
func TestTailIsBounded(t *testing.T) {
	for name, chunk := range map[string]string{"lines": "a line of some output\n", "no lines": "no end", "empty lines": "\n", "all at once": strings.Repeat("x\n", maxTail)} {
		tl := &tail{redactor: secret.NewRedactor()}
		for range 3*maxTail/len(chunk) + 3 {
			tl.add(chunk)
		}
		if len(tl.text) > maxTail {
			t.Errorf("%s: %d bytes are kept", name, len(tl.text))
		}
	}
}
