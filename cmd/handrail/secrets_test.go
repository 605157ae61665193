package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/cmd/config"
	"github.com/handrail-bot/handrail/policy/secret"
)

// canary stands for a secret of the bot. It is the model's key in the stories
// below, so the server knows it; the puppet model is the attacker and knows
// it too.
const canary = "kX7-canary-Qz93vWmT5rLp82Yb"

// spellings are the ways in which a secret may try to get out.
func spellings(s string) map[string]string {
	var parts []string
	for i := 0; i < len(s); i += 5 {
		parts = append(parts, s[i:min(i+5, len(s))])
	}
	return map[string]string{
		"plain": s, "base64": base64.StdEncoding.EncodeToString([]byte("k=" + s)), "hex": hex.EncodeToString([]byte(s)),
		"url": strings.ReplaceAll(url.QueryEscape(s), "-", "%2D"), "split": strings.Join(parts, `" + "`),
	}
}

// Whatever is logged passes the redactor: message, attributes, groups, errors,
// structs, and attributes of derived loggers.
func TestLogsAreRedacted(t *testing.T) {
	t.Parallel()
	for name, spelled := range spellings(canary) {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			log := secret.Logger(slog.New(slog.NewJSONHandler(&out, nil)), secret.NewRedactor(canary))
			err := fmt.Errorf("call: %w", errors.New("refused "+spelled))
			log.With("with", spelled).WithGroup("g").ErrorContext(context.Background(), "message "+spelled,
				"text", spelled, "err", err, slog.Group("in", "deep", spelled), "bytes", []byte(spelled), "struct", struct{ A string }{spelled}, "n", 7)
			if strings.Contains(out.String(), spelled) {
				t.Errorf("the log has %q:\n%s", spelled, out.String())
			}
			if got := strings.Count(out.String(), secret.Redacted); got != 7 {
				t.Errorf("%d places redacted, want 7:\n%s", got, out.String())
			}
			if !strings.Contains(out.String(), `"n":7`) || !strings.Contains(out.String(), "message") {
				t.Errorf("too much is gone:\n%s", out.String())
			}
		})
	}
}

// The database's password counts as a secret, and a token that stands nowhere
// in the environment does too.
func TestServerSecrets(t *testing.T) {
	t.Parallel()
	cfg := config.Server{Database: "postgres://bot:pw-9f8e7d6c5b@db/handrail", GitHub: config.GitHub{
		WebhookSecret: "hook-1a2b3c4d5e", Token: "plain-token-value-123", Key: []byte("-----key-material-of-the-app-----")}}
	s, err := serverSecrets(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []string{"pw-9f8e7d6c5b", "hook-1a2b3c4d5e", "plain-token-value-123", "key-material-of-the"} {
		if out := s.outgoing("x " + v + " y"); strings.Contains(out, v) {
			t.Errorf("%q goes out", v)
		}
	}
	if got := s.outgoing("x\n::set-env name=a::b"); strings.Contains(got, "\n::") {
		t.Errorf("a workflow command goes out: %q", got)
	}
}
