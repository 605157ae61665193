package layer

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/handrail-bot/handrail/agent/session"
)

// Answers keeps in a directory what people said to set-ups, for one machine.
type Answers struct{ Dir string }

func (a Answers) file(repo, key string) string {
	return filepath.Join(a.Dir, fmt.Sprintf("%x.json", sha256.Sum256([]byte(repo+"\x00"+key))))
}

// Answer returns what a person said to a set-up of a repository; ok is false where nobody
// said anything.
func (a Answers) Answer(_ context.Context, repo, key string) (said session.Resolved, ok bool, err error) {
	data, err := os.ReadFile(a.file(repo, key))
	if errors.Is(err, fs.ErrNotExist) {
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
func (a Answers) Keep(_ context.Context, repo, key string, said session.Resolved) error {
	data, err := json.Marshal(said)
	if err == nil {
		err = os.MkdirAll(a.Dir, 0o700)
	}
	if err != nil {
		return fmt.Errorf("keep answer to a set-up: %w", err)
	}
	f, err := os.CreateTemp(a.Dir, "new-")
	if err != nil {
		return fmt.Errorf("keep answer to a set-up: %w", err)
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), a.file(repo, key))
	}
	if err != nil {
		return fmt.Errorf("keep answer to a set-up: %w", errors.Join(err, os.Remove(f.Name())))
	}
	return nil
}
