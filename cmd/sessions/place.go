package sessions

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/bot/store/threadref"
	"github.com/handrail-bot/handrail/cmd/door"
	"github.com/handrail-bot/handrail/cmd/local"
	"github.com/handrail-bot/handrail/policy/secret"
)

// readLog reads a log from a file, a repository, or - for standard input.
func readLog(ctx context.Context, w *door.Console, address string) (id string, events []session.Event, err error) {
	switch {
	case threadref.IsGit(address):
		err = WithRepository(ctx, w, address, func(r *threadref.Repository) (err error) {
			id, events, err = r.Read(ctx)
			return err
		})
		return id, events, err
	case address == "-":
		data, err := io.ReadAll(w.In)
		if err != nil {
			return "", nil, err
		}
		return threadref.ReadText(data)
	}
	return ReadFile(address)
}

// WithRepository calls fn with an open repository, and closes it.
func WithRepository(ctx context.Context, w *door.Console, address string, fn func(*threadref.Repository) error) error {
	r, err := threadref.OpenRepository(
		ctx,
		threadref.ArchiveConfig{
			Token: os.Getenv("HANDRAIL_GITHUB_TOKEN"),
			Key:   secret.Value(os.Getenv("HANDRAIL_STATE_KEY")),
			Log:   w.Log,
		},
		address,
	)
	if err != nil {
		return err
	}
	return errors.Join(fn(r), r.Close())
}

// writeLog writes a log to a file, a git ref, or - for standard output. Secrets are
// removed before a log goes to a repository, which may have many readers; the log then
// gets its own hashes.
func writeLog(ctx context.Context, w *door.Console, address, id string, events []session.Event) error {
	if threadref.IsGit(address) {
		hidden, err := threadref.Redact(secret.NewRedactor(secret.FromEnvironment(os.Environ())...), events)
		if err != nil {
			return err
		}
		if hidden > 0 {
			w.Log.WarnContext(
				ctx, "secrets were taken out of the log: its hashes are not those of the database", "session", id,
				"events", hidden,
			)
		}
		return WithRepository(ctx, w, address, func(r *threadref.Repository) error { return r.Write(ctx, id, events) })
	}
	var text bytes.Buffer
	if err := store.WriteLog(&text, id, events); err != nil {
		return err
	}
	if address == "-" {
		// The text is not escaped: a changed byte would break the chain.
		if os.Getenv("GITHUB_ACTIONS") == "true" && bytes.Contains(text.Bytes(), []byte("##[")) {
			return door.Usage("the log holds text that a workflow runner takes for a command: name a file with --to")
		}
		_, err := w.Raw.Write(text.Bytes())
		return err
	}
	return os.WriteFile(address, text.Bytes(), 0o600)
}

// isHere reports whether a log is available without a database: in a file, or as a
// session of `handrail run`.
func isHere(name string) bool {
	_, err := os.Stat(name)
	return err == nil || local.Has(name)
}

// ReadFile reads a log from a file, or a session of `handrail run` by its id.
func ReadFile(path string) (id string, events []session.Event, err error) {
	if local.Has(path) {
		r, err := local.Read(path)
		if err != nil {
			return "", nil, err
		}
		return r.ID, r.Events, nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return "", nil, err
	}
	return threadref.ReadText(data)
}

// each replaces the repositories among addresses with the addresses of their sessions.
func each(ctx context.Context, w *door.Console, addresses []string) ([]string, error) {
	var out []string
	for _, address := range addresses {
		if !threadref.IsGit(address) {
			out = append(out, address)
			continue
		}
		err := WithRepository(ctx, w, address, func(r *threadref.Repository) error {
			found, err := r.Sessions(ctx)
			for _, s := range found {
				out = append(out, r.Address()+"#"+s.Name())
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}
