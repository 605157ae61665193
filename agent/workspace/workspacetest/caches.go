package workspacetest

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/agent/layer"
	"github.com/handrail-bot/handrail/agent/workspace"
)

// caches checks that a set-up begins with the caches of the previous one and leaves
// exactly its own view of them: unchanged files are shared, and the older caches stay
// untouched. A session on top changes them only for itself.
func caches(t *testing.T, s Subject) {
	if !s.Wall {
		t.Skip("only walled workspaces are set up")
	}
	source, older, dir := t.TempDir(), t.TempDir(), t.TempDir()
	had := Tree{
		"home/.npm/same": "same\n", "home/.npm/d/same": "same\n", "home/.npm/changed": "changed\n", "home/.npm/gone": "gone\n", "home/.npm/all/a": "a\n", "home/.npm/again/old": "old\n",
		"home/.npm/l": "-> same", "home/.npm/file": "a file\n", "home/.npm/dir/a": "a\n", "home/.npm/mode": "mode\n", "home/.npm/moved/a": "a\n", "pip/x": "x\n", "home/.cargo/x": "not named\n",
	}
	had.write(t, older)
	for _, at := range []string{source, older, dir} {
		if err := errors.Join(os.Chmod(at, 0o755), workspace.Give(t.Context(), at)); err != nil {
			t.Fatal(err)
		}
	}
	begun, err := layer.Begin(
		t.Context(),
		filepath.Join(dir, "begun"),
		layer.Want{Older: older, Names: []string{"home/.npm", "pip", "yarn"}, SizeLimit: 1 << 20},
	)
	if err != nil {
		t.Fatal(err)
	}
	state := filepath.Join(dir, "state")
	ws, err := s.Engine.Open(
		t.Context(),
		workspace.Spec{Session: "caches", Source: source, Layer: begun, State: state, Keep: true, Image: s.Image},
	)
	if err != nil {
		t.Fatal(err)
	}
	mustRun(
		t,
		ws,
		"(cd ~/.npm && cat same d/same l file dir/a /cache/pip/x && [ ! -e ~/.cargo ] && echo more >>changed && echo new >fresh && rm gone && rm -r all && rm -r again && mkdir again && echo new >again/new"+
			" && rm file && mkdir file && echo in >file/in && rm -r dir && echo now >dir && chmod 700 mode && mv moved to && mkdir -p deep/er && echo x >deep/er/x && ln -s /etc/passwd out)",
	)
	const all = `(cd /cache && find home/.npm pip ! -type d -print | sort | while read -r f; do if [ -L "$f" ]; then echo "$f -> $(readlink "$f")"; else echo "$f $([ -x "$f" ] && echo x) $(cat "$f")"; fi; done)`
	want := mustRun(t, ws, all)
	if err := ws.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	left, err := layer.End(dir, begun, state)
	if err != nil {
		t.Fatal(err)
	}
	next := t.TempDir()
	if err := errors.Join(os.Chmod(next, 0o755), os.Mkdir(filepath.Join(next, workspace.LayerTree), 0o755),
		os.Rename(left, filepath.Join(next, workspace.LayerCache)), workspace.RemoveTree(dir)); err != nil {
		t.Fatal(err)
	}
	shared := map[string]bool{"same": true, "d/same": true, "changed": false, "again/new": false, "fresh": false}
	for _, name := range slices.Sorted(maps.Keys(shared)) {
		was, wrong := os.Stat(filepath.Join(older, "home/.npm", name))
		is, err := os.Stat(filepath.Join(next, workspace.LayerCache, "home/.npm", name))
		if err != nil || shared[name] != (wrong == nil && os.SameFile(was, is)) {
			t.Errorf("%s is one file with the older one: %t, want %t (%v)", name, !shared[name], shared[name], err)
		}
	}
	session := OpenSpec(t, s, workspace.Spec{Source: source, Layer: next})
	if got := mustRun(t, session, all); got != want || strings.Count(got, "\n") < 12 {
		t.Errorf("a session has\n%s\nwant\n%s", got, want)
	}
	mustRun(
		t,
		session,
		"(cd ~/.npm && echo planted >>same && echo planted >d/same && rm changed && echo planted >new && chmod 600 mode && mv fresh other)",
	)
	if got := mustRun(t, OpenSpec(t, s, workspace.Spec{Session: "other", Source: source, Layer: next}), all); got != want {
		t.Errorf("after a session that changed them another has\n%s\nwant\n%s", got, want)
	}
	for name, want := range had {
		if data, err := os.ReadFile(filepath.Join(older, name)); name != "home/.npm/l" &&
			(err != nil || string(data) != want) {
			t.Errorf("the older caches were written to: %s is %q, %v", name, data, err)
		}
	}
}
