// Package setups says where set-ups are kept: what they made in a directory of this
// machine, and what people said to them there, or in the database that several servers share.
package setups

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/handrail-bot/handrail/agent/layer"
	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/work"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/cmd/runs"
)

// OfUser returns the set-ups of the person at this machine. Where they have no directory
// for caches, layers are below other.
func OfUser(other string) (work.SetUps, error) {
	dir, err := os.UserCacheDir()
	if err == nil {
		dir = filepath.Join(dir, "handrail")
		err = os.MkdirAll(dir, 0o755)
	}
	if err != nil {
		dir = other
	}
	state, err := runs.Dir()
	if err != nil {
		return work.SetUps{}, err
	}
	layers, err := layer.Open(layer.Config{Dir: filepath.Join(dir, "layers")})
	if err != nil {
		return work.SetUps{}, err
	}
	return work.SetUps{Layers: layers, Answers: layer.Answers{Dir: filepath.Join(filepath.Dir(state), "setups")}}, nil
}

// OfServer returns the set-ups of a server.
func OfServer(cfg layer.Config, values store.Meta) (work.SetUps, error) {
	layers, err := layer.Open(cfg)
	if err != nil {
		return work.SetUps{}, err
	}
	return work.SetUps{Layers: layers, Answers: answers{values}}, nil
}

// answers keeps what people said in the database.
type answers struct{ values store.Meta }

func key(repo, digest string) string {
	return fmt.Sprintf("setup-%x", sha256.Sum256([]byte(repo+"\x00"+digest)))
}

// Answer implements work.Answers.
func (a answers) Answer(ctx context.Context, repo, digest string) (said session.Resolved, ok bool, err error) {
	data, err := a.values.Get(ctx, key(repo, digest))
	if errors.Is(err, store.ErrNotFound) {
		return said, false, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &said)
	}
	if err != nil {
		return session.Resolved{}, false, fmt.Errorf("read answer to a set-up: %w", err)
	}
	return said, true, nil
}

// Keep implements work.Answers.
func (a answers) Keep(ctx context.Context, repo, digest string, said session.Resolved) error {
	data, err := json.Marshal(said)
	if err == nil {
		err = a.values.Set(ctx, key(repo, digest), data)
	}
	if err != nil {
		return fmt.Errorf("keep answer to a set-up: %w", err)
	}
	return nil
}
