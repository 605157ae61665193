package wire

import (
	"errors"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/agent/llm"
)

// The requester reads why a server failed, in its own words; not its addresses and files, and
// no text that would end the sentence.
func TestQuote(t *testing.T) {
	for words, want := range map[string]string{
		"invalid option: top_q":         `; it says: "invalid option: top_q"`,
		"":                              "",
		"<html><body>502</body></html>": "",
		"dial tcp 10.1.2.3:11434: refused.\n\nsee\thttp://h/x": `; it says: "dial tcp …: refused. see …"`,
		"open /root/.ollama/models/blobs/sha256-1: \"x\"":      `; it says: "open …: 'x'"`,
		"a\x1b[31mb\u202ec":                                              `; it says: "a [31mbc"`,
		"bad key sk-abc…, really":                                        `; it says: "bad key … really"`,
		"connect to [::1]:8080 failed":                                   `; it says: "connect to … failed"`,
		`open C:\Users\kim\.ollama\models\x: denied`:                     `; it says: "open … denied"`,
		`cannot read \\nas\models\a.gguf`:                                `; it says: "cannot read …"`,
		"dial tcp: lookup gpu.corp.example on 10.0.0.2:53: no such host": `; it says: "dial tcp: … on …: no such host"`,
		"upstream gpu-3.corp.example:8000 is not ready":                  `; it says: "upstream … is not ready"`,
		"invalid token eyJhbGciOi.e30.abc_-1 of 3":                       `; it says: "invalid token … of 3"`,
		"no such key: Bearer abc.def":                                    `; it says: "no such key: …"`,
		"template:12: unexpected {{end}}":                                `; it says: "template:12: unexpected {{end}}"`,
	} {
		e := Quote(&llm.Error{Kind: llm.Invalid, Public: "the model server did not accept the request", Err: errors.New("x")}, words)
		if got, ok := strings.CutPrefix(e.Public, "the model server did not accept the request"); !ok || got != want {
			t.Errorf("%q: %q, want %q", words, got, want)
		}
	}
	if e := Quote(&llm.Error{Kind: llm.Cut, Public: "the model server failed"}, strings.Repeat("word ", 500)); len(e.Public) > 300 {
		t.Errorf("%d bytes are quoted", len(e.Public))
	}
	if e := Quote(&llm.Error{Kind: llm.TooLong, Public: "too long"}, "n_ctx"); e.Public != "too long" {
		t.Error(e.Public)
	}
}

// A line of the log has a server's words once.
func TestWordsOnceInTheLog(t *testing.T) {
	e := Quote(&llm.Error{Kind: llm.Invalid, Public: "it failed", Err: errors.New("status 400: no such option")}, "no such option")
	if got, want := e.Error(), "it failed: status 400: no such option"; got != want {
		t.Errorf("the log has %q, want %q", got, want)
	}
	if got, want := e.Public, `it failed; it says: "no such option"`; got != want {
		t.Errorf("the reader gets %q, want %q", got, want)
	}
}

// A fault of the server may be gone with the next try.
func TestUnknownStatus(t *testing.T) {
	for status, want := range map[int]llm.Kind{500: llm.Cut, 507: llm.Cut, 405: llm.Invalid, 501: llm.Invalid, 400: llm.Invalid, 502: llm.Unreachable, 503: llm.Busy} {
		if got := StatusFailure(status, errors.New("x")).Kind; got != want {
			t.Errorf("status %d: kind %d, want %d", status, got, want)
		}
	}
}
