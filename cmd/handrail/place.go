package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/bot/store/archive"
)

// readPlace reads a log from wherever it is kept besides databases.
func readPlace(ctx context.Context, w *world, place string) (id string, events []session.Event, err error) {
	switch {
	case archive.IsGit(place):
		err = withRefs(ctx, w, place, func(r *archive.Repository) (err error) {
			id, events, err = r.Read(ctx)
			return err
		})
		return id, events, err
	case place == "-":
		data, err := io.ReadAll(w.in)
		if err != nil {
			return "", nil, err
		}
		return archive.ReadText(data)
	}
	return readLogFile(place)
}

// withRefs opens a repository for a while.
func withRefs(ctx context.Context, w *world, place string, fn func(*archive.Repository) error) error {
	r, err := archive.Open(ctx, archive.Config{Token: os.Getenv("HANDRAIL_GITHUB_TOKEN"), Log: w.log}, place)
	if err != nil {
		return err
	}
	return errors.Join(fn(r), r.Close())
}

// writePlace writes a log to wherever it is to be kept besides databases. A
// repository may be read by many, so that secrets are taken out before; the
// log has hashes of its own then.
func writePlace(ctx context.Context, w *world, place, id string, events []session.Event) error {
	if archive.IsGit(place) {
		hidden, err := archive.Redact(newSecrets(environmentSecrets(os.Environ())...).Redactor, events)
		if err != nil {
			return err
		}
		if hidden > 0 {
			w.log.WarnContext(ctx, "secrets were taken out of the log: its hashes are not those of the database", "session", id, "events", hidden)
		}
		return withRefs(ctx, w, place, func(r *archive.Repository) error { return r.Write(ctx, id, events) })
	}
	var text bytes.Buffer
	if err := store.WriteLog(&text, id, events); err != nil {
		return err
	}
	if place == "-" {
		// A changed byte breaks the chain, so nothing is made inert here.
		if os.Getenv("GITHUB_ACTIONS") == "true" && bytes.Contains(text.Bytes(), []byte("##[")) {
			return usage("the log holds text that a workflow runner takes for a command: name a file with --to")
		}
		_, err := w.raw.Write(text.Bytes())
		return err
	}
	return os.WriteFile(place, text.Bytes(), 0o600)
}

func readLogFile(path string) (id string, events []session.Event, err error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return "", nil, err
	}
	return archive.ReadText(data)
}
