package host

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/agent/workspace"
)

// A past whose list of files is not one leaves no repository, nor half of one.
func TestMalformedList(t *testing.T) {
	for name, index := range map[string]string{
		"short": "DIRC", "no entries": "DIRC\x00\x00\x00\x02\x00\x00\x00\x05" + strings.Repeat("s", 20),
		"no name": "DIRC\x00\x00\x00\x02\x00\x00\x00\x01" + strings.Repeat("\x00", 72) + strings.Repeat("s", 20),
		"endless": "DIRC\x00\x00\x00\x02\x00\x00\x00\x01" + strings.Repeat("n", 900) + strings.Repeat("s", 20),
	} {
		past, dir := t.TempDir(), t.TempDir()
		put(t, past, "git/index", index)
		put(t, past, workspace.GitReady, "")
		if err := before(t, past, dir, "git status"); err == nil {
			t.Errorf("%s: there is no error", name)
		}
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			t.Errorf("%s: there is half of a repository", name)
		}
	}
}

// A large tree gets its repository when git is named.
func TestLargeTree(t *testing.T) {
	past, dir := t.TempDir(), t.TempDir()
	entry := append(make([]byte, fixed), "f\x00"...)
	index := append([]byte("DIRC\x00\x00\x00\x02\x00\x00\x4e\x21"), bytes.Repeat(entry, maxEager+1)...)
	put(t, past, "git/index", string(append(index, make([]byte, 20)...)))
	put(t, past, "git/HEAD", "ref: refs/heads/b\n")
	put(t, past, workspace.GitReady, "")
	for line, there := range map[string]bool{"make": false, "make && git status": true} {
		if err := before(t, past, dir, line); err != nil {
			t.Error(err)
		}
		if _, err := os.Lstat(filepath.Join(dir, ".git/HEAD")); (err == nil) != there {
			t.Errorf("before %q: %v", line, err)
		}
		_ = os.RemoveAll(filepath.Join(dir, ".git"))
	}
}

func before(t *testing.T, past, dir, line string) error {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	m := &gitMaker{Root: root, Past: past}
	return m.Before(t.Context(), line, func() (func(string) (repositoryStamp, bool), error) {
		return func(string) (repositoryStamp, bool) { return repositoryStamp{Size: 1}, true }, nil
	})
}

func put(t *testing.T, dir, name, text string) {
	t.Helper()
	at := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
