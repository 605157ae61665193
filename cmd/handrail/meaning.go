package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/handrail-bot/handrail/agent/index"
	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/bot/dashboard"
	"github.com/handrail-bot/handrail/cmd/config"
	"github.com/handrail-bot/handrail/cmd/records"
)

// embedderOf returns the model that turns code into vectors, or nil if none is configured.
func embedderOf(m config.Model, log *slog.Logger) (llm.Embedder, error) {
	if m.Embedding == "" {
		return nil, nil //nolint:nilnil // nil means none
	}
	at, err := endpointOf(m, log)
	if err != nil {
		return nil, err
	}
	model, err := adapters[m.Of().Name](at, m.Embedding)
	if err != nil {
		return nil, err
	}
	e, ok := model.(llm.Embedder)
	if !ok {
		return nil, errors.New("model.embedding: this provider has no vectors")
	}
	return e, nil
}

// newIndex begins the index of meanings, if a model is configured for it.
func (s *server) newIndex() error {
	e, err := embedderOf(s.cfg.Model, s.log)
	if err != nil || e == nil || s.store == nil { // a workflow run has no database
		return err
	}
	s.indexed = &records.Indexed{Meta: s.store.Meta}
	s.index = index.New(index.Config{
		Embedder: e,
		Vectors:  s.store,
		Redact:   func(text string) string { text, _ = s.secrets.Redactor.Redact(text); return text },
		Wait:     s.lull.Wait,
		Told: func(p index.Progress) {
			if err := s.indexed.Keep(context.Background(), p); err != nil {
				s.log.Warn("progress of the index is not stored", "err", err)
			}
		},
		Log: s.log,
	})
	return nil
}

// indexTables shows how far the index of the repositories is that the viewer may read.
func (s *server) indexTables(ctx context.Context, reads func(string) (bool, error)) ([]dashboard.Table, error) {
	t := dashboard.Table{Title: "Search index", Head: []string{"repository", "files", "ready", "skipped chunks", "waits for"}}
	if s.indexed == nil {
		t.Note = "The server has no model.embedding: codebase_search finds text."
		return []dashboard.Table{t}, nil
	}
	list, err := s.indexed.List(ctx)
	if err != nil {
		return nil, err
	}
	for _, p := range list {
		ok, err := reads(p.Repo)
		if err != nil {
			return nil, err
		}
		if ok {
			t.Rows = append(t.Rows, []string{p.Repo, fmt.Sprint(p.Total), fmt.Sprint(p.Done), fmt.Sprint(p.Skipped), p.Trouble})
		}
	}
	if len(t.Rows) == 0 {
		t.Note = "No session has searched a repository yet that you may read."
	}
	return []dashboard.Table{t}, nil
}
