package records

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/handrail-bot/handrail/agent/index"
	"github.com/handrail-bot/handrail/bot/store"
)

// indexKey is the key of the progress of the index.
const indexKey = "index/progress"

// Indexed keeps the progress of the index of meanings, so that other processes can tell
// it. It is safe for concurrent use.
type Indexed struct {
	Meta  store.Meta
	mu    sync.Mutex
	last  time.Time
	known map[string]index.Progress
}

// often is the pause between two writes of a progress that goes on.
const often = 5 * time.Second

// Keep stores the progress of a repository.
func (k *Indexed) Keep(ctx context.Context, p index.Progress) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.known == nil {
		list, err := k.read(ctx)
		if err != nil {
			return err
		}
		k.known = list
	}
	k.known[p.Repo] = p
	if p.Done < p.Total && p.Trouble == "" && time.Since(k.last) < often {
		return nil
	}
	k.last = time.Now()
	data, err := json.Marshal(k.known)
	if err != nil {
		return fmt.Errorf("store progress of the index: %w", err)
	}
	return k.Meta.Set(ctx, indexKey, data)
}

func (k *Indexed) read(ctx context.Context) (map[string]index.Progress, error) {
	out := map[string]index.Progress{}
	data, err := k.Meta.Get(ctx, indexKey)
	if store.Unless(err, store.ErrNotFound) != nil {
		return nil, fmt.Errorf("read progress of the index: %w", err)
	}
	if err == nil {
		if err := json.Unmarshal(data, &out); err != nil {
			return nil, fmt.Errorf("read progress of the index: %w", err)
		}
	}
	return out, nil
}

// List returns the stored progress of all repositories, by name.
func (k *Indexed) List(ctx context.Context) ([]index.Progress, error) {
	all, err := k.read(ctx)
	byName := func(a, b index.Progress) int { return strings.Compare(a.Repo, b.Repo) }
	return slices.SortedFunc(maps.Values(all), byName), err
}

// unusedVectors is the time after which vectors that no session used are deleted.
const unusedVectors = 60 * 24 * time.Hour
