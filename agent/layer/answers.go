package layer

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/handrail-bot/handrail/agent/session"
)

// Values keeps values under keys.
type Values interface {
	Get(ctx context.Context, key string) ([]byte, error)
	Set(ctx context.Context, key string, value []byte) error
}

// Answers keeps what people said to set-ups. None is the error for a value that is not there.
type Answers struct {
	Values Values
	None   error
}

// of is what the keys of all values of a repository begin with.
func of(repo string) string { return fmt.Sprintf("setup-%x-", sha256.Sum256([]byte(repo))) }

func valueKey(repo, digest string) string {
	return fmt.Sprintf("%s%x", of(repo), sha256.Sum256([]byte(digest)))
}

// Forget forgets what people said to set-ups of a repository of a server.
func Forget(ctx context.Context, values interface {
	DropAll(ctx context.Context, prefix string) error
}, repo string) error {
	return values.DropAll(ctx, of(repo))
}

// Answer returns what a person said to a set-up of a repository; ok is false where nobody
// said anything.
func (a Answers) Answer(ctx context.Context, repo, digest string) (said session.Resolved, ok bool, err error) {
	data, err := a.Values.Get(ctx, valueKey(repo, digest))
	if errors.Is(err, a.None) {
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

// Keep keeps an answer.
func (a Answers) Keep(ctx context.Context, repo, digest string, said session.Resolved) error {
	data, err := json.Marshal(said)
	if err == nil {
		err = a.Values.Set(ctx, valueKey(repo, digest), data)
	}
	if err != nil {
		return fmt.Errorf("keep answer to a set-up: %w", err)
	}
	return nil
}

// Files are values in a directory.
type Files string

// Get returns a value, or an error that is [os.ErrNotExist].
func (f Files) Get(_ context.Context, key string) ([]byte, error) {
	return os.ReadFile(filepath.Join(string(f), key))
}

// Set stores a value, whole or not at all.
func (f Files) Set(_ context.Context, key string, value []byte) error {
	if err := os.MkdirAll(string(f), 0o700); err != nil {
		return err
	}
	temp, err := os.CreateTemp(string(f), "new-")
	if err != nil {
		return err
	}
	_, err = temp.Write(value)
	if err = errors.Join(err, temp.Sync(), temp.Close()); err != nil {
		return errors.Join(err, os.Remove(temp.Name()))
	}
	return os.Rename(temp.Name(), filepath.Join(string(f), key))
}
