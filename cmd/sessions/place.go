package sessions

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/bot/store/archive"
	"github.com/handrail-bot/handrail/cmd/door"
	"github.com/handrail-bot/handrail/cmd/local"
	"github.com/handrail-bot/handrail/policy/secret"
)

// ReadLog reads a log from a file, a repository, or - for standard input.
func readLog(ctx context.Context, w *door.Console, address string) (id string, events []session.Event, err error) {
	switch {
	case archive.IsGit(address):
		err = WithRepository(ctx, w, address, func(r *archive.Repository) (err error) {
			id, events, err = r.Read(ctx)
			return err
		})
		return id, events, err
	case address == "-":
		data, err := io.ReadAll(w.In)
		if err != nil {
			return "", nil, err
		}
		return archive.ReadText(data)
	}
	return ReadFile(address)
}

// WithRepository opens a repository for a while.
func WithRepository(ctx context.Context, w *door.Console, address string, fn func(*archive.Repository) error) error {
	r, err := archive.Open(ctx, archive.Config{Token: os.Getenv("HANDRAIL_GITHUB_TOKEN"), Key: secret.Value(os.Getenv("HANDRAIL_STATE_KEY")), Log: w.Log}, address)
	if err != nil {
		return err
	}
	return errors.Join(fn(r), r.Close())
}

// writeLog writes a log to a file, a git ref, or - for standard output. A
// repository may be read by many, so that secrets are taken out before; the
// log has hashes of its own then.
func writeLog(ctx context.Context, w *door.Console, address, id string, events []session.Event) error {
	if archive.IsGit(address) {
		hidden, err := archive.Redact(secret.NewRedactor(secret.FromEnvironment(os.Environ())...), events)
		if err != nil {
			return err
		}
		if hidden > 0 {
			w.Log.WarnContext(ctx, "secrets were taken out of the log: its hashes are not those of the database", "session", id, "events", hidden)
		}
		return WithRepository(ctx, w, address, func(r *archive.Repository) error { return r.Write(ctx, id, events) })
	}
	var text bytes.Buffer
	if err := store.WriteLog(&text, id, events); err != nil {
		return err
	}
	if address == "-" {
		// A changed byte breaks the chain, so nothing is made inert here.
		if os.Getenv("GITHUB_ACTIONS") == "true" && bytes.Contains(text.Bytes(), []byte("##[")) {
			return door.Usage("the log holds text that a workflow runner takes for a command: name a file with --to")
		}
		_, err := w.Raw.Write(text.Bytes())
		return err
	}
	return os.WriteFile(address, text.Bytes(), 0o600)
}

// IsHere reports whether a log is at hand without a database: in a file, or that of a
// session of `handrail run`.
func isHere(name string) bool {
	_, err := os.Stat(name)
	return err == nil || local.Has(name)
}

// ReadFile reads a log from a file, or that of a session of `handrail run` by its id.
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
	return archive.ReadText(data)
}

// Each names each session of the repositories among addresses.
func each(ctx context.Context, w *door.Console, addresses []string) ([]string, error) {
	var out []string
	for _, address := range addresses {
		if !archive.IsGit(address) {
			out = append(out, address)
			continue
		}
		err := WithRepository(ctx, w, address, func(r *archive.Repository) error {
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
