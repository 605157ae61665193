package doctor

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"time"

	"github.com/handrail-bot/handrail/gitops"
)

// task is a request and a small repository. Its test reads files and runs none of them,
// so that it needs no isolation.
type task struct {
	name    string // the directory below tasks
	request string
}

// tasks are simple edits: a value, a word, a line.
var tasks = [...]task{
	{"setting", "In server.conf, change the port from 8080 to 9090."},
	{"word", "greet.sh prints no name: a variable is misspelt in its last line. Correct it in greet.sh."},
	{"line", "Add an item to prices.csv: pears, with the price 4."},
}

//go:embed tasks
var taskFiles embed.FS

const (
	testFile    = "test.sh"
	testCommand = "sh " + testFile
	maxFile     = 1 << 20
	maxTest     = 10 * time.Second
)

// files returns the contents of the task's files by name.
func (t task) files() (map[string][]byte, error) {
	dir := path.Join("tasks", t.name)
	list, err := fs.ReadDir(taskFiles, dir)
	if err != nil {
		return nil, err
	}
	out := map[string][]byte{}
	for _, e := range list {
		if out[e.Name()], err = taskFiles.ReadFile(path.Join(dir, e.Name())); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// repository creates the task's repository in a new directory and returns it with its
// first commit. It does not need the git program.
func (t task) repository(ctx context.Context, dir string) (repo *gitops.Mirror, base string, err error) {
	for _, d := range []string{"objects", filepath.Join("refs", "heads")} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o700); err != nil {
			return nil, "", err
		}
	}
	err = errors.Join(os.WriteFile(filepath.Join(dir, "HEAD"), []byte("ref: refs/heads/main\n"), 0o600),
		os.WriteFile(filepath.Join(dir, "config"), []byte("[core]\n\trepositoryformatversion = 0\n\tbare = true\n"), 0o600))
	if err != nil {
		return nil, "", err
	}
	if repo, err = gitops.OpenLocal(dir); err != nil {
		return nil, "", err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, repo.Close())
		}
	}()
	files, err := t.files()
	if err != nil {
		return nil, "", err
	}
	first := gitops.Checkpoint{Meta: gitops.Meta{Message: "Files of the task", Author: author}}
	for name, data := range files {
		first.Changes = append(
			first.Changes,
			gitops.Change{Path: name, Open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }},
		)
	}
	c, err := repo.Checkpoint(ctx, first)
	if err != nil {
		return nil, "", err
	}
	return repo, c.ID, nil
}

// solved reports whether the task's original test passes with the files of a commit.
// Files that the task did not have are ignored.
func (t task) solved(ctx context.Context, repo *gitops.Mirror, commit, dir string) (bool, error) {
	files, err := t.files()
	if err != nil {
		return false, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return false, err
	}
	for name, data := range files {
		if name != testFile {
			if data, err = repo.ReadFile(ctx, commit, name, maxFile); errors.Is(err, gitops.ErrNotFound) {
				return false, nil // the model deleted it
			}
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), data, 0o600)
		}
		if err != nil {
			return false, fmt.Errorf("take %s of the result: %w", name, err)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, maxTest)
	defer cancel()
	c := exec.CommandContext(ctx, "sh", testFile)
	c.Dir, c.Env, c.WaitDelay = dir, []string{"PATH=" + os.Getenv("PATH")}, time.Second
	err = c.Run()
	if errors.As(err, new(*exec.ExitError)) {
		return false, nil
	}
	return err == nil, err
}
