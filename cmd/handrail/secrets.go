package main

import (
	"cmp"
	"context"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/work"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/cmd/config"
	"github.com/handrail-bot/handrail/cmd/records"
	"github.com/handrail-bot/handrail/policy/secret"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

// secrets are the secrets of this process. They are redacted from all of its output, and
// the changes for a branch are scanned for them.
type secrets struct {
	work.Secrets
	signing *secret.Key // signs the ends of logs; nil disables signing
}

func newSecrets(values ...secret.Value) *secrets {
	return &secrets{Secrets: work.Secrets{
		Redactor: secret.NewRedactor(values...),
		Scanner:  sync.OnceValues(func() (*secret.Scanner, error) { return secret.NewScanner(values...) }),
	}}
}

// serverSecrets returns all secrets of a server. No text may leave the server with one.
func serverSecrets(c config.Server) (*secrets, error) {
	list := append(
		secret.FromEnvironment(os.Environ()),
		c.GitHub.WebhookSecret,
		c.GitHub.Token,
		c.Model.Key,
		c.LogKey,
		c.Dashboard.Secret,
		secret.Value(c.GitHub.Key),
	)
	list = append(list, slices.Collect(maps.Values(c.Model.Sent))...)
	list = append(list, c.Traces.Secrets()...)
	for _, headers := range c.ServerHeaders {
		list = append(list, slices.Collect(maps.Values(headers))...) //control:mcp-tokens-known
	}
	if _, rest, ok := strings.Cut(c.Database, "://"); ok {
		if user, _, ok := strings.Cut(rest, "@"); ok {
			_, password, _ := strings.Cut(user, ":")
			list = append(list, secret.Value(password))
		}
	}
	s := newSecrets(list...)
	return s, s.keys(cmp.Or(c.LogKey, c.GitHub.WebhookSecret))
}

// environmentSecrets returns the secrets of a process without a server's
// configuration.
func environmentSecrets() (*secrets, error) {
	s := newSecrets(secret.FromEnvironment(os.Environ())...)
	key, err := config.LogKey(os.Getenv)
	if err != nil {
		return s, err
	}
	return s, s.keys(key)
}

// keys derives the keys that seal and sign logs.
func (s *secrets) keys(from secret.Value) error {
	k, err := records.KeysFrom(from)
	s.Contents, s.signing = k.Contents, k.Signing
	return err
}

// outgoing removes secrets from text, and lines that a runner would execute as workflow
// commands.
func (s *secrets) outgoing(text string) string {
	text, _ = s.Redactor.Redact(text)
	return untrusted.NoRunnerCommands(text)
}

// redactedLogs redacts all events that the bot stores. Those of the agent are redacted
// already.
type redactedLogs struct {
	store.Logs
	redactor *secret.Redactor
}

// Apply implements store.Logs.
func (l redactedLogs) Apply(ctx context.Context, f store.Fence, c store.Change) error {
	known := l.redactor.Known()
	for _, e := range c.Events {
		err := session.Rewrite(e, func(key, text string) string {
			if key == "arguments" {
				text, _ = known.Redact(text)
				return text
			}
			text, _ = l.redactor.Redact(text)
			return text
		})
		if err != nil {
			return err
		}
	}
	return l.Logs.Apply(ctx, f, c)
}
