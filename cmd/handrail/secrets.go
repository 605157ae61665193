package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/work"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/policy/secret"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

// secrets is what this process knows and nobody else may see: it redacts
// every sink and looks into what goes to a branch.
type secrets struct {
	work.Secrets
}

func newSecrets(values ...secret.Value) *secrets {
	return &secrets{work.Secrets{
		Redactor: secret.NewRedactor(values...),
		Scanner:  sync.OnceValues(func() (*secret.Scanner, error) { return secret.NewScanner(values...) }),
	}}
}

// environmentSecrets are the values that this process was given for itself:
// whatever is named like a credential.
func environmentSecrets(environ []string) []secret.Value {
	var out []secret.Value
	for _, kv := range environ {
		name, value, _ := strings.Cut(kv, "=")
		name = strings.ToUpper(name)
		for _, word := range []string{"TOKEN", "SECRET", "PASSWORD", "PASSWD", "API_KEY", "APIKEY", "PRIVATE_KEY", "ACCESS_KEY", "CREDENTIAL"} {
			if strings.Contains(name, word) && len(value) >= 8 && !strings.HasSuffix(name, "_FILE") && !strings.HasSuffix(name, "_PATH") {
				out = append(out, secret.Value(value))
				break
			}
		}
	}
	return out
}

// secrets are all that the server was given: no text leaves it with one.
func (c serverConfig) secrets() *secrets {
	list := append(environmentSecrets(os.Environ()), c.GitHub.webhookSecret, c.GitHub.token, c.Model.key, secret.Value(c.GitHub.key))
	if _, rest, ok := strings.Cut(c.Database, "://"); ok {
		if user, _, ok := strings.Cut(rest, "@"); ok {
			_, password, _ := strings.Cut(user, ":")
			list = append(list, secret.Value(password))
		}
	}
	return newSecrets(list...)
}

// outgoing is the last gate for what is written to GitHub.
func (s *secrets) outgoing(text string) string {
	text, _ = s.Redactor.Redact(text)
	return untrusted.NoRunnerCommands(text)
}

// logger passes every record through the redactor.
func (s *secrets) logger(log *slog.Logger) *slog.Logger {
	return slog.New(redactedLog{log.Handler(), s.Redactor})
}

type redactedLog struct {
	slog.Handler
	redactor *secret.Redactor
}

// Handle implements slog.Handler.
func (h redactedLog) Handle(ctx context.Context, r slog.Record) error {
	text, _ := h.redactor.Redact(r.Message)
	out := slog.NewRecord(r.Time, r.Level, text, r.PC)
	r.Attrs(func(a slog.Attr) bool {
		out.AddAttrs(h.attr(a))
		return true
	})
	return h.Handler.Handle(ctx, out)
}

// WithAttrs implements slog.Handler.
func (h redactedLog) WithAttrs(attrs []slog.Attr) slog.Handler {
	clean := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		clean[i] = h.attr(a)
	}
	return redactedLog{h.Handler.WithAttrs(clean), h.redactor}
}

// WithGroup implements slog.Handler.
func (h redactedLog) WithGroup(name string) slog.Handler {
	return redactedLog{h.Handler.WithGroup(name), h.redactor}
}

// attr is a with secrets taken out. What is no text is looked at as text, and
// stays as it is when there is nothing to hide.
func (h redactedLog) attr(a slog.Attr) slog.Attr {
	v := a.Value.Resolve()
	switch v.Kind() {
	case slog.KindGroup:
		var list []slog.Attr
		for _, x := range v.Group() {
			list = append(list, h.attr(x))
		}
		return slog.Attr{Key: a.Key, Value: slog.GroupValue(list...)}
	case slog.KindString, slog.KindAny:
		text := v.String()
		if b, ok := v.Any().([]byte); ok {
			text = string(b)
		} else if v.Kind() == slog.KindAny {
			text = fmt.Sprintf("%+v", v.Any())
		}
		if clean, n := h.redactor.Redact(text); n > 0 {
			return slog.String(a.Key, clean)
		}
	}
	return slog.Attr{Key: a.Key, Value: v}
}

// redactedLogs keeps secrets out of what the bot records, whoever wrote it:
// the agent's own events were cleaned before.
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
