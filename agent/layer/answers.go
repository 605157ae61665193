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

// Values is a key-value store.
type Values interface {
	Get(ctx context.Context, key string) ([]byte, error)
	Set(ctx context.Context, key string, value []byte) error
}

// Answers stores the answers to set-ups. None is the error for a missing value.
type Answers struct {
	Values Values
	None   error
}

// keyPrefix returns the common prefix of the keys of a repository.
func keyPrefix(repo string) string { return fmt.Sprintf("setup-%x-", sha256.Sum256([]byte(repo))) }

func valueKey(repo, digest string) string {
	return fmt.Sprintf("%s%x", keyPrefix(repo), sha256.Sum256([]byte(digest)))
}

// Forget deletes the answers to set-ups of a repository.
func Forget(ctx context.Context, values interface {
	DropAll(ctx context.Context, prefix string) error
}, repo string) error {
	return values.DropAll(ctx, keyPrefix(repo))
}

// Answer returns the answer to a set-up of a repository; ok is false if there is none.
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

// Keep stores an answer.
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

// Files is a directory that stores values as files.
type Files string

// Get returns a value. The error is [os.ErrNotExist] if there is none.
func (f Files) Get(_ context.Context, key string) ([]byte, error) {
	return os.ReadFile(filepath.Join(string(f), key))
}

// Set stores a value atomically.
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
