package layer

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/agent/workspace"
)

// put writes a file, with the directories above it.
func put(t *testing.T, at, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
}

// A set-up begins with the caches that it names, which are shared and not copied, and with
// nothing that a symlink leads to.
func TestBegin(t *testing.T) {
	older, elsewhere := t.TempDir(), t.TempDir()
	put(t, filepath.Join(older, "go/pkg/mod/m/go.mod"), "module m\n")
	put(t, filepath.Join(older, "home/.cargo/registry/x"), "x\n")
	put(t, filepath.Join(older, "pip"), "no directory\n")
	put(t, filepath.Join(elsewhere, "_cacache/secret"), "of the machine\n")
	if err := errors.Join(os.Symlink(elsewhere, filepath.Join(older, "home/.npm")), os.Symlink(elsewhere, filepath.Join(older, "yarn")), os.Symlink("/etc/passwd", filepath.Join(older, "go/pkg/mod/l"))); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "begun")
	begun, err := Begin(t.Context(), dir, Want{Older: older, Names: []string{"go/pkg/mod", "home/.npm/_cacache", "pip", "yarn", "gone/for/good"}, SizeLimit: 9})
	if begun != dir || err != nil {
		t.Fatalf("it is %q, %v", begun, err)
	}
	was, wrong := os.Stat(filepath.Join(older, "go/pkg/mod/m/go.mod"))
	is, err := os.Stat(filepath.Join(dir, workspace.LayerCache, "go/pkg/mod/m/go.mod"))
	if err := errors.Join(err, wrong); err != nil || !os.SameFile(was, is) {
		t.Errorf("it is copied (%v)", err)
	}
	if to, err := os.Readlink(filepath.Join(dir, workspace.LayerCache, "go/pkg/mod/l")); to != "/etc/passwd" {
		t.Errorf("a symlink leads to %q, %v", to, err)
	}
	for _, name := range []string{"home", "pip", "yarn", "gone"} {
		if _, err := os.Lstat(filepath.Join(dir, workspace.LayerCache, name)); err == nil {
			t.Errorf("%s is taken over", name)
		}
	}
}

// Caches that are too large are not taken over, and where there are none nothing is left.
func TestBeginWithNone(t *testing.T) {
	older := t.TempDir()
	put(t, filepath.Join(older, "pip/x"), "1234567890")
	for name, w := range map[string]Want{"none": {Older: older, Names: []string{"yarn"}, SizeLimit: 100}, "too large": {Older: older, Names: []string{"pip"}, SizeLimit: 9}, "no older ones": {Older: filepath.Join(older, "gone"), Names: []string{"pip"}, SizeLimit: 100}} {
		dir := filepath.Join(t.TempDir(), "begun")
		if begun, err := Begin(t.Context(), dir, w); begun != "" || err != nil {
			t.Errorf("%s: %q, %v", name, begun, err)
		}
		if _, err := os.Lstat(dir); err == nil {
			t.Errorf("%s: something is left", name)
		}
	}
}

// What cannot be taken over stops no set-up: it begins with no caches.
func TestBeginWithWhatIsTooDeep(t *testing.T) {
	older := t.TempDir()
	put(t, filepath.Join(older, "pip/x"), "1")
	root, err := os.OpenRoot(filepath.Join(older, "pip"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	deep := strings.Repeat(strings.Repeat("d", 200)+"/", 25) // 5,000 bytes, and the system takes 4,096
	if err := root.MkdirAll(deep, 0o755); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "begun")
	if begun, err := Begin(t.Context(), dir, Want{Older: older, Names: []string{"pip"}, SizeLimit: 100}); begun != "" || err != nil {
		t.Errorf("%q, %v", begun, err)
	}
	if _, err := os.Lstat(dir); err == nil {
		t.Error("something is left")
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, err := Begin(ctx, dir, Want{Older: older, Names: []string{"pip"}, SizeLimit: 100}); err == nil {
		t.Error("one that is stopped goes on")
	}
}

// Of a copy what stayed the same is shared again: only the same bytes, of the same time.
func TestEndOfACopy(t *testing.T) {
	older, dir := t.TempDir(), t.TempDir()
	at := time.Now().Add(-time.Hour).Truncate(time.Second)
	for name, text := range map[string]string{"same": "same", "other": "abcd", "later": "late", "longer": "long", "gone": "gone"} {
		put(t, filepath.Join(older, "pip/d", name), text)
		if err := os.Chtimes(filepath.Join(older, "pip/d", name), at, at); err != nil {
			t.Fatal(err)
		}
	}
	begun, err := Begin(t.Context(), filepath.Join(dir, "begun"), Want{Older: older, Names: []string{"pip"}, SizeLimit: 100})
	if err != nil {
		t.Fatal(err)
	}
	kept := filepath.Join(dir, "state", workspace.KeptCache)
	want := map[string]string{"same": "same", "other": "abcx", "later": "late", "longer": "longer", "new": "new"}
	for name, text := range want {
		put(t, filepath.Join(kept, "pip/d", name), text)
		if err := os.Chtimes(filepath.Join(kept, "pip/d", name), at, at); err != nil || name == "later" && os.Chtimes(filepath.Join(kept, "pip/d", name), at, time.Now()) != nil {
			t.Fatal(err)
		}
	}
	left, err := End(dir, begun, filepath.Join(dir, "state"))
	if err != nil {
		t.Fatal(err)
	}
	list, err := os.ReadDir(filepath.Join(left, "pip/d"))
	if err != nil || len(list) != len(want) {
		t.Errorf("there are %v, %v", list, err)
	}
	for name, text := range want {
		data, err := os.ReadFile(filepath.Join(left, "pip/d", name))
		is, wrong := os.Stat(filepath.Join(left, "pip/d", name))
		was, _ := os.Stat(filepath.Join(older, "pip/d", name))
		if err := errors.Join(err, wrong); err != nil || string(data) != text || os.SameFile(was, is) != (name == "same") {
			t.Errorf("%s is %q, and shared: %t (%v)", name, data, os.SameFile(was, is), err)
		}
	}
}
