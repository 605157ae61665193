package local_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/cmd/local"
	"github.com/handrail-bot/handrail/gitops/flock"
)

// TestTempDir: the directories of killed processes go with the next start, whenever they were
// killed. Those of others, and of processes that live, stay.
func TestTempDir(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	old := time.Now().Add(-time.Hour)
	for name, files := range map[string]string{
		"handrail-run-1":     "alive clone/a",
		"handrail-run-2":     "alive",         // it was killed while it ended
		"handrail-run-3":     "alive clone/a", // it lives
		"handrail-run-4":     "clone/a",       // of a user
		"handrail-run-mine":  "alive notes",   // of a user
		"handrail-runner-5":  "alive notes",   // of another program
		"handrail-new-6":     "alive",         // it was killed while it began
		"handrail-new-7":     "",              // likewise
		"handrail-new-8":     "notes",         // of a user
		"handrail-new-9":     "alive",         // it begins
		"handrail-doctor-10": "alive",         // of another verb
	} {
		dir := filepath.Join(tmp, name)
		must(t, os.Mkdir(dir, 0o755))
		for f := range strings.FieldsSeq(files) {
			must(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, f)), 0o755))
			must(t, os.WriteFile(filepath.Join(dir, f), nil, 0o600))
		}
		if name != "handrail-new-9" {
			must(t, os.Chtimes(dir, old, old))
		}
	}
	must(t, os.Chmod(filepath.Join(tmp, "handrail-run-1/clone"), 0))
	must(t, os.Symlink("handrail-run-4", filepath.Join(tmp, "handrail-run-11")))
	lives, ok, err := flock.Now(filepath.Join(tmp, "handrail-run-3/alive"), true)
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	defer func() { _ = flock.Release(lives) }()
	for range 2 {
		dir, end, err := local.TempDir()
		must(t, err)
		must(t, os.MkdirAll(filepath.Join(dir, "clone/x"), 0o755))
		must(t, end())
	}
	list, err := os.ReadDir(tmp)
	must(t, err)
	var left []string
	for _, e := range list {
		left = append(left, strings.TrimPrefix(e.Name(), "handrail-"))
	}
	const want = "doctor-10 new-8 new-9 run-11 run-3 run-4 run-mine runner-5"
	if got := strings.Join(left, " "); got != want {
		t.Errorf("left are %s, want %s", got, want)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
